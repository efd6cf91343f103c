#!/usr/bin/env python3
"""Measures the machine it runs on and predicts real programs on it: a case for `mcpsim validate`.

    cargo build --release --features mpi
    validation/here/run.py --name mymachine-2026-11-20

makes the folder validation/NAME: platform.toml and samples.csv of `mpirun mcpsim measure`, measured.csv of the programs in
workloads/c under the real MPI, several times at every number of ranks that the cores allow, and case.toml; then it runs `mcpsim
validate` on it. Nothing is calibrated on the programs' runs. On a machine that does other things too, --prefix says how to come
before them, such as `--prefix "chrt -f 20"` as root.

--namespaces puts the two ranks on two "hosts": network namespaces joined by a veth pair, Open MPI over TCP (needs root).
"""

import argparse
import datetime
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SOURCES = os.path.join(ROOT, "workloads", "c")

# Kind, program, arguments; from a few hundredths of a second to about one.
PROGRAMS = [
    ("program", "jacobi3d", "64 64 64 300"),
    ("program", "jacobi3d", "96 96 96 100"),
    ("program", "jacobi3d", "96 96 96 100 -v nonblocking"),
    ("program", "jacobi3d", "128 128 128 40"),
    ("program", "heat3d", "64 200"),
    ("program", "heat3d", "96 80"),
    ("program", "heat3d", "96 80 -v blocking"),
    ("program", "heat3d", "128 40 -s slabs"),
    ("program", "ljj", "20000 400"),
    ("program", "ljj", "200000 60"),
    ("program", "hpl", "600 32"),
    ("program", "hpl", "1000 64"),
    ("program", "hpl", "1500 64"),
    ("program", "is", "S"),
    ("program", "is", "W"),
    ("program", "is", "A"),
    ("program", "sort", "500000"),
    ("program", "sort", "2000000"),
    ("program", "sort", "1000000 -a oddeven"),
    ("program", "prime", "1000000"),
    ("program", "prime", "3000000"),
    ("program", "pi", "20000000"),
    ("program", "pi", "50000000 -v ring"),
    # Nothing but messages: on one rank there are none.
    ("messages", "pingpong", "8 200000"),
    ("messages", "pingpong", "100000 10000"),
    ("messages", "ring", "100000 1000"),
    ("messages", "halo3d", "2000 30000"),
    ("messages", "halo3d", "20000 10000"),
    ("messages", "alltoall", "20000 20000"),
]


def main():
    options = arguments()
    out = os.path.abspath(options.out or os.path.join(ROOT, "validation", options.name))
    os.makedirs(out, exist_ok=True)
    with tempfile.TemporaryDirectory() as build:
        launcher = Launcher(options, build)
        try:
            launcher.measure(out)
            rows = run_all(options, launcher, build)
        finally:
            launcher.close()
    write(options, out, rows, launcher)
    command = shlex.split(options.prefix) + [options.mcpsim, "validate", out]
    command += ["--csv", os.path.join(out, "results.csv"), "--figures", out, "--format", "svg"]
    say(shlex.join(command))
    sys.exit(subprocess.run(command).returncode)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--name", default="here-" + datetime.date.today().isoformat(), help="of the case (default: here and the date)")
    add("--out", help="the case's folder (default: validation/NAME)")
    add("--mcpsim", default=os.path.join(ROOT, "target", "release", "mcpsim"), help="built with --features mpi")
    add("--mpicc", default="mpicc", help="the real MPI's compiler")
    add("--mpirun", default="mpirun --bind-to core", help="its launcher, which takes -n")
    add("--prefix", default="", help="what comes before every command, such as \"chrt -f 20\"")
    add("--time", default="60 s", help="for mcpsim measure")
    add("--force", action="store_true", help="take also a platform that mcpsim measure doubts")
    add("--repeats", type=int, default=7, help="runs of each program (default: 7)")
    add("--ranks", help="numbers of ranks (default: powers of two up to the cores)")
    add("--only", help="programs, separated by commas (default: all)")
    add("--namespaces", action="store_true", help="two network namespaces as two hosts (root, Open MPI)")
    options = parser.parse_args()
    for what, command in [("--mcpsim", options.mcpsim), ("--mpicc", options.mpicc), ("--mpirun", options.mpirun)]:
        if shutil.which(shlex.split(command)[0]) is None:
            parser.error(f"{what}: no program {command}")
    cores = len(os.sched_getaffinity(0))
    if options.repeats < 1 or cores < 2:
        parser.error("expected one run or more, and two cores or more")
    options.ranks = [int(n) for n in options.ranks.split(",")] if options.ranks else powers(cores)
    if options.namespaces:
        options.ranks = [2]
    if options.ranks[-1] > cores:
        parser.error(f"--ranks: expected at most {cores}, a rank a core")
    options.programs = [row for row in PROGRAMS if not options.only or row[1] in options.only.split(",")]
    return options


def powers(most):
    return [2**power for power in range(most.bit_length()) if 2**power <= most]


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(command, **more):
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, **more)
    if ran.returncode != 0:
        sys.exit(f"{shlex.join(command)}: exit code {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return ran.stdout


class Launcher:
    """The real MPI's launcher, within one host or across two namespaces."""

    NAMES = ("mcpsim-a", "mcpsim-b")
    NETWORK = "10.213.77"

    def __init__(self, options, build):
        self.options, self.build = options, build
        self.environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        self.made = []
        if options.namespaces:
            self.namespaces()

    def namespaces(self):
        ip = lambda line: run(["ip"] + line.split())
        for name in self.NAMES:
            ip(f"netns add {name}")
            self.made.append(name)
            ip(f"-n {name} link set lo up")
        ends = list(zip(self.NAMES, ("mcpsim0", "mcpsim1"), (1, 2)))
        ip(f"link add {ends[0][1]} netns {ends[0][0]} type veth peer name {ends[1][1]} netns {ends[1][0]}")
        for name, end, number in ends:
            ip(f"-n {name} address add {self.NETWORK}.{number}/24 dev {end}")
            ip(f"-n {name} link set {end} up")
        # Open MPI starts its daemon "on" the other host with this instead of ssh: HOST COMMAND.
        self.agent = os.path.join(self.build, "agent")
        with open(self.agent, "w") as file:
            file.write("#!/bin/sh\nshift\n")
            file.write(f'exec ip netns exec {self.NAMES[1]} unshare --uts sh -c "hostname {self.NAMES[1]}; $*"\n')
        os.chmod(self.agent, 0o755)

    def close(self):
        for name in self.made:
            subprocess.run(["ip", "netns", "delete", name])

    def command(self, ranks, program):
        prefix, mpirun = shlex.split(self.options.prefix), shlex.split(self.options.mpirun)
        if not self.options.namespaces:
            return prefix + mpirun + ["-n", str(ranks)] + program
        hosts = f"{self.NETWORK}.1:1,{self.NETWORK}.2:1"
        mpi = ["--mca", "plm_rsh_agent", self.agent, "--mca", "btl", "tcp,self", "--mca", "pml", "ob1"]
        mpi += ["--mca", "oob_tcp_if_include", f"{self.NETWORK}.0/24", "--mca", "btl_tcp_if_include", f"{self.NETWORK}.0/24"]
        # Each rank takes the core of its number: both daemons would give the first one.
        bind = ["sh", "-c", 'MCPSIM_NODE=node$OMPI_COMM_WORLD_RANK exec taskset -c $OMPI_COMM_WORLD_RANK "$0" "$@"']
        own = ["ip", "netns", "exec", self.NAMES[0], "unshare", "--uts", "sh", "-c", f'hostname {self.NAMES[0]}; exec "$0" "$@"']
        words = [word for word in mpirun if word not in ("--bind-to", "core")] + ["--bind-to", "none", "--host", hosts]
        return own + prefix + words + mpi + ["-n", str(ranks)] + bind + program

    def measure(self, out):
        options = self.options
        program = [options.mcpsim, "measure", "--name", options.name, "--time", options.time]
        program += ["-o", os.path.join(out, "platform.toml"), "--samples", os.path.join(out, "samples.csv")]
        program += ["--figures", out, "--format", "svg"] + (["--force"] if options.force else [])
        command = self.command(max(options.ranks), program)
        say(shlex.join(command))
        print(run(command, env=self.environment))

    def seconds(self, ranks, program, words):
        """The time of one run, from MPI_Init to MPI_Finalize."""
        file = os.path.join(self.build, "span")
        if os.path.exists(file):
            os.remove(file)
        command = self.command(ranks, [os.path.join(self.build, program)] + words)
        said = run(command, env=dict(self.environment, SPAN_FILE=file))
        if "verified: ok" not in said:
            sys.exit(f"{shlex.join(command)}: not verified\n{said}")
        with open(file) as found:
            return float(found.read())


def run_all(options, launcher, build):
    for program in sorted({row[1] for row in options.programs}):
        source, span = os.path.join(SOURCES, program + ".c"), os.path.join(HERE, "span.c")
        run(shlex.split(options.mpicc) + ["-O2", "-o", os.path.join(build, program), source, span, "-lm"])
    rows = []
    # The repetitions outermost: what changes while all of this runs shows as spread.
    for turn in range(options.repeats):
        for kind, program, words in options.programs:
            for ranks in options.ranks:
                if ranks == 1 and kind == "messages":
                    continue
                seconds = launcher.seconds(ranks, program, words.split())
                rows.append((kind, program, words, ranks, seconds))
        say(f"{turn + 1} of {options.repeats} turns")
    return rows


CASE = """\
about = "{about}"
app = "program.toml"
platform = "platform.toml"
measured = "measured.csv"
time = "time_s"
group = "kind"
timed_on = "the machine of the runs, {processor}, {date}"

[columns]
source = "app.program.source"
arguments = "app.program.arguments"
ranks = "run.ranks"

[[leave_out]]
rows = {{ kind = "messages" }}
because = "they never rewrite what they send: it stays in the caches, while the tests of measure write what they send"

[limit]
mean_percent = {mean}
max_percent = {most}
max_spread_percent = {spread}

[provenance]
app = "workloads/c, compiled with -O2 for both"
platform = "mcpsim measure on the same machine, in the same hour"
"""


def processor():
    with open("/proc/cpuinfo") as file:
        return next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "unknown")


def write(options, out, rows, launcher):
    date = datetime.date.today().isoformat()
    version = run(shlex.split(options.mpirun)[:1] + ["--version"], env=launcher.environment).splitlines()[0]
    spread = []
    for point in {row[:4] for row in rows}:
        times = [row[4] for row in rows if row[:4] == point]
        spread.append((max(times) - min(times)) / statistics.median(times) * 100)
    where = "two network namespaces of one machine" if options.namespaces else "one machine"
    with open(os.path.join(out, "measured.csv"), "w") as file:
        file.write("# source: validation/here/run.py\n")
        file.write(f"# machine: {where}, {processor()}, {len(os.sched_getaffinity(0))} cores, {version}\n")
        file.write(f"# date: {date}\n# licence: own\n")
        file.write("# time: from the end of MPI_Init to MPI_Finalize, of the rank that took longest\n")
        file.write(f"# spread: from the least to the greatest of {options.repeats} runs,")
        file.write(f" median of the points {statistics.median(spread):.1f} % of their median, at most {max(spread):.1f} %\n")
        file.write("kind,program,source,arguments,ranks,time_s\n")
        for kind, program, words, ranks, seconds in rows:
            path = os.path.relpath(os.path.join(SOURCES, program + ".c"), out)
            listed = "[" + ",".join(f'""{word}""' for word in words.split()) + "]"
            file.write(f'{kind},{program},{path},"{listed}",{ranks},{seconds:.6f}\n')
    with open(os.path.join(out, "program.toml"), "w") as file:
        file.write("# The programs of workloads/c; the case says which, and its arguments.\n[program]\n")
        first = os.path.relpath(os.path.join(SOURCES, "jacobi3d.c"), out)
        file.write(f'source = "{first}"\nflags = ["-O2"]\nlibraries = ["-lm"]\narguments = []\n')
    with open(os.path.join(out, "case.toml"), "w") as file:
        about = f"Programs of workloads/c on {where}, predicted on the platform measured there"
        file.write(CASE.format(about=about, processor=processor(), date=date, mean=LIMIT[0], most=LIMIT[1], spread=LIMIT[2]))


# What the case allows: the mean and the greatest error, for points whose runs lie no farther than the third from their median,
# percent. Edit the case's file for a quieter machine.
LIMIT = (10, 25, 15)

if __name__ == "__main__":
    main()

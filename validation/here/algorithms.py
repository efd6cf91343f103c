#!/usr/bin/env python3
"""Lays what `algorithms` measured beside what `mcpsim collectives` predicts: is the algorithm that it calls the fastest
among the two fastest measured?

    mpicc -O2 -o algorithms validation/here/algorithms.c
    mpirun -n 2 --bind-to core mcpsim measure -o here.toml
    mpirun -n 2 --bind-to core --mca coll_tuned_use_dynamic_rules 1 ./algorithms 31 0.004 > measured.csv
    validation/here/algorithms.py measured.csv --platform here.toml --nct 1,1,2

A time is the median of the rounds. `pairs` says in how many of them the algorithm took longer than the second fastest;
a star, that this is no more than chance gives in one test of twenty (a sign test): then rounds do not tell them apart.
`alike` is the rank where algorithms that are predicted alike to the nanosecond, as those that send the same messages
are, count as one, which takes in each round what half of them take.
"""

import argparse
import collections
import csv
import io
import math
import statistics
import subprocess
import sys

# By Open MPI's numbers.
NAMES = {
    "allreduce": ["linear", "nonoverlapping", "recursive_doubling", "ring", "segmented_ring", "rabenseifner"],
    "bcast": ["linear", "chains", "pipeline", "split_binary", "binary", "binomial", "knomial", "scatter_allgather"]
    + ["scatter_ring"],
    "alltoall": ["linear", "pairwise", "bruck", "linear_sync", "two_procs"],
}


def main():
    options = arguments()
    measured = read(options.measured)
    print(f"{'collective':<11}{'size':>8}  {'called the fastest':<22}{'rank':>6}  {'to second':>9}  {'pairs':>6}  {'alike':>5}")
    found = untold = as_one = 0
    for (collective, size), runs in measured.items():
        medians = {name: statistics.median(times) for name, times in runs.items()}
        order = sorted(medians, key=medians.get)
        name, predicted = predictions(options, collective, size, set(runs))
        whole = together(runs, predicted)
        place = sorted(whole, key=lambda time: statistics.median(whole[time])).index(predicted[name]) + 1
        rank, second = order.index(name) + 1, order[1]
        found += rank <= 2
        slower = sum(a > b for a, b in zip(runs[name], runs[second]))
        ratio = medians[name] / medians[second]
        as_one += place <= 2
        untold += rank <= 2 or is_chance(slower, len(runs[name]))
        pairs = f"{slower}/{len(runs[name])}" + "*" * (rank > 2 and is_chance(slower, len(runs[name])))
        told = f"{collective:<11}{size:>8}  {name:<22}{rank:>3}/{len(order):<2}  {ratio:>9.3f}  {pairs:>6}"
        print(f"{told}  {place:>3}/{len(whole)}")
    print(f"among the two fastest: {found} of {len(measured)}; with those not told apart: {untold}")
    print(f"where those predicted alike count as one: {as_one} of {len(measured)}")


def together(runs, predicted):
    """The times by rounds of all that are predicted to take as long, the median of them in each round."""
    members = collections.defaultdict(list)
    for name, times in runs.items():
        # What mcpsim does not have is alone.
        members[predicted.get(name, name)].append(times)
    return {time: [statistics.median(turn) for turn in zip(*all_times)] for time, all_times in members.items()}


def is_chance(slower, rounds):
    """Whether of so many fair coins as many or more show one side in at least one of twenty tests."""
    return sum(math.comb(rounds, k) for k in range(slower, rounds + 1)) * 20 >= 2**rounds


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", help="what `algorithms` printed")
    parser.add_argument("--platform", required=True, help="the machine's platform file")
    parser.add_argument("--nct", required=True, help="nodes, CMPs, cores that had ranks")
    parser.add_argument("--ranks", type=int, help="as many, if they are more than cores and took turns")
    parser.add_argument("--library", default="openmpi-4.1", help="Open MPI's version, as mcpsim calls it")
    parser.add_argument("--mcpsim", default="mcpsim")
    return parser.parse_args()


def read(path):
    """Times of each collective and size by algorithm, a list by rounds."""
    measured = collections.defaultdict(lambda: collections.defaultdict(dict))
    number = 0
    try:
        with open(path, newline="") as file:
            for number, (collective, size, algorithm, segment, turn, micros) in enumerate(csv.reader(file), 1):
                name = NAMES[collective][int(algorithm) - 1], int(segment)
                measured[collective, int(size)][name][int(turn)] = float(micros)
    except OSError as error:
        sys.exit(f"algorithms.py: {error}")
    except (ValueError, LookupError):
        sys.exit(f"algorithms.py: {path}: expected collective,bytes,algorithm,segment,round,us in line {number}")
    if not measured:
        sys.exit(f"algorithms.py: {path} is empty: did `algorithms` run?")
    whole = {}
    for test, runs in measured.items():
        rounds = sorted(set.intersection(*(set(times) for times in runs.values())))
        whole[test] = {label(*name): [times[turn] for turn in rounds] for name, times in runs.items()}
    return whole


def label(name, segment):
    return f"{name} {segment >> 10} KiB" if segment else name


def predictions(options, collective, size, known):
    """What mcpsim calls the fastest of the algorithms that were measured: its own choice, or else the least time; and
    the time of each, as text."""
    command = [options.mcpsim, "collectives", "--platform", options.platform, "--nct", options.nct]
    command += ["--library", options.library, "--of", collective, "--sizes", str(size), "--csv", "-"]
    if options.ranks:
        command += ["--ranks", str(options.ranks), "--oversubscribe"]
    try:
        ran = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    except OSError as error:
        sys.exit(f"algorithms.py: {error}: --mcpsim says where it is")
    if ran.returncode != 0:
        sys.exit(ran.returncode)
    rows = csv.DictReader(io.StringIO(ran.stdout))
    # Open MPI's parameter makes four chains. One, which its tables may take, is a pipeline.
    rows = [row for row in rows if row["algorithm"] != "chains" or row["fan"] == "4"]
    for row in rows:
        row["name"] = label(row["algorithm"], int(row["segment"] or 0))
    rows = [row for row in rows if row["name"] in known]
    best = min(rows, key=lambda row: (row["fastest"] != "yes", float(row["time_us"])))
    return best["name"], {row["name"]: row["time_us"] for row in rows}


if __name__ == "__main__":
    main()

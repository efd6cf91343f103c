//! Tests that no command overwrites a file that it reads, and that each command reports files that it cannot write.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::support::{Ran, finish, mcpsim, run};

const APP: &str = "name = \"pair\"\nmain = [{ sendrecv = { to = \"1 - rank\", bytes = 64, from = \"1 - rank\" } }]\n";

/// A real program with its source.
const REAL: &str = "[program]\nsource = \"prog.c\"\nranks = 1\n";

const SOURCE: &str = "#include <mpi.h>\nint main(int n, char **v) { MPI_Init(&n, &v); return MPI_Finalize(); }\n";

const OSU: &str = "# OSU MPI Latency Test v5.8\n# Size          Latency (us)\n1 1.0\n1024 2.0\n1048576 200.0\n";

/// Every option of every command that writes a file: an input file, and the command, in which OUT stands for the name
/// of this input file.
const COMMANDS: &[(&str, &str)] = &[
    // Runs: each result is written over each kind of input.
    ("app.toml", "app.toml --json OUT"),
    ("app.toml", "app.toml --profile OUT"),
    ("app.toml", "app.toml --record OUT"),
    ("app.toml", "app.toml --histogram OUT"),
    ("app.json", "app.json --timeline OUT"),
    ("p.toml", "--platform p.toml app.toml --json OUT"),
    ("classes.toml", "--platform p.toml app.toml --json OUT"),
    ("rules.txt", "--platform ruled.toml app.toml --json OUT"),
    ("places.txt", "--ranks 2 --placement places.txt app.toml --json OUT"),
    ("prog.c", "real.toml --json OUT"),
    ("program", "--json OUT program"),
    ("r.trace", "--nct 2,1,1 r.trace --json OUT"),
    ("ti.txt", "--nct 2,1,1 ti.txt --profile OUT"),
    ("ti0.txt", "--nct 2,1,1 ti.list --profile OUT"),
    // Reports.
    ("o.json", "report o.json --html OUT"),
    ("o.json", "report o.json --csv OUT"),
    ("t.json", "report o.json --timeline t.json --html OUT"),
    ("hist", "report --histogram hist --csv OUT"),
    ("rates.csv", "report --histogram hist --rates rates.csv --csv OUT"),
    ("table.csv", "report table.csv --fit a+b*n --time t --csv OUT"),
    ("study/study.json", "report study --html OUT"),
    ("fit.svg", "report fit.svg --fit a+b*n --time t --figures ."),
    ("tasks.json", "tasks tasks.json --json OUT"),
    // Studies write into a directory.
    ("out/summary.csv", "sweep --out out out/summary.csv"),
    ("other/study.csv", "sweep --out other --platform other/study.csv app.toml"),
    // Validations.
    ("case/measured.csv", "validate case --csv OUT"),
    ("case/app.toml", "validate case --json OUT"),
    ("case/case.toml", "validate case --csv OUT"),
    // Machines.
    ("l.txt", "measure --import inter_node=l.txt -o OUT"),
    ("p.toml", "measure --import inter_node=l.txt --base p.toml -o OUT"),
    ("kernels.toml", "measure --compute --against kernels.toml -o OUT"),
    ("p.toml", "measure --collectives --simulate p.toml --nct 2,1,1 --max-size 1KiB -o OUT"),
    ("p.toml", "measure --b-eff --simulate p.toml --nct 2,1,1 --max-size 1KiB -o OUT"),
    ("p_min.nc", "measure --pairs --simulate p_min.nc --nct 2,1,1 -o p"),
    ("m_median.nc", "cluster m_median.nc --text OUT"),
    ("m_median.nc", "cluster m_median.nc --platform OUT"),
    ("m_hosts.txt", "cluster m_median.nc --text OUT"),
    ("c_info.nc", "cluster c_info.nc --expand -o OUT"),
    ("c_data.nc", "cluster c_info.nc --expand --text OUT"),
    ("m_info.nc", "cluster m_info.nc -o m"),
    ("p.toml", "platform show p.toml --json OUT"),
    ("slurm.toml", "platform import slurm.toml -o slurm"),
    ("p.toml", "models p.toml --csv OUT"),
    ("samples.csv", "models samples.csv --csv OUT"),
    ("p.toml", "collectives --platform p.toml --ranks 2 --of bcast --sizes 8 --csv OUT"),
    ("p.toml", "collectives --platform p.toml --ranks 2 --of bcast --sizes 8 --library openmpi-4.1 --rules OUT"),
];

/// One command for each option that writes a file.
const WRITERS: &[&str] = &[
    "app.toml --nct 2,1,1 --json n.json",
    "app.toml --nct 2,1,1 --profile n.csv",
    "app.toml --nct 2,1,1 --record n.trace",
    "app.toml --nct 2,1,1 --histogram n.hist",
    "app.toml --nct 2,1,1 --timeline n.json",
    "app.toml --nct 2,1,1 --timeline n.paje",
    "lu-tasks --task-logs logs",
    "report o.json --html n.html",
    "report o.json --csv n.csv",
    "report o.json --figures figures",
    "report --histogram hist --csv n.csv",
    "report table.csv --fit a+b*n --time t --csv n.csv",
    "tasks tasks.json --json n.json",
    "sweep app.toml --nct 2,1,1 --out new-study",
    "validate case --csv n.csv",
    "validate case --json n.json",
    "validate --new new-case",
    "measure --import inter_node=l.txt -o n.toml",
    "measure --compute --force -o n.toml",
    "measure --collectives --simulate p.toml --nct 2,1,1 --max-size 1KiB -o n.csv",
    "measure --b-eff --simulate p.toml --nct 2,1,1 --max-size 1KiB -o n.csv",
    "measure --pairs --simulate p.toml --nct 2,1,1 -o n",
    "cluster m_median.nc --text n.txt",
    "cluster m_median.nc --platform n.toml",
    "cluster m_median.nc -o n",
    "cluster c_info.nc --expand -o n.nc",
    "platform show p.toml --json n.json",
    "platform import slurm.toml -o n",
    "models p.toml --csv n.csv",
    "collectives --platform p.toml --ranks 2 --of bcast --sizes 8 --csv n.csv",
    "collectives --platform p.toml --ranks 2 --of bcast --sizes 8 --library openmpi-4.1 --rules n.txt",
    "man pages",
];

/// Returns the names of all files under `directory`, sorted.
fn files(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path.display().to_string());
        }
    }
    found.sort();
    found
}

fn done(here: &Path, line: &str) {
    let ran = run(here, line);
    assert_eq!(ran.code, Some(0), "{line}: {}", ran.stderr);
}

/// Writes files of every kind that mcpsim commands read.
fn prepare(here: &Path) {
    let write = |name: &str, text: &str| fs::write(here.join(name), text).unwrap();
    let copy = |from: &str, to: &str| fs::copy(here.join(from), here.join(to)).unwrap();
    for directory in ["out", "other"] {
        fs::create_dir(here.join(directory)).unwrap();
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in ["app.toml", "app.json", "out/summary.csv"] {
        write(name, APP);
    }
    write("real.toml", REAL);
    write("prog.c", SOURCE);
    done(here, "cc -o program prog.c");
    write("places.txt", "0 0 0\n1 0 0\n");
    write("ti.txt", "0 init\n1 init\n0 send 1 0 8\n1 recv 0 0 8\n0 finalize\n1 finalize\n");
    write("ti.list", "ti0.txt\nti1.txt\n");
    write("ti0.txt", "0 init\n0 send 1 0 8\n0 finalize\n");
    write("ti1.txt", "1 init\n1 recv 0 0 8\n1 finalize\n");
    write("rates.csv", "bytes,seconds\n64,0.001\n");
    write("table.csv", "n,t\n1,1.0\n2,2.0\n3,3.1\n4,4.0\n");
    write("l.txt", OSU);
    write("slurm.toml", "SwitchName=s0 Nodes=n[1-2]\nSwitchName=s1 Nodes=n3\n");
    done(
        here,
        "app.toml --nct 2,1,1 --quiet --functions --json o.json --record r.trace --histogram hist --timeline t.json",
    );
    done(here, "sweep app.toml --nct 2,1,1 --out study --quiet");
    done(here, "validate --new case");
    done(here, "measure --pairs --simulate default --nct 2,2,1 --begin 0 --end 2000 --step 1000 -o m");
    done(here, "cluster m_median.nc -o c");
    done(here, "cluster m_median.nc --platform made.toml --pairs");
    fs::rename(here.join("made.pairs.toml"), here.join("classes.toml")).unwrap();
    let made = fs::read_to_string(here.join("made.toml")).unwrap().replace("made.pairs.toml", "classes.toml");
    write("p.toml", &made);
    write("ruled.toml", &format!("{made}\n[collectives]\nlibrary = \"openmpi-4.1\"\nrules = \"rules.txt\"\n"));
    write("rules.txt", "1\n7\n1\n2\n1\n0 1 0 0\n");
    write("other/study.csv", &made.replace("classes.toml", "../classes.toml"));
    copy("p.toml", "p_min.nc");
    copy("m_median.nc", "m_info.nc");
    copy("table.csv", "fit.svg");
    done(here, "lu-tasks --quiet --json tasks.json");
    write("kernels.toml", "machine = \"there\"\n[seconds]\nsum = 1.0\n");
    fs::copy(source.join("validation/epyc-vm-2-cores-2026-11-22/samples.csv"), here.join("samples.csv")).unwrap();
}

#[test]
fn no_output_replaces_a_file_that_the_command_reads() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    prepare(here);
    let mut wrong = Vec::new();
    for (input, line) in COMMANDS {
        let content = fs::read(here.join(input)).unwrap_or_default();
        let extension = Path::new(input).extension().unwrap_or_default();
        let [hard, soft] = ["hard", "soft"].map(|stem| Path::new(stem).with_extension(extension).display().to_string());
        let _ = (fs::remove_file(here.join(&hard)), fs::remove_file(here.join(&soft)));
        fs::hard_link(here.join(input), here.join(&hard)).unwrap();
        symlink(input, here.join(&soft)).unwrap();
        // The name of the input file, a hard link to it, and a symbolic link to it.
        let names: &[&str] = if line.contains("OUT") { &[input, &hard, &soft] } else { &[input] };
        for name in names {
            let line = line.replace("OUT", name);
            let Ran { code, stderr, .. } = run(here, &line);
            if code != Some(2)
                || !stderr.contains(
                    "expected another file to write, because this command also reads \
                                                    this file",
                )
            {
                wrong.push(format!("mcpsim {line}: code {code:?}: {stderr}"));
            }
            if fs::read(here.join(input)).unwrap_or_default() != content {
                wrong.push(format!("mcpsim {line}: {input} has changed"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_limit_of_file_sizes_is_an_error_that_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    prepare(here);
    let before = files(here);
    let mut wrong = Vec::new();
    for line in WRITERS {
        let mut command = std::process::Command::new("sh");
        command.arg("-c").arg("ulimit -f 0; exec \"$@\"").arg("sh").arg(mcpsim(here).get_program());
        command.current_dir(here).args(line.split_whitespace());
        let Ran { code, stderr, .. } = finish(command.output().unwrap());
        if code != Some(2) || !stderr.to_lowercase().contains("file too large") {
            wrong.push(format!("mcpsim {line}: code {code:?}: {stderr}"));
        }
        // The points of a study that are finished remain on disk, because the study can be resumed.
        let left: Vec<String> = files(here)
            .into_iter()
            .filter(|name| !before.contains(name) && !name.contains("/new-study/points"))
            .collect();
        if !left.is_empty() {
            wrong.push(format!("mcpsim {line}: leaves {left:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

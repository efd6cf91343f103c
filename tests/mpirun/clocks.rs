//! Tests that recordings synchronise host clocks that have an offset and a drift.

use std::process::Command;

use super::real::{directory, file, limited, real_mpis, simulate, told};
use super::support::open_mpi_environment;
use super::two_nodes::{NETWORK, on_two_nodes, two_nodes};

/// Offset of the second node's clock in seconds. The next constant is the drift of this clock.
const AHEAD: f64 = 1000.0;
const GAIN: f64 = 0.01;

#[test]
fn a_clock_that_is_ahead_and_drifts_is_found_out() {
    let Some(_alone) = two_nodes() else { return };
    let Some(mpi) = real_mpis().iter().find(|mpi| mpi.is_open_mpi) else { return };
    let directory = directory();
    let [program, library, clock, trace] =
        ["seconds", "lib.so", "ahead.so", "clocks.trace"].map(|name| directory.path().join(name));
    mpi.compile(&file("tests/mpirun/two_seconds.c"), &program).unwrap();
    let made = simulate(&format!("trace lib --mpicc {} -o {}", mpi.compiler(), library.display()));
    assert_eq!(made.code, Some(0), "{}", told("trace lib", &made));
    let source = file("tests/mpirun/ahead.c");
    let made = limited(Command::new("cc").args(["-O1", "-shared", "-fPIC", "-o"]).arg(&clock).arg(source));
    assert_eq!(made.code, Some(0), "{}", told("cc", &made));
    let launch = format!(
        "exec {} --oversubscribe --bind-to none --mca plm_rsh_agent $REMOTE_SHELL --mca oob_tcp_if_include {NETWORK} \
         --mca btl_tcp_if_include {NETWORK} --mca pml ob1 --mca btl tcp,self --host 10.77.0.1:1,10.77.0.2:1 -n 2 \
         -x LD_PRELOAD={}:{} -x AHEAD_HOST=east -x AHEAD_NS={:.0} -x AHEAD_PPM={:.0} -x MCPSIM_TRACE={} {}",
        mpi.launcher,
        library.display(),
        clock.display(),
        AHEAD * 1e9,
        GAIN * 1e6,
        trace.display(),
        program.display()
    );
    let ran = limited(on_two_nodes(directory.path(), &launch).envs(open_mpi_environment()));
    assert!(ran.code == Some(0) && trace.exists(), "{}", told("two seconds", &ran));
    let info = simulate(&format!("trace info {}", trace.display()));
    let line = info.stdout.lines().find_map(|line| line.strip_prefix("clocks")).unwrap_or_default();
    let words: Vec<&str> = line.split_whitespace().collect();
    // The line has the format `east: 1045.123456 s ahead of rank 0, gained 9901.0 us per second`.
    let ["east:", ahead, "s", "ahead", "of", "rank", "0,", "gained", gained, ..] = words[..] else {
        panic!("{}", told("info", &info))
    };
    let (ahead, gained): (f64, f64) = (ahead.parse().unwrap(), gained.parse().unwrap());
    // The clock counts from the start of the host and has drifted since that time. The test does not know the amount of
    // the drift, but the drift is not negative.
    assert!(ahead >= AHEAD, "{line}");
    // A second of the drifting clock is shorter by this number of microseconds when the other clock measures it.
    let wanted = GAIN / (1.0 + GAIN) * 1e6;
    assert!((gained - wanted).abs() < 0.25 * wanted, "{line}: expected {wanted} us per second");
}

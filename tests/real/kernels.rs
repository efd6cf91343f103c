//! Tests of programs whose BLAS functions take their time from a table and compute nothing.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::real;
use serde_json::{Value, json};

/// A machine whose cores need twice the time of the host for code.
const PLATFORM: &str = r#"
name = "slow"
nct = [1, 1, 2]
[core]
flops = "1 Gflop/s"
instructions = "1 Ginstr/s"
memory_bandwidth = "1 GB/s"
scale_factor = 2
[cmp]
memory_bandwidth = "1 GB/s"
[intra_cmp]
latency = "1 us"
bandwidth = "4 GB/s"
[inter_cmp]
latency = "1 us"
bandwidth = "4 GB/s"
[inter_node]
latency = "1 us"
bandwidth = "4 GB/s"
"#;

/// Operations per second of each kernel: 1 to 10 G, in the order of the table.
fn rates() -> String {
    let names = ["gemm", "syrk", "trsm", "gemv", "ger", "trsv", "axpy", "scal", "swap", "amax"];
    let line = |letter: &str, times: usize| {
        let rate = |(index, name): (usize, &&str)| format!("{letter}{name} = [[1, {}e9]]\n", (index + 1) * times);
        names.iter().enumerate().map(rate).collect::<String>()
    };
    format!("machine = \"m\"\n[rates]\n{}{}", line("d", 1), line("s", 2))
}

fn ran(options: &str, program: &Path, arguments: &str) -> (String, Value) {
    crate::folded::ran(program, &format!("{options} --compute skip"), arguments)
}

fn written(directory: &Path, name: &str, text: &str) -> PathBuf {
    std::fs::write(directory.join(name), text).unwrap();
    directory.join(name)
}

#[test]
fn kernels_take_their_operations_divided_by_their_rate() {
    let directory = real::directory();
    let here = directory.path();
    let program = here.join("kernels");
    real::compile(&real::file("tests/real/kernels.c"), "--model-blas -O1 -std=gnu11 -Wno-strict-prototypes", &program)
        .unwrap();
    let (platform, rates) = (written(here, "slow.toml", PLATFORM), written(here, "rates.toml", &rates()));
    let options = format!("--platform {} --ranks 1 --kernels {}", platform.display(), rates.display());
    let (said, outcome) = ran(&options, &program, "");
    // 2 * 100 * 50 * 20 operations take 200 us at 1 Gflop/s on the host, and twice as long on the machine.
    assert!(said.contains("dgemm: 400 us") && !said.contains("wrong indices"), "{said}");
    // Operations of all calls of each function, and its rate in Gflop/s.
    let (m, n, k) = (100, 50, 20);
    let expected = [
        ("dgemm", 2, 2 * (2 * m * n * k), 1),
        ("sgemm", 1, 2 * m * n * k, 2),
        ("dsyrk", 2, 2 * ((n + 1) * n * k), 2),
        ("dtrsm", 2, m * m * n + m * n * n, 3),
        ("strsm", 2, m * m * n + m * n * n, 6),
        ("dgemv", 2, 2 * (2 * m * n), 4),
        ("dger", 2, 2 * (2 * m * n), 5),
        ("dtrsv", 2, 2 * (n * n), 6),
        ("daxpy", 2, 2 * (2 * n), 7),
        ("dscal", 1, n, 8),
        ("dswap", 1, n, 9),
        ("damax", 201, 200 * n + 1, 10),
    ];
    let mut sum = 0;
    for (name, calls, operations, rate) in expected {
        let found = &outcome["program"]["modelled_kernels"][name];
        let time = found["time_ps"].as_u64().unwrap();
        // Each call is rounded to a picosecond.
        assert_eq!(found["calls"], json!(calls), "{name}: {found}");
        let exact = operations as f64 * 1e3 * 2.0 / f64::from(rate);
        assert!((time as f64 - exact).abs() <= f64::from(calls), "{name}: {time} ps, expected {exact}");
        sum += time;
    }
    assert_eq!(outcome["program"]["modelled_kernels"].as_object().unwrap().len(), expected.len());
    // The two clock queries take 20 ns each.
    assert_eq!(outcome["predicted_ps"], json!(sum + 2 * 20_000));
    assert!(said.contains("220 calls of BLAS functions computed nothing"), "{said}");
}

#[test]
fn a_factorization_with_folded_memory_and_modelled_kernels_sends_the_same_messages() {
    let directory = real::directory();
    let here = directory.path();
    let archive = here.join("libnaive.a");
    real::compile(&real::file("tests/real/blas.c"), "-c -O2", &here.join("blas.o")).unwrap();
    assert!(Command::new("ar").arg("rcs").arg(&archive).arg(here.join("blas.o")).status().unwrap().success());
    let [computing, modelled] = ["computing", "modelled"].map(|name| here.join(name));
    let source = real::file("tests/real/lu.c");
    let library = archive.display().to_string();
    real::compile_with(&source, "-O2", &computing, &library).unwrap();
    real::compile_with(&source, "-O2 --model-blas", &modelled, &library).unwrap();
    let rates = written(here, "rates.toml", &rates());
    let shape = "--nct 2,1,2";
    let (said, expected) = ran(shape, &computing, "256 16");
    assert!(said.contains("the solution is right"), "{said}");
    // The matrix has 128 KiB per rank. Panels are smaller and private, because pivots may not be.
    let options = format!("{shape} --kernels {} --share-memory 100KiB", rates.display());
    let (said, found) = ran(&options, &modelled, "256 16");
    assert!(said.contains("the solution is wrong"), "{said}");
    assert_eq!(found["messages"], expected["messages"]);
    for level in ["intra_cmp", "inter_node"] {
        let sent = |outcome: &Value| ["count", "bytes"].map(|key| outcome["levels"][level][key].clone());
        assert_eq!(sent(&found), sent(&expected), "{level}");
    }
    // 16 steps of 4 ranks, without the 10 calls of ranks that have no columns after the block of the step.
    assert_eq!(found["program"]["modelled_kernels"]["dtrsm"]["calls"], json!(54));
    let blocks = found["program"]["folded_memory"]["blocks"].as_u64().unwrap();
    assert_eq!(blocks, 4);
}

#[test]
fn missing_and_invalid_rates_are_named() {
    let directory = real::directory();
    let here = directory.path();
    let source = here.join("one.c");
    let code = "#include <mpi.h>\nvoid daxpy_(const int *);\nint main(int c, char **v) { MPI_Init(&c, &v);\n\
        daxpy_(&(int){5}); return MPI_Finalize(); }\n";
    std::fs::write(&source, code).unwrap();
    let program = here.join("one");
    real::compile(&source, "-O1 --model-blas", &program).unwrap();
    let other = written(here, "other.toml", "machine = \"m\"\n[rates]\ndgemm = [[1, 1e9]]\n");
    let wrong = written(here, "wrong.toml", "machine = \"m\"\n[rates]\ndaxpy = [[1, 1e9], [1, 2e9]]\n");
    for (kernels, code, text) in [
        (
            "",
            1,
            "daxpy: the program was linked with --model-blas, and this function takes its time from a table: expected --kernels FILE; \"mcpsim measure --kernels -o kernels.toml\" measures one",
        ),
        (&format!("--kernels {}", other.display()), 1, "expected the rates of this kernel; \"mcpsim measure --kernels"),
        (
            &format!("--kernels {}", wrong.display()),
            2,
            "rates.daxpy: expected pairs [size, operations per second] with increasing sizes",
        ),
        ("--kernels no.toml", 2, "no.toml: no such file"),
    ] {
        let ran = real::simulate(&format!("--nct 1,1,1 {kernels} {}", program.display()));
        assert_eq!(ran.code, Some(code), "{}", real::told(kernels, &ran));
        assert!(ran.stderr.contains(text), "{kernels}: {}", ran.stderr);
    }
}

/// The functions of the measured library return at once.
#[test]
fn rates_of_a_library_are_measured_and_used() {
    let directory = real::directory();
    let here = directory.path();
    let names = ["gemm", "syrk", "trsm", "gemv", "ger", "trsv", "axpy", "scal", "swap"];
    let functions = ["s", "d"].map(|letter| {
        let all = names.map(|name| format!("void {letter}{name}_(void) {{}}\n")).concat();
        format!("{all}int i{letter}amax_(void) {{ return 1; }}\n")
    });
    let source = written(here, "fast.c", &functions.concat());
    let [library, rates, program] = ["libfast.so", "rates.toml", "kernels"].map(|name| here.join(name));
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    assert!(compiled.unwrap().success());
    let line = format!("measure --kernels --force --blas {} -o {} --name here", library.display(), rates.display());
    let ran_line = real::simulate(&line);
    assert_eq!(ran_line.code, Some(0), "{}", real::told(&line, &ran_line));
    let text = std::fs::read_to_string(&rates).unwrap();
    assert!(
        text.contains("machine = \"here\"") && text.contains("dgemm = [[") && text.contains("samax = [["),
        "{text}"
    );
    real::compile(&real::file("tests/real/kernels.c"), "--model-blas -O1 -std=gnu11 -Wno-strict-prototypes", &program)
        .unwrap();
    let (said, outcome) = ran(&format!("--nct 1,1,1 --kernels {}", rates.display()), &program, "");
    assert!(said.contains("220 calls of BLAS functions") && outcome["predicted_ps"].as_u64() > Some(0), "{said}");
    for (library, text) in [
        ("/no/libblas.so", "expected a BLAS library (--blas LIBRARY)"),
        ("libm.so.6", "the library has no function sgemm_"),
    ] {
        let line = format!("measure --kernels --blas {library}");
        let ran = real::simulate(&line);
        assert_eq!(ran.code, Some(2), "{}", real::told(&line, &ran));
        assert!(ran.stderr.contains(text), "{}", ran.stderr);
    }
}

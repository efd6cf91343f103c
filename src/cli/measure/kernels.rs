//! `mcpsim measure --kernels`: measures functions of the host's BLAS library, for programs that are linked with
//! `--model-blas`.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_int, c_void};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::measure::Summary;
use crate::process::{self, KERNELS, KernelRates, PRECISIONS};

use super::super::exit::Failure;
use super::super::output::{self, OutputTarget};
use super::MeasureArgs;
use super::conclude;
use super::host::{self, HostLoad, thread_time};

/// Library that is measured unless the user names another one.
const LIBRARY: &str = "libblas.so.3";

/// Number of timed samples, whose median is the result.
const SAMPLES: usize = 5;
/// Least duration of a sample in seconds.
const SAMPLE: f64 = 1e-3;

/// Sizes of kernels with three loops, with two loops (edge of the matrix), and with one loop.
const CUBES: [usize; 10] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
const EDGES: [usize; 7] = [1, 4, 16, 64, 256, 1024, 2048];
const LENGTHS: [usize; 7] = [1, 8, 64, 512, 4096, 1 << 16, 1 << 20];
/// Least length of the other edges of matrices of kernels with three loops.
const LONG: usize = 256;
/// Number of elements of each operand.
const ELEMENTS: usize = 2048 * 2048;

/// A function of BLAS with the conventions of Fortran. All arguments are addresses. Functions ignore arguments beyond
/// their own.
type BlasFunction = unsafe extern "C" fn(
    *const c_void,
    *const c_void,
    *const c_void,
    *const c_void,
    *const c_void,
    *const c_void,
    *const c_void,
    *const c_void,
    *const c_void,
    *const c_void,
    *const c_void,
    *const c_void,
    *const c_void,
    // Lengths of the texts, which follow the other arguments.
    usize,
    usize,
);

/// Measures the kernels and writes their rates.
pub(super) fn measure(args: &MeasureArgs) -> Result<(), Failure> {
    let target = OutputTarget::new("--output", &args.output)?;
    process::set_default_threads();
    let path = args.blas.as_deref().unwrap_or(Path::new(LIBRARY));
    let library = BlasLibrary::load(path).map_err(|what| Failure::bad_input(format!("{}: {what}", path.display())))?;
    let before = HostLoad::now();
    let mut rates =
        KernelRates { machine: args.name(), library: path.display().to_string(), rates: Default::default() };
    let mut operands = BlasOperands::new();
    for (is_double, letter) in PRECISIONS.iter().enumerate() {
        operands.fill(is_double == 1);
        for kernel in KERNELS {
            let name = format!("{letter}{kernel}");
            let function = library
                .function(letter, kernel)
                .map_err(|what| Failure::bad_input(format!("{}: {what}", path.display())))?;
            let sizes = sizes(kernel);
            let all = sizes.iter().map(|&size| {
                let call = KernelCall::new(kernel, size);
                (call.size, significant(call.operations / call.seconds(function, &mut operands)))
            });
            rates.rates.insert(name, all.collect());
        }
    }
    let doubts = HostLoad::now().doubts_since(&before);
    if !doubts.is_empty() && !args.force {
        return Err(conclude::unusable("nothing", "", &doubts));
    }
    for doubt in &doubts {
        let _ = writeln!(std::io::stderr(), "note: {doubt}");
    }
    let text = toml::to_string(&rates).map_err(|error| Failure::bad_input(error.to_string()))?;
    let about = format!(
        "# Rates of BLAS functions on one core: pairs of a size and operations per second, by CPU time; each value is the\n\
         # median of {SAMPLES} samples.\n# {}, {}, mcpsim {}\n",
        host::processor(),
        host::today(),
        env!("CARGO_PKG_VERSION")
    );
    target.put(&(about + &text))?;
    if let (OutputTarget::File(path), false) = (&target, args.quiet) {
        output::print(&format!("the rates of {} are written to {}\n", rates.library, path.display()))?;
    }
    Ok(())
}

fn sizes(kernel: &str) -> &'static [usize] {
    match kernel {
        "gemm" | "syrk" | "trsm" => &CUBES,
        "gemv" | "ger" | "trsv" => &EDGES,
        _ => &LENGTHS,
    }
}

/// Rounds a rate to four digits.
fn significant(rate: f64) -> f64 {
    let unit = 10f64.powf((rate.log10() - 3.0).floor());
    (rate / unit).round() * unit
}

/// Returns the median of the seconds of one call of `run`.
fn seconds(mut run: impl FnMut()) -> f64 {
    let mut time = |calls: u64| {
        let start = thread_time();
        (0..calls).for_each(|_| run());
        thread_time() - start
    };
    let mut calls = 1;
    while time(calls) < SAMPLE && calls < 1 << 30 {
        calls *= 2;
    }
    // A clock of coarse resolution must not yield a time of zero.
    let samples: Vec<f64> = (0..SAMPLES).map(|_| time(calls).max(1e-9) / calls as f64).collect();
    Summary::of(&samples).map_or(1.0, |summary| summary.median)
}

/// A BLAS library, which is never unloaded.
struct BlasLibrary(*mut c_void);

impl BlasLibrary {
    fn load(path: &Path) -> Result<BlasLibrary, String> {
        let expected = "expected a BLAS library (--blas LIBRARY)";
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| expected.to_owned())?;
        // SAFETY: the name ends in a zero byte. Loading runs the library's constructors, as the user requests.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if !handle.is_null() {
            return Ok(BlasLibrary(handle));
        }
        // SAFETY: after a failure of `dlopen` the text is null or valid until the next call.
        let why = unsafe {
            let text = libc::dlerror();
            if text.is_null() { "cannot be loaded".into() } else { CStr::from_ptr(text).to_string_lossy() }
        };
        Err(format!("{why}; {expected}"))
    }

    fn function(&self, letter: &str, kernel: &str) -> Result<BlasFunction, String> {
        let name = if kernel == "amax" { format!("i{letter}amax_") } else { format!("{letter}{kernel}_") };
        let symbol = CString::new(name.as_str()).expect("names of kernels have no zero byte");
        // SAFETY: the handle belongs to a loaded library, and the name ends in a zero byte.
        let address = unsafe { libc::dlsym(self.0, symbol.as_ptr()) };
        match address.is_null() {
            true => Err(format!("the library has no function {name}: expected a BLAS library (--blas LIBRARY)")),
            // SAFETY: all functions of BLAS have addresses as arguments, and `KernelCall` passes them in order.
            false => Ok(unsafe { std::mem::transmute::<*mut c_void, BlasFunction>(address) }),
        }
    }
}

/// Matrices and vectors of a call. The memory has room for elements of both precisions.
struct BlasOperands {
    memory: [Vec<f64>; 3],
    factor: [f64; 1],
}

impl BlasOperands {
    fn new() -> BlasOperands {
        BlasOperands { memory: [(); 3].map(|()| vec![0.0; ELEMENTS]), factor: [0.0] }
    }

    /// Fills the operands with small values, so that repeated calls do not overflow, and no function skips zeros.
    fn fill(&mut self, is_double: bool) {
        let value = 1e-3;
        let element = match is_double {
            true => f64::to_bits(value),
            false => u64::from(f32::to_bits(value as f32)) * 0x1_0000_0001,
        };
        self.memory.iter_mut().for_each(|memory| memory.fill(f64::from_bits(element)));
        let factor = -1.0;
        self.factor[0] = match is_double {
            true => factor,
            false => f64::from_bits(u64::from(f32::to_bits(factor as f32))),
        };
    }
}

/// A call of a kernel.
struct KernelCall {
    kernel: &'static str,
    /// Edges of the matrices, or the length of the vectors.
    edges: [c_int; 3],
    operations: f64,
    /// Size of the call as `blas.c` computes it.
    size: f64,
}

impl KernelCall {
    fn new(kernel: &'static str, size: usize) -> KernelCall {
        let long = size.max(LONG);
        let edges = match kernel {
            "gemm" | "syrk" => [long, long, size],
            "trsm" => [size, long, 0],
            _ => [size, size, 0],
        };
        let [m, n, k] = edges.map(|edge| edge as f64);
        let (operations, size) = match kernel {
            "gemm" => (2.0 * m * n * k, k),
            "syrk" => ((n + 1.0) * n * k, k),
            "trsm" => (m * m * n, m),
            "gemv" | "ger" => (2.0 * m * n, m * n),
            "trsv" => (n * n, n * n),
            "axpy" => (2.0 * n, n),
            _ => (n, n),
        };
        KernelCall { kernel, edges: edges.map(|edge| edge as c_int), operations, size }
    }

    /// Returns the arguments of the call in the order of BLAS.
    fn arguments(&self, operands: &mut BlasOperands) -> [*const c_void; 13] {
        let text = |letter: &'static CStr| letter.as_ptr().cast::<c_void>();
        let [m, n, k] = self.edges.each_ref().map(|edge| std::ptr::from_ref(edge).cast::<c_void>());
        let [a, b, c] = operands.memory.each_mut().map(|memory| memory.as_mut_ptr().cast_const().cast::<c_void>());
        let factor = operands.factor.as_ptr().cast::<c_void>();
        let one = std::ptr::from_ref::<c_int>(&1).cast::<c_void>();
        let (no, upper, left, unit) = (text(c"N"), text(c"U"), text(c"L"), text(c"U"));
        let arguments: &[*const c_void] = match self.kernel {
            "gemm" => &[no, no, m, n, k, factor, a, m, b, k, factor, c, m],
            "syrk" => &[upper, no, n, k, factor, a, n, factor, c, n],
            "trsm" => &[left, upper, no, unit, m, n, factor, a, m, b, m],
            "gemv" => &[no, m, n, factor, a, m, b, one, factor, c, one],
            "ger" => &[m, n, factor, b, one, c, one, a, m],
            "trsv" => &[upper, no, unit, n, a, n, b, one],
            "axpy" => &[n, factor, a, one, b, one],
            "scal" => &[n, factor, a, one],
            "swap" => &[n, a, one, b, one],
            _ => &[n, a, one],
        };
        std::array::from_fn(|index| arguments.get(index).copied().unwrap_or(std::ptr::null()))
    }

    /// Returns the seconds of the call.
    fn seconds(&self, function: BlasFunction, operands: &mut BlasOperands) -> f64 {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m] = self.arguments(operands);
        seconds(|| {
            // SAFETY: the arguments are in the order of BLAS. The operands have room for the edges, which are at most
            // 2048, and live until the call has returned.
            unsafe { function(a, b, c, d, e, f, g, h, i, j, k, l, m, 1, 1) };
        })
    }
}

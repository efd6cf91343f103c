//! Tests of real programs from outside: compilation, runs, recording and replay, and the same programs under real MPIs.

#[path = "support/real.rs"]
mod real;
#[path = "support/binary.rs"]
mod support;

#[path = "real/as_built.rs"]
mod as_built;
#[path = "real/as_built_ends.rs"]
mod as_built_ends;
#[path = "real/as_built_inputs.rs"]
mod as_built_inputs;
#[path = "real/buffers.rs"]
mod buffers;
#[path = "real/cc.rs"]
mod cc;
#[path = "real/conformance.rs"]
mod conformance;
#[path = "real/folded.rs"]
mod folded;
#[path = "real/heap.rs"]
mod heap;
#[path = "real/isolation.rs"]
mod isolation;
#[path = "real/kernels.rs"]
mod kernels;
#[path = "real/languages.rs"]
mod languages;
#[path = "real/mistakes.rs"]
mod mistakes;
#[path = "real/openmp.rs"]
mod openmp;
#[path = "real/profiles.rs"]
mod profiles;
#[path = "real/programs.rs"]
mod programs;
#[path = "real/programs_c.rs"]
mod programs_c;
#[path = "real/recorded.rs"]
mod recorded;
#[path = "real/recorded_more.rs"]
mod recorded_more;
#[path = "real/recorded_opened.rs"]
mod recorded_opened;
#[path = "real/recorded_threads.rs"]
mod recorded_threads;
#[path = "support/sends.rs"]
mod sends;
#[path = "real/threads.rs"]
mod threads;
#[path = "real/threads_cpp20.rs"]
mod threads_cpp20;
#[path = "real/threads_ends.rs"]
mod threads_ends;
#[path = "real/threads_replayed.rs"]
mod threads_replayed;
#[path = "real/together.rs"]
mod together;
#[path = "real/traces.rs"]
mod traces;

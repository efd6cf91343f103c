//! Random applications and machines: every statement of the application language and every key of a platform file.
#![allow(dead_code)]

#[path = "random/app.rs"]
mod app;
#[path = "random/machine.rs"]
mod machine;

use std::path::Path;

use mcpsim::run::{Given, PredictError, RunRequest};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use app::application;
#[allow(unused_imports)]
pub use machine::KEYS;
use machine::machine;

/// A random choice of texts.
pub struct Draw(Pcg64Mcg);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Draw(Pcg64Mcg::seed_from_u64(seed))
    }

    /// Returns a number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0.random_range(0..limit)
    }

    /// Returns one of these texts.
    pub fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    /// Returns true with probability 1 / `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// A random run.
#[derive(Clone, Debug)]
pub struct Case {
    /// File of the application.
    pub app: String,
    /// Keys of the machine and the run, in the form of `--set`.
    pub sets: Vec<String>,
}

impl Case {
    /// Creates the run of this seed, with the machine's keys that are valid together. `directory` is for its files.
    pub fn new(seed: u64, directory: &Path) -> Case {
        let mut draw = Draw::new(seed);
        let shape = draw.one(&["2, 1, 1", "3, 1, 2", "2, 2, 2", "4, 1, 1", "3, 2, 1", "5, 1, 1", "1, 2, 2"]);
        let sets =
            vec![format!("platform.nct=[{shape}]"), format!("run.seed={seed}"), "run.max_events=1000000".to_owned()];
        let mut case = Case { app: application(&mut draw), sets };
        machine::write_files(directory);
        for key in machine(&mut draw) {
            case.sets.push(key);
            if case.request(directory).and_then(|request| request.resolve()).is_err() {
                case.sets.pop();
            }
        }
        case
    }

    /// Returns the request of the run; the machine's files are in `directory`.
    pub fn request(&self, directory: &Path) -> Result<RunRequest, PredictError> {
        let name = directory.join("app.toml").display().to_string();
        let platform = Some(directory.join("machine.toml"));
        let request = RunRequest::of_text(&name, &self.app)?.with(Given { platform, ..Given::default() });
        self.sets.iter().flat_map(|sets| sets.lines()).try_fold(request, |request, set| request.set(set))
    }
}

//! Random applications and machines, which together use every statement of applications and every key of platform
//! files.
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

/// Generator of random choices for random tests.
pub struct Draw(Pcg64Mcg);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Draw(Pcg64Mcg::seed_from_u64(seed))
    }

    /// Returns a random number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0.random_range(0..limit)
    }

    /// Returns a randomly chosen text from `of`.
    pub fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    /// Returns true with the probability 1 / `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// A random simulation run: an application and settings.
#[derive(Clone, Debug)]
pub struct Case {
    /// Text of the random application file.
    pub app: String,
    /// Keys of the machine and the run, in the form of the option `--set`.
    pub sets: Vec<String>,
}

impl Case {
    /// Creates the random run for the seed `seed`, with random machine keys that are valid together. Files that machine
    /// keys name are written to `directory`.
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

    /// Returns the request of the random run. The files that machine keys name are in `directory`.
    pub fn request(&self, directory: &Path) -> Result<RunRequest, PredictError> {
        let name = directory.join("app.toml").display().to_string();
        let platform = Some(directory.join("machine.toml"));
        let request = RunRequest::of_text(&name, &self.app)?.with(Given { platform, ..Given::default() });
        self.sets.iter().flat_map(|sets| sets.lines()).try_fold(request, |request, set| request.set(set))
    }
}

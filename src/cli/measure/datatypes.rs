//! Timing of operations on the derived datatypes of the MPI library.

#![allow(unsafe_code)]

use std::hint::black_box;

use mpi::datatype::{MutView, UserDatatype, View};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Equivalence};

use crate::measure::{MANY_BLOCKS, ProgramVec, Summary};

/// Size of a datatype block, and distance between the starts of consecutive blocks, in bytes.
const BLOCK: usize = 8;
const APART: usize = 16;
/// Number of timed runs, whose median is the result, and number of datatypes created in each timed run.
const RUNS: usize = 101;
const TIMES: u32 = 20;

/// Returns the seconds of a derived datatype with one block and of a datatype with [`MANY_BLOCKS`] blocks. The measured
/// time covers creation, commit, pack, unpack and free of the datatype.
pub(super) fn time_datatypes() -> [f64; 2] {
    let world = SimpleCommunicator::world();
    [1, MANY_BLOCKS as usize].map(|blocks| {
        let lengths = vec![BLOCK as i32; blocks];
        let starts: Vec<i32> = (0..blocks).map(|block| (block * APART) as i32).collect();
        let mut data = ProgramVec::new(1u8, blocks * APART);
        let mut packed = ProgramVec::new(0u8, blocks * BLOCK + 1024);
        let run = || {
            for _ in 0..TIMES {
                let datatype = UserDatatype::indexed(&lengths, &starts, &u8::equivalent_datatype());
                // SAFETY: the datatype's last byte is that of the last block, (blocks - 1) * APART + BLOCK bytes from
                // the start, inside `data`. The bytes of `data` may have any value. The data that MPI_Unpack reads were
                // packed with the same datatype.
                unsafe {
                    world.pack_into(&View::with_count_and_datatype(&data[..], 1, &datatype), &mut packed, 0);
                    let mut view = MutView::with_count_and_datatype(&mut data[..], 1, &datatype);
                    world.unpack_into(&packed, &mut view, 0);
                }
                black_box(&mut data);
            }
        };
        median(run) / f64::from(TIMES)
    })
}

/// Returns the seconds that `run` takes, as the median of [`RUNS`] calls.
pub(super) fn median(mut run: impl FnMut()) -> f64 {
    let runs: Vec<f64> = (0..RUNS)
        .map(|_| {
            let started = mpi::time();
            run();
            mpi::time() - started
        })
        .collect();
    Summary::of(&runs).map_or(0.0, |summary| summary.median)
}

//! Functions that synchronise one-sided communication (MPI-3.1, section 11.5).
#![allow(unsafe_code)]

use std::ffi::c_int;

use super::windows::on;
use mcpsim_core::mpi::abi::Handle;
use mcpsim_core::rank::{Call, Requests, Which};

mpi_functions! {
    fn MPI_Win_fence(p; assert: c_int, win: Handle) {
        on(p, win, |window| window.fence(p, assert))
    }
    fn MPI_Win_post(p; group: Handle, assert: c_int, win: Handle) {
        on(p, win, |window| window.post(p, &p.group(group)?, assert))
    }
    fn MPI_Win_start(p; group: Handle, assert: c_int, win: Handle) {
        on(p, win, |window| window.start(p, p.group(group)?, assert))
    }
    fn MPI_Win_complete(p; win: Handle) {
        on(p, win, |window| window.finish(p))
    }
    fn MPI_Win_wait(p; win: Handle) {
        on(p, win, |window| window.wait(p))
    }
    fn MPI_Win_test(p; win: Handle, flag: *mut c_int) {
        on(p, win, |window| {
            *flag = c_int::from(window.test(p)?);
            Ok(())
        })
    }
    fn MPI_Win_lock(p; lock_type: c_int, rank: c_int, assert: c_int, win: Handle) {
        on(p, win, |window| window.lock(p, lock_type, window.target(rank)?, assert))
    }
    fn MPI_Win_unlock(p; rank: c_int, win: Handle) {
        on(p, win, |window| window.unlock(p, window.target(rank)?))
    }
    fn MPI_Win_lock_all(p; assert: c_int, win: Handle) {
        on(p, win, |window| window.lock_all(p, assert))
    }
    fn MPI_Win_unlock_all(p; win: Handle) {
        on(p, win, |window| window.unlock_all(p))
    }
    fn MPI_Win_flush(p; rank: c_int, win: Handle) {
        on(p, win, |window| {
            let target = window.target(rank)?;
            window.check_flush(target)?;
            target.map_or(Ok(()), |target| window.flush(p, Some(target)))
        })
    }
    fn MPI_Win_flush_all(p; win: Handle) {
        on(p, win, |window| {
            window.check_flush(None)?;
            window.flush(p, None)
        })
    }
    fn MPI_Win_flush_local(p; rank: c_int, win: Handle) {
        on(p, win, |window| {
            let target = window.target(rank)?;
            window.check_flush(target)?;
            target.map_or(Ok(()), |target| window.flush_local(p, Some(target)))
        })
    }
    fn MPI_Win_flush_local_all(p; win: Handle) {
        on(p, win, |window| {
            window.check_flush(None)?;
            window.flush_local(p, None)
        })
    }
    fn MPI_Win_sync(p; win: Handle) {
        on(p, win, |_| {
            // A rank may call MPI_Win_sync in a loop to poll the rank's window memory. A call of MPI_Win_sync lets
            // one-sided operations of other ranks proceed.
            let polls = p.before_poll();
            p.call_done(Call::Test { requests: Requests::new(), which: Which::Some, poll: true });
            p.after_poll(polls, false);
            Ok(())
        })
    }
}

//! Functions for one-sided operations (MPI-3.1, section 11.3).
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use super::windows::on;
use crate::mpi_api::error::{self, MpiError, MpiResult, expect};
use crate::mpi_api::process::MpiProcess;
use crate::mpi_api::window::{Back, CheckedOperation, OriginMemory, TargetOperation, Window};
use mcpsim_core::mpi::abi::{self, Aint, Handle};
use mcpsim_core::mpi::datatype::{Datatype, Type, TypeGroup};
use mcpsim_core::mpi::op::{self, Builtin};

type Origin = (*const c_void, c_int, Handle);
type Result = (*mut c_void, c_int, Handle);
type Target = (c_int, Aint, c_int, Handle);

/// Origin buffer, target range and result buffer of a one-sided operation, after the check of the arguments.
struct Ends {
    origin: Option<OriginMemory>,
    result: Option<OriginMemory>,
    target: Option<u32>,
    displacement: i64,
    count: usize,
    datatype: Type,
}

fn place(p: &MpiProcess, (base, count, datatype): Origin, name: &str) -> MpiResult<OriginMemory> {
    let count = error::count(count, &format!("the {name} count"))?;
    Ok(OriginMemory { base: base.cast_mut().cast(), count, datatype: p.committed(datatype)? })
}

fn fits(from: usize, from_name: &str, to: usize, to_name: &str) -> MpiResult {
    expect(from <= to, abi::MPI_ERR_TRUNCATE, || {
        format!("{from} bytes of the {from_name} do not fit in {to} bytes of the {to_name}")
    })
}

impl Ends {
    fn new(
        p: &MpiProcess,
        window: &Window,
        origin: Option<Origin>,
        result: Option<Result>,
        (rank, displacement, count, datatype): Target,
    ) -> MpiResult<Self> {
        let target = window.target(rank)?;
        let origin = origin.map(|origin| place(p, origin, "origin")).transpose()?;
        let result = result.map(|(base, count, of)| place(p, (base, count, of), "result")).transpose()?;
        let count = error::count(count, "the target count")?;
        let datatype = p.committed(datatype)?;
        let there = datatype.packed_size(count);
        if let Some(origin) = &origin {
            fits(origin.datatype.packed_size(origin.count), "origin", there, "target")?;
        }
        if let Some(result) = &result {
            fits(there, "target", result.datatype.packed_size(result.count), "origin")?;
        }
        Ok(Ends { origin, result, target, displacement: displacement as i64, count, datatype })
    }

    /// Creates the one-sided operation and packs the data of the origin buffer.
    ///
    /// # Safety
    /// The origin buffer holds the items that the one-sided operation sends.
    unsafe fn work(self, action: TargetOperation, op: Option<Handle>) -> CheckedOperation {
        let Ends { origin, result, target, displacement, count, datatype } = self;
        let mut data = Vec::new();
        if let (Some(origin), true) = (origin, target.is_some()) {
            // SAFETY: the caller guarantees that the origin buffer holds `count` items.
            unsafe { origin.datatype.pack(origin.base, origin.count, &mut data) };
        }
        let back = result.map_or(Back::Nothing, Back::Into);
        CheckedOperation { action, target, displacement, count, datatype, op, data, back }
    }
}

/// Returns the reduction operator of an accumulate operation for `count` items of `datatype`.
fn accumulating(handle: Handle, (count, datatype): (usize, &Datatype), fetches: bool) -> MpiResult<Builtin> {
    let failed = |what: String| MpiError::new(abi::MPI_ERR_OP, what);
    let builtin = op::builtin(handle).ok_or_else(|| {
        failed(format!("{handle:#x} is no predefined operation: expected one (MPI-3.1, section 11.3.4)"))
    })?;
    if builtin == Builtin::NoOp && !fetches {
        return Err(failed("MPI_NO_OP: expected only in MPI_Get_accumulate and MPI_Fetch_and_op".to_owned()));
    }
    let takes = builtin.only_accumulates()
        || datatype.packed_size(count) == 0
        || datatype.uniform().is_some_and(|kind| builtin.accepts(kind));
    if !takes {
        let name = if datatype.name().is_empty() { "a derived datatype" } else { datatype.name() };
        return Err(failed(format!("{} does not take items of {name}", builtin.name())));
    }
    Ok(builtin)
}

unsafe fn put(p: &MpiProcess, window: &Window, origin: Origin, target: Target, requested: bool) -> MpiResult<Handle> {
    let ends = Ends::new(p, window, Some(origin), None, target)?;
    // SAFETY: MPI requires the program's origin buffer to contain `count` items.
    window.carry_out(p, unsafe { ends.work(TargetOperation::Put, None) }, requested)
}

unsafe fn get(p: &MpiProcess, window: &Window, result: Result, target: Target, requested: bool) -> MpiResult<Handle> {
    let ends = Ends::new(p, window, None, Some(result), target)?;
    // SAFETY: a get operation sends no data of the origin rank.
    window.carry_out(p, unsafe { ends.work(TargetOperation::Get, None) }, requested)
}

unsafe fn accumulate(
    p: &MpiProcess,
    window: &Window,
    origin: Origin,
    target: Target,
    op: Handle,
    requested: bool,
) -> MpiResult<Handle> {
    let ends = Ends::new(p, window, Some(origin), None, target)?;
    accumulating(op, (ends.count, &ends.datatype), false)?;
    // SAFETY: MPI requires the program's origin buffer to contain `count` items.
    window.carry_out(p, unsafe { ends.work(TargetOperation::Accumulate, Some(op)) }, requested)
}

unsafe fn get_accumulate(
    p: &MpiProcess,
    window: &Window,
    (origin, result): (Origin, Result),
    target: Target,
    op: Handle,
    requested: bool,
) -> MpiResult<Handle> {
    // If the operation is MPI_NO_OP, the origin buffer is ignored.
    let origin = (op != abi::MPI_NO_OP).then_some(origin);
    let ends = Ends::new(p, window, origin, Some(result), target)?;
    accumulating(op, (ends.count, &ends.datatype), true)?;
    // SAFETY: MPI requires the program's origin buffer to contain `count` items, unless the operation is MPI_NO_OP.
    window.carry_out(p, unsafe { ends.work(TargetOperation::GetAccumulate, Some(op)) }, requested)
}

mpi_functions! {
    fn MPI_Put(
        p; origin: *const c_void, origin_count: c_int, origin_type: Handle, rank: c_int, disp: Aint, count: c_int,
        datatype: Handle, win: Handle,
    ) {
        let target = (rank, disp, count, datatype);
        on(p, win, |window| put(p, window, (origin, origin_count, origin_type), target, false).map(drop))
    }
    fn MPI_Get(
        p; origin: *mut c_void, origin_count: c_int, origin_type: Handle, rank: c_int, disp: Aint, count: c_int,
        datatype: Handle, win: Handle,
    ) {
        let target = (rank, disp, count, datatype);
        on(p, win, |window| get(p, window, (origin, origin_count, origin_type), target, false).map(drop))
    }
    fn MPI_Accumulate(
        p; origin: *const c_void, origin_count: c_int, origin_type: Handle, rank: c_int, disp: Aint, count: c_int,
        datatype: Handle, op: Handle, win: Handle,
    ) {
        let target = (rank, disp, count, datatype);
        on(p, win, |window| accumulate(p, window, (origin, origin_count, origin_type), target, op, false).map(drop))
    }
    fn MPI_Get_accumulate(
        p; origin: *const c_void, origin_count: c_int, origin_type: Handle, resultbuf: *mut c_void, result_count: c_int,
        result_type: Handle, rank: c_int, disp: Aint, count: c_int, datatype: Handle, op: Handle, win: Handle,
    ) {
        let ends = ((origin, origin_count, origin_type), (resultbuf, result_count, result_type));
        on(p, win, |window| get_accumulate(p, window, ends, (rank, disp, count, datatype), op, false).map(drop))
    }
    fn MPI_Fetch_and_op(
        p; origin: *const c_void, resultbuf: *mut c_void, datatype: Handle, rank: c_int, disp: Aint, op: Handle,
        win: Handle,
    ) {
        let ends = ((origin, 1, datatype), (resultbuf, 1, datatype));
        on(p, win, |window| {
            let known = p.committed(datatype)?;
            expect(known.kind().is_some(), abi::MPI_ERR_TYPE, || {
                "the datatype is derived: expected a predefined one".to_owned()
            })?;
            get_accumulate(p, window, ends, (rank, disp, 1, datatype), op, false).map(drop)
        })
    }
    fn MPI_Compare_and_swap(
        p; origin: *const c_void, compare: *const c_void, resultbuf: *mut c_void, datatype: Handle, rank: c_int,
        disp: Aint, win: Handle,
    ) {
        on(p, win, |window| {
            let known = p.committed(datatype)?;
            let compared = known.kind().is_some_and(|kind| {
                matches!(
                    kind.group,
                    TypeGroup::CInteger | TypeGroup::FortranInteger | TypeGroup::Logical | TypeGroup::MultiLanguage | TypeGroup::Byte
                        | TypeGroup::Character
                )
            });
            expect(compared, abi::MPI_ERR_TYPE, || {
                "expected a datatype of integers, logical values or bytes (MPI-3.1, section 11.3.4)".to_owned()
            })?;
            let target = (rank, disp, 1, datatype);
            let ends = Ends::new(p, window, None, Some((resultbuf, 1, datatype)), target)?;
            let mut work = ends.work(TargetOperation::CompareSwap, None);
            if work.target.is_some() {
                known.pack(compare.cast(), 1, &mut work.data);
                known.pack(origin.cast(), 1, &mut work.data);
            }
            window.carry_out(p, work, false).map(drop)
        })
    }
    fn MPI_Rput(
        p; origin: *const c_void, origin_count: c_int, origin_type: Handle, rank: c_int, disp: Aint, count: c_int,
        datatype: Handle, win: Handle, request: *mut Handle,
    ) {
        let target = (rank, disp, count, datatype);
        *request = on(p, win, |window| put(p, window, (origin, origin_count, origin_type), target, true))?;
        Ok(())
    }
    fn MPI_Rget(
        p; origin: *mut c_void, origin_count: c_int, origin_type: Handle, rank: c_int, disp: Aint, count: c_int,
        datatype: Handle, win: Handle, request: *mut Handle,
    ) {
        let target = (rank, disp, count, datatype);
        *request = on(p, win, |window| get(p, window, (origin, origin_count, origin_type), target, true))?;
        Ok(())
    }
    fn MPI_Raccumulate(
        p; origin: *const c_void, origin_count: c_int, origin_type: Handle, rank: c_int, disp: Aint, count: c_int,
        datatype: Handle, op: Handle, win: Handle, request: *mut Handle,
    ) {
        let (from, target) = ((origin, origin_count, origin_type), (rank, disp, count, datatype));
        *request = on(p, win, |window| accumulate(p, window, from, target, op, true))?;
        Ok(())
    }
    fn MPI_Rget_accumulate(
        p; origin: *const c_void, origin_count: c_int, origin_type: Handle, resultbuf: *mut c_void, result_count: c_int,
        result_type: Handle, rank: c_int, disp: Aint, count: c_int, datatype: Handle, op: Handle, win: Handle,
        request: *mut Handle,
    ) {
        let ends = ((origin, origin_count, origin_type), (resultbuf, result_count, result_type));
        let target = (rank, disp, count, datatype);
        *request = on(p, win, |window| get_accumulate(p, window, ends, target, op, true))?;
        Ok(())
    }
}

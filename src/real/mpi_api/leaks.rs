//! Reports MPI objects that a rank has not freed before MPI_Finalize (`--check-leaks`), and nonblocking collectives
//! that the rank has not completed.

use std::collections::BTreeMap;

use crate::mpi_api::handles::HandleTable;
use crate::mpi_api::process::MpiProcess;
use crate::mpi_api::request::{Operation, Request};
use mcpsim_core::engine::{Mistake, MistakeKind};
use mcpsim_core::mpi::abi::Handle;

/// Number of leaked MPI objects by class of mistake, type of object and position of the call that created the object.
type Left = BTreeMap<(MistakeKind, &'static str, String), usize>;

impl MpiProcess {
    /// Stores the running MPI call as the creator of the MPI object with the handle `handle`, if leaks are checked.
    #[inline]
    pub fn note_maker(&self, handle: Handle) {
        if self.job.options.checks.leaks {
            self.note_maker_of(handle);
        }
    }

    #[cold]
    fn note_maker_of(&self, handle: Handle) {
        let maker = self.position().unwrap_or_default();
        self.makers.borrow_mut().insert(handle, maker);
    }

    /// Starts tracking new MPI objects in all handle tables of the rank.
    pub fn track_objects(&self) {
        self.messages.borrow_mut().track();
        self.groups.borrow_mut().track();
        self.ops.borrow_mut().track();
        self.infos.borrow_mut().track();
        self.windows.borrow_mut().table.track();
        self.types.borrow_mut().track();
    }

    /// Stores the MPI function that is about to return as the creator of all new MPI objects.
    #[cold]
    pub fn note_new_objects(&self) {
        let recent = [
            self.messages.borrow_mut().take_recent(),
            self.groups.borrow_mut().take_recent(),
            self.ops.borrow_mut().take_recent(),
            self.infos.borrow_mut().take_recent(),
            self.windows.borrow_mut().table.take_recent(),
            self.types.borrow_mut().take_recent(),
        ];
        recent.concat().into_iter().for_each(|handle| self.note_maker_of(handle));
    }

    /// Reports MPI objects that the rank has not freed and operations that the rank has not completed.
    pub fn report_leaks(&self) {
        let mut left = Left::new();
        if self.job.options.checks.leaks {
            self.add_left(&mut left, &self.comms.borrow(), "communicator");
            self.add_left(&mut left, &self.messages.borrow(), "matched message");
            self.add_left(&mut left, &self.groups.borrow(), "group");
            self.add_left(&mut left, &self.ops.borrow(), "operation");
            self.add_left(&mut left, &self.infos.borrow(), "info object");
            self.add_left(&mut left, &self.windows.borrow().table, "window");
            let types = self.types.borrow().left();
            types.into_iter().for_each(|handle| self.add_one(&mut left, MistakeKind::Leak, "datatype", handle));
        }
        for (handle, request) in self.requests.borrow().iter() {
            self.add_request_left(&mut left, handle, request);
        }
        for ((kind, object, maker), count) in left {
            let (call, place) = Mistake::call_and_place(&maker);
            let text = if count == 1 { format!("1 {object}") } else { format!("{count} {object}s") };
            self.job.add_mistake(Mistake { rank: self.rank, kind, call, place, text });
        }
    }

    /// Counts a request that the rank has not completed. An incomplete collective is always a mistake, because the
    /// receive buffer may not contain the data yet.
    fn add_request_left(&self, left: &mut Left, handle: Handle, request: &Request) {
        let kind = if request.active { MistakeKind::UnfinishedRequest } else { MistakeKind::Leak };
        match &request.operation {
            _ if self.job.options.checks.leaks => self.add_one(left, kind, "request", handle),
            Operation::Strand { function, .. } => {
                *left.entry((kind, "request", (*function).to_owned())).or_default() += 1;
            }
            _ => {}
        }
    }

    fn add_left<T>(&self, left: &mut Left, table: &HandleTable<T>, object: &'static str) {
        table.iter().for_each(|(handle, _)| self.add_one(left, MistakeKind::Leak, object, handle));
    }

    fn add_one(&self, left: &mut Left, kind: MistakeKind, object: &'static str, handle: Handle) {
        let maker = self.makers.borrow().get(&handle).cloned().unwrap_or_default();
        *left.entry((kind, object, maker)).or_default() += 1;
    }
}

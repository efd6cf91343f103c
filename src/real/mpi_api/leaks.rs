//! What a rank has not freed when it calls MPI_Finalize (`--check-leaks`).

use crate::mpi_api::handles::HandleTable;
use crate::mpi_api::process::MpiProcess;
use mcpsim_core::mpi::abi::Handle;

impl MpiProcess {
    /// Remembers what has made the object behind `handle`, if that may be asked for.
    #[inline]
    pub fn note_maker(&self, handle: Handle) {
        if self.job.options.check_leaks {
            self.note_maker_of(handle);
        }
    }

    #[cold]
    fn note_maker_of(&self, handle: Handle) {
        let maker = self.position().unwrap_or_default();
        self.makers.borrow_mut().insert(handle, maker);
    }

    /// States what was not freed.
    pub fn report_leaks(&self) {
        if !self.job.options.check_leaks {
            return;
        }
        let kinds = [
            self.left(&self.requests.borrow(), "request"),
            self.left(&self.comms.borrow(), "communicator"),
            self.left(&self.messages.borrow(), "matched message"),
            self.left(&self.groups.borrow(), "group"),
            self.left(&self.ops.borrow(), "operation"),
            self.left(&self.infos.borrow(), "info object"),
            self.left(&self.windows.borrow().table, "window"),
            counted(self.types.borrow().count(), "datatype"),
        ];
        let left: Vec<String> = kinds.into_iter().flatten().collect();
        if !left.is_empty() {
            self.job.leaked(self.rank, left.join(", "));
        }
    }

    /// "2 requests (first from MPI_Irecv at ring.c:42)".
    pub fn left<T>(&self, table: &HandleTable<T>, kind: &str) -> Option<String> {
        let handles: Vec<Handle> = table.iter().map(|(handle, _)| handle).collect();
        let count = counted(handles.len(), kind)?;
        let makers = self.makers.borrow();
        let maker = handles.first().and_then(|handle| makers.get(handle)).filter(|maker| !maker.is_empty());
        Some(match (maker, handles.len()) {
            (None, _) => count,
            (Some(maker), 1) => format!("{count} (from {maker})"),
            (Some(maker), _) => format!("{count} (first from {maker})"),
        })
    }
}

/// "2 requests"; none if there are none.
fn counted(count: usize, kind: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("1 {kind}")),
        count => Some(format!("{count} {kind}s")),
    }
}

//! Pending jobs of the task manager of an MPI process, in order.

use std::collections::VecDeque;

use super::process::AgendaJob;

/// Pending jobs of a task manager in order. The first job has its own field, because usually it is the only job.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    first: Option<AgendaJob>,
    /// Jobs after the first job. Empty if `first` is `None`.
    rest: VecDeque<AgendaJob>,
}

impl Agenda {
    /// Returns the next job of the task manager.
    pub fn first(&self) -> Option<AgendaJob> {
        self.first
    }

    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub fn push_front(&mut self, job: AgendaJob) {
        if let Some(second) = self.first.replace(job) {
            self.rest.push_front(second);
        }
    }

    pub fn push_back(&mut self, job: AgendaJob) {
        match self.first {
            None => self.first = Some(job),
            Some(_) => self.rest.push_back(job),
        }
    }

    /// Removes and returns the next job of the task manager.
    pub fn pop(&mut self) -> Option<AgendaJob> {
        let job = self.first.take();
        if job.is_some() {
            self.first = self.rest.pop_front();
        }
        job
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_come_in_order() {
        let mut agenda = Agenda::default();
        agenda.push_back(AgendaJob::Enter(1));
        agenda.push_back(AgendaJob::Enter(2));
        agenda.push_front(AgendaJob::Enter(0));
        assert_eq!(agenda.first(), Some(AgendaJob::Enter(0)));
        let order: Vec<AgendaJob> = std::iter::from_fn(|| agenda.pop()).collect();
        assert_eq!(order, [0, 1, 2].map(AgendaJob::Enter));
        assert!(agenda.is_empty() && agenda.pop().is_none());
        agenda.push_front(AgendaJob::Ended(3));
        assert_eq!((agenda.pop(), agenda.first()), (Some(AgendaJob::Ended(3)), None));
    }
}

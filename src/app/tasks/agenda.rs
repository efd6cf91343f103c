//! What a manager has to do, in order.

use std::collections::VecDeque;

use super::process::Job;

/// Jobs in order. The first is kept apart: most of the time there is no other.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    first: Option<Job>,
    /// Empty while there is no first.
    rest: VecDeque<Job>,
}

impl Agenda {
    /// The next job.
    pub fn first(&self) -> Option<Job> {
        self.first
    }

    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub fn push_front(&mut self, job: Job) {
        if let Some(second) = self.first.replace(job) {
            self.rest.push_front(second);
        }
    }

    pub fn push_back(&mut self, job: Job) {
        match self.first {
            None => self.first = Some(job),
            Some(_) => self.rest.push_back(job),
        }
    }

    /// Takes the next job.
    pub fn pop(&mut self) -> Option<Job> {
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
        agenda.push_back(Job::Enter(1));
        agenda.push_back(Job::Enter(2));
        agenda.push_front(Job::Enter(0));
        assert_eq!(agenda.first(), Some(Job::Enter(0)));
        let order: Vec<Job> = std::iter::from_fn(|| agenda.pop()).collect();
        assert_eq!(order, [0, 1, 2].map(Job::Enter));
        assert!(agenda.is_empty() && agenda.pop().is_none());
        agenda.push_front(Job::Ended(3));
        assert_eq!((agenda.pop(), agenda.first()), (Some(Job::Ended(3)), None));
    }
}

//! Requests of a task in a replay.

use super::{
    COMPLETE, Call, Completion, EAGER, FREE, NOTHING, RecordedAnswer, RequestId, Requests, Step, TaskPosition, Which,
    look,
};

impl TaskPosition {
    /// Assigns the next request to request slot `slot`.
    #[inline]
    pub(super) fn begin(&mut self, slot: u32) -> Step<()> {
        match self.slots.get(slot as usize) {
            Some(&FREE) => {}
            // A task uses the lowest free request slot.
            None if slot as usize == self.slots.len() => self.slots.push(FREE),
            _ => return Err("a slot is used out of order"),
        }
        self.starting = slot;
        Ok(())
    }

    #[inline]
    pub fn started(&mut self, id: RequestId) {
        self.posted = id;
        match std::mem::replace(&mut self.starting, NOTHING) {
            NOTHING => {}
            EAGER => match self.sends.last_mut() {
                Some((COMPLETE, count)) if id == COMPLETE => *count = count.saturating_add(1),
                _ => self.sends.push((id, 1)),
            },
            slot => self.slots[slot as usize] = id,
        }
    }

    /// Frees request slot `slot` and returns its request.
    #[inline]
    pub(super) fn free(&mut self, slot: u32) -> Step<RequestId> {
        if !self.offers.is_empty() {
            self.end_offer(slot)?;
        }
        match self.slots.get_mut(slot as usize) {
            Some(id) if *id != FREE => Ok(std::mem::replace(id, FREE)),
            _ => Err("a wait for a slot without a request"),
        }
    }

    /// Requests of a wait for the request slots `slots` and for the `eager` most recent eager sends.
    #[inline]
    pub(super) fn waited(&mut self, slots: &[u32], mut eager: u32) -> Step<Requests> {
        let mut requests = Requests::new();
        for &slot in slots {
            requests.push(self.free(slot)?);
        }
        while eager > 0
            && let Some((id, count)) = self.sends.last_mut()
        {
            if *id != COMPLETE {
                requests.push(*id);
            }
            let taken = eager.min(*count);
            *count -= taken;
            eager -= taken;
            if *count == 0 {
                self.sends.pop();
            }
        }
        Ok(requests)
    }

    /// Executes a test that completed the requests in the request slots `slots`.
    pub(super) fn test(&mut self, slots: &[u32]) -> Step {
        if slots.is_empty() {
            return Ok(look());
        }
        let requests = slots.iter().map(|&slot| self.free(slot)).collect::<Step<Requests>>()?;
        self.asked = RecordedAnswer::Test(Box::new(requests.clone()));
        Ok(Call::Test { requests, which: Which::All, poll: false })
    }

    /// Handles the engine's answer to the last question. Returns a wait for the completions and messages that had
    /// happened at this call in the recording, but have not happened in the replay.
    pub fn answered(&mut self, done: &[Completion]) -> Option<Call> {
        match std::mem::replace(&mut self.asked, RecordedAnswer::Nothing) {
            RecordedAnswer::Test(requests) if done.is_empty() => Some(Call::Complete(*requests)),
            RecordedAnswer::Iprobe(pattern) if done.is_empty() => Some(Call::Probe(pattern)),
            RecordedAnswer::Limit(slot, limit) if done.first().is_some_and(|one| one.index == 0) => {
                self.slots[slot as usize] = COMPLETE;
                Some(Call::WaitAny(Requests::from_slice(&[limit])))
            }
            RecordedAnswer::Sends => {
                // Sends are removed from the back of the list, so that the indices of other sends stay valid.
                done.iter().rev().for_each(|one| _ = self.sends.remove(one.index as usize));
                None
            }
            _ => None,
        }
    }

    /// Tests which sends without a wait are complete, because the number of such sends may become large.
    #[cold]
    pub(super) fn look_at_sends(&mut self) -> Call {
        self.asked = RecordedAnswer::Sends;
        let requests = self.sends.iter().map(|(id, _)| *id).collect();
        Call::Test { requests, which: Which::Some, poll: false }
    }
}

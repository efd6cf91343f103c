//! Letters between processes: the data of ranks that run ahead. They go at once and are taken whenever a leader polls,
//! in no round; how many there are is agreed on in each, so that none comes later than the message it belongs to.

use crate::rank::Mailboxes;

use super::arrivals::Arrivals;
use super::link::Sending;
use super::wire::Package;

/// Tags of packages and of what is large.
const TAGS: [i32; 2] = [5, 6];

/// The leader's end.
pub struct BulkSender<'w> {
    mailboxes: Option<&'w Mailboxes>,
    /// Packages sent to each process.
    pub sent: Vec<u64>,
    /// Packages received.
    pub received: u64,
    sending: Vec<Sending>,
    arrivals: Arrivals,
}

impl<'w> BulkSender<'w> {
    /// Between so many processes, if ranks run ahead and have a `mailboxes`.
    pub fn new(processes: u32, mailboxes: Option<&'w Mailboxes>) -> Self {
        BulkSender {
            mailboxes,
            sent: vec![0; processes as usize],
            received: 0,
            sending: Vec::new(),
            arrivals: Arrivals::new(TAGS),
        }
    }

    /// Sends what lies there, and takes what has come; whether there was anything.
    pub fn run(&mut self) -> bool {
        self.send() | self.receive()
    }

    /// Sends what lies there.
    pub fn send(&mut self) -> bool {
        let Some(mailboxes) = self.mailboxes else { return false };
        let mut messages = mailboxes.outgoing();
        if messages.is_empty() {
            return false;
        }
        // Letters for a process stay in their order.
        messages.sort_by_key(|&(process, ..)| process);
        let mut messages = messages.into_iter().peekable();
        while let Some(&(to, ..)) = messages.peek() {
            let own = std::iter::from_fn(|| messages.next_if(|&(process, ..)| process == to));
            let package = Package::messages(own.map(|(_, rank, message)| (rank, message)));
            self.sending.push(Sending::begin(package, to, TAGS));
            self.sent[to as usize] += 1;
        }
        true
    }

    /// Takes what has come.
    pub fn receive(&mut self) -> bool {
        let Some(mailboxes) = self.mailboxes else { return false };
        self.sending.retain_mut(|sending| !sending.is_complete());
        let mut any = false;
        while let Some(package) = self.arrivals.take() {
            self.received += 1;
            any = true;
            package.each_message(|rank, message| mailboxes.deliver(rank, message));
        }
        any
    }

    /// Whether ranks run ahead.
    pub fn is_needed(&self) -> bool {
        self.mailboxes.is_some()
    }

    /// Gives up what is still being sent.
    pub fn take_sending(&mut self) -> Vec<Sending> {
        std::mem::take(&mut self.sending)
    }
}

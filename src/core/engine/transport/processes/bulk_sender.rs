//! Early messages between processes: the data of ranks that run ahead. They are sent at once, and received whenever a
//! leader polls, independent of rounds. Each round agrees on their number, so that the data arrive no later than the
//! message that they belong to.

use crate::rank::Mailboxes;

use super::arrivals::Arrivals;
use super::link::Sending;
use super::network::HostNetwork;
use super::wire::Package;

/// Tags of packages and of large data.
const TAGS: [i32; 2] = [5, 6];

/// State of the leader.
pub struct BulkSender<'w> {
    mailboxes: Option<&'w Mailboxes>,
    /// Number of packages sent to each process.
    pub sent: Vec<u64>,
    /// Number of packages received.
    pub received: u64,
    sending: Vec<Sending>,
    arrivals: Arrivals,
}

impl<'w> BulkSender<'w> {
    /// Creates a sender between `processes` processes; `mailboxes` exists if ranks run ahead.
    pub fn new(processes: u32, mailboxes: Option<&'w Mailboxes>) -> Self {
        BulkSender {
            mailboxes,
            sent: vec![0; processes as usize],
            received: 0,
            sending: Vec::new(),
            arrivals: Arrivals::new(TAGS),
        }
    }

    /// Sends queued messages and receives arrived ones; returns whether there were any.
    pub fn run(&mut self, network: &dyn HostNetwork) -> bool {
        self.send(network) | self.receive(network)
    }

    /// Sends queued messages.
    pub fn send(&mut self, network: &dyn HostNetwork) -> bool {
        let Some(mailboxes) = self.mailboxes else { return false };
        let mut messages = mailboxes.outgoing();
        if messages.is_empty() {
            return false;
        }
        // Messages for one process stay in order.
        messages.sort_by_key(|&(process, ..)| process);
        let mut messages = messages.into_iter().peekable();
        while let Some(&(to, ..)) = messages.peek() {
            let own = std::iter::from_fn(|| messages.next_if(|&(process, ..)| process == to));
            let package = Package::messages(own.map(|(_, rank, message)| (rank, message)));
            self.sending.push(Sending::begin(network, package, to, TAGS));
            self.sent[to as usize] += 1;
        }
        true
    }

    /// Receives arrived messages.
    pub fn receive(&mut self, network: &dyn HostNetwork) -> bool {
        let Some(mailboxes) = self.mailboxes else { return false };
        self.sending.retain_mut(|sending| !sending.is_complete());
        let mut any = false;
        while let Some(package) = self.arrivals.take(network) {
            self.received += 1;
            any = true;
            package.each_message(|rank, message| mailboxes.deliver(rank, message));
        }
        any
    }

    /// Returns whether ranks run ahead.
    pub fn is_needed(&self) -> bool {
        self.mailboxes.is_some()
    }

    /// Takes the incomplete sends.
    pub fn take_sending(&mut self) -> Vec<Sending> {
        std::mem::take(&mut self.sending)
    }
}

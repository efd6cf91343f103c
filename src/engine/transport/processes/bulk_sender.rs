//! Early messages between host processes: the message data of ranks that run ahead of virtual time. Early messages are
//! sent at once, and received whenever a leader polls, independent of the rounds of exchanges. In each round the host
//! processes agree on the number of early messages, so that the data arrive no later than the simulated message that
//! they belong to.

use mcpsim_base::rank::Mailboxes;

use super::arrivals::Arrivals;
use super::link::Sending;
use super::network::HostNetwork;
use super::wire::Package;

/// Tags of packages of early messages, and of their large data.
const TAGS: [i32; 2] = [5, 6];

/// Early messages that the leader of a host process sends and receives.
pub struct BulkSender<'w> {
    mailboxes: Option<&'w Mailboxes>,
    /// Number of packages of early messages sent to each host process.
    pub sent: Vec<u64>,
    /// Number of packages of early messages received.
    pub received: u64,
    sending: Vec<Sending>,
    arrivals: Arrivals,
}

impl<'w> BulkSender<'w> {
    /// Creates a sender for `processes` host processes; `mailboxes` exists if ranks run ahead.
    pub fn new(processes: u32, mailboxes: Option<&'w Mailboxes>) -> Self {
        BulkSender {
            mailboxes,
            sent: vec![0; processes as usize],
            received: 0,
            sending: Vec::new(),
            arrivals: Arrivals::new(TAGS),
        }
    }

    /// Sends queued early messages and receives arrived ones; returns whether any message was sent or received.
    pub fn run(&mut self, network: &dyn HostNetwork) -> bool {
        self.send(network) | self.receive(network)
    }

    /// Sends queued early messages; returns whether any message was sent.
    pub fn send(&mut self, network: &dyn HostNetwork) -> bool {
        let Some(mailboxes) = self.mailboxes else { return false };
        let mut messages = mailboxes.outgoing();
        if messages.is_empty() {
            return false;
        }
        // The messages for a host process stay in order.
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

    /// Receives arrived early messages; returns whether any message was received.
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

    /// Returns whether ranks run ahead, so that early messages exist.
    pub fn is_needed(&self) -> bool {
        self.mailboxes.is_some()
    }

    /// Removes and returns the sends that are not complete.
    pub fn take_sending(&mut self) -> Vec<Sending> {
        std::mem::take(&mut self.sending)
    }
}

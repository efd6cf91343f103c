//! Converts the OTF2 events of a rank to actions.

use std::collections::BTreeMap;

use super::{
    Definitions, MessageRecord, MpiRegion, Otf2Collective, RankActions, TraceAction, TraceOperation, error, number,
    refused,
};
use crate::rank::Rank;
use crate::trace::import::ImportError;
use crate::trace::import::otf2::sizes::MemberSizes;
use crate::trace::import::words::Words;
use crate::trace::logs::{FunctionClass, LoggedFunction};
use crate::units::SimSpan;

/// OTF2's identifier for the creation of a communicator. Greater identifiers are other operations on communicators and
/// windows.
pub(super) const MAKES_COMM: u32 = 17;

/// A request that a rank has started and that has not completed.
#[derive(Clone, Copy)]
struct OpenRequest {
    slot: u32,
    /// Index of the action that starts the request, if the completion of the request determines this action.
    action: Option<usize>,
    /// Index of the collective among the rank's collectives, if the request belongs to a non-blocking collective.
    collective: Option<u32>,
}

/// An MPI function that the rank has entered and not left.
struct OpenRegion {
    region: u32,
    /// Number of nested regions of MPI functions that the rank is in.
    depth: u32,
    /// Whether the reader has read an event of a collective in the region.
    has_collective: bool,
    /// Request slots of the requests that complete in the region.
    ended: Vec<u32>,
    sent: Option<MessageRecord>,
}

/// Reads the events of one rank of an OTF2 archive.
pub(super) struct RankReader {
    rank: Rank,
    found: RankActions,
    inside: Option<OpenRegion>,
    open: BTreeMap<u64, Vec<OpenRequest>>,
    slots: Vec<bool>,
    /// Time at which the present block of the program's code started; `None` while Score-P's recording is off.
    code: Option<u64>,
    /// Whether the reader has read the last event of the rank.
    is_whole: bool,
    finalized: bool,
}

impl RankReader {
    pub fn new(rank: Rank, start: u64) -> Self {
        RankReader {
            rank,
            found: RankActions::default(),
            inside: None,
            open: BTreeMap::new(),
            slots: Vec::new(),
            code: Some(start),
            is_whole: false,
            finalized: false,
        }
    }

    /// Returns the actions that the rank's events describe.
    pub fn end(self) -> Result<RankActions, ImportError> {
        if !self.is_whole || self.inside.is_some() {
            return Err(error(format!("the events of rank {} end too soon: the archive is truncated", self.rank)));
        }
        Ok(self.found)
    }

    fn add_action(&mut self, function: Option<LoggedFunction>, operation: TraceOperation) {
        self.found.actions.push(TraceAction { function, operation });
    }

    /// Adds a block of the program's code that ends at `time`.
    fn code_to(&mut self, definitions: &Definitions, time: u64) {
        let Some(since) = self.code.take() else { return };
        let seconds = time.saturating_sub(since) as f64 / definitions.ticks;
        let span = SimSpan::from_seconds(seconds).unwrap_or(SimSpan::MAX);
        if span > SimSpan::ZERO && !self.finalized {
            self.add_action(None, TraceOperation::Compute(span));
        }
    }

    fn function(&self, definitions: &Definitions) -> Option<LoggedFunction> {
        let inside = self.inside.as_ref()?;
        definitions.regions.get(&inside.region)?.function
    }

    fn enter(&mut self, definitions: &Definitions, time: u64, region: u32) -> Result<(), ImportError> {
        let MpiRegion { name, function, is_code } = self.region(definitions, region)?;
        if *is_code {
            return Ok(());
        }
        if let Some(inside) = &mut self.inside {
            inside.depth += 1;
            return Ok(());
        }
        if refused(*function) {
            return Err(error(format!("rank {} calls {name}, which is not replayed", self.rank)));
        }
        self.code_to(definitions, time);
        self.inside = Some(OpenRegion { region, depth: 0, has_collective: false, ended: Vec::new(), sent: None });
        Ok(())
    }

    fn region<'a>(&self, definitions: &'a Definitions, region: u32) -> Result<&'a MpiRegion, ImportError> {
        let found = definitions.regions.get(&region);
        found.ok_or_else(|| error(format!("rank {} is in region {region}, which is not defined", self.rank)))
    }

    fn leave(&mut self, definitions: &Definitions, time: u64, region: u32) -> Result<(), ImportError> {
        let left = self.region(definitions, region)?;
        if left.is_code {
            return Ok(());
        }
        let (name, rank) = (&left.name, self.rank);
        let Some(inside) = self.inside.as_mut() else {
            return Err(error(format!("rank {rank} leaves {name}, which it never entered")));
        };
        if inside.depth > 0 {
            inside.depth -= 1;
            return Ok(());
        }
        if inside.region != region {
            let within = definitions.regions.get(&inside.region).map_or("", |region| &region.name);
            return Err(error(format!("rank {rank} leaves {name} within {within}")));
        }
        let OpenRegion { has_collective, ended, sent, .. } = self.inside.take().expect("it is inside");
        let function = left.function;
        // The MPI function is a send-receive that received from MPI_PROC_NULL, so only the send is an action.
        sent.into_iter().for_each(|message| self.add_action(function, TraceOperation::Send(message)));
        if !ended.is_empty() {
            ended.iter().for_each(|slot| self.slots[*slot as usize] = false);
            self.add_action(function, TraceOperation::Wait(ended.into()));
        }
        let class = function.map(LoggedFunction::class);
        if !has_collective && matches!(class, Some(FunctionClass::Collective | FunctionClass::StartedCollective)) {
            let hint = if class == Some(FunctionClass::Collective) { "" } else { ": Score-P 8 and later record it" };
            return Err(error(format!("rank {rank} calls {name}, whose events the archive lacks{hint}")));
        }
        match name.as_str() {
            // Actions before MPI_Init are not replayed.
            "MPI_Init" | "MPI_Init_thread" => self.found = RankActions::default(),
            "MPI_Finalize" => self.finalized = true,
            _ => {}
        }
        self.code = Some(time);
        Ok(())
    }

    fn message(&self, definitions: &Definitions, words: &mut Words<'_>) -> Result<MessageRecord, ImportError> {
        let (peer, comm) = (number(words, "a rank")?, number(words, "a communicator")? as u32);
        let (tag, bytes) = (number(words, "a tag")? as u32, number(words, "bytes")?);
        let comm = definitions.comm(comm, self.rank)?;
        let member = u32::try_from(peer).ok().filter(|peer| *peer < comm.size());
        let member = member.ok_or_else(|| {
            error(format!("rank {} has a message of rank {peer} of a communicator of {}", self.rank, comm.size()))
        })?;
        Ok(MessageRecord {
            peer: comm.world(member),
            context: comm.point_to_point(),
            tag: tag.min(u32::MAX - 1),
            bytes,
        })
    }

    fn open(&mut self, request: u64, action: Option<usize>, collective: Option<u32>) -> u32 {
        let free = self.slots.iter().position(|used| !used);
        let slot = free.unwrap_or_else(|| {
            self.slots.push(false);
            self.slots.len() - 1
        });
        self.slots[slot] = true;
        let slot = slot as u32;
        self.open.entry(request).or_default().push(OpenRequest { slot, action, collective });
        slot
    }

    /// Removes the request with OTF2's identifier `request`. Requests with the same identifier complete in the order in
    /// which they started.
    fn ended(&mut self, request: u64) -> Result<OpenRequest, ImportError> {
        let Some(list) = self.open.get_mut(&request) else {
            return Err(error(format!("rank {}: request {request} ends, which never began", self.rank)));
        };
        let open = list.remove(0);
        if list.is_empty() {
            self.open.remove(&request);
        }
        Ok(open)
    }

    fn waited(&mut self, slot: u32) {
        match &mut self.inside {
            Some(inside) => inside.ended.push(slot),
            None => {
                self.slots[slot as usize] = false;
                self.add_action(None, TraceOperation::Wait([slot].into()));
            }
        }
    }

    fn joined(&self, definitions: &Definitions, words: &mut Words<'_>) -> Result<Otf2Collective, ImportError> {
        let (op, comm) = (number(words, "a collective")? as u32, number(words, "a communicator")? as u32);
        let root = number(words, "a root")? as u32;
        let (sent, received) = (number(words, "bytes")?, number(words, "bytes")?);
        definitions.comm(comm, self.rank)?;
        let function = self.function(definitions);
        Ok(Otf2Collective { function, op, comm, root, sent, received, member_sizes: MemberSizes::Own })
    }

    /// Handles an event of the type `kind` with the arguments `words`.
    pub fn event(&mut self, definitions: &Definitions, kind: &str, words: &mut Words<'_>) -> Result<(), ImportError> {
        let time = number(words, "a time")?;
        let function = self.function(definitions);
        if let Some(inside) = &mut self.inside {
            inside.has_collective |= matches!(kind, "c" | "n");
        }
        match kind {
            "b" if self.inside.is_none() => self.code = Some(time),
            "e" => self.enter(definitions, time, number(words, "a region")? as u32)?,
            "x" => self.leave(definitions, time, number(words, "a region")? as u32)?,
            "s" => {
                let message = self.message(definitions, words)?;
                let exchanges = function.is_some_and(|function| function.class() == FunctionClass::Exchange);
                match &mut self.inside {
                    Some(inside) if exchanges => inside.sent = Some(message),
                    _ => self.add_action(function, TraceOperation::Send(message)),
                }
            }
            "r" => {
                let message = self.message(definitions, words)?;
                match self.inside.as_mut().and_then(|inside| inside.sent.take()) {
                    Some(sent) => self.add_action(function, TraceOperation::Exchange(Box::new((sent, message)))),
                    None => self.add_action(function, TraceOperation::Recv(message)),
                }
            }
            "i" => {
                let message = self.message(definitions, words)?;
                let slot = self.open(number(words, "a request")?, None, None);
                self.add_action(function, TraceOperation::Isend(slot, message));
            }
            "q" => {
                let action = self.found.actions.len();
                self.open(number(words, "a request")?, Some(action), None);
                // The completion of the request determines the message of the receive.
                self.add_action(function, TraceOperation::Nothing);
            }
            "d" => {
                let open = self.ended(number(words, "a request")?)?;
                self.waited(open.slot);
            }
            "j" => {
                let message = self.message(definitions, words)?;
                let request = number(words, "a request")?;
                let OpenRequest { slot, action, .. } = self.ended(request)?;
                let of = action.and_then(|action| self.found.actions.get_mut(action));
                let of = of.ok_or_else(|| {
                    error(format!(
                        "request {request} ends as a receive, but did not start as \
                                                         a receive"
                    ))
                })?;
                of.operation = TraceOperation::Irecv(slot, message);
                self.waited(slot);
            }
            "k" => {
                let OpenRequest { slot, .. } = self.ended(number(words, "a request")?)?;
                self.slots[slot as usize] = false;
            }
            "c" => {
                let joined = self.joined(definitions, words)?;
                // Freeing a communicator needs no messages.
                if joined.op <= MAKES_COMM {
                    let number = self.found.collectives.len() as u32;
                    self.found.collectives.push(joined);
                    self.add_action(function, TraceOperation::Collective(number));
                }
            }
            "n" => {
                let number_of = self.found.collectives.len() as u32;
                let slot = self.open(number(words, "a request")?, None, Some(number_of));
                // The type of a non-blocking collective is known when the collective completes.
                let unknown = Otf2Collective {
                    function,
                    op: u32::MAX,
                    comm: 0,
                    root: 0,
                    sent: 0,
                    received: 0,
                    member_sizes: MemberSizes::Own,
                };
                self.found.collectives.push(unknown);
                self.add_action(function, TraceOperation::Start(slot, number_of));
            }
            "m" => {
                let joined = self.joined(definitions, words)?;
                let request = number(words, "a request")?;
                let OpenRequest { slot, collective, .. } = self.ended(request)?;
                let of = collective.and_then(|of| self.found.collectives.get_mut(of as usize));
                let of = of.ok_or_else(|| {
                    error(format!(
                        "request {request} ends as a collective, but did not start \
                                                         as a collective"
                    ))
                })?;
                *of = Otf2Collective { function: of.function, ..joined };
                self.waited(slot);
            }
            "f" => {
                let end = number(words, "a time")?;
                if self.inside.is_none() && self.code.is_some() {
                    self.code_to(definitions, time);
                    self.code = Some(end);
                }
            }
            "o" => match number(words, "whether it is off")? {
                0 if self.inside.is_none() => self.code = Some(time),
                0 => {}
                _ => self.code_to(definitions, time),
            },
            "w" => {
                return Err(error(format!(
                    "rank {} makes a window: one-sided communication is not replayed",
                    self.rank
                )));
            }
            "z" => {
                self.code_to(definitions, time);
                self.is_whole = true;
            }
            _ => {}
        }
        Ok(())
    }
}

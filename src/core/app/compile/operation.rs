//! Compiles statements that compute, send, receive and wait.

use crate::config::ConfigError;
use crate::rank::SendMode;

use super::super::code::{Block, CompletionSlots, Cost, Op, ReceiveOp, Send, Start, WaitForm, WaitOp};
use super::super::formula::Formula;
use super::super::node::{Fields, Node, alternatives};
use super::super::random::DistributionKind;
use super::super::scope::Scope;
use super::Compiler;

/// Keywords of the statements that this module compiles.
pub(super) const NAMES: [&str; 12] =
    ["compute", "send", "isend", "recv", "irecv", "sendrecv", "wait", "waitall", "waitany", "test", "probe", "iprobe"];

/// Arguments of the statements whose value is always a table.
pub(in super::super) const KEYS: [(&str, &[&str]); 9] = [
    ("send", &["to", "bytes", "tag", "comm", "mode"]),
    ("isend", &["to", "bytes", "tag", "comm", "mode", "request"]),
    ("recv", &["from", "bytes", "tag", "comm", "source_as", "tag_as", "bytes_as"]),
    ("irecv", &["from", "bytes", "tag", "comm", "request", "source_as", "tag_as", "bytes_as"]),
    (
        "sendrecv",
        &["to", "bytes", "tag", "from", "recv_tag", "recv_bytes", "comm", "mode", "source_as", "tag_as", "bytes_as"],
    ),
    ("probe", &["from", "tag", "comm", "source_as", "tag_as", "bytes_as"]),
    ("iprobe", &["from", "tag", "comm", "found_as", "source_as", "tag_as", "bytes_as"]),
    ("waitany", &["requests", "index_as", "source_as", "tag_as", "bytes_as"]),
    ("test", &["request", "requests", "done_as"]),
];

/// Modes of a send, with their keywords.
pub(in super::super) const MODES: [(&str, SendMode); 3] =
    [("standard", SendMode::Standard), ("synchronous", SendMode::Synchronous), ("buffered", SendMode::Buffered)];

const OUTPUTS: [&str; 3] = ["source_as", "tag_as", "bytes_as"];

/// Arguments of `compute`.
pub(in super::super) fn block_keys() -> Vec<&'static str> {
    let mut keys = vec!["time", "flops", "bytes", "instructions", "working_set", "times"];
    keys.extend(DistributionKind::ALL.map(DistributionKind::name));
    keys
}

impl<'a> Compiler<'a> {
    pub(super) fn operation(&mut self, statement: &Node<'a>, name: &str, node: &Node<'a>) -> Result<(), ConfigError> {
        let fields = || {
            let (_, keys) = KEYS.iter().find(|(of, _)| *of == name).expect("the statement has a table of arguments");
            node.fields(format!("a table of {name}'s arguments"), keys)
        };
        let op = match name {
            "compute" => Op::Compute(Box::new(block(node, &self.scope)?)),
            "send" => {
                let fields = fields()?;
                Op::Send(Box::new(self.send(&fields, Start::Blocking)?))
            }
            "isend" => {
                let fields = fields()?;
                let start = self.start(&fields, Start::Request(None))?;
                Op::Send(Box::new(self.send(&fields, start)?))
            }
            "recv" => {
                let fields = fields()?;
                Op::Recv(Box::new(self.receive(&fields, "tag", "bytes", Start::Blocking)?))
            }
            "irecv" => {
                let fields = fields()?;
                let start = self.start(&fields, Start::Request(None))?;
                Op::Recv(Box::new(self.receive(&fields, "tag", "bytes", start)?))
            }
            "sendrecv" => {
                let fields = fields()?;
                let send = self.send(&fields, Start::Blocking)?;
                let recv_tag = if fields.get("recv_tag").is_some() { "recv_tag" } else { "tag" };
                let receive = self.receive(&fields, recv_tag, "recv_bytes", Start::Blocking)?;
                Op::Exchange(Box::new((send, receive)))
            }
            "probe" => {
                let fields = fields()?;
                Op::Probe(Box::new(self.receive(&fields, "tag", "bytes", Start::Blocking)?))
            }
            "iprobe" => {
                let fields = fields()?;
                let pattern = Box::new(self.receive(&fields, "tag", "bytes", Start::Blocking)?);
                Op::Iprobe { pattern, found: self.output(&fields, "found_as")? }
            }
            "waitany" | "test" => Op::Wait(Box::new(self.wait_for_some(name, &fields()?)?)),
            _ => Op::Wait(Box::new(self.wait(name, node)?)),
        };
        // In an endless loop, a probe or test may never find a message. Probes and tests therefore do not count as
        // communication.
        self.communicating += u64::from(!matches!(op, Op::Compute(_) | Op::Iprobe { .. }));
        self.emit(&statement.path, op);
        Ok(())
    }

    fn send(&self, fields: &Fields<'a>, start: Start) -> Result<Send, ConfigError> {
        let mode = match fields.get("mode") {
            None => SendMode::Standard,
            Some(node) => match MODES.iter().find(|(name, _)| node.value.as_str() == Some(name)) {
                Some((_, mode)) => *mode,
                None => return Err(node.expected("\"standard\", \"synchronous\" or \"buffered\"")),
            },
        };
        Ok(Send {
            to: fields.need("to", "the receiver's rank")?.formula(&self.scope)?,
            bytes: fields.need("bytes", "a size")?.size(&self.scope)?,
            tag: fields.formula_or("tag", 0, &self.scope)?,
            comm: self.comm(fields)?,
            mode,
            start,
        })
    }

    fn receive(&self, fields: &Fields<'a>, tag: &str, bytes: &str, start: Start) -> Result<ReceiveOp, ConfigError> {
        let or_any = |node: Node<'a>| match node.value.as_str().map(str::trim) {
            Some("any") => Ok(None),
            _ => node.formula(&self.scope).map(Some),
        };
        Ok(ReceiveOp {
            from: or_any(fields.need("from", "the sender's rank, or \"any\"")?)?,
            tag: fields.get(tag).map_or(Ok(Some(Formula::constant(0))), or_any)?,
            capacity: fields.size(bytes, &self.scope)?,
            comm: self.comm(fields)?,
            start,
            outputs: self.outputs(fields)?,
        })
    }

    fn wait(&mut self, name: &str, node: &Node<'a>) -> Result<WaitOp, ConfigError> {
        let names = match name {
            "wait" => std::slice::from_ref(node),
            _ => &node.items("an array of requests' names")?,
        };
        let requests = Some(self.named(names)?);
        Ok(WaitOp { kind: WaitForm::All, requests, outputs: CompletionSlots::default(), reported: true })
    }

    /// Compiles `waitany` and `test`.
    fn wait_for_some(&mut self, name: &str, fields: &Fields<'a>) -> Result<WaitOp, ConfigError> {
        let requests = match fields.get("request") {
            Some(request) if fields.get("requests").is_none() => Some(self.named(&[request])?),
            Some(_) => return Err(fields.node.error("expected request or requests, found both")),
            None => self.named_or_all(fields)?,
        };
        let kind = match name {
            "waitany" => WaitForm::Any(self.output(fields, "index_as")?),
            _ => WaitForm::Test(self.output(fields, "done_as")?),
        };
        Ok(WaitOp { kind, requests, outputs: self.outputs(fields)?, reported: true })
    }

    /// Compiles the statement `"waitall"`.
    pub(super) fn wait_for_all(&mut self, statement: &Node<'a>) -> Result<(), ConfigError> {
        self.communicating += 1;
        let wait = WaitOp { kind: WaitForm::All, requests: None, outputs: CompletionSlots::default(), reported: true };
        self.emit(&statement.path, Op::Wait(Box::new(wait)));
        Ok(())
    }

    fn named_or_all(&mut self, fields: &Fields<'a>) -> Result<Option<Box<[u32]>>, ConfigError> {
        let Some(list) = fields.get("requests") else { return Ok(None) };
        self.named(&list.items("an array of requests' names")?).map(Some)
    }

    fn named(&mut self, nodes: &[Node<'a>]) -> Result<Box<[u32]>, ConfigError> {
        let mut names = Vec::new();
        for node in nodes {
            let name = self.request(node.text("a request's name")?);
            self.waits.push((name, node.clone()));
            names.push(name);
        }
        Ok(names.into())
    }

    /// Adds to `start` the request name in the statement, if the statement has one.
    pub(super) fn start(&mut self, fields: &Fields<'a>, start: Start) -> Result<Start, ConfigError> {
        let Some(node) = fields.get("request") else { return Ok(start) };
        let name = self.request(node.text("a request's name")?);
        self.started[name as usize] = true;
        Ok(Start::Request(Some(name)))
    }

    pub(super) fn comm(&self, fields: &Fields<'a>) -> Result<u32, ConfigError> {
        let Some(node) = fields.get("comm") else { return Ok(0) };
        let name = node.text("a communicator's name")?;
        self.scope.comm(name).map_err(|what| node.error(what))
    }

    fn outputs(&self, fields: &Fields<'a>) -> Result<CompletionSlots, ConfigError> {
        let [source, tag, bytes] = OUTPUTS.map(|key| self.output(fields, key));
        Ok(CompletionSlots { source: source?, tag: tag?, bytes: bytes? })
    }

    fn output(&self, fields: &Fields<'a>, key: &str) -> Result<Option<u32>, ConfigError> {
        let Some(node) = fields.get(key) else { return Ok(None) };
        let name = node.text("a name")?;
        self.assignable(&node, name).map(Some)
    }
}

/// Cost of a block of computing, read from the arguments of `compute`.
pub(in super::super) fn block(node: &Node<'_>, scope: &Scope) -> Result<Block, ConfigError> {
    if !node.value.is_table() {
        return Ok(Block { cost: Cost::Time(node.time(scope)?), times: None });
    }
    let fields = node.fields("a time or a table of compute's arguments", &block_keys())?;
    let times = fields.formula("times", scope)?;
    let work = ["flops", "bytes", "instructions"].iter().any(|key| fields.get(key).is_some());
    let family = DistributionKind::ALL.into_iter().find(|family| fields.get(family.name()).is_some());
    let draws = DistributionKind::ALL.iter().filter(|family| fields.get(family.name()).is_some()).count();
    if usize::from(fields.get("time").is_some()) + usize::from(work) + draws != 1 {
        let kinds = "time, an amount of work (flops, bytes, instructions) or a distribution";
        return Err(node.error(format!("expected one of {kinds}")));
    }
    if let Some(set) = fields.get("working_set").filter(|_| !work) {
        return Err(set.error("expected an amount of work (flops, bytes, instructions) with a working_set"));
    }
    let cost = match (fields.time("time", scope)?, family) {
        (Some(time), _) => Cost::Time(time),
        (None, Some(family)) => draw(family, &fields.need(family.name(), "a distribution")?, scope)?,
        (None, None) => Cost::Work {
            flops: fields.formula_or("flops", 0, scope)?,
            instructions: fields.formula_or("instructions", 0, scope)?,
            bytes: fields.size("bytes", scope)?.unwrap_or_else(|| Formula::constant(0)),
            working_set: fields.size("working_set", scope)?,
        },
    };
    Ok(Block { cost, times })
}

fn draw(family: DistributionKind, node: &Node<'_>, scope: &Scope) -> Result<Cost, ConfigError> {
    let (first, second) = family.parameters();
    let keys: Vec<&str> = [first].into_iter().chain(second).collect();
    let fields = node.fields(format!("a table of {}", alternatives(&keys)), &keys)?;
    let a = fields.need(first, "a parameter of the distribution")?.formula(scope)?;
    let b = match second {
        Some(key) => fields.need(key, "a parameter of the distribution")?.formula(scope)?,
        None => Formula::constant(0),
    };
    Ok(Cost::Draw { family, a, b })
}

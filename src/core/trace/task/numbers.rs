//! Indices of repeated values of a task: operations, peers, tags, groups, names, sizes.

use super::*;

impl TaskRecorder {
    pub(super) fn push(&mut self, op: TraceOp) {
        let guess = self.followers.get(self.last as usize).copied();
        let number = match guess.filter(|&guess| self.log.ops.get(guess as usize) == Some(&op)) {
            Some(number) => number,
            None => self.number(op),
        };
        self.last = number;
        self.folder.push(number);
    }

    /// Index of the operation `op`, if `followers` did not predict the operation.
    #[inline(never)]
    pub(super) fn number(&mut self, op: TraceOp) -> u32 {
        let number = match self.numbers.get(&op) {
            Some(&number) => number,
            None => {
                let number = self.log.ops.len() as u32;
                self.log.ops.push(op.clone());
                self.followers.push(u32::MAX);
                self.numbers.insert(op, number);
                number
            }
        };
        if let Some(follower) = self.followers.get_mut(self.last as usize) {
            *follower = number;
        }
        number
    }

    pub(super) fn compute(&mut self, span: SimSpan) {
        let class = usize::from(self.in_collective);
        let op = TraceOp::Compute(span);
        if self.spans[class] < SPANS && !self.numbers.contains_key(&op) {
            self.spans[class] += 1;
        }
        if self.spans[class] < SPANS {
            return self.push(op);
        }
        self.list_span(span);
        self.push(TraceOp::ComputeListed);
    }

    pub(super) fn work(&mut self, block: MemoryBlock) {
        let class = usize::from(self.in_collective);
        let op = TraceOp::Work(block);
        if self.spans[class] < SPANS && !self.numbers.contains_key(&op) {
            self.spans[class] += 1;
        }
        if self.spans[class] < SPANS {
            return self.push(op);
        }
        self.list_span(block.core);
        let bytes = block.bytes.get();
        if bytes >= 1 << 61 {
            self.fault = Some(format!("a block that moves {} is too large to be recorded", block.bytes));
        }
        self.log.late.push(DeferredResult::Moves(bytes));
        self.push(TraceOp::WorkListed);
    }

    fn list_span(&mut self, span: SimSpan) {
        let span = span.as_ps();
        // Times measured on the host are whole nanoseconds.
        let value = if span.is_multiple_of(1000) { span / 1000 * 2 } else { span.wrapping_mul(2) | 1 };
        put(&mut self.log.spans, value);
        if !span.is_multiple_of(1000) && span >> 63 == 1 {
            self.fault = Some(format!("a block of {} is too long to be recorded", SimSpan::from_ps(span)));
        }
    }

    /// Peer relative to this rank, or `LISTED_PEER`.
    pub(super) fn peer(&mut self, peer: Rank) -> u32 {
        let relative = if peer >= self.rank { peer - self.rank } else { peer + (self.ranks - self.rank) };
        if self.log.ops.len() < OPS {
            return relative;
        }
        put(&mut self.log.peers, relative.into());
        LISTED_PEER
    }

    pub(super) fn tag(&mut self, tag: Tag) -> TagRef {
        if self.in_collective {
            if std::mem::take(&mut self.opening) {
                self.open(tag);
            }
            let offset = tag.wrapping_sub(self.tags[1]);
            if offset < Tag::MAX {
                return TagRef { origin: TagOrigin::Collective, offset };
            }
        }
        if self.seen_tags.len() < TAGS {
            self.seen_tags.insert(tag);
        }
        if self.seen_tags.len() < TAGS {
            return TagRef { origin: TagOrigin::Zero, offset: tag };
        }
        let step = tag.wrapping_sub(self.tags[0]);
        self.tags[0] = tag;
        if step != 0 {
            self.push(TraceOp::TagsPointToPoint(step));
        }
        TagRef { origin: TagOrigin::PointToPoint, offset: 0 }
    }

    /// Begins a collective whose messages all have the tag `tag`.
    pub(super) fn open(&mut self, tag: Tag) {
        let step = tag.wrapping_sub(self.tags[1]);
        self.tags[1] = tag;
        match (self.is_strand, self.base) {
            (true, None) => self.base = Some(tag),
            _ if step != 0 => self.push(TraceOp::TagsCollective(step)),
            _ => {}
        }
    }

    /// Index of `group` among the task's groups.
    pub(super) fn group(&mut self, group: &Group) -> u32 {
        let known = self.seen_groups.iter().position(|known| known == group);
        known.unwrap_or_else(|| {
            self.seen_groups.push(group.clone());
            self.log.groups.push(Members::from_group(group));
            self.seen_groups.len() - 1
        }) as u32
    }

    /// Index of `name` among the task's names.
    pub(super) fn name(&mut self, name: &'static str) -> u32 {
        let known = self.log.names.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.log.names.push(name.to_owned());
            self.log.names.len() - 1
        }) as u32
    }

    /// Representation of `size` in an operation. Adds the size to the task's list of sizes if the task has too many
    /// different sizes.
    pub(super) fn size(&mut self, size: u64) -> u64 {
        if self.seen_sizes.len() < SIZES {
            self.seen_sizes.insert(size);
        }
        if self.seen_sizes.len() >= SIZES || self.log.ops.len() >= OPS || size == LISTED_SIZE {
            put(&mut self.log.sizes, size);
            return LISTED_SIZE;
        }
        size
    }

    pub(super) fn sent(&mut self, message: &Message) -> Sent {
        let tag = self.tag(message.tag);
        let peer = self.peer(message.to);
        let size = self.size(message.size.get());
        Sent { to: PeerEnd { peer, context: message.context, tag }, size, mode: message.mode.into() }
    }

    /// Source and tag of the message that a receive or probe got.
    pub(super) fn got(&mut self, pattern: &Pattern, completion: &Completion) -> PeerEnd {
        let tag = self.tag(completion.tag);
        PeerEnd { peer: self.peer(completion.source), context: pattern.context, tag }
    }
}

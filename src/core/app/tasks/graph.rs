//! All fragments of a run and what they need: a few arrays that all processes share, nothing on the heap a fragment.

use crate::platform::CoreRates;
use crate::rank::Rank;

use super::super::work::Amount;
use super::options::Options;
use super::space::Space;
use super::store::Place;

/// The number of a fragment, over all families.
pub(super) type Fragment = u32;

/// The number of a data fragment, over all families.
pub(super) type Data = u32;

/// More could not be told apart in a message's tag.
pub(super) const MOST: u32 = (1 << 28) - 1;

/// A fragment's place that no locator states: the process that creates it.
pub(super) const HERE: Rank = Rank::MAX;
/// A fragment's place that a dynamic locator finds.
pub(super) const DYNAMIC: Rank = Rank::MAX - 1;
/// Who makes data that nobody makes, who creates a fragment that is there from the beginning.
pub(super) const NOBODY: u32 = u32::MAX;

/// Members of one kind, numbered one after another.
#[derive(Clone, Debug)]
pub(super) struct FamilyMembers {
    pub name: String,
    pub first: u32,
    pub space: Space,
}

/// Lists of numbers, one for each of a row of things, in one array.
#[derive(Clone, Debug)]
pub(super) struct Lists {
    start: Vec<u32>,
    items: Vec<u32>,
}

/// Where a data fragment is kept; read together, so kept together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keeping {
    /// Where it is kept and asked for.
    pub home: Rank,
    /// Its number among those kept at the same place.
    pub kept: u32,
    /// Its size in bytes.
    pub bytes: u64,
}

/// The fragments of a run.
#[derive(Debug)]
pub(super) struct TaskGraph {
    pub options: Options,
    pub processes: u32,
    pub seed: u64,
    pub rates: CoreRates,
    pub families: Vec<FamilyMembers>,
    pub data: Vec<FamilyMembers>,
    /// By fragment: its place, or [`HERE`], or [`DYNAMIC`].
    pub at: Vec<Rank>,
    /// By fragment: its cost in `amounts`.
    pub cost: Vec<u32>,
    pub amounts: Vec<Amount>,
    pub inputs: Lists,
    pub outputs: Lists,
    pub children: Lists,
    /// What a run needs to know of each data fragment.
    pub keeping: Vec<Keeping>,
    /// By data fragment: who makes it.
    pub maker: Vec<Fragment>,
    /// By data fragment: who needs it; for the work queue only.
    pub readers: Option<Lists>,
    /// By process: the fragments that are there from the beginning.
    pub roots: Lists,
    /// By process: how many data fragments are kept there.
    pub homed: Vec<u32>,
    /// By process: how many fragments it executes, where the locators tell.
    pub expected: Option<Vec<u32>>,
}

impl Lists {
    pub fn new() -> Self {
        Lists { start: vec![0], items: Vec::new() }
    }

    /// Adds to the list that is under way.
    pub fn push(&mut self, item: u32) {
        self.items.push(item);
    }

    /// The list under way is complete.
    pub fn close(&mut self) {
        self.start.push(self.items.len() as u32);
    }

    #[inline]
    pub fn of(&self, number: u32) -> &[u32] {
        &self.items[self.start[number as usize] as usize..self.start[number as usize + 1] as usize]
    }

    /// Sorts `pairs` of a list's number and an item into `count` lists, each in the order of the pairs.
    pub fn sorted(count: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut start = vec![0u32; count + 1];
        for (list, _) in pairs.clone() {
            start[list as usize + 1] += 1;
        }
        for list in 0..count {
            start[list + 1] += start[list];
        }
        let mut next = start.clone();
        let mut items = vec![0; start[count] as usize];
        for (list, item) in pairs {
            items[next[list as usize] as usize] = item;
            next[list as usize] += 1;
        }
        Lists { start, items }
    }
}

/// `step[3, 0]`, or `main` where there are no indices.
fn name(families: &[FamilyMembers], number: u32) -> String {
    let family = &families[family(families, number)];
    let indices: Vec<String> = family.space.indices(number - family.first).iter().map(i64::to_string).collect();
    if indices.is_empty() { family.name.clone() } else { format!("{}[{}]", family.name, indices.join(", ")) }
}

/// The family of `number`.
pub(super) fn family(families: &[FamilyMembers], number: u32) -> usize {
    // Of families that begin at the same number all but the last are empty.
    families.partition_point(|family| family.first <= number) - 1
}

impl TaskGraph {
    /// How many fragments there are.
    pub fn count(&self) -> u32 {
        self.at.len() as u32
    }

    pub fn name(&self, fragment: Fragment) -> String {
        name(&self.families, fragment)
    }

    pub fn data_name(&self, data: Data) -> String {
        name(&self.data, data)
    }

    /// Whether the fragment creates others.
    #[inline]
    pub fn is_structured(&self, fragment: Fragment) -> bool {
        !self.children.of(fragment).is_empty()
    }

    /// Where `process` keeps what it knows of `data`.
    #[inline]
    pub fn place(&self, data: Data, process: Rank) -> Place {
        let Keeping { home, kept, .. } = self.keeping[data as usize];
        if home == process { Place::Kept(kept) } else { Place::Copy(data) }
    }

    /// What the fragment costs.
    #[inline]
    pub fn amount(&self, fragment: Fragment) -> Amount {
        self.amounts[self.cost[fragment as usize] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_by_number_and_keep_the_order_of_their_items() {
        let pairs = [(2, 7), (0, 5), (2, 1), (0, 9)];
        let lists = Lists::sorted(4, pairs.into_iter());
        assert_eq!([0, 1, 2, 3].map(|list| lists.of(list).to_vec()), [vec![5, 9], vec![], vec![7, 1], vec![]]);
    }
}

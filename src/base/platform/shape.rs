//! Shape of a machine: numbers of nodes, CMPs and cores.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserializer, Error, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::level::Site;

/// Shape of a machine `(N, C, T)`: N nodes, C CMPs per node and T cores per CMP. Each number is at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of nodes.
    pub nodes: u32,
    /// Number of CMPs per node.
    pub cmps: u32,
    /// Number of cores per CMP.
    pub cores: u32,
}

/// Error for a text that is not the shape of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShapeError {
    /// The text is not three positive integers.
    NotThreeNumbers {
        /// The text that was read.
        found: String,
    },
    /// The machine would have more than [`Shape::MOST_CORES`] cores.
    TooManyCores {
        /// The text that was read.
        found: String,
    },
}

impl Shape {
    /// Greatest permitted number of cores. This greatest number exceeds the number of cores of real machines, and the
    /// host's memory is sufficient for this number.
    pub const MOST_CORES: u32 = 1 << 24;

    /// Creates the shape of a machine with `nodes` nodes of `cmps` CMPs with `cores` cores each.
    ///
    /// # Errors
    /// A number is zero, or there are more than [`Shape::MOST_CORES`] cores in all.
    pub fn new(nodes: u32, cmps: u32, cores: u32) -> Result<Self, ShapeError> {
        let found = || format!("{nodes},{cmps},{cores}");
        if nodes == 0 || cmps == 0 || cores == 0 {
            return Err(ShapeError::NotThreeNumbers { found: found() });
        }
        nodes
            .checked_mul(cmps)
            .and_then(|all| all.checked_mul(cores))
            .filter(|&all| all <= Self::MOST_CORES)
            .map(|_| Shape { nodes, cmps, cores })
            .ok_or_else(|| ShapeError::TooManyCores { found: found() })
    }

    /// Returns the number of cores of the machine.
    pub fn total_cores(self) -> u64 {
        self.cores_in_node().saturating_mul(u64::from(self.nodes))
    }

    /// Returns the number of cores per node.
    pub fn cores_in_node(self) -> u64 {
        u64::from(self.cmps) * u64::from(self.cores)
    }

    /// Returns whether the machine has the core at `site`.
    pub fn contains(self, site: Site) -> bool {
        site.node < self.nodes && site.cmp < self.cmps && site.core < self.cores
    }

    /// Returns the number of the core at `site`, counted within CMPs within nodes.
    pub fn number(self, site: Site) -> u32 {
        (site.node * self.cmps + site.cmp) * self.cores + site.core
    }

    /// Returns the shape of the machine in groups of `count` neighbouring cores of a CMP, or of whole CMPs of a node.
    /// `None` if the groups have different sizes.
    pub fn grouped(self, count: u32) -> Option<Shape> {
        match count {
            0 => None,
            _ if self.cores.is_multiple_of(count) => Some(Shape { cores: self.cores / count, ..self }),
            _ if !count.is_multiple_of(self.cores) || !self.cmps.is_multiple_of(count / self.cores) => None,
            _ => Some(Shape { cmps: self.cmps / (count / self.cores), cores: 1, ..self }),
        }
    }

    /// Returns the position of core number `index`. The cores of a machine are numbered CMP by CMP within each node,
    /// node by node.
    ///
    /// # Panics
    /// The machine has no core with this number.
    pub fn site(self, index: u64) -> Site {
        assert!(index < self.total_cores(), "core {index} of a machine of {} cores", self.total_cores());
        let cmp = index / u64::from(self.cores);
        Site {
            node: (cmp / u64::from(self.cmps)) as u32,
            cmp: (cmp % u64::from(self.cmps)) as u32,
            core: (index % u64::from(self.cores)) as u32,
        }
    }
}

const THREE_NUMBERS: &str = "three whole numbers above zero such as";
const MOST_CORES: &str = "at most 16777216 cores in all";

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShapeError::NotThreeNumbers { found } => write!(f, "expected {THREE_NUMBERS} 4,2,2; found \"{found}\""),
            ShapeError::TooManyCores { found } => write!(f, "expected {MOST_CORES}; found \"{found}\""),
        }
    }
}

impl std::error::Error for ShapeError {}

impl FromStr for Shape {
    type Err = ShapeError;

    /// Parses a text such as "4,2,2", with or without parentheses.
    fn from_str(text: &str) -> Result<Self, ShapeError> {
        let wrong = || ShapeError::NotThreeNumbers { found: text.to_owned() };
        let bare = text.trim();
        let bare = bare.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')).unwrap_or(bare);
        let numbers: Vec<u64> =
            bare.split(',').map(|part| part.trim().parse()).collect::<Result<_, _>>().map_err(|_| wrong())?;
        let &[nodes, cmps, cores] = numbers.as_slice() else { return Err(wrong()) };
        if nodes == 0 || cmps == 0 || cores == 0 {
            return Err(wrong());
        }
        let narrow = |number: u64| u32::try_from(number).ok();
        narrow(nodes)
            .zip(narrow(cmps).zip(narrow(cores)))
            .and_then(|(nodes, (cmps, cores))| Shape::new(nodes, cmps, cores).ok())
            .ok_or_else(|| ShapeError::TooManyCores { found: text.to_owned() })
    }
}

impl fmt::Display for Shape {
    /// Writes the shape as `(4, 2, 2)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {}, {})", self.nodes, self.cmps, self.cores)
    }
}

impl Serialize for Shape {
    /// Writes the shape as the list `[N, C, T]`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        [self.nodes, self.cmps, self.cores].serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Shape {
    /// Reads the shape from a list `[4, 2, 2]` or, as on a command line, from a text "4,2,2".
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShapeVisitor)
    }
}

struct ShapeVisitor;

impl<'de> Visitor<'de> for ShapeVisitor {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{THREE_NUMBERS} [4, 2, 2]")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Shape, E> {
        text.parse().map_err(|error| match error {
            ShapeError::NotThreeNumbers { .. } => E::invalid_value(Unexpected::Str(text), &self),
            ShapeError::TooManyCores { .. } => E::invalid_value(Unexpected::Str(text), &MOST_CORES),
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Shape, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = sequence.next_element::<toml::Value>()? {
            values.push(value.to_string());
        }
        let found = format!("[{}]", values.join(", "));
        values.join(",").parse().map_err(|error| match error {
            ShapeError::NotThreeNumbers { .. } => A::Error::invalid_value(Unexpected::Other(&found), &self),
            ShapeError::TooManyCores { .. } => A::Error::invalid_value(Unexpected::Other(&found), &MOST_CORES),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_three_whole_numbers_above_zero() {
        let shape = Shape { nodes: 4, cmps: 2, cores: 8 };
        for text in ["4,2,8", " 4, 2, 8 ", "(4,2,8)", "(4, 2, 8)"] {
            assert_eq!(text.parse(), Ok(shape), "{text}");
        }
        assert_eq!(shape.to_string().parse(), Ok(shape));
        for text in ["", "4", "4,2", "4,2,2,1", "0,2,2", "4,0,2", "4,2,0", "-1,2,2", "4,x,2", "4,2,2.5", "4;2;2"] {
            let error = text.parse::<Shape>().unwrap_err().to_string();
            assert_eq!(error, format!("expected three whole numbers above zero such as 4,2,2; found \"{text}\""));
        }
    }

    #[test]
    fn a_machine_has_a_most_of_cores() {
        assert_eq!("4096,4096,1".parse::<Shape>().unwrap().total_cores(), u64::from(Shape::MOST_CORES));
        for text in ["16777217,1,1", "65536,65536,1", "65536,65536,2", "5000000000,1,1"] {
            let error = text.parse::<Shape>().unwrap_err().to_string();
            assert_eq!(error, format!("expected at most {} cores in all; found \"{text}\"", Shape::MOST_CORES));
        }
        assert!(Shape::new(1 << 16, 1 << 16, 1).is_err() && Shape::new(1, 0, 1).is_err());
    }

    #[test]
    fn cores_count_within_cmps_within_nodes() {
        let shape = Shape { nodes: 2, cmps: 2, cores: 3 };
        let sites: Vec<_> = (0..12).map(|index| shape.site(index)).map(|s| (s.node, s.cmp, s.core)).collect();
        assert_eq!(sites[..7], [(0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 1, 0), (0, 1, 1), (0, 1, 2), (1, 0, 0)]);
        assert_eq!(sites[11], (1, 1, 2));
    }
}

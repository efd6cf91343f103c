//! Contents of the table `[tasks]`: families of data fragments and of computation fragments. The expressions of the
//! families are compiled but not evaluated.

use crate::config::ConfigError;

use super::super::code::Block;
use super::super::compile;
use super::super::expr::Expr;
use super::super::formula::Formula;
use super::super::node::{Fields, Node};
use super::super::parser;
use super::super::scope::{Local, Reach, Scope, one_of};
use super::options;

/// Keys of a family of data fragments.
pub(in super::super) const DATA_KEYS: [&str; 3] = ["index", "bytes", "at"];
/// Keys of a family of computation fragments.
pub(in super::super) const FRAGMENT_KEYS: [&str; 6] = ["index", "cost", "in", "out", "unfold", "at"];

/// Greatest number of indices of a family of fragments.
const MOST_INDICES: usize = 8;

/// Families of data fragments and of computation fragments.
#[derive(Debug)]
pub(super) struct Description<'a> {
    pub fields: Fields<'a>,
    pub data: Vec<DataForm<'a>>,
    pub fragments: Vec<FragmentForm<'a>>,
}

/// An index of a family of fragments: the name of the index, and expressions for its first and last value.
pub(super) struct FamilyIndex<'a> {
    pub node: Node<'a>,
    pub first: Formula,
    pub last: Formula,
}

impl FamilyIndex<'_> {
    /// Whether the range of the index is independent of other indices and of random numbers.
    pub fn is_constant(&self) -> bool {
        let mut varies = |expr: &Expr| match expr {
            Expr::Name(..) => true,
            Expr::Call(function, _) => function.is_random(),
            _ => false,
        };
        !self.first.expr.any(&mut varies) && !self.last.expr.any(&mut varies)
    }
}

/// Properties that families of data fragments and families of computation fragments have in common.
#[derive(Debug)]
pub(super) struct Family<'a> {
    pub name: String,
    pub node: Node<'a>,
    pub index: Vec<FamilyIndex<'a>>,
    pub at: Option<Locator<'a>>,
}

#[derive(Debug)]
pub(super) struct DataForm<'a> {
    pub family: Family<'a>,
    pub bytes: (Node<'a>, Formula),
}

#[derive(Debug)]
pub(super) struct FragmentForm<'a> {
    pub family: Family<'a>,
    /// Cost of a computation fragment. A structured fragment (which creates fragments) without a cost takes only the
    /// time to create them.
    pub cost: Option<(Node<'a>, Block)>,
    pub inputs: Vec<Reference<'a>>,
    pub outputs: Vec<Reference<'a>>,
    pub children: Vec<Reference<'a>>,
}

/// Rule that determines the MPI process of a computation fragment or data fragment.
#[derive(Debug)]
pub(super) enum Locator<'a> {
    /// Block distribution: each MPI process has an equal number of consecutive members of the family.
    Block,
    /// Cyclic distribution of the family's members over the MPI processes.
    Cyclic,
    /// The process is decided at run time. An MPI process whose number of fragments is above a threshold forwards
    /// fragments to other processes.
    Dynamic,
    Expression(Node<'a>, Formula),
}

/// Reference to members of a family of fragments: `u[i - 1, 0 to n] if i > 0`.
#[derive(Debug)]
pub(super) struct Reference<'a> {
    pub node: Node<'a>,
    /// Index of the family among the families of data fragments, or of computation fragments.
    pub family: usize,
    /// For each index of the family, the referenced value, or the first and last value of the referenced range.
    pub indices: Vec<(Formula, Option<Formula>)>,
    pub condition: Option<Formula>,
}

impl std::fmt::Debug for FamilyIndex<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.node.path)
    }
}

impl<'a> Description<'a> {
    /// Reads the table `[tasks]` at `node` with the parameters of `scope`.
    ///
    /// # Errors
    /// Any error in a key, a name or an expression.
    pub(super) fn read(node: &Node<'a>, scope: &mut Scope) -> Result<Self, ConfigError> {
        scope.reach = Reach::Tasks;
        let mut keys = vec!["data", "fragments"];
        keys.extend(options::KEYS);
        let fields = node.fields("a table of fragments, their data and their manager", &keys)?;
        options::read(&fields, scope, None)?;
        let mut data: Vec<DataForm<'a>> = Vec::new();
        if let Some(node) = fields.get("data") {
            for (name, node) in node.entries("a table of families of data")? {
                let known = data.iter().map(|form| &*form.family.name);
                data.push(read_data(name, &node, known, scope)?);
            }
        }
        let families = fields.need("fragments", "a table of families of fragments")?;
        let families = families.entries("a table of families of fragments")?;
        let names: Vec<&str> = families.iter().map(|(name, _)| *name).collect();
        let data_names: Vec<&str> = data.iter().map(|form| &*form.family.name).collect();
        let mut fragments = Vec::new();
        for (name, node) in &families {
            if data_names.contains(name) {
                return Err(node.error(format!("\"{name}\" is a family of data, choose another name")));
            }
            fragments.push(read_fragment(name, node, &Names { data: &data_names, fragments: &names }, scope)?);
        }
        let depth_of_data: Vec<usize> = data.iter().map(|form| form.family.index.len()).collect();
        let depth_of_fragments: Vec<usize> = fragments.iter().map(|form| form.family.index.len()).collect();
        for form in &fragments {
            for reference in form.inputs.iter().chain(&form.outputs) {
                reference.check_depth(&depth_of_data)?;
            }
            for reference in &form.children {
                reference.check_depth(&depth_of_fragments)?;
            }
        }
        if fragments.is_empty() {
            return Err(fields.node.error("no fragments, expected a family such as [tasks.fragments.main]"));
        }
        Ok(Description { fields, data, fragments })
    }
}

/// Families of fragments to which a fragment can refer.
struct Names<'a> {
    data: &'a [&'a str],
    fragments: &'a [&'a str],
}

fn read_data<'a, 'k>(
    name: &str,
    node: &Node<'a>,
    mut known: impl Iterator<Item = &'k str>,
    scope: &mut Scope,
) -> Result<DataForm<'a>, ConfigError> {
    if known.any(|other| other == name) {
        return Err(node.error(format!("\"{name}\" is defined twice")));
    }
    let fields = node.fields("a family of data such as { index = { i = \"n\" }, bytes = 8 }", &DATA_KEYS)?;
    let family = read_family(name, &fields, scope)?;
    let bytes = fields.need("bytes", "the size of each")?;
    let formula = Formula::unnamed(bytes.size(scope)?.expr);
    forget(&family, scope);
    Ok(DataForm { family, bytes: (bytes, formula) })
}

fn read_fragment<'a>(
    name: &str,
    node: &Node<'a>,
    names: &Names<'_>,
    scope: &mut Scope,
) -> Result<FragmentForm<'a>, ConfigError> {
    let form = "a family of fragments such as { index = { i = \"n\" }, cost = \"1 ms\", out = [\"u[i]\"] }";
    let fields = node.fields(form, &FRAGMENT_KEYS)?;
    let family = read_family(name, &fields, scope)?;
    let cost = match fields.get("cost") {
        Some(node) => Some((node.clone(), compile::block(&node, scope)?)),
        None => None,
    };
    let references = |key: &str, names: &[&str], kind: &str| -> Result<Vec<Reference<'a>>, ConfigError> {
        let Some(node) = fields.get(key) else { return Ok(Vec::new()) };
        let items = node.items(format!("an array of {kind} such as \"u[i, j]\""))?;
        items.into_iter().map(|item| read_reference(item, names, kind, scope)).collect()
    };
    let inputs = references("in", names.data, "data")?;
    let outputs = references("out", names.data, "data")?;
    let children = references("unfold", names.fragments, "fragments")?;
    if cost.is_none() && children.is_empty() {
        return Err(node.error("missing \"cost\" (its time), or \"unfold\" (the fragments it creates)"));
    }
    forget(&family, scope);
    Ok(FragmentForm { family, cost, inputs, outputs, children })
}

/// Reads the properties that all families have in common. The names of the family's indices remain in `scope`.
fn read_family<'a>(name: &str, fields: &Fields<'a>, scope: &mut Scope) -> Result<Family<'a>, ConfigError> {
    let mut index = Vec::new();
    if let Some(node) = fields.get("index") {
        for (name, node) in node.entries("a table of indices such as { i = \"n\", j = \"i + 1 to n - 1\" }")? {
            if index.len() == MOST_INDICES {
                return Err(node.error(format!("expected at most {MOST_INDICES} indices")));
            }
            scope.is_free(name).map_err(|what| node.error(what))?;
            let (first, last) = read_range(&node, scope)?;
            scope.push_local(name, index.len() as u32, Local::Loop);
            index.push(FamilyIndex { node, first, last });
        }
    }
    let at = fields.get("at").map(|node| read_locator(node, scope)).transpose()?;
    Ok(Family { name: name.to_owned(), node: fields.node.clone(), index, at })
}

/// Removes the names of the family's indices from `scope`.
fn forget(family: &Family<'_>, scope: &mut Scope) {
    family.index.iter().for_each(|_| scope.pop_local());
}

/// Reads the range of an index. The text `"n"` means the range from 0 to n − 1.
fn read_range(node: &Node<'_>, scope: &Scope) -> Result<(Formula, Formula), ConfigError> {
    let Some(text) = node.value.as_str() else {
        let count = node.formula(scope)?;
        return Ok((Formula::constant(0), Formula::unnamed(count.expr).less_one()));
    };
    let (first, last) = parser::parse_range(text, scope).map_err(|error| node.syntax(&error))?;
    Ok(match last {
        Some(last) => (Formula::unnamed(first), Formula::unnamed(last)),
        None => (Formula::constant(0), Formula::unnamed(first).less_one()),
    })
}

fn read_locator<'a>(node: Node<'a>, scope: &Scope) -> Result<Locator<'a>, ConfigError> {
    Ok(match node.value.as_str() {
        Some("block") => Locator::Block,
        Some("cyclic") => Locator::Cyclic,
        Some("dynamic") => Locator::Dynamic,
        _ => {
            let is_word = |text: &str| text.chars().all(|letter| letter.is_ascii_alphabetic());
            let formula = node.formula(scope).map_err(|error| match node.value.as_str().is_some_and(is_word) {
                true => node.expected("\"block\", \"cyclic\", \"dynamic\" or the number of a process"),
                false => error,
            })?;
            let formula = Formula::unnamed(formula.expr);
            Locator::Expression(node, formula)
        }
    })
}

fn read_reference<'a>(node: Node<'a>, names: &[&str], kind: &str, scope: &Scope) -> Result<Reference<'a>, ConfigError> {
    let text = node.text(format!("{kind} such as \"u[i, j]\" or \"u[i - 1, 0 to n - 1] if i > 0\""))?;
    let form = parser::parse_reference(text, scope).map_err(|error| node.syntax(&error))?;
    let Some(family) = names.iter().position(|name| *name == form.name) else {
        let section = if kind == "data" { "tasks.data" } else { "tasks.fragments" };
        let known = one_of(section, names.iter().copied());
        return Err(node.error(format!("unknown {kind} \"{}\"{known}", form.name)));
    };
    let formula = Formula::unnamed;
    let indices = form.indices.into_iter().map(|(first, last)| (formula(first), last.map(formula))).collect();
    let condition = form.condition.map(formula);
    Ok(Reference { node, family, indices, condition })
}

impl Reference<'_> {
    fn check_depth(&self, depths: &[usize]) -> Result<(), ConfigError> {
        let depth = depths[self.family];
        if self.indices.len() == depth {
            return Ok(());
        }
        let plural = if depth == 1 { "index" } else { "indices" };
        Err(self.node.error(format!("expected {depth} {plural}; found {}", self.indices.len())))
    }
}

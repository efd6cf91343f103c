//! Loads an application file: its top-level keys and its parameters.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::config::{ConfigError, Document, Override, did_you_mean};

use super::bind::{self, BoundApp, TargetMachine};
use super::code::CodeSource;
use super::compile::{AppParts, compile};
use super::expr::Env;
use super::node::{Node, alternatives};
use super::random::Random;
use super::scope::Scope;
use super::slots::Slots;
use super::tasks;
use super::value::Value;
use super::world::AppWorld;

/// Top-level keys of an application file.
pub(super) const KEYS: [&str; 12] =
    ["name", "about", "params", "let", "grids", "comms", "timers", "procedures", "main", "results", "tasks", "run"];

/// Top-level keys that an application file may contain only together with `main`.
const OF_STATEMENTS: [&str; 7] = ["let", "grids", "comms", "timers", "procedures", "main", "results"];

/// A described application that mcpsim has read and checked. All parameters of the application have values.
#[derive(Clone, Debug)]
pub struct App {
    document: Document,
    name: String,
    params: BTreeMap<String, Value>,
}

impl App {
    /// Loads the application in `document`. An override whose key begins with `app` replaces the default of a
    /// parameter.
    ///
    /// # Errors
    /// Any error in the file that does not depend on the number of ranks, or an override of an unknown parameter.
    pub fn load(mut document: Document, overrides: &[Override]) -> Result<App, ConfigError> {
        if let Some(key) = document.table().keys().find(|key| !KEYS.contains(&key.as_str())) {
            let hint = match did_you_mean(key, KEYS) {
                hint if hint.is_empty() => format!(", expected {}", alternatives(&KEYS)),
                hint => hint,
            };
            return Err(ConfigError::new(format!("unknown key \"{key}\"{hint} in {}", document.name())));
        }
        for over in overrides.iter().filter(|over| over.key[0] == "app") {
            check_override(&document, over)?;
            let section = if is_of_tasks(&document, over) { "tasks" } else { "params" };
            document.set(&[section.to_owned(), over.key[over.key.len() - 1].clone()], over)?;
        }
        if document.table().contains_key("tasks") {
            if let Some(key) = document.table().keys().find(|key| OF_STATEMENTS.contains(&key.as_str())) {
                let what = format!("\"{key}\" and \"tasks\" in {}, expected one of them", document.name());
                return Err(ConfigError::new(what));
            }
        } else if !document.table().contains_key("main") {
            return Err(missing_main(&document));
        }
        let params = params(&document)?;
        let name = match Node::top(&document, "name") {
            Some(node) => node.text("a name")?.to_owned(),
            None => {
                let stem = Path::new(document.name()).file_stem();
                stem.map_or("app".to_owned(), |stem| stem.to_string_lossy().into_owned())
            }
        };
        if let Some(about) = Node::top(&document, "about") {
            about.text("text")?;
        }
        if let Some(run) = Node::top(&document, "run") {
            run.entries("a table of settings")?;
        }
        let app = App { document, name, params };
        if let Some(node) = Node::top(&app.document, "tasks") {
            tasks::load(&node, app.scope(None))?;
            return Ok(app);
        }
        let (scope, _) = bind::arrange(&app.document, app.scope(None))?;
        compile(&app.parts()?, scope, u64::MAX)?;
        Ok(app)
    }

    /// Name of the application. The default is the name of the application's file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the application is task-based, that is, consists of data and computation fragments.
    pub fn has_fragments(&self) -> bool {
        self.document.table().contains_key("tasks")
    }

    /// Description of the application that the file contains, if any.
    pub fn about(&self) -> Option<&str> {
        self.document.table().get("about").and_then(toml::Value::as_str)
    }

    /// Returns the document of the application, which errors about the contents of `run_table` name.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Run settings that the application file suggests (table `[run]`), if any.
    pub fn run_table(&self) -> Option<&toml::Table> {
        self.document.table().get("run").and_then(toml::Value::as_table)
    }

    /// Returns the whole application file, with the value of every parameter instead of its expression.
    pub fn config(&self) -> toml::Table {
        let mut table = self.document.table().clone();
        if let Some(params) = table.get_mut("params").and_then(toml::Value::as_table_mut) {
            for (name, value) in params.iter_mut() {
                *value = match self.params.get(name.as_str()) {
                    Some(Value::Int(n)) => toml::Value::Integer(*n),
                    Some(Value::Float(x)) => toml::Value::Float(*x),
                    Some(Value::Bool(b)) => toml::Value::Boolean(*b),
                    _ => continue,
                };
            }
        }
        table
    }

    /// Name and text of the application's file.
    pub fn file(&self) -> (String, Arc<str>) {
        (self.document.name().to_owned(), self.document.text().clone())
    }

    /// Returns the application with messages that refer to `file`. The application's own file is a copy of `file`.
    pub fn copied_from(self, file: (String, Arc<str>)) -> Self {
        App { document: self.document.copied_from(file), ..self }
    }

    /// Compiles the application for a number of ranks.
    ///
    /// # Errors
    /// The number of ranks does not fit a grid; an expression of a communicator has no value for a rank; a loop without
    /// communication has a constant number of iterations above the limit; or some fragments can never be executed.
    pub fn bind(&self, target: TargetMachine) -> Result<BoundApp, ConfigError> {
        if let Some(node) = Node::top(&self.document, "tasks") {
            let scope = self.scope(Some((target.ranks, target.seed)));
            return Ok(BoundApp::of_fragments(tasks::bind(&node, scope, target)?));
        }
        let (scope, world) = bind::arrange(&self.document, self.scope(Some((target.ranks, target.seed))))?;
        let mut code = compile(&self.parts()?, scope, target.max_turns)?;
        code.comm_names = bind::comm_names(&self.document);
        code.world = world;
        code.source = Some(CodeSource::new(self.document.name(), self.document.text().clone()));
        Ok(BoundApp::new(code, target))
    }

    fn scope(&self, run: Option<(u32, u64)>) -> Scope {
        Scope::new(self.params.clone(), run)
    }

    fn parts(&self) -> Result<AppParts<'_>, ConfigError> {
        let top = |key| Node::top(&self.document, key);
        let main = top("main").ok_or_else(|| {
            ConfigError::new(format!(
                "missing \"main\" (the statements each rank executes) in {}",
                self.document.name()
            ))
        })?;
        Ok(AppParts { lets: top("let"), procedures: top("procedures"), main, results: top("results") })
    }
}

/// Whether the option `--set` in `over` sets a key of `[tasks]` that options may set.
fn is_of_tasks(document: &Document, over: &Override) -> bool {
    let key = |place: usize| over.key.get(place).map_or("", String::as_str);
    over.key.len() == 3
        && key(1) == "tasks"
        && tasks::KEYS.contains(&key(2))
        && document.table().get("tasks").is_some_and(toml::Value::is_table)
}

fn missing_main(document: &Document) -> ConfigError {
    let file = document.name();
    // In TOML, a key after `[params]` belongs to the table `params`, regardless of indentation.
    let inside = |value: &toml::Value| value.as_table().is_some_and(|table| table.contains_key("main"));
    match document.table().iter().find(|(_, value)| inside(value)) {
        Some((key, _)) => {
            ConfigError::new(format!("\"main\" is inside [{key}] of {file}, but must precede the first [table]"))
        }
        None => ConfigError::new(format!("missing \"main\" (the statements each rank executes) in {file}")),
    }
}

fn check_override(document: &Document, over: &Override) -> Result<(), ConfigError> {
    let params = document.table().get("params").and_then(toml::Value::as_table);
    let known: Vec<&str> = params.map_or(Vec::new(), |params| params.keys().map(String::as_str).collect());
    if over.key.len() == 2 && known.contains(&over.key[1].as_str()) || is_of_tasks(document, over) {
        return Ok(());
    }
    if over.key.len() == 3 && over.key[1] == "tasks" && document.table().contains_key("tasks") {
        let expected = alternatives(&tasks::KEYS);
        let what = format!("{} has no key \"{}\" of tasks to set, expected {expected}", document.name(), over.key[2]);
        return Err(ConfigError::new(format!("--set {}: {what}", over.text)));
    }
    let key = over.key[1..].join(".");
    let expected =
        if known.is_empty() { "it has no parameters".to_owned() } else { format!("expected {}", alternatives(&known)) };
    Err(ConfigError::new(format!("--set {}: {} has no parameter \"{key}\", {expected}", over.text, document.name())))
}

/// Values of the parameters in `[params]`. The expression of a parameter may use the previous parameters.
fn params(document: &Document) -> Result<BTreeMap<String, Value>, ConfigError> {
    let mut scope = Scope::new(BTreeMap::new(), None);
    let (world, slots) = (AppWorld::default(), Slots::new(0));
    if let Some(params) = Node::top(document, "params") {
        for (name, node) in params.entries("a table of parameters and their defaults")? {
            scope.is_free(name).map_err(|what| node.error(what))?;
            let random = &mut Random::default();
            let env = &mut Env { world: &world, rank: 0, slots: &slots, random, peer: 0 };
            let formula = node.formula(&scope)?;
            let value = formula.expr.evaluate(env).map_err(|fault| node.expected_value("a value", &fault))?;
            scope.add_param(name, value);
        }
    }
    Ok(scope.into_params())
}

//! Compiles control statements: loops, conditions, assignments, calls.

use crate::config::{ConfigError, did_you_mean};

use super::super::code::{ForLoop, Op};
use super::super::formula::Formula;
use super::super::node::{Fields, Node};
use super::super::scope::Local;
use super::super::value::Value;
use super::{Compiler, collective, operation};

/// Statements with several keys: the key that identifies the statement, and all keys of the statement.
pub(in super::super) const CONTROL: [(&str, &[&str]); 6] = [
    ("for", &["for", "from", "to", "step", "do"]),
    ("repeat", &["repeat", "do"]),
    ("while", &["while", "do"]),
    ("if", &["if", "then", "else"]),
    ("call", &["call", "with"]),
    ("time", &["time", "at", "do"]),
];

/// Returns all keywords of statements.
pub(super) fn operation_names() -> impl Iterator<Item = &'static str> {
    let control = CONTROL.iter().map(|(key, _)| *key).chain(["set"]);
    control.chain(operation::NAMES).chain(collective::names())
}

impl<'a> Compiler<'a> {
    pub(super) fn statement(&mut self, node: &Node<'a>) -> Result<(), ConfigError> {
        let begins = |name: &str| match node.value {
            toml::Value::String(word) => word == name,
            toml::Value::Table(table) => table.contains_key(name),
            _ => false,
        };
        let around = std::mem::replace(&mut self.word, operation_names().find(|name| begins(name)).unwrap_or_default());
        let compiled = self.statement_inside(node);
        self.word = around;
        compiled
    }

    fn statement_inside(&mut self, node: &Node<'a>) -> Result<(), ConfigError> {
        match node.value {
            toml::Value::String(word) => self.bare(node, word),
            toml::Value::Table(table) => {
                if let Some((key, known)) = CONTROL.iter().find(|(key, _)| table.contains_key(*key)) {
                    let fields = node.fields("a statement", known)?;
                    return match *key {
                        "for" => self.for_loop(&fields),
                        "repeat" => self.repeat(&fields),
                        "while" => self.while_loop(&fields),
                        "if" => self.condition(&fields),
                        "time" => self.time(&fields),
                        _ => self.call(&fields),
                    };
                }
                let mut entries = table.iter();
                match (entries.next(), entries.next()) {
                    (Some((key, value)), None) => self.simple(node, key, node.child(key, value)),
                    (Some((first, _)), Some((second, _))) => {
                        Err(node
                            .error(format!("expected one operation per statement, found \"{first}\" and \"{second}\"")))
                    }
                    _ => Err(node.error("expected a statement, found {}")),
                }
            }
            _ => Err(node.expected("a statement such as \"barrier\" or { send = { to = 1, bytes = 8 } }")),
        }
    }

    /// Compiles a statement that is a table with one key.
    fn simple(&mut self, statement: &Node<'a>, key: &str, node: Node<'a>) -> Result<(), ConfigError> {
        if key == "set" {
            return self.set(statement, &node);
        }
        if let Some((collective, start)) = collective::by_name(key) {
            return self.collective(statement, &node, key, collective, start);
        }
        if operation::NAMES.contains(&key) {
            return self.operation(statement, key, &node);
        }
        let hint = did_you_mean(key, operation_names());
        Err(statement.error(format!("unknown operation \"{key}\"{hint}")))
    }

    /// Compiles a statement that is a single keyword.
    fn bare(&mut self, node: &Node<'a>, word: &str) -> Result<(), ConfigError> {
        match word {
            "waitall" => self.wait_for_all(node),
            "barrier" | "ibarrier" => {
                let (collective, start) = collective::by_name(word).expect("a barrier is a collective");
                self.bare_collective(node, collective, start);
                Ok(())
            }
            _ if operation_names().any(|name| name == word) => {
                Err(node.error(format!("\"{word}\" needs its arguments, expected {{ {word} = … }}")))
            }
            _ => self.call_procedure(node, word, None),
        }
    }

    fn for_loop(&mut self, fields: &Fields<'a>) -> Result<(), ConfigError> {
        let place = &fields.node.path;
        let name_node = fields.need("for", "the variable's name")?;
        let name = name_node.text("a variable's name")?;
        self.scope.is_free(name).map_err(|what| name_node.error(what))?;
        let from = fields.formula_or("from", 0, &self.scope)?;
        let to = fields.need("to", "the first value not taken")?.formula(&self.scope)?;
        let step = fields.formula_or("step", 1, &self.scope)?;
        self.check_turns(fields, constant_turns(&from, &to, &step), |compiler| {
            let outer = compiler.next_slot;
            let (variable, limit, stride) = (compiler.new_slot(), compiler.new_slot(), compiler.new_slot());
            let each = ForLoop { variable, from, to, step, limit, stride, exit: 0 };
            let start = compiler.emit(place, Op::For(Box::new(each)));
            compiler.scope.push_local(name, variable, Local::Loop);
            compiler.body(fields)?;
            compiler.scope.pop_local();
            compiler.emit(place, Op::Next(start));
            let end = compiler.here();
            if let Op::For(each) = &mut compiler.ops[start as usize] {
                each.exit = end;
            }
            compiler.next_slot = outer;
            Ok(())
        })
    }

    fn repeat(&mut self, fields: &Fields<'a>) -> Result<(), ConfigError> {
        let place = &fields.node.path;
        let count = fields.need("repeat", "how often")?.formula(&self.scope)?;
        let turns = count.expr.constant().and_then(|value| value.whole().ok());
        self.check_turns(fields, turns.map(i128::from), |compiler| {
            let outer = compiler.next_slot;
            let left = compiler.new_slot();
            let start = compiler.emit(place, Op::Repeat { count, left, exit: 0 });
            compiler.body(fields)?;
            compiler.emit(place, Op::Turn { left, body: start + 1 });
            let end = compiler.here();
            if let Op::Repeat { exit, .. } = &mut compiler.ops[start as usize] {
                *exit = end;
            }
            compiler.next_slot = outer;
            Ok(())
        })
    }

    fn while_loop(&mut self, fields: &Fields<'a>) -> Result<(), ConfigError> {
        let place = &fields.node.path;
        let condition = fields.need("while", "the condition")?.formula(&self.scope)?;
        let start = self.emit(place, Op::Unless { condition, to: 0 });
        self.body(fields)?;
        self.emit(place, Op::Again(start));
        self.land(start);
        Ok(())
    }

    fn condition(&mut self, fields: &Fields<'a>) -> Result<(), ConfigError> {
        let place = &fields.node.path;
        let condition = fields.need("if", "the condition")?.formula(&self.scope)?;
        let test = self.emit(place, Op::Unless { condition, to: 0 });
        let then = fields.need("then", "the statements to execute where it holds")?;
        self.block(&then)?;
        if let Some(other) = fields.get("else") {
            let skip = self.emit(place, Op::Jump(0));
            self.land(test);
            self.block(&other)?;
            self.land(skip);
        } else {
            self.land(test);
        }
        Ok(())
    }

    /// Sets the target of the jump instruction `from` to the next instruction.
    fn land(&mut self, from: u32) {
        let here = self.here();
        match &mut self.ops[from as usize] {
            Op::Unless { to, .. } | Op::Jump(to) => *to = here,
            _ => unreachable!("only jumps land"),
        }
    }

    fn body(&mut self, fields: &Fields<'a>) -> Result<(), ConfigError> {
        let body = fields.need("do", "the statements to repeat")?;
        self.block(&body)
    }

    /// Checks a loop with a known number of iterations. Rejects a loop without communication that has too many
    /// iterations.
    fn check_turns(
        &mut self,
        fields: &Fields<'a>,
        turns: Option<i128>,
        compile: impl FnOnce(&mut Self) -> Result<(), ConfigError>,
    ) -> Result<(), ConfigError> {
        let before = self.communicating;
        compile(self)?;
        match turns {
            Some(turns) if self.communicating == before && turns > i128::from(self.max_turns) => {
                let what = format!(
                    "a loop takes {turns} iterations without communication, expected at most {}",
                    self.max_turns
                );
                Err(fields.node.error(format!("{what} (--max-iterations)")))
            }
            _ => Ok(()),
        }
    }

    fn set(&mut self, statement: &Node<'a>, node: &Node<'a>) -> Result<(), ConfigError> {
        for (name, value) in node.entries("a table of names and expressions")? {
            let slot = self.assignable(&value, name)?;
            let value = value.formula(&self.scope)?;
            self.emit(&statement.path, Op::Set { slot, value });
        }
        Ok(())
    }

    /// Index of the variable `name`, to which the statement at `node` assigns a value.
    pub(super) fn assignable(&self, node: &Node<'a>, name: &str) -> Result<u32, ConfigError> {
        self.scope.assignable(name).map_err(|unknown| {
            // A name to which no statement may assign is not free. The error of `is_free` states the reason.
            node.error(self.scope.is_free(name).err().unwrap_or(unknown))
        })
    }
}

fn constant_turns(from: &Formula, to: &Formula, step: &Formula) -> Option<i128> {
    let constant = |formula: &Formula| formula.expr.constant().and_then(|value: Value| value.whole().ok());
    let (from, to, step) = (i128::from(constant(from)?), i128::from(constant(to)?), i128::from(constant(step)?));
    if step == 0 { None } else { Some(((to - from) * step.signum() + step.abs() - 1) / step.abs()) }
}

//! Compiles `time` statements and the table `[results]`.

use crate::config::ConfigError;

use super::super::code::{Op, Pc, ResultCode, ResultsCode, TimeBlock};
use super::super::node::{Fields, Node};
use super::super::results::{ResultFault, check, of_one_rank};
use super::Compiler;

/// Keys of `[results]`.
pub(in super::super) const RESULTS_KEYS: [&str; 2] = ["do", "show"];

/// Keys of a result.
pub(in super::super) const RESULT_KEYS: [&str; 3] = ["value", "unit", "if"];

/// Greatest number of characters in the unit of a result.
const LONGEST_UNIT: usize = 16;

impl<'a> Compiler<'a> {
    /// Compiles the statement `time = "NAME", at = "INDEX", do = [ … ]`.
    pub(super) fn time(&mut self, fields: &Fields<'a>) -> Result<(), ConfigError> {
        let path = &fields.node.path;
        let name = fields.need("time", "a timer's name")?;
        let timer = self.scope.timer(name.text("a timer's name")?).map_err(|what| name.error(what))?;
        let at = fields.formula_or("at", 0, &self.scope)?;
        let outer = self.next_slot;
        let (place, began) = (self.new_slot(), self.new_slot());
        self.emit(path, Op::Time(Box::new(TimeBlock { timer, at, place, began })));
        let body = fields.need("do", "the statements to time")?;
        self.block(&body)?;
        self.emit(path, Op::Timed { place, began });
        self.next_slot = outer;
        Ok(())
    }

    /// Compiles the table `[results]`. The code of the results follows the end of `main` and precedes the procedures.
    pub(super) fn compile_results(&mut self, node: Option<&Node<'a>>) -> Result<Option<ResultsCode>, ConfigError> {
        let Some(node) = node else { return Ok(None) };
        let fields = node.fields("a table of results to compute", &RESULTS_KEYS)?;
        let start = self.here();
        self.word = "";
        // Results may use those names of `[let]` whose values are equal at all ranks.
        for index in 0..self.lets.len() {
            let (_, slot, value) = &self.lets[index];
            if let Some(value) = value.clone() {
                let slot = *slot;
                self.emit(&node.path, Op::Set { slot, value });
            }
        }
        self.scope.results = true;
        if let Some(statements) = fields.get("do") {
            self.block(&statements)?;
        }
        let mut shown = Vec::new();
        for (name, entry) in fields.need("show", "the results")?.entries("a table of results")? {
            shown.push(self.result(name, &entry)?);
        }
        self.scope.results = false;
        self.emit("end of results", Op::Finish);
        Ok(Some(ResultsCode { start, end: self.here(), shown }))
    }

    fn result(&self, name: &str, entry: &Node<'a>) -> Result<ResultCode, ConfigError> {
        const FORM: &str = "a result such as { value = \"longest(t, 0)\", unit = \"s\" }";
        let well_formed = super::super::lexer::word(name) == Some(name) && name.len() <= 32;
        if !well_formed {
            return Err(entry.error("expected a result's name of at most 32 letters, digits and \"_\""));
        }
        let fields = entry.fields(FORM, &RESULT_KEYS)?;
        let unit = match fields.get("unit") {
            None => "",
            Some(node) => {
                let unit = node.text("a unit")?;
                if unit.chars().count() > LONGEST_UNIT || !unit.chars().all(|c| c.is_ascii_graphic()) {
                    return Err(node.expected(format!("a unit of at most {LONGEST_UNIT} characters such as \"B/s\"")));
                }
                unit
            }
        };
        let value = fields.need("value", "an expression")?.formula(&self.scope)?;
        let condition = fields.formula("if", &self.scope)?;
        let differs = |slot| self.differs(slot);
        if let Some(what) = [Some(&value), condition.as_ref()]
            .into_iter()
            .flatten()
            .find_map(|formula| of_one_rank(&formula.expr, &differs))
        {
            return Err(entry.error(what));
        }
        Ok(ResultCode { name: name.to_owned(), value, condition, unit: unit.to_owned() })
    }

    /// Name in `[let]` of the variable `slot`, if the value of the name differs between ranks.
    pub(super) fn differs(&self, slot: u32) -> Option<String> {
        let (name, _, value) = self.lets.iter().find(|(_, other, _)| *other == slot)?;
        value.is_none().then(|| name.clone())
    }

    /// Checks that results need no data that are available only during a run. The procedures must have been compiled.
    pub(super) fn check_results(&self, node: Option<&Node<'a>>, results: &ResultsCode) -> Result<(), ConfigError> {
        let procedure = |index: u32| {
            let procedure = &self.procedures[index as usize];
            (procedure.start, procedure.end)
        };
        let range: (Pc, Pc) = (results.start, results.end);
        check(&self.ops, range, procedure, &|slot| self.differs(slot)).map_err(|ResultFault { pc, what }| {
            let place = &self.places[pc as usize];
            let file = node.map_or(String::new(), |node| node.place());
            let file = file.split_once(" of ").map_or("", |(_, file)| file);
            ConfigError::new(format!("{what} in {place} of {file}"))
        })
    }
}

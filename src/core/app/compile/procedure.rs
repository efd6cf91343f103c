//! Compiles procedures. The compiler declares all procedures first, so a statement may call a procedure that the file
//! defines later. Procedures are never recursive, so each procedure needs variables for only one active call.

use crate::config::{ConfigError, did_you_mean};

use super::super::code::{Op, Procedure};
use super::super::node::{Fields, Node, alternatives};
use super::super::scope::Local;
use super::Compiler;
use super::control::operation_names;

/// Keys of a procedure with parameters.
pub(in super::super) const PROCEDURE_KEYS: [&str; 2] = ["params", "do"];

const FORM: &str = "an array of statements or { params = [\"a\"], do = [ … ] }";

impl<'a> Compiler<'a> {
    pub(super) fn declare_procedures(&mut self, node: Option<&Node<'a>>) -> Result<(), ConfigError> {
        let Some(node) = node else { return Ok(()) };
        for (name, body) in node.entries("a table of procedures")? {
            if operation_names().any(|operation| operation == name) {
                return Err(body.error(format!("\"{name}\" is the name of an operation, choose another name")));
            }
            let mut parameters: Vec<(String, u32)> = Vec::new();
            if body.value.is_table() {
                let fields = body.fields(FORM, &PROCEDURE_KEYS)?;
                if let Some(list) = fields.get("params") {
                    for item in list.items("an array of names")? {
                        let parameter = item.text("a parameter's name")?;
                        self.scope.is_free(parameter).map_err(|what| item.error(what))?;
                        if parameters.iter().any(|(other, _)| other == parameter) {
                            return Err(item.error(format!("\"{parameter}\" occurs twice")));
                        }
                        let slot = self.new_slot();
                        parameters.push((parameter.to_owned(), slot));
                    }
                }
            }
            let return_slot = self.new_slot();
            self.procedures.push(Procedure { name: name.to_owned(), start: 0, end: 0, return_slot, parameters });
            self.calls.push(Vec::new());
        }
        Ok(())
    }

    pub(super) fn compile_procedures(&mut self, node: Option<&Node<'a>>) -> Result<(), ConfigError> {
        let Some(node) = node else { return Ok(()) };
        for (index, (_, body)) in node.entries("a table of procedures")?.into_iter().enumerate() {
            self.current = Some(index as u32);
            // Loops in a procedure must not use the loop variables of the procedure's callers.
            self.next_slot = self.slots;
            let start = self.here();
            let parameters = self.procedures[index].parameters.clone();
            for (name, slot) in &parameters {
                self.scope.is_free(name).map_err(|what| body.error(what))?;
                self.scope.push_local(name, *slot, Local::Parameter);
            }
            let statements = match body.value {
                toml::Value::Table(_) => body.fields(FORM, &PROCEDURE_KEYS)?.need("do", "its statements")?,
                toml::Value::Array(_) => body.clone(),
                _ => return Err(body.expected(FORM)),
            };
            self.block(&statements)?;
            for _ in &parameters {
                self.scope.pop_local();
            }
            let slot = self.procedures[index].return_slot;
            self.emit(&body.path, Op::Return { slot });
            let end = self.here();
            let procedure = &mut self.procedures[index];
            (procedure.start, procedure.end) = (start, end);
        }
        self.check_cycles(node)
    }

    /// Compiles the statement `call = "name", with = { … }`.
    pub(super) fn call(&mut self, fields: &Fields<'a>) -> Result<(), ConfigError> {
        let name = fields.need("call", "the procedure's name")?.text("a procedure's name")?;
        self.call_procedure(&fields.node, name, fields.get("with").as_ref())
    }

    pub(super) fn call_procedure(
        &mut self,
        statement: &Node<'a>,
        name: &str,
        with: Option<&Node<'a>>,
    ) -> Result<(), ConfigError> {
        let Some(index) = self.procedures.iter().position(|procedure| procedure.name == name) else {
            let mut known: Vec<&str> = self.procedures.iter().map(|procedure| procedure.name.as_str()).collect();
            known.extend(operation_names().map(|name| -> &str { name }));
            let hint = did_you_mean(name, known);
            return Err(statement.error(format!("unknown procedure or operation \"{name}\"{hint}")));
        };
        let parameters = self.procedures[index].parameters.clone();
        let mut arguments = Vec::new();
        for (parameter, value) in with.map_or(Ok(Vec::new()), |with| with.entries("a table of arguments"))? {
            let Some((_, slot)) = parameters.iter().find(|(other, _)| other == parameter) else {
                let known: Vec<&str> = parameters.iter().map(|(name, _)| &**name).collect();
                let expected = alternatives(&known);
                return Err(value.error(format!("\"{name}\" has no parameter \"{parameter}\", expected {expected}")));
            };
            arguments.push((*slot, value.formula(&self.scope)?));
        }
        if let Some((missing, _)) = parameters.iter().find(|(_, slot)| arguments.iter().all(|(other, _)| other != slot))
        {
            return Err(statement.error(format!("missing argument \"{missing}\" of \"{name}\"")));
        }
        if let Some(caller) = self.current {
            self.calls[caller as usize].push(index as u32);
        }
        // The called procedure may communicate, which is known only at run time.
        self.communicating += 1;
        self.emit(&statement.path, Op::Call { procedure: index as u32, arguments: arguments.into() });
        Ok(())
    }

    fn check_cycles(&self, node: &Node<'a>) -> Result<(), ConfigError> {
        let mut done = vec![false; self.procedures.len()];
        for start in 0..self.procedures.len() as u32 {
            // Iterative depth-first search for a recursion. The stack contains the path of calls from the procedure
            // `start`. Each element of the stack is a procedure and the index of its next call.
            let mut way = vec![(start, 0)];
            while let Some((procedure, next)) = way.last_mut() {
                let Some(&callee) = self.calls[*procedure as usize].get(*next) else {
                    done[*procedure as usize] = true;
                    way.pop();
                    continue;
                };
                *next += 1;
                if let Some(first) = way.iter().position(|(other, _)| *other == callee) {
                    let cycle = way[first..].iter().map(|(index, _)| *index).chain([callee]);
                    let names: Vec<&str> = cycle.map(|index| &*self.procedures[index as usize].name).collect();
                    return Err(node.error(format!("procedures call each other in a cycle: {}", names.join(" → "))));
                }
                if !done[callee as usize] {
                    way.push((callee, 0));
                }
            }
        }
        Ok(())
    }
}

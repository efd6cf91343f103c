//! A value in an application file with its position, which errors state.

use std::fmt::Display;

use crate::config::{ConfigError, Document, did_you_mean};
use crate::units::{Bytes, SimSpan};

use super::formula::Formula;
use super::lexer::SyntaxError;
use super::parser;
use super::scope::Scope;
use super::value::Value;

/// A value in an application file and its dotted path.
#[derive(Clone, Debug)]
pub(super) struct Node<'a> {
    document: &'a Document,
    pub(super) path: String,
    pub(super) value: &'a toml::Value,
}

/// A table in an application file that contains only known keys.
#[derive(Clone, Debug)]
pub(super) struct Fields<'a> {
    pub(super) node: Node<'a>,
    pub(super) table: &'a toml::Table,
}

impl<'a> Node<'a> {
    /// Value of the top-level key `key`, if the document has the key.
    pub(super) fn top(document: &'a Document, key: &str) -> Option<Self> {
        document.table().get(key).map(|value| Node { document, path: key.to_owned(), value })
    }

    /// Position of the value in the file: `main[0].send.to of app.toml:3`.
    pub(super) fn place(&self) -> String {
        self.document.place_in_lists(&self.path)
    }

    /// Error message `WHAT in PLACE`, where PLACE is the position of the value.
    pub(super) fn error(&self, what: impl Display) -> ConfigError {
        ConfigError::new(format!("{what} in {}", self.place()))
    }

    /// Error `expected EXPECTED in PLACE; found FOUND`.
    pub(super) fn expected(&self, expected: impl Display) -> ConfigError {
        self.expected_value(expected, found(self.value))
    }

    /// Like [`Node::expected`], for the value of an expression.
    pub(super) fn expected_value(&self, expected: impl Display, found: impl Display) -> ConfigError {
        ConfigError::new(format!("expected {expected} in {}; found {found}", self.place()))
    }

    pub(super) fn text(&self, expected: impl Display) -> Result<&'a str, ConfigError> {
        self.value.as_str().ok_or_else(|| self.expected(expected))
    }

    /// Elements of the value, which must be an array.
    pub(super) fn items(&self, expected: impl Display) -> Result<Vec<Node<'a>>, ConfigError> {
        let items = self.value.as_array().ok_or_else(|| self.expected(expected))?;
        let item = |(index, value)| Node { document: self.document, path: format!("{}[{index}]", self.path), value };
        Ok(items.iter().enumerate().map(item).collect())
    }

    /// Keys and values of a table with arbitrary keys, in the order of the file.
    pub(super) fn entries(&self, expected: impl Display) -> Result<Vec<(&'a str, Node<'a>)>, ConfigError> {
        let table = self.value.as_table().ok_or_else(|| self.expected(expected))?;
        Ok(table.iter().map(|(key, value)| (key.as_str(), self.child(key, value))).collect())
    }

    /// Reads a table that must have no keys other than `known`.
    pub(super) fn fields(&self, expected: impl Display, known: &[&str]) -> Result<Fields<'a>, ConfigError> {
        let table = self.value.as_table().ok_or_else(|| self.expected(expected))?;
        if let Some(key) = table.keys().find(|key| !known.contains(&key.as_str())) {
            let hint = match did_you_mean(key, known.iter().copied()) {
                hint if hint.is_empty() => format!(", expected {}", alternatives(known)),
                hint => hint,
            };
            return Err(self.error(format!("unknown key \"{key}\"{hint}")));
        }
        Ok(Fields { node: self.clone(), table })
    }

    /// Reads the value as any type supported by serde.
    pub(super) fn read<T: serde::de::DeserializeOwned>(&self) -> Result<T, ConfigError> {
        self.document.deserialize_value(&self.path, self.value.clone())
    }

    pub(super) fn child(&self, key: &str, value: &'a toml::Value) -> Node<'a> {
        Node { document: self.document, path: format!("{}.{key}", self.path), value }
    }

    /// Reads the value as an expression.
    pub(super) fn formula(&self, scope: &Scope) -> Result<Formula, ConfigError> {
        let expr = match self.value {
            toml::Value::Integer(n) => super::expr::Expr::Const(Value::Int(*n)),
            toml::Value::Boolean(b) => super::expr::Expr::Const(Value::Bool(*b)),
            toml::Value::Float(x) if x.is_finite() => super::expr::Expr::Const(Value::Float(*x)),
            toml::Value::String(text) => parser::parse(text, scope).map_err(|error| self.syntax(&error))?,
            _ => return Err(self.expected("a number or an expression such as \"2 * n\"")),
        };
        Ok(Formula::new(expr, &self.path, found(self.value)))
    }

    /// Error message for a syntax error in the expression.
    pub(super) fn syntax(&self, error: &SyntaxError) -> ConfigError {
        let SyntaxError { column, what } = error;
        ConfigError::new(format!("{} in {}, character {column}: {what}", found(self.value), self.place()))
    }

    /// Reads the value as an expression of a time. Units in expressions are only factors, but a size such as `8 KiB` is
    /// an error.
    pub(super) fn time(&self, scope: &Scope) -> Result<Formula, ConfigError> {
        match self.value.as_str() {
            Some(text) if text.ends_with('B') && text.parse::<Bytes>().is_ok() => {
                Err(self.expected("a time such as \"1.2 us\""))
            }
            _ => self.formula(scope),
        }
    }

    /// Reads the value as an expression of a size. An expression of a time, such as `2 us`, is an error.
    pub(super) fn size(&self, scope: &Scope) -> Result<Formula, ConfigError> {
        match self.value.as_str() {
            Some(text) if text.parse::<SimSpan>().is_ok() && text.parse::<Bytes>().is_err() => {
                Err(self.expected("a size such as \"64 KiB\""))
            }
            _ => self.formula(scope),
        }
    }
}

impl<'a> Fields<'a> {
    /// Expression of a time that is the value of `key`.
    pub(super) fn time(&self, key: &str, scope: &Scope) -> Result<Option<Formula>, ConfigError> {
        self.get(key).map(|node| node.time(scope)).transpose()
    }

    /// Expression of a size that is the value of `key`.
    pub(super) fn size(&self, key: &str, scope: &Scope) -> Result<Option<Formula>, ConfigError> {
        self.get(key).map(|node| node.size(scope)).transpose()
    }

    pub(super) fn get(&self, key: &str) -> Option<Node<'a>> {
        self.table.get(key).map(|value| self.node.child(key, value))
    }

    /// # Errors
    /// `key` is missing from the table. The error describes the value as `what`.
    pub(super) fn need(&self, key: &str, what: &str) -> Result<Node<'a>, ConfigError> {
        self.get(key).ok_or_else(|| self.node.error(format!("missing \"{key}\" ({what})")))
    }

    pub(super) fn formula(&self, key: &str, scope: &Scope) -> Result<Option<Formula>, ConfigError> {
        self.get(key).map(|node| node.formula(scope)).transpose()
    }

    /// Expression that is the value of `key`; if the table lacks the key, the integer `default`.
    pub(super) fn formula_or(&self, key: &str, default: i64, scope: &Scope) -> Result<Formula, ConfigError> {
        Ok(self.formula(key, scope)?.unwrap_or_else(|| Formula::constant(default)))
    }
}

/// Returns the names as a list: `a, b or c`.
pub(super) fn alternatives(names: &[&str]) -> String {
    match names {
        [] => "none".to_owned(),
        [name] => (*name).to_owned(),
        [names @ .., last] => format!("{} or {last}", names.join(", ")),
    }
}

/// Text of a value of the file for error messages.
pub(super) fn found(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => quoted(text),
        toml::Value::Table(_) => "a table".to_owned(),
        toml::Value::Array(_) => "an array".to_owned(),
        other => other.to_string(),
    }
}

/// Quotes the text for an error message, shortened to one line.
fn quoted(text: &str) -> String {
    let short: String = text.chars().take(80).map(|c| if c.is_control() { ' ' } else { c }).collect();
    let dots = if text.chars().count() > 80 { "…" } else { "" };
    format!("\"{short}{dots}\"")
}

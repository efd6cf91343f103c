//! Splits the text of an expression into tokens with their columns.

use crate::units::parse_number_with_unit;

use super::value::Value;

/// Syntax error of an expression, and the column of the error (from 1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SyntaxError {
    pub(super) column: usize,
    pub(super) what: String,
}

/// A token (smallest syntactic unit) of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// A numeric literal, multiplied by its unit.
    Number(Value),
    /// A name or a keyword of the expression language.
    Word(&'a str),
    /// An operator or a bracket of the expression.
    Symbol(&'static str),
    End,
}

/// Operators of the expression language that are words.
pub(super) const KEYWORDS: [&str; 5] = ["and", "or", "not", "if", "else"];

/// Operators and brackets. Longer symbols are first, because the lexer uses the first symbol that matches.
const SYMBOLS: [&str; 22] = [
    "**", "//", "==", "!=", "<=", ">=", "&&", "||", "+", "-", "*", "/", "%", "<", ">", "(", ")", "[", "]", ",", "!",
    "=",
];

/// Greatest number of tokens of an expression. The limit prevents a stack overflow.
const MAX_TOKENS: usize = 1000;

/// Splits `text` into tokens, the last of which is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(Token<'_>, usize)>, SyntaxError> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let start = text.len() - rest.len();
        let column = text[..start].chars().count() + 1;
        if tokens.len() > MAX_TOKENS {
            return Err(SyntaxError { column, what: format!("longer than {MAX_TOKENS} numbers, names and operators") });
        }
        let Some(first) = rest.chars().next() else {
            tokens.push((Token::End, column));
            return Ok(tokens);
        };
        let (token, length) = if first.is_ascii_digit() || first == '.' {
            number(rest).map_err(|what| SyntaxError { column, what })?
        } else if let Some(word) = word(rest) {
            (Token::Word(word), word.len())
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            (Token::Symbol(symbol), symbol.len())
        } else {
            return Err(SyntaxError { column, what: format!("unexpected character \"{}\"", first.escape_debug()) });
        };
        tokens.push((token, column));
        rest = &rest[length..];
    }
}

/// Name or unit at the start of `text`.
pub(super) fn word(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    (end > 0 && !text.starts_with(|c: char| c.is_numeric())).then(|| &text[..end])
}

fn number(text: &str) -> Result<(Token<'_>, usize), String> {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        from + bytes[from.min(bytes.len())..].iter().take_while(|b| b.is_ascii_digit() || **b == b'_').count()
    };
    let mut end = digits(0);
    let mut whole = true;
    if bytes.get(end) == Some(&b'.') {
        whole = false;
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
            whole = false;
            end = digits(end + 1 + sign);
        }
    }
    let literal = text[..end].replace('_', "");
    let malformed = || format!("malformed number \"{}\"", &text[..end]);
    let x: f64 = literal.parse().map_err(|_| malformed())?;

    let after = text[end..].trim_start_matches(' ');
    if let Some(unit) = word(after).filter(|word| !KEYWORDS.contains(word) && *word != "to") {
        let x = parse_number_with_unit(x, unit).ok_or_else(|| {
            format!(
                "unknown unit \"{unit}\" after \"{}\", expected one of time or size such as us or KiB",
                &text[..end]
            )
        })?;
        let length = text.len() - after.len() + unit.len();
        // A whole number of bytes becomes an integer, so that integer division applies.
        let size = unit.ends_with('B') && x.fract() == 0.0 && x.abs() < 9e15;
        return Ok((Token::Number(if size { Value::Int(x as i64) } else { finite(x)? }), length));
    }
    if whole {
        let n = literal.parse().map_err(|_| format!("\"{literal}\" is out of range"))?;
        return Ok((Token::Number(Value::Int(n)), end));
    }
    Ok((Token::Number(finite(x)?), end))
}

fn finite(x: f64) -> Result<Value, String> {
    Value::finite(x).map_err(|_| "the number is out of range".to_owned())
}

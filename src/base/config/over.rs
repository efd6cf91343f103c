//! Parser of the command-line option `--set key=value`.

use super::ConfigError;

/// A command-line option `--set`: a dotted key and the key's new value.
#[derive(Clone, Debug, PartialEq)]
pub struct Override {
    /// Components of the dotted key. The first component is `platform`, `app` or `run`.
    pub key: Vec<String>,
    /// New value of the key. The value is parsed as TOML if possible and is otherwise a text, so `2us` needs no
    /// quotes.
    pub value: toml::Value,
    /// Text of the option as the user wrote it.
    pub text: String,
}

impl Override {
    /// Parses an option such as `platform.inter_node.latency=2us`.
    ///
    /// # Errors
    /// The text has no `=`, a component of the key is empty, or the key does not begin with `platform`, `app` or `run`.
    pub fn parse(text: &str) -> Result<Override, ConfigError> {
        let wrong = |what: &str| {
            ConfigError::new(format!(
                "--set {text}: {what}, expected KEY=VALUE with a key such as platform.inter_node.latency, app.n or run.seed"
            ))
        };
        let (key, value) = text.split_once('=').ok_or_else(|| wrong("no \"=\""))?;
        let key: Vec<String> = key.trim().split('.').map(|part| part.trim().to_owned()).collect();
        if key.len() < 2 || key.iter().any(String::is_empty) {
            return Err(wrong("not a dotted key"));
        }
        if !["platform", "app", "run"].contains(&key[0].as_str()) {
            return Err(wrong(&format!("unknown \"{}\"", key[0])));
        }
        let value = value.trim();
        let value = format!("v = {value}")
            .parse::<toml::Table>()
            .ok()
            .filter(|table| table.len() == 1)
            .and_then(|mut table| table.remove("v"))
            .unwrap_or_else(|| toml::Value::String(value.to_owned()));
        Ok(Override { key, value, text: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_toml_where_they_can_be_and_text_otherwise() {
        let value = |text: &str| Override::parse(text).unwrap().value;
        assert_eq!(value("app.n=512"), toml::Value::Integer(512));
        assert_eq!(value("app.n = [1, 2]"), toml::Value::Array(vec![1.into(), 2.into()]));
        assert_eq!(value("platform.inter_node.latency=2us"), toml::Value::String("2us".into()));
        assert_eq!(value("app.x=\"7\""), toml::Value::String("7".into()));
        assert_eq!(value("app.x="), toml::Value::String(String::new()));
        assert_eq!(value("app.x=1\ny=2"), toml::Value::String("1\ny=2".into()));
    }

    #[test]
    fn malformed_overrides_are_explained() {
        for text in ["app.n", "n=5", "app..n=5", "foo.n=5", "=5", "app=5"] {
            let error = Override::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("--set {text}: ")), "{error}");
        }
    }
}

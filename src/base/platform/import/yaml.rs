//! Slurm's `topology.yaml`: converted line by line to the form of `topology.conf`, so that errors keep their lines.

/// Returns whether a text has the form.
pub(super) fn fits(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with("- topology:"))
}

/// Returns the switches and blocks in the form of `topology.conf`. The entry of a switch is on the line that begins its
/// description.
pub(super) fn as_conf(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    // Line of the entry that the following keys describe.
    let mut entry: Option<usize> = None;
    for (at, line) in text.lines().enumerate() {
        lines.push(String::new());
        let line = line.split('#').next().unwrap_or_default().trim();
        let Some((key, value)) = line.split_once(':') else { continue };
        let value = value.trim().trim_matches(['"', '\'']);
        let start = |word: &str| format!("{word}={value}");
        match (key.trim(), entry) {
            ("- switch", _) => (lines[at], entry) = (start("SwitchName"), Some(at)),
            ("- block", _) => (lines[at], entry) = (start("BlockName"), Some(at)),
            ("children", Some(of)) => lines[of].push_str(&format!(" Switches={value}")),
            ("nodes", Some(of)) => lines[of].push_str(&format!(" Nodes={value}")),
            (other, _) if other.starts_with('-') => entry = None,
            _ => {}
        }
    }
    lines.join("\n")
}

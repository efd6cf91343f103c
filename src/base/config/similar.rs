//! Suggestions for misspelled words, in which letters were added, omitted, changed or swapped.

/// Returns the text `, did you mean "x"?` for the word x of `known` that is most similar to `name`. Returns an empty
/// text if no word is similar enough.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let limit = ((name.chars().count() + 1) / 3).max(1);
    let nearest = known.into_iter().map(|other| (strsim::osa_distance(name, other), other)).min();
    match nearest.filter(|(distance, _)| *distance <= limit.min(3)) {
        Some((_, other)) => format!(", did you mean \"{other}\"?"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_known_word_is_named_if_it_is_near() {
        let known = ["sweep", "report", "trace"];
        assert_eq!(did_you_mean("swep", known), ", did you mean \"sweep\"?");
        assert_eq!(did_you_mean("tarce", known), ", did you mean \"trace\"?");
        assert_eq!(did_you_mean("jacobi3d.toml", known), "");
        assert_eq!(did_you_mean("rsep", known), "");
        assert_eq!(did_you_mean("swep", []), "");
    }
}

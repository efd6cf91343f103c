//! What a word was perhaps meant to be.

/// `, did you mean "x"?` for the nearest of `known`, if one is near.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let limit = name.chars().count() / 3 + 1;
    let nearest = known.into_iter().map(|other| (distance(name, other), other)).min();
    match nearest.filter(|(distance, _)| *distance <= limit.min(3)) {
        Some((_, other)) => format!(", did you mean \"{other}\"?"),
        None => String::new(),
    }
}

/// How many letters to add, drop or change (Levenshtein 1966).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
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
        assert_eq!(did_you_mean("swep", []), "");
    }
}

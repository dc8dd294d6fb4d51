//! Suggestions for misspelled names ("did you mean").

/// Returns the candidate most similar to `given`, ignoring case. At most two fifths may differ,
/// so that `durable` finds `durability` but `weather` finds nothing.
pub fn did_you_mean<'a>(
    given: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    // No name is longer, and the cost of a comparison grows with the length.
    const MAX_CHARS: usize = 100;
    if given.len() > MAX_CHARS {
        return None;
    }
    let given = given.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| {
            let distance = strsim::damerau_levenshtein(&given, &candidate.to_lowercase());
            (distance, candidate)
        })
        .filter(|(distance, candidate)| {
            *distance <= (candidate.len().max(given.len()) * 2).div_ceil(5).min(6)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_another_word_finds_none() {
        let known = ["durability", "session_id", "max_depth"];
        assert_eq!(
            did_you_mean("Sesion_id", known).as_deref(),
            Some("session_id")
        );
        assert_eq!(
            did_you_mean("maxDepth", known).as_deref(),
            Some("max_depth")
        );
        assert_eq!(
            did_you_mean("reply", ["id", "replies"]).as_deref(),
            Some("replies")
        );
        assert_eq!(did_you_mean("weather", known), None);
        assert_eq!(did_you_mean(&"session_id".repeat(50), known), None);
    }
}

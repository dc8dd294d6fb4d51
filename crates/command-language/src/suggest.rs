//! Finds the known name most similar to an unknown one, for "did you mean".

/// The longest name that is compared: no known name is longer, and the time grows with length.
const MAX_NAME_LEN: usize = 100;

/// Returns the candidate most similar to `given`, ignoring case, if at most two fifths of it
/// differ.
pub(crate) fn did_you_mean<'a>(
    given: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    if given.len() > MAX_NAME_LEN {
        return None;
    }
    let given = given.to_lowercase();
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= MAX_NAME_LEN)
        .map(|candidate| {
            let distance = strsim::damerau_levenshtein(&given, &candidate.to_lowercase());
            (distance, candidate)
        })
        .filter(|(distance, candidate)| {
            *distance <= (candidate.len().max(given.len()) * 2).div_ceil(5).min(6)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

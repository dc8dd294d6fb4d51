//! The known word most like an unknown one, for "did you mean".

/// No name is longer, and comparing takes time by the length.
const MAX_NAME_LEN: usize = 100;

/// The candidate most like `given`, whatever its case, if at most two fifths of it are changed.
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

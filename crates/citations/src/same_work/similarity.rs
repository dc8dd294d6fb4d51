//! The similarity of two titles, persons or venues, from 0 to 1. Knows no records.

use std::collections::BTreeSet;

use deliberate_core::Author;

use crate::text_normalization;

/// Longer texts are compared by their beginnings, because the comparison takes quadratic time.
const MAX_CHARS: usize = 600;

/// Words that may be left out of a venue's name and never appear in its initials.
const STOP_WORDS: &[&str] = &[
    "the", "of", "on", "in", "and", "for", "a", "an", "to", "der", "die", "und", "de", "la", "et",
];

/// The best of three ratios: as written, with sorted words, and by shared words.
pub(super) fn title_similarity(a: &str, b: &str) -> f32 {
    let (a, b) = (limited_words(a), limited_words(b));
    let plain = ratio(&a.join(" "), &b.join(" "));
    plain
        .max(ratio(&sorted_words(&a), &sorted_words(&b)))
        .max(shared_word_similarity(&a, &b))
}

fn limited_words(text: &str) -> Vec<String> {
    let text: String = text.chars().take(MAX_CHARS).collect();
    text_normalization::folded_words(&text)
}

/// 1 for equal texts, 0 for texts with nothing in common.
fn ratio(a: &str, b: &str) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "a share from 0 to 1")]
    let ratio = strsim::normalized_levenshtein(a, b) as f32;
    ratio
}

fn sorted_words(words: &[String]) -> String {
    let mut words = words.to_vec();
    words.sort();
    words.join(" ")
}

/// Compares the shared words with the shared words plus the rest of each. A title inside a longer
/// one scores high, so the shared part must be specific: `Deep learning` is in many titles.
fn shared_word_similarity(a: &[String], b: &[String]) -> f32 {
    let (a, b): (BTreeSet<&String>, BTreeSet<&String>) = (a.iter().collect(), b.iter().collect());
    let join = |it: Vec<&&String>| {
        it.into_iter()
            .map(|it| it.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    };
    let shared = join(a.intersection(&b).collect());
    if shared
        .split(' ')
        .filter(|it| !STOP_WORDS.contains(it))
        .count()
        < 4
    {
        return 0.0;
    }
    let with = |rest: String| format!("{shared} {rest}").trim().to_owned();
    let first = with(join(a.difference(&b).collect()));
    let second = with(join(b.difference(&a).collect()));
    let best = ratio(&shared, &first)
        .max(ratio(&shared, &second))
        .max(ratio(&first, &second));
    // An omitted subtitle is still a difference.
    if first == second {
        best
    } else {
        best.min(0.95)
    }
}

/// Compares two persons: the same family name, and given names that do not contradict.
pub(super) fn person_similarity(a: &Author, b: &Author) -> f32 {
    let (family_a, family_b) = (
        text_normalization::fold_text(&a.family),
        text_normalization::fold_text(&b.family),
    );
    let family = if a.family == b.family {
        1.0
    } else if family_a.is_empty() || family_b.is_empty() {
        0.0
    } else if family_a == family_b {
        1.0
    } else if last_word(&family_a) == last_word(&family_b) {
        // `van der Maaten` and `Maaten`.
        0.9
    } else {
        let family = ratio(&family_a, &family_b);
        if family < 0.8 { 0.0 } else { family }
    };
    let initial = |it: &Author| {
        text_normalization::fold_text(it.given.as_deref().unwrap_or_default())
            .chars()
            .next()
    };
    match (initial(a), initial(b)) {
        (Some(a), Some(b)) if a != b => family * 0.5,
        _ => family,
    }
}

fn last_word(text: &str) -> &str {
    text.rsplit(' ').next().unwrap_or(text)
}

/// Whether one list has an author whom the other, as far as it goes, does not have.
pub(super) fn authors_differ(a: &[Author], b: &[Author]) -> bool {
    if a.is_empty() || b.is_empty() {
        return false;
    }
    let (few, many) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let stops_early = few.len() < many.len() && few.len() > 6 || few.len() == 1 && many.len() > 2;
    let in_order = few
        .iter()
        .zip(many)
        .all(|(a, b)| person_similarity(a, b) >= 0.85);
    !in_order || (few.len() != many.len() && !stops_early)
}

/// The family names for a message.
pub(super) fn family_names(authors: &[Author]) -> String {
    let names: Vec<&str> = authors
        .iter()
        .take(10)
        .map(|it| it.family.as_str())
        .collect();
    let more = if authors.len() > 10 {
        format!(" and {} more", authors.len() - 10)
    } else {
        String::new()
    };
    format!("{}{more}", names.join(", "))
}

/// Compares two venues; an abbreviation equals its long form.
pub(super) fn venue_similarity(a: &str, b: &str) -> f32 {
    if text_normalization::fold_text(a) == text_normalization::fold_text(b) {
        return 1.0;
    }
    let words = |it: &str| {
        limited_words(it)
            .into_iter()
            .filter(|it| !STOP_WORDS.contains(&it.as_str()))
            .collect::<Vec<_>>()
    };
    let (a, b) = (words(a), words(b));
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    if abbreviates(&a, &b) || abbreviates(&b, &a) {
        return 1.0;
    }
    let plain = ratio(&a.join(" "), &b.join(" "));
    plain
        .max(ratio(&sorted_words(&a), &sorted_words(&b)))
        .max(shared_word_similarity(&a, &b))
}

/// `Proc Natl Acad Sci` abbreviates `Proceedings National Academy Sciences`, and so does `pnas`.
fn abbreviates(short: &[String], long: &[String]) -> bool {
    if let [one] = short {
        let initials: String = long.iter().filter_map(|it| it.chars().next()).collect();
        if one.len() > 1 && *one == initials {
            return true;
        }
        // `neurips` in `advances in neural information processing systems neurips`.
        return one.len() > 3 && long.len() > 2 && long.last() == Some(one);
    }
    // Abbreviations leave words out but never add any.
    let mut long = long.iter();
    short.len() > 1
        && short
            .iter()
            .all(|word| long.any(|it| starts_or_contracts(word, it)))
}

/// `sci` of `sciences`; `natl` of `national`: the same start, and the last letter occurs inside.
fn starts_or_contracts(short: &str, long: &str) -> bool {
    if long.starts_with(short) {
        return true;
    }
    let mut rest = long.chars();
    let shares_start = short
        .chars()
        .zip(long.chars())
        .take_while(|(a, b)| a == b)
        .count()
        >= 2;
    shares_start && short.chars().all(|letter| rest.any(|it| it == letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn venues_and_their_abbreviations() {
        assert!(
            venue_similarity(
                "Proc. Natl. Acad. Sci.",
                "Proceedings of the National Academy of Sciences"
            ) >= 1.0
        );
        assert!(venue_similarity("PNAS", "Proceedings of the National Academy of Sciences") >= 1.0);
        assert!(venue_similarity("Nature", "Nature Communications") < 0.85);
        assert!(venue_similarity("Science", "Cell") < 0.5);
    }

    #[test]
    fn titles_by_the_best_of_three() {
        assert!(title_similarity("Attention is all you need", "Attention Is All You Need.") >= 1.0);
        assert!(title_similarity("all you need is attention", "Attention is all you need") >= 1.0);
        assert!(
            title_similarity(
                "BERT: pre-training of deep bidirectional transformers",
                "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding"
            ) >= 0.9
        );
        assert!(title_similarity("Deep learning", "Deep learning for molecules") < 0.8);
    }
}

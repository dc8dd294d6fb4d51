//! Passages that say less than a claim: a bound or a range instead of its number, or its sentence
//! as a wrong statement of others or as a possibility.

use super::{injected_errors::number_spans, paraphrases::lower_first};

/// A passage, a claim that it does not support, and one that it does.
pub(crate) struct WeakenedPassage {
    pub(crate) change: &'static str,
    pub(crate) passage: String,
    pub(crate) preserved_claim: String,
}

/// Bounds of a number, with equivalent forms.
const BOUNDS: &[(&str, &str)] = &[
    ("less than", "below"),
    ("at least", "a minimum of"),
    ("up to", "at most"),
    ("more than", "over"),
    ("no more than", "at most"),
];

/// Phrases that call a statement wrong.
const REFUTATIONS: &[(&str, &str)] = &[
    ("It was wrongly claimed that", "It was falsely claimed that"),
    ("The idea that", "It is a refuted idea that"),
    (
        "Others have mistakenly reported that",
        "It was wrongly reported that",
    ),
    ("It is a myth that", "It is false that"),
];

/// Phrases that make a statement hypothetical.
const HYPOTHETICALS: &[(&str, &str)] = &[
    (
        "If the effect were real, it would mean that",
        "It might be that",
    ),
    ("It was once thought that", "It was believed that"),
    ("It could be that", "Possibly,"),
    ("It remains to be seen whether", "It is possible that"),
];

/// All weakened passages for a claim.
pub(crate) fn weaken_passages(claim: &str) -> Vec<WeakenedPassage> {
    let mut all = Vec::new();
    let seed = claim.len();
    for (start, end) in number_spans(claim) {
        let (Some(before), Some(number), Some(after)) =
            (claim.get(..start), claim.get(start..end), claim.get(end..))
        else {
            continue;
        };
        if !is_value(before, number, after) {
            continue;
        }
        let with = |number: &str| format!("{before}{number}{after}");
        if let Some((bound, same)) = BOUNDS.get((seed + start) % BOUNDS.len()) {
            all.push(WeakenedPassage {
                change: "bound",
                passage: with(&format!("{bound} {number}")),
                preserved_claim: with(&format!("{same} {number}")),
            });
        }
        if let Ok(value) = number.replace(',', "").parse::<f64>() {
            let far = value * 1.5 + 3.0;
            let (range, same) = if seed.is_multiple_of(2) {
                (
                    format!("between {number} and {far:.0}"),
                    format!("{number} to {far:.0}"),
                )
            } else {
                (
                    format!("{number}–{far:.0}"),
                    format!("between {number} and {far:.0}"),
                )
            };
            all.push(WeakenedPassage {
                change: "range end",
                passage: with(&range),
                preserved_claim: with(&same),
            });
        }
    }
    for (change, ways) in [("refuted", REFUTATIONS), ("condition", HYPOTHETICALS)] {
        if let Some((way, same)) = ways.get(seed % ways.len()) {
            let said = lower_first(claim);
            let whole = match *way {
                "The idea that" => {
                    format!("The idea that {} was refuted.", said.trim_end_matches('.'))
                }
                way => format!("{way} {said}"),
            };
            all.push(WeakenedPassage {
                change,
                passage: whole,
                preserved_claim: format!("{same} {said}"),
            });
        }
    }
    all
}

/// Whether a number can be bounded: it is not a year, has no bound, and is not joined to another.
fn is_value(before: &str, number: &str, after: &str) -> bool {
    let word = |it: Option<&str>| it.unwrap_or_default().to_lowercase();
    let last = word(before.split_whitespace().next_back());
    let next = word(
        after
            .split_whitespace()
            .find(|it| it.starts_with(char::is_alphabetic)),
    );
    let year = number.len() == 4 && (number.starts_with("19") || number.starts_with("20"));
    let joined = [
        "from", "to", "between", "and", "over", "above", "than", "below", "under", "least", "most",
        "about", "age", "aged", "=", "<", ">", "(r", "(p", "nearly", "within", "almost", "roughly",
        "by",
    ];
    let opens = before.ends_with(['(', '^', '±', '-', '–', '=', '<', '>']);
    !(year || joined.contains(&last.as_str()) || opens || matches!(next.as_str(), "to" | "and"))
}

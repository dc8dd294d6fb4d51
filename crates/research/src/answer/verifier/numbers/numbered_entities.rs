//! Entities that are distinguished by a number: a statement about station 6 says nothing about
//! station 1.

use super::number::Decimal;
use crate::answer::verifier::sentence_features::SentenceFeatures;

/// Nouns whose number identifies them instead of counting them.
const NUMBERED_NOUNS: &[&str] = &[
    "algorithm",
    "arm",
    "batch",
    "block",
    "case",
    "category",
    "chapter",
    "class",
    "cluster",
    "cohort",
    "equation",
    "experiment",
    "figure",
    "group",
    "item",
    "layer",
    "lot",
    "method",
    "model",
    "participant",
    "patient",
    "phase",
    "plot",
    "question",
    "region",
    "sample",
    "scenario",
    "section",
    "site",
    "stage",
    "station",
    "step",
    "study",
    "subject",
    "table",
    "trial",
    "type",
    "zone",
];

/// Whether a window is only about a different numbered entity than the claim.
pub(crate) fn is_about_other_entity(claim: &SentenceFeatures, window: &SentenceFeatures) -> bool {
    let theirs = numbered_entities(window);
    numbered_entities(claim).iter().any(|(thing, number)| {
        let mut of_it = theirs.iter().filter(|it| it.0 == *thing).peekable();
        of_it.peek().is_some() && of_it.all(|it| it.1 != *number)
    })
}

fn numbered_entities(text: &SentenceFeatures) -> Vec<(&str, &Decimal)> {
    let bare = text.numbers.iter().filter(|it| it.unit.is_none());
    let things = bare.filter_map(|it| {
        let before = text.token(it.from.checked_sub(1)?)?.text.as_str();
        NUMBERED_NOUNS
            .contains(&before)
            .then_some((before, &it.value))
    });
    things.collect()
}

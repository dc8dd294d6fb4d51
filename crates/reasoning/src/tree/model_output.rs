//! The model's answers to an exploration: one approach each, and their comparison.

use deliberate_core::CrossRefKind;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};
use serde_json::{Value, json};

use super::explore::MIN_BRANCHES;
use crate::{
    model_fields::{
        Confidence, ReadableItems, StepFields, lenient_option, lenient_vec, non_blank, normalized,
        optional_text,
    },
    parallel_requests::FreeTextItem,
    text_items::TextItems,
};

/// An approach: its reasoning as free text, then the fields. Only those are required whose lack is
/// worth a second request.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["answer", "confidence_percent"]))]
pub(super) struct Approach {
    /// The number by which the recommendation and the relations name it: its place in the list,
    /// from 1, whatever of the list could not be read.
    #[serde(skip)]
    pub(super) number: usize,
    #[serde(deserialize_with = "non_blank", alias = "content")]
    #[schemars(skip)]
    pub(super) thought: String,
    #[serde(default, deserialize_with = "optional_text")]
    #[schemars(skip)]
    pub(super) rationale: Option<String>,
    #[serde(flatten)]
    pub(super) fields: StepFields,
    /// The approach in a few words, which only callers bring: a small model that is asked for it
    /// describes the fields instead of thinking.
    #[serde(default, deserialize_with = "optional_text")]
    #[schemars(skip)]
    pub(super) name: Option<String>,
}

impl FreeTextItem for Approach {
    fn from_plain_text(thought: String) -> Self {
        Self {
            number: 0,
            thought: thought.trim().to_owned(),
            rationale: None,
            fields: StepFields::default(),
            name: None,
        }
    }
}

/// The comparison of the approaches: its reasoning as free text, then the fields.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["recommended", "weakest_point", "confidence_percent"]))]
pub(super) struct Comparison {
    #[serde(deserialize_with = "non_blank")]
    #[schemars(skip)]
    pub(super) thought: String,
    /// The number of the best approach
    #[serde(default, deserialize_with = "lenient_option")]
    #[schemars(with = "usize", range(min = 1))]
    pub(super) recommended: Option<usize>,
    /// What is most likely to be wrong with the recommendation
    #[serde(default, deserialize_with = "optional_text")]
    #[schemars(with = "String")]
    pub(super) weakest_point: Option<String>,
    #[serde(flatten)]
    pub(super) sure: Confidence,
}

/// A whole exploration in one answer: the reply that a caller brings, or that of a pipe of the
/// original server.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["approaches"]))]
pub(super) struct Exploration {
    /// How the approaches compare
    #[serde(default, deserialize_with = "optional_text")]
    #[schemars(with = "String")]
    pub(super) thought: Option<String>,
    /// Each with `name`, `thought`, `answer`, `weakest_point`, `confidence_percent`
    #[serde(deserialize_with = "at_least_two", alias = "branches")]
    #[schemars(with = "Vec<Approach>")]
    pub(super) approaches: ReadableItems<Approach>,
    /// The number of the best approach
    #[serde(default, deserialize_with = "lenient_option")]
    #[schemars(with = "usize", range(min = 1))]
    pub(super) recommended: Option<usize>,
    #[serde(default, deserialize_with = "lenient_vec")]
    #[schemars(skip)]
    pub(super) relations: Vec<Relation>,
    /// What is most likely to be wrong with the recommendation
    #[serde(default, deserialize_with = "optional_text")]
    #[schemars(with = "String")]
    pub(super) weakest_point: Option<String>,
    #[serde(flatten)]
    pub(super) sure: Confidence,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Relation {
    /// The number of an approach, from 1.
    pub(super) from: usize,
    /// The number of another.
    pub(super) to: usize,
    pub(super) kind: CrossRefKind,
    pub(super) reason: Option<String>,
}

impl Exploration {
    /// The exploration as a reply object, from a text that lists at least two approaches.
    pub(super) fn from_list(text: &str) -> Option<Value> {
        let list = TextItems::parse(text).filter(|list| list.items.len() >= MIN_BRANCHES)?;
        let approaches: Vec<Value> = list
            .items
            .iter()
            .map(|item| json!({ "name": item.name, "thought": item.text }))
            .collect();
        Some(json!({ "thought": list.introduction, "approaches": approaches }))
    }

    /// Drops the approaches beyond the requested number, but never the recommended one. Returns how
    /// many it dropped.
    pub(super) fn truncate_approaches(&mut self, most: usize) -> usize {
        let recommended = self.recommended;
        let approaches = &mut self.approaches.items;
        let best = approaches
            .iter()
            .position(|it| Some(it.number) == recommended);
        if let Some(best) = best.filter(|best| *best >= most) {
            approaches.swap(most.saturating_sub(1), best);
        }
        let dropped = approaches.len().saturating_sub(most);
        approaches.truncate(most);
        dropped
    }
}

/// Deserializes at least two approaches that differ.
fn at_least_two<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<ReadableItems<Approach>, D::Error> {
    let approaches = ReadableItems::deserialize_each(deserializer, |value, number| {
        let approach = Approach::deserialize(value).ok()?;
        Some(Approach { number, ..approach })
    })?;
    let kinds: std::collections::HashSet<_> = approaches
        .items
        .iter()
        .map(|it| normalized(&it.thought))
        .collect();
    if kinds.len() < MIN_BRANCHES {
        return Err(de::Error::custom(
            "`approaches` must hold at least two that differ",
        ));
    }
    Ok(approaches)
}

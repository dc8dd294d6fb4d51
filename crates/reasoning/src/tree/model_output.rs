//! The model's answers to an exploration: one approach each, and their comparison.

use deliberate_core::CrossRefKind;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};
use serde_json::{Value, json};

use super::explore::MIN_BRANCHES;
use crate::{
    model_fields::{
        Confidence, StepFields, lenient_option, lenient_vec, non_blank, normalized, optional_text,
    },
    text_items::TextItems,
};

/// An approach: its reasoning as free text, then the fields.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["name", "answer", "weakest_point", "confidence_percent"]))]
pub(super) struct Approach {
    /// The approach, in a few words
    #[serde(default, deserialize_with = "optional_text")]
    #[schemars(with = "String")]
    pub(super) name: Option<String>,
    #[serde(deserialize_with = "non_blank", alias = "content")]
    #[schemars(skip)]
    pub(super) thought: String,
    #[serde(default, deserialize_with = "optional_text")]
    #[schemars(skip)]
    pub(super) rationale: Option<String>,
    #[serde(flatten)]
    pub(super) fields: StepFields,
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
    pub(super) approaches: Vec<Approach>,
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

    /// Drops the approaches beyond the requested number, but never the recommended one.
    pub(super) fn truncate_approaches(&mut self, most: usize) {
        let best = self.recommended.and_then(|number| number.checked_sub(1));
        if let Some(best) = best.filter(|best| (most..self.approaches.len()).contains(best)) {
            let last = most.saturating_sub(1);
            self.approaches.swap(last, best);
            for number in self
                .relations
                .iter_mut()
                .flat_map(|it| [&mut it.from, &mut it.to])
            {
                if *number == best + 1 {
                    *number = last + 1;
                } else if *number == last + 1 {
                    *number = best + 1;
                }
            }
            self.recommended = Some(last + 1);
        }
        self.approaches.truncate(most);
    }
}

/// Deserializes at least two approaches that differ.
fn at_least_two<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Approach>, D::Error> {
    let approaches: Vec<Approach> = lenient_vec(deserializer)?;
    let kinds: std::collections::HashSet<_> = approaches
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

//! The model's answer to an exploration: approaches and the relations between them.

use deliberate_core::CrossRefKind;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};

use super::explore::MIN_BRANCHES;
use crate::model_fields::{
    Confidence, lenient_option, lenient_vec, non_blank, normalized, optional_text,
};

/// The answer that the model is asked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("required" = [
    "thought", "approaches", "recommended", "relations", "confidence_percent", "weakest_point",
]))]
pub(super) struct Exploration {
    /// What the problem turns on, and how the approaches compare
    #[serde(deserialize_with = "non_blank")]
    #[schemars(length(min = 1))]
    pub(super) thought: String,
    #[serde(deserialize_with = "at_least_two", alias = "branches")]
    pub(super) approaches: Vec<Approach>,
    /// The number of the best approach, from 1
    #[serde(default, deserialize_with = "lenient_option")]
    #[schemars(with = "usize", range(min = 1))]
    pub(super) recommended: Option<usize>,
    #[serde(default, deserialize_with = "lenient_vec")]
    pub(super) relations: Vec<Relation>,
    #[serde(flatten)]
    pub(super) sure: Confidence,
    /// What is most likely to be wrong with the recommendation
    #[serde(default, deserialize_with = "optional_text")]
    #[schemars(with = "String", length(max = 300))]
    pub(super) weakest_point: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["name", "thought", "rationale", "confidence_percent"]))]
pub(super) struct Approach {
    /// A few words
    #[serde(default, deserialize_with = "optional_text")]
    #[schemars(with = "String", length(max = 80))]
    pub(super) name: Option<String>,
    /// The reasoning of this approach
    #[serde(deserialize_with = "non_blank", alias = "content")]
    #[schemars(length(min = 1))]
    pub(super) thought: String,
    /// Why it is worth following
    #[serde(default, deserialize_with = "optional_text")]
    #[schemars(with = "String")]
    pub(super) rationale: Option<String>,
    #[serde(flatten)]
    pub(super) sure: Confidence,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Relation {
    /// The number of an approach, from 1
    pub(super) from: usize,
    /// The number of another
    pub(super) to: usize,
    pub(super) kind: CrossRefKind,
    pub(super) reason: Option<String>,
}

impl Exploration {
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

/// Deserializes at least two approaches. With fewer the answer is invalid, and the model is asked
/// again.
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

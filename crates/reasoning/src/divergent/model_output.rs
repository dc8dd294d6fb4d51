//! The model's answers about a topic: one perspective each, their synthesis, or all of it at once.

use std::collections::BTreeSet;

use deliberate_core::{Percent, truncate_chars};
use deliberate_llm::ModelError;
use deliberate_toolkit::ToolError;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};
use serde_json::{Value, json};

use crate::{
    model_fields::{StepFields, is_blank, lenient_vec, non_blank, normalized, optional_text},
    parallel_requests::FreeTextItem,
    text_items::{TextItem, TextItems},
};

/// A single perspective offers no comparison.
pub(super) const MIN_PERSPECTIVES: usize = 2;

/// The longest viewpoint that is taken from the content if the model gave none.
const VIEWPOINT_CHARS: usize = 80;

/// A whole answer at once: the reply that a caller brings, or that of a pipe of the original server.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["perspectives", "synthesis"]))]
pub(super) struct PerspectivesReply {
    /// Each with viewpoint, content, `assumption_challenged`, `novelty_percent`, `viability_percent`
    #[serde(deserialize_with = "distinct_perspectives")]
    pub(super) perspectives: Vec<PerspectiveReply>,
    #[serde(flatten)]
    pub(super) synthesis: SynthesisReply,
}

impl PerspectivesReply {
    /// The perspectives as a reply object, from a text that lists at least two of them. The synthesis
    /// is the item of that name, else what stands before the list.
    pub(super) fn from_list(text: &str) -> Option<Value> {
        let mut list = TextItems::parse(text)?;
        let is_synthesis = |item: &TextItem| {
            let name = item.name.to_lowercase();
            ["synthesis", "conclusion", "summary"]
                .iter()
                .any(|word| name.starts_with(word))
        };
        let at = list.items.iter().position(is_synthesis);
        let synthesis = match at {
            Some(at) => list.items.remove(at).text,
            None => list.introduction?,
        };
        let perspectives: Vec<Value> = list
            .items
            .iter()
            .map(|item| json!({ "viewpoint": item.name, "content": item.text }))
            .collect();
        (perspectives.len() >= MIN_PERSPECTIVES)
            .then(|| json!({ "perspectives": perspectives, "synthesis": synthesis }))
    }
}

/// The synthesis: its text, then the fields.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["answer", "weakest_point", "confidence_percent"]))]
pub(super) struct SynthesisReply {
    #[schemars(skip)]
    #[serde(deserialize_with = "non_blank")]
    pub(super) synthesis: String,
    #[serde(flatten)]
    pub(super) fields: StepFields,
}

/// A perspective: its text, then the fields.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("required" = [
    "viewpoint", "assumption_challenged", "novelty_percent", "viability_percent"
]))]
pub(super) struct PerspectiveReply {
    #[schemars(skip)]
    #[serde(deserialize_with = "non_blank")]
    pub(super) content: String,
    /// The stand it takes, in a few words
    #[serde(default, deserialize_with = "optional_text")]
    #[schemars(with = "String")]
    pub(super) viewpoint: Option<String>,
    /// What it does not take for granted
    #[schemars(with = "String")]
    #[serde(default, deserialize_with = "optional_text")]
    pub(super) assumption_challenged: Option<String>,
    /// How far it is from what most would say
    #[serde(default, deserialize_with = "Percent::lenient_option")]
    #[schemars(with = "Percent")]
    pub(super) novelty_percent: Option<Percent>,
    /// How well it holds up
    #[serde(default, deserialize_with = "Percent::lenient_option")]
    #[schemars(with = "Percent")]
    pub(super) viability_percent: Option<Percent>,
}

impl FreeTextItem for PerspectiveReply {
    fn from_plain_text(content: String) -> Self {
        Self {
            content: content.trim().to_owned(),
            viewpoint: None,
            assumption_challenged: None,
            novelty_percent: None,
            viability_percent: None,
        }
    }
}

impl PerspectiveReply {
    pub(super) fn viewpoint(&self) -> String {
        match &self.viewpoint {
            Some(name) if !is_blank(name) => name.trim().to_owned(),
            _ => truncate_chars(self.content.trim(), VIEWPOINT_CHARS),
        }
    }
}

/// Deserializes at least two perspectives that differ.
fn distinct_perspectives<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<PerspectiveReply>, D::Error> {
    drop_duplicates(lenient_vec(deserializer)?).ok_or_else(|| de::Error::custom(TOO_FEW))
}

/// The reason why an answer with too few perspectives cannot be used.
const TOO_FEW: &str = "fewer than two perspectives say something of their own";

/// Keeps the perspectives that differ from each other. `None` if there are fewer than two.
fn drop_duplicates(mut views: Vec<PerspectiveReply>) -> Option<Vec<PerspectiveReply>> {
    let mut seen = BTreeSet::new();
    views.retain(|view| seen.insert(normalized(&view.content)));
    (views.len() >= MIN_PERSPECTIVES).then_some(views)
}

/// Like `drop_duplicates`, for perspectives that were requested one by one.
pub(super) fn distinct_answers(
    views: Vec<PerspectiveReply>,
) -> Result<Vec<PerspectiveReply>, ToolError> {
    drop_duplicates(views).ok_or_else(|| {
        ToolError::Model(ModelError::InvalidResponse {
            provider: "the model".to_owned(),
            reason: TOO_FEW.to_owned(),
            answer: String::new(),
        })
    })
}

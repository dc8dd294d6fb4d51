//! The model's answer to a reflection.

use deliberate_core::{Percent, Score};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::model_fields::{
    StepFields, at_most_half, is_blank, lenient_option, non_blank, non_blank_list, optional_text,
};

/// The answer that the model is asked for: the check and the revised text as free text, then the
/// fields.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
// The schema requires every field, although an answer without some of them is accepted.
#[schemars(extend("required" = [
    "strengths", "weaknesses", "recommendations", "reaches_result", "quality_percent", "answer",
    "weakest_point", "confidence_percent"
]))]
pub(super) struct ReflectionReply {
    #[schemars(skip)]
    #[serde(deserialize_with = "non_blank")]
    pub(super) analysis: String,
    /// A strength of the text, in a sentence
    #[serde(default, deserialize_with = "non_blank_list")]
    pub(super) strengths: Vec<String>,
    /// A weakness of the text, in a sentence
    #[serde(default, deserialize_with = "non_blank_list")]
    pub(super) weaknesses: Vec<String>,
    /// What to do, in a sentence
    #[serde(default, deserialize_with = "non_blank_list")]
    pub(super) recommendations: Vec<String>,
    /// whether the text reaches a result, and does not only announce work
    #[serde(default, deserialize_with = "lenient_option")]
    #[schemars(with = "bool")]
    pub(super) reaches_result: Option<bool>,
    /// How good the text is as it stands
    #[serde(default, deserialize_with = "Percent::lenient_option")]
    #[schemars(with = "Percent")]
    pub(super) quality_percent: Option<Percent>,
    /// The improved version, if the caller brings it as a field.
    #[serde(default, deserialize_with = "optional_text")]
    #[schemars(skip)]
    pub(super) improved_reasoning: Option<String>,
    #[serde(default, deserialize_with = "Percent::lenient_option")]
    #[schemars(skip)]
    pub(super) improved_quality_percent: Option<Percent>,
    #[serde(flatten)]
    pub(super) fields: StepFields,
}

impl ReflectionReply {
    /// A check without fields.
    pub(super) fn from_plain_text(analysis: String) -> Self {
        Self {
            analysis,
            strengths: Vec::new(),
            weaknesses: Vec::new(),
            recommendations: Vec::new(),
            reaches_result: None,
            quality_percent: None,
            improved_reasoning: None,
            improved_quality_percent: None,
            fields: StepFields::default(),
        }
    }

    /// The quality of the subject. A text that only announces work is at most half good.
    pub(super) fn quality(&self) -> Option<Score> {
        let quality = self.quality_percent.map(|percent| percent.0)?;
        if self.reaches_result == Some(false) {
            return Some(at_most_half(quality));
        }
        Some(quality)
    }

    /// Moves the revised text out of the analysis, where it stands below its heading.
    pub(super) fn take_revision(&mut self) -> Option<String> {
        if let Some(improved) = self.improved_reasoning.take() {
            return Some(improved);
        }
        let (at, end) = find_heading(&self.analysis)?;
        let revised = self.analysis.get(end..)?.trim().to_owned();
        self.analysis.truncate(at);
        self.analysis.truncate(self.analysis.trim_end().len());
        if self.analysis.is_empty() {
            self.analysis.push_str("The text was written anew.");
        }
        (!is_blank(&revised)).then_some(revised)
    }
}

/// Finds the line that begins the revised text: its start and its end.
fn find_heading(text: &str) -> Option<(usize, usize)> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let words = line.trim().trim_matches(['#', '*', ':', ' ']);
        if words.eq_ignore_ascii_case("revised") || words.eq_ignore_ascii_case("revised version") {
            return Some((start, start + line.len()));
        }
        start += line.len();
    }
    None
}

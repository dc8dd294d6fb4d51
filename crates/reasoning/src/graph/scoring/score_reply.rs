//! A judgment of a node: four measures, the reason and the greatest weakness.

use deliberate_core::{ModelScore, NodeUpdate, Percent, Score};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::model_fields::{lenient_vec, optional_text, round_fraction};

// The four measures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(in crate::graph) struct ScoreBreakdown {
    /// How much it helps with the problem
    relevance: Score,
    /// Whether it is true and follows from its ancestors
    validity: Score,
    /// How far it goes beneath the surface
    depth: Score,
    /// What it adds to its ancestors
    novelty: Score,
}

impl ScoreBreakdown {
    /// The weighted mean of the four measures, but never more than the validity. The validity weighs
    /// most and the novelty least: a plain truth is better than something new that holds by half.
    pub(in crate::graph) fn overall(&self) -> Score {
        let measures = [self.validity, self.relevance, self.depth, self.novelty];
        let parts = measures.iter().zip([0.6, 0.25, 0.1, 0.05]);
        let mean: f64 = parts.map(|(measure, weight)| measure.get() * weight).sum();
        Score::clamped(round_fraction(mean.min(self.validity.get())))
    }
}

/// A complete judgment of a node.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "ScoreReply")]
pub(in crate::graph) struct ScoreJudgment {
    pub(in crate::graph) parts: ScoreBreakdown,
    pub(in crate::graph) rationale: Option<String>,
    pub(in crate::graph) weakest_point: Option<String>,
}

/// The answer that the model is asked for: the reason as free text, then the measures. Pipes written
/// for the original server answer the names without `_percent`; they are accepted but not requested.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["weakest_point", "validity_percent", "relevance_percent",
    "depth_percent", "novelty_percent"]))]
pub(in crate::graph) struct ScoreReply {
    #[serde(default, deserialize_with = "optional_text")]
    #[schemars(skip)]
    rationale: Option<String>,
    /// What is most wrong with it, in a few words
    #[serde(default, deserialize_with = "optional_text")]
    #[schemars(with = "String")]
    weakest_point: Option<String>,
    /// Whether it is true and follows
    #[serde(default, deserialize_with = "Percent::lenient_option")]
    #[schemars(with = "Percent")]
    validity_percent: Option<Percent>,
    /// How much it helps with the problem
    #[serde(default, deserialize_with = "Percent::lenient_option")]
    #[schemars(with = "Percent")]
    relevance_percent: Option<Percent>,
    /// How far it goes beneath the surface
    #[serde(default, deserialize_with = "Percent::lenient_option")]
    #[schemars(with = "Percent")]
    depth_percent: Option<Percent>,
    /// What it adds to the line before it
    #[serde(default, deserialize_with = "Percent::lenient_option")]
    #[schemars(with = "Percent")]
    novelty_percent: Option<Percent>,
    #[serde(default, deserialize_with = "ModelScore::lenient_option")]
    #[schemars(skip)]
    relevance: Option<ModelScore>,
    #[serde(default, deserialize_with = "ModelScore::lenient_option")]
    #[schemars(skip)]
    validity: Option<ModelScore>,
    #[serde(default, deserialize_with = "ModelScore::lenient_option")]
    #[schemars(skip)]
    depth: Option<ModelScore>,
    #[serde(default, deserialize_with = "ModelScore::lenient_option")]
    #[schemars(skip)]
    novelty: Option<ModelScore>,
}

/// The judgments of several nodes: the reasons as free text, then the measures of each.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["scores"]))]
pub(in crate::graph) struct ScoreListReply {
    #[serde(default, deserialize_with = "optional_text")]
    #[schemars(skip)]
    pub(in crate::graph) rationale: Option<String>,
    #[serde(deserialize_with = "lenient_vec")]
    pub(in crate::graph) scores: Vec<NumberedScore>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["node", "weakest_point", "validity_percent", "relevance_percent",
    "depth_percent", "novelty_percent"]))]
pub(in crate::graph) struct NumberedScore {
    /// The number of the node
    #[serde(default, alias = "node_id", alias = "id", alias = "number")]
    #[schemars(with = "usize", range(min = 1))]
    pub(in crate::graph) node: Value,
    #[serde(flatten)]
    pub(in crate::graph) reply: ScoreReply,
}

impl TryFrom<ScoreReply> for ScoreJudgment {
    type Error = String;

    fn try_from(reply: ScoreReply) -> Result<Self, String> {
        let measure = |percent: Option<Percent>, plain: Option<ModelScore>, name: &str| {
            let score = percent.map(|it| it.0).or(plain.map(|it| it.0));
            score.ok_or_else(|| format!("`{name}` must be a whole number from 0 to 100"))
        };
        Ok(Self {
            parts: ScoreBreakdown {
                relevance: measure(
                    reply.relevance_percent,
                    reply.relevance,
                    "relevance_percent",
                )?,
                validity: measure(reply.validity_percent, reply.validity, "validity_percent")?,
                depth: measure(reply.depth_percent, reply.depth, "depth_percent")?,
                novelty: measure(reply.novelty_percent, reply.novelty, "novelty_percent")?,
            },
            rationale: reply.rationale,
            weakest_point: reply.weakest_point,
        })
    }
}

impl ScoreJudgment {
    /// The update of the judged node.
    pub(in crate::graph) fn node_update(&self) -> NodeUpdate {
        NodeUpdate {
            score: Some(self.parts.overall()),
            notes: Some(self.to_metadata()),
            ..NodeUpdate::default()
        }
    }

    /// The judgment as metadata of the node.
    pub(in crate::graph) fn to_metadata(&self) -> Value {
        json!({
            "score_parts": self.parts,
            "score_rationale": self.rationale,
            "weakest_point": self.weakest_point,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_falsehood_never_beats_a_plain_truth() {
        let breakdown = |relevance, validity, depth, novelty| ScoreBreakdown {
            relevance: Score::clamped(relevance),
            validity: Score::clamped(validity),
            depth: Score::clamped(depth),
            novelty: Score::clamped(novelty),
        };
        let falsehood = breakdown(0.9, 0.05, 0.9, 1.0).overall();
        let truth = breakdown(0.6, 0.95, 0.1, 0.1).overall();
        assert!(truth > falsehood, "{truth:?} {falsehood:?}");
        assert_eq!(falsehood, Score::clamped(0.05));
        let half_truth = breakdown(0.9, 0.6, 0.9, 1.0).overall();
        assert!(truth > half_truth, "{truth:?} {half_truth:?}");
        let beside_the_point = breakdown(0.05, 1.0, 0.1, 0.1).overall();
        let relevant = breakdown(0.9, 0.75, 0.8, 0.5).overall();
        assert!(
            relevant > beside_the_point,
            "{relevant:?} {beside_the_point:?}"
        );
        assert_eq!(breakdown(0.8, 0.8, 0.8, 0.8).overall(), Score::clamped(0.8));
    }
}

//! Judges nodes: the four measures, alone or side by side.

mod score_nodes;
mod score_reply;

pub(super) use score_nodes::{
    NodeScore, score_changes, score_new_nodes, score_nodes, score_request,
};
pub(super) use score_reply::{ScoreBreakdown, ScoreJudgment};

//! Answers from the collection, and how well a paper fits a question.

mod agentic;
mod answer;
mod evaluate;
mod summary;

pub use agentic::AgenticResearchQuestion;
pub use answer::AnswerResearchQuestion;
pub use evaluate::EvaluateArticle;

use super::Adding;

/// The tools of this area.
pub(crate) fn add(adding: Adding<'_>) -> Adding<'_> {
    let lab = adding.lab.clone();
    adding
        .common(AnswerResearchQuestion(lab.clone()))
        .common(AgenticResearchQuestion(lab.clone()))
        .rare(summary::GenerateResearchSummary(lab.clone()))
        .rare(EvaluateArticle(lab))
}

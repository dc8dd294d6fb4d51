//! Tools that answer from the collection or score a paper for a question.

mod agentic;
mod answer;
mod evaluate;
mod summary;

pub use agentic::AgenticResearchQuestion;
pub use answer::AnswerResearchQuestion;
pub use evaluate::EvaluateArticle;

use super::ToolRegistrar;

/// Registers the answer tools.
pub(crate) fn add(adding: ToolRegistrar<'_>) -> ToolRegistrar<'_> {
    let lab = adding.services.clone();
    adding
        .add_common(AnswerResearchQuestion(lab.clone()))
        .add_common(AgenticResearchQuestion(lab.clone()))
        .add_rare(summary::GenerateResearchSummary(lab.clone()))
        .add_rare(EvaluateArticle(lab))
}

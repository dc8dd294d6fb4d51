//! `evaluate_article`.

use deliberate_store::{ItemFilter, Page};
use deliberate_toolkit::{About, Annotations, Call, Limits, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    answer::{By, QuestionLike, band, relevance},
    collect::Library,
    tools::shown::plain,
};

/// `evaluate_article`.
pub struct EvaluateArticle;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// DOI, arXiv id, citation key, title or id
    #[schemars(length(min = 1))]
    article_identifier: String,
    /// A saved research question's name, or any text
    #[schemars(length(min = 1))]
    query_name: String,
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    said: String,
    article_id: String,
    /// Whether `query_name` is a saved question
    saved: bool,
    /// 0 to 1
    score: f64,
    decision: &'static str,
    reasoning: String,
    matched_keywords: Vec<String>,
    by: By,
}

/// The kind of item a saved question is.
const QUESTION: &str = "question";

/// How many saved questions are looked through.
const MOST: u32 = 1_000;

impl Tool for EvaluateArticle {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        About {
            name: "evaluate_article",
            title: "Rate a paper for a question",
            description: "How relevant a paper of the collection is to a saved research question or \
                 any text, with reasons.",
            annotations: Annotations {
                open_world: true,
                ..Annotations::READS
            },
            thinks: true,
            limits: Limits::default(),
        }
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let name = call.checked_content("query_name", &input.query_name)?;
        let library = Library(call.store());
        let kept = library.find(&input.article_identifier).await?.kept;
        let found = saved_question(call, name).await?;
        let saved = found.is_some();
        let question = found.unwrap_or_else(|| QuestionLike {
            name: name.to_owned(),
            ..QuestionLike::default()
        });
        let mut found = relevance(call, &question, &[&kept.article]).await?;
        let found = found.pop().ok_or(ToolError::Internal)?;
        let decision = band(found.score);
        let by = match found.by {
            By::Model => "a model",
            By::Words => "its words",
        };
        let said = format!(
            "**{}** (`{}`): {:.1} of 10, {decision}, by {by}.\n\n{}",
            plain(&kept.article.title),
            kept.cite_key,
            found.score * 10.0,
            found.reasoning
        );
        Ok(Outcome {
            output: Output {
                said,
                article_id: kept.id,
                saved,
                score: found.score,
                decision,
                reasoning: found.reasoning,
                matched_keywords: found.matched_keywords,
                by: found.by,
            },
            changes: Vec::new(),
            session: None,
        })
    }
}

/// The saved question of that name or id.
async fn saved_question(call: &Call, name: &str) -> Result<Option<QuestionLike>, ToolError> {
    let items = call
        .store()
        .items(&ItemFilter::of(QUESTION), Page::first(MOST))
        .await?;
    let wanted = name.trim().to_lowercase();
    let found = items.into_iter().find_map(|item| {
        let by_id = item.id == name.trim();
        let question: QuestionLike = serde_json::from_value(item.body).ok()?;
        (by_id || question.name.trim().to_lowercase() == wanted).then_some(question)
    });
    Ok(found)
}

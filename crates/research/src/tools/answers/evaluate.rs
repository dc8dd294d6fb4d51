//! The `evaluate_article` tool: scores how relevant an article is to a question.

use std::sync::Arc;

use deliberate_core::{Article, truncate_chars};
use deliberate_store::{DocumentFilter, Pagination};
use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ArticleFilter, ResearchServices, RetrievalQuery, RetrievedPassage,
    answer::{
        RelevanceQuery, Retriever, ScoredBy, check_query, retrieve_memoized, score_label,
        score_relevance,
    },
    articles::{ArticleRecord, ArticleRepository},
    tools::rendering::{escape_markdown, pluralize, read_only_output, with_notes},
};

/// The `evaluate_article` tool.
pub struct EvaluateArticle<R = ResearchServices>(pub Arc<R>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// DOI, arXiv id, citation key, title or id
    #[schemars(length(min = 1))]
    article_identifier: String,
    /// Name of a saved research question, or any text
    #[schemars(length(min = 1))]
    query_name: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    said: String,
    article_id: String,
    /// Whether `query_name` is a saved question
    saved: bool,
    /// 0 to 1; the text shows it times ten
    score: f64,
    decision: &'static str,
    reasoning: String,
    matched_keywords: Vec<String>,
    by: ScoredBy,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

/// Document kind of saved questions.
const QUESTION_KIND: &str = "question";

/// Saved questions that are searched for the name.
const MAX_QUESTIONS: u32 = 1_000;

/// Passages of the text that are scored.
const MAX_PASSAGES: usize = 5;

/// Characters of the abstract before the passages, because a model sees only the beginning.
const ABSTRACT_CHARS: usize = 800;

/// Characters of the query for passages.
const MAX_QUERY_CHARS: usize = 2_000;

impl<R: Retriever> Tool for EvaluateArticle<R> {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "evaluate_article",
            title: "Rate a paper for a question",
            description: "How relevant a paper of the collection is to a saved research question or \
                 any text, with reasons.",
            hints: ToolHints {
                open_world: true,
                ..ToolHints::READ_ONLY
            },
            asks_model: true,
            limits: ToolLimits::default(),
        }
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let name = check_query(call, "query_name", &input.query_name)?;
        let library = ArticleRepository(call.store());
        let kept = library.find(&input.article_identifier).await?.record;
        let found = load_saved_question(call, name).await?;
        let saved = found.is_some();
        let question = found.unwrap_or_else(|| RelevanceQuery {
            name: name.to_owned(),
            ..RelevanceQuery::default()
        });
        let (passages, notes) = retrieve_passages(self.0.as_ref(), call, &kept, &question).await?;
        let judged = with_passages(&kept.article, &passages);
        let mut found = score_relevance(call, &question, &[&judged]).await?;
        let mut found = found.pop().ok_or(ToolError::Internal)?;
        if !passages.is_empty() {
            let read = pluralize(passages.len() as u64, "passage");
            found.reasoning = format!("{} Scored with {read} of its text.", found.reasoning);
        }
        let decision = score_label(found.score);
        let by = match found.by {
            ScoredBy::Model => "a model",
            ScoredBy::Words => "its words",
        };
        let said = format!(
            "**{}** (`{}`): {:.1} of 10 (score {}), {decision}, by {by}.\n\n{}",
            escape_markdown(&kept.article.title),
            kept.cite_key,
            found.score * 10.0,
            found.score,
            found.reasoning
        );
        Ok(read_only_output(Output {
            said: with_notes(said, &notes),
            article_id: kept.id,
            saved,
            score: found.score,
            decision,
            reasoning: found.reasoning,
            matched_keywords: found.matched_keywords,
            by: found.by,
            notes,
        }))
    }
}

/// Retrieves the passages of the article that match the question, best first, with notes about the
/// search. If the text cannot be searched, the rest is still scored.
async fn retrieve_passages<R: Retriever>(
    shelf: &R,
    call: &ToolContext,
    record: &ArticleRecord,
    question: &RelevanceQuery,
) -> Result<(Vec<RetrievedPassage>, Vec<String>), ToolError> {
    let words: Vec<&str> = question
        .keywords
        .iter()
        .chain(&question.topics)
        .map(String::as_str)
        .collect();
    let text = if words.is_empty() {
        question.name.clone()
    } else {
        words.join(" ")
    };
    let wanted = RetrievalQuery {
        question: truncate_chars(&text, MAX_QUERY_CHARS),
        k: MAX_PASSAGES,
        filter: ArticleFilter::for_article(&record.id),
        ..RetrievalQuery::default()
    };
    match retrieve_memoized(shelf, call, "retrieved", &wanted).await {
        Ok(mut found) => {
            // Page 0 is the abstract, which is scored anyway.
            found
                .passages
                .retain(|it| it.kept.id == record.id && it.place.page > 0);
            Ok((found.passages, found.notes))
        }
        Err(ToolError::Cancelled) => Err(ToolError::Cancelled),
        Err(error) => {
            let note = format!("Its text could not be searched: {error}.");
            Ok((Vec::new(), vec![note]))
        }
    }
}

/// Adds the passages to the abstract of the article.
fn with_passages(article: &Article, passages: &[RetrievedPassage]) -> Article {
    let mut whole = article.clone();
    if passages.is_empty() {
        return whole;
    }
    let summary = article.summary.clone().unwrap_or_default();
    let mut texts = vec![truncate_chars(&summary, ABSTRACT_CHARS)];
    texts.extend(passages.iter().map(|it| it.passage.text.clone()));
    texts.push(summary);
    texts.retain(|it| !it.is_empty());
    whole.summary = Some(texts.join("\n\n"));
    whole
}

/// Loads the saved question with this name or id.
async fn load_saved_question(
    call: &ToolContext,
    name: &str,
) -> Result<Option<RelevanceQuery>, ToolError> {
    let items = call
        .store()
        .documents(
            &DocumentFilter::of_kind(QUESTION_KIND),
            Pagination::limit(MAX_QUESTIONS),
        )
        .await?;
    let wanted = name.trim().to_lowercase();
    let found = items.into_iter().find_map(|item| {
        let by_id = item.id == name.trim();
        let question: RelevanceQuery = serde_json::from_value(item.body).ok()?;
        (by_id || question.name.trim().to_lowercase() == wanted).then_some(question)
    });
    Ok(found)
}

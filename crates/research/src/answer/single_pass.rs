//! Single-pass answers: retrieve passages, ask a model for an answer, check it, and if too little
//! of it is supported, ask once more or withhold it.

use deliberate_core::PromptFence;
use deliberate_llm::ModelError;
use deliberate_toolkit::{ToolContext, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    checked_answer::CheckedAnswer,
    claim_judge::{CallModelJudge, judge_claims},
    draft::{self, AnswerDraft},
    markdown,
    passage_pool::PassagePool,
    response::{self, AnswerSentence, AnswerSource, AnswerStatus, passage_relevance},
    retriever::{Retriever, check_query, parse_scope, retrieve_memoized},
};
use crate::{
    RetrievalQuery, RetrievalResult, RetrievedPassage, prompt_fence::prompt_fence,
    retrieval::query::mode_name,
};

/// Arguments of a single-pass question, as the tool takes them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(description = "")]
pub struct AnswerRequest {
    #[schemars(length(min = 1))]
    pub(crate) question: String,
    #[serde(default = "default_max_sources")]
    #[schemars(range(min = 1, max = 50))]
    pub(crate) max_sources: usize,
    #[serde(default = "default_min_relevance")]
    #[schemars(range(min = 0, max = 1))]
    pub(crate) min_relevance: f64,
    // Whether the text contains citations; the data always does.
    #[serde(default = "default_include_citations")]
    pub(crate) include_citations: bool,
    /// `all`, `papers_only`, `external`, `collection:<name>`, `index:<name>`
    #[serde(default = "default_scope")]
    pub(crate) scope: String,
}

const fn default_max_sources() -> usize {
    10
}

const fn default_min_relevance() -> f64 {
    0.4
}

const fn default_include_citations() -> bool {
    true
}

pub(super) fn default_scope() -> String {
    "all".to_owned()
}

/// Response to a single-pass question, as the tool returns it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(description = "")]
pub struct AnswerResponse {
    #[serde(rename = "said")]
    pub(crate) text: String,
    pub(crate) status: AnswerStatus,
    pub(crate) sentences: Vec<AnswerSentence>,
    /// Share of claims that the passages support; null without claims
    pub(crate) support: Option<f64>,
    pub(crate) sources: Vec<AnswerSource>,
    /// Search mode: hybrid, text, vector
    pub(crate) mode: &'static str,
    pub(crate) notes: Vec<String>,
}

/// Passages from one paper.
const MAX_PER_ARTICLE: usize = 4;

/// Passages for one answer.
const MAX_PASSAGES: usize = 40;

/// Answers a question from the collection with one retrieval round.
pub(crate) async fn answer<R: Retriever>(
    shelf: &R,
    call: &ToolContext,
    request: &AnswerRequest,
) -> Result<AnswerResponse, ToolError> {
    let question = check_query(call, "question", &request.question)?;
    let wanted = RetrievalQuery {
        question: question.to_owned(),
        k: (request.max_sources * 2).clamp(4, MAX_PASSAGES),
        scope: parse_scope(&request.scope)?,
        rerank: true,
        per_article: Some(MAX_PER_ARTICLE),
        ..RetrievalQuery::default()
    };
    call.progress(10.0, Some(100.0), "searching the collection");
    let found = retrieve_memoized(shelf, call, "retrieved", &wanted).await?;
    let mut work = AnswerBuilder::new(question, request, found, prompt_fence(call));
    work.model_judge = shelf.answer_options().model_judge;
    if work.selected.is_empty() {
        return Ok(work.into_nothing_found());
    }
    let (shown, used) = work.pool.render(&work.selected);
    call.progress(
        40.0,
        Some(100.0),
        &format!("answering from {} passages", used.len()),
    );
    let least = shelf.answer_options().min_support;
    let Some(first) = work.request_draft(call, "answer", &shown, &[]).await? else {
        return Ok(work.into_withheld(&CheckedAnswer::default(), least));
    };
    let mut judged = work.check(call, "check", first).await?;
    if !judged.is_supported(least) && judged.claim_count() > 0 {
        call.progress(70.0, Some(100.0), "answering again, closer to the passages");
        let problems = judged.problems();
        if let Some(again) = work
            .request_draft(call, "answer/again", &shown, &problems)
            .await?
        {
            let again = work.check(call, "check/again", again).await?;
            let note = if again.support() >= judged.support() {
                judged = again;
                "The first answer was not supported well enough; this is the second."
            } else {
                "A second answer was not supported better; this is the first."
            };
            work.notes.push(note.to_owned());
        }
    }
    call.progress(95.0, Some(100.0), "checked");
    Ok(work.into_response(&judged, least))
}

/// Builds the response to one question.
struct AnswerBuilder<'a> {
    question: &'a str,
    request: &'a AnswerRequest,
    pool: PassagePool,
    /// Passages that are relevant enough, from at most as many papers as the caller asked for.
    selected: Vec<usize>,
    retrieved_count: usize,
    best_score: f64,
    mode: &'static str,
    /// Whether a model judges what code cannot check.
    model_judge: bool,
    notes: Vec<String>,
}

impl<'a> AnswerBuilder<'a> {
    fn new(
        question: &'a str,
        answer_request: &'a AnswerRequest,
        found: RetrievalResult,
        fence: PromptFence,
    ) -> Self {
        let mut work = Self {
            question,
            request: answer_request,
            pool: PassagePool::new(fence),
            selected: Vec::new(),
            retrieved_count: found.passages.len(),
            best_score: 0.0,
            mode: mode_name(found.mode),
            model_judge: false,
            notes: found.notes,
        };
        let relevant = work.filter_relevant(found.passages);
        work.selected = work.pool.add(relevant);
        work
    }

    fn filter_relevant(&mut self, found: Vec<RetrievedPassage>) -> Vec<RetrievedPassage> {
        let mut papers: Vec<String> = Vec::new();
        let mut kept = Vec::new();
        for passage in found {
            let fits = passage_relevance(self.question, &passage);
            self.best_score = self.best_score.max(fits);
            let known = papers.contains(&passage.kept.id);
            if fits < self.request.min_relevance
                || (!known && papers.len() >= self.request.max_sources)
            {
                continue;
            }
            if !known {
                papers.push(passage.kept.id.clone());
            }
            kept.push(passage);
        }
        kept
    }

    /// Asks a model for a draft. If none is available, a note says so and the result is `None`.
    async fn request_draft(
        &mut self,
        call: &ToolContext,
        key: &str,
        passages: &str,
        problems: &[String],
    ) -> Result<Option<AnswerDraft>, ToolError> {
        let ask = draft::answer_request(
            key.to_owned(),
            self.question,
            passages,
            problems,
            self.pool.fence(),
        );
        match call.ask::<AnswerDraft>(ask, None).await {
            Ok(thinking) => {
                self.notes.extend(thinking.value.note());
                Ok(Some(thinking.value))
            }
            Err(ToolError::Model(error)) if error != ModelError::Pending => {
                self.notes.push(match &error {
                    ModelError::InvalidResponse { .. } => format!("There is no answer: {error}."),
                    _ => format!("The model request failed: {error}."),
                });
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Checks a draft in code, and asks the model of the call about what code cannot check.
    async fn check(
        &mut self,
        call: &ToolContext,
        key: &str,
        draft: AnswerDraft,
    ) -> Result<CheckedAnswer, ToolError> {
        let checked = CheckedAnswer::check(draft.claims(), &self.pool).await?;
        if !self.model_judge {
            return Ok(checked);
        }
        let mut judge = CallModelJudge {
            call,
            notes: &mut self.notes,
        };
        let judged = judge_claims(&mut judge, key.to_owned(), checked, &self.pool);
        Ok(judged.await?.0)
    }

    fn sources(&self) -> Vec<AnswerSource> {
        response::build_sources(self.question, &self.pool, &self.selected)
    }

    fn into_nothing_found(self) -> AnswerResponse {
        let looked = match self.retrieved_count {
            0 => "The search found no passages".to_owned(),
            count => format!(
                "The search found {count} passages, the best with a relevance of {:.2}, below \
                 {:.2}",
                self.best_score, self.request.min_relevance
            ),
        };
        let said = format!(
            "Nothing in the collection answers this.\n\n{looked} (question: “{}”, scope: {}, mode: \
             {}). Add papers with search_papers and process_pdf, rephrase the question, or lower \
             `min_relevance`.{}",
            markdown::sanitize_inline(self.question),
            markdown::sanitize_inline(&self.request.scope),
            self.mode,
            markdown::render_notes(&self.notes)
        );
        AnswerResponse {
            text: said,
            status: AnswerStatus::NothingFound,
            sentences: Vec::new(),
            support: None,
            sources: Vec::new(),
            mode: self.mode,
            notes: self.notes,
        }
    }

    fn into_response(self, checked_answer: &CheckedAnswer, least: f64) -> AnswerResponse {
        if checked_answer.claim_count() > 0 && !checked_answer.is_supported(least) {
            return self.into_withheld(checked_answer, least);
        }
        let sources = self.sources();
        let sentences = response::build_sentences(checked_answer, &self.pool, &sources);
        let status = if checked_answer.claim_count() == 0 {
            AnswerStatus::NothingFound
        } else {
            AnswerStatus::Answered
        };
        let mut text =
            markdown::render_answer(&sentences, &sources, self.request.include_citations);
        if status == AnswerStatus::NothingFound {
            text = format!(
                "The passages found do not answer this.\n\n{text}{}",
                markdown::render_passages(&sources, self.pool.fence())
            );
        }
        AnswerResponse {
            text: format!("{text}{}", markdown::render_notes(&self.notes)),
            status,
            sentences,
            support: checked_answer.support(),
            sources,
            mode: self.mode,
            notes: self.notes,
        }
    }

    fn into_withheld(self, checked_answer: &CheckedAnswer, least: f64) -> AnswerResponse {
        let sources = self.sources();
        let sentences = response::build_sentences(checked_answer, &self.pool, &sources);
        let said = withheld_text(
            checked_answer,
            least,
            &sources,
            &self.notes,
            self.pool.fence(),
        );
        AnswerResponse {
            text: said,
            // Without an answer there is nothing to withhold.
            status: match checked_answer.support() {
                Some(_) => AnswerStatus::Withheld,
                None => AnswerStatus::Partial,
            },
            sentences,
            support: checked_answer.support(),
            sources,
            mode: self.mode,
            notes: self.notes,
        }
    }
}

/// Explains why an answer is withheld and shows the passages instead.
pub(super) fn withheld_text(
    checked_answer: &CheckedAnswer,
    least: f64,
    sources: &[AnswerSource],
    notes: &[String],
    fence: &PromptFence,
) -> String {
    let why = match checked_answer.support() {
        Some(support) => format!(
            "The answer is withheld: {:.0} % of its claims are supported by the passages, and \
             at least {:.0} % must be.",
            support * 100.0,
            least * 100.0
        ),
        None => "There is no answer. The passages found are below.".to_owned(),
    };
    let reasons: Vec<String> = checked_answer
        .problems()
        .iter()
        .map(|it| format!("- {}", markdown::sanitize_inline(it)))
        .collect();
    let reasons = if reasons.is_empty() {
        String::new()
    } else {
        format!("\n\n{}", reasons.join("\n"))
    };
    format!(
        "{why}{reasons}{}{}",
        markdown::render_passages(sources, fence),
        markdown::render_notes(notes)
    )
}

//! Relevance of papers to a research question: scored by a model if one is available, otherwise by
//! words. A failing model never makes a paper irrelevant.

use std::collections::HashSet;

use deliberate_core::{Article, PromptFence, truncate_chars};
use deliberate_llm::ModelError;
use deliberate_toolkit::{ToolContext, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{markdown, phrase_match::contains_phrase, prompts::PromptTemplate, verifier};
use crate::prompt_fence::{fence_passage, prompt_fence};

/// The question that papers are scored against.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelevanceQuery {
    /// The question itself, or the name of a saved question.
    pub name: String,
    #[serde(default)]
    pub description: Option<String>,
    #[serde(default)]
    pub keywords: Vec<String>,
    #[serde(default)]
    pub topics: Vec<String>,
    /// Authors whose papers are preferred.
    #[serde(default)]
    pub authors: Vec<String>,
}

/// Relevance of a paper.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Relevance {
    /// 0 to 1.
    pub score: f64,
    /// Keywords of the question that the paper covers.
    pub matched_keywords: Vec<String>,
    pub reasoning: String,
    pub by: ScoredBy,
}

/// How a paper was scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScoredBy {
    Model,
    /// By the words that it shares with the question.
    Words,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct RelevanceReply {
    #[schemars(length(max = 20))]
    papers: Vec<PaperScore>,
}

/// The reason comes first, so that the score follows from it.
#[derive(Debug, Deserialize, JsonSchema)]
struct PaperScore {
    paper: usize,
    #[serde(default)]
    #[schemars(length(max = 12), inner(length(max = 80)))]
    keywords: Vec<String>,
    #[serde(default)]
    reason: String,
    /// 0 to 100
    #[schemars(range(min = 0, max = 100))]
    score: f64,
}

const RELEVANCE_PROMPT: PromptTemplate = PromptTemplate {
    purpose: "relevance",
    text: include_str!("prompts/relevance.md"),
    max_tokens: 3_000,
    temperature: 0.1,
};

/// Papers of one request, and characters of each abstract in it.
const BATCH_SIZE: usize = 12;
const ABSTRACT_CHARS: usize = 2_000;

/// Scores papers against a question, in their order.
pub async fn score_relevance(
    call: &ToolContext,
    question: &RelevanceQuery,
    articles: &[&Article],
) -> Result<Vec<Relevance>, ToolError> {
    let by_words = |article: &&Article| word_relevance(question, article);
    if articles.is_empty() || !call.has_model().await {
        return Ok(articles.iter().map(by_words).collect());
    }
    let batches: Vec<&[&Article]> = articles.chunks(BATCH_SIZE).collect();
    let asks = batches.iter().enumerate();
    let fence = prompt_fence(call);
    let asks = asks
        .map(|(at, batch)| relevance_request(format!("relevance/{at}"), question, batch, &fence));
    let outcomes = call.ask_all::<RelevanceReply>(asks.collect()).await?;
    let mut all = Vec::with_capacity(articles.len());
    for (batch, outcome) in batches.into_iter().zip(outcomes) {
        let judged = match outcome {
            Ok(thinking) => Ok(thinking.value),
            Err(ToolError::Model(error)) if error != ModelError::Pending => Err(error.to_string()),
            Err(error) => return Err(error),
        };
        for (at, article) in batch.iter().enumerate() {
            all.push(match &judged {
                Ok(judged) => from_model(judged, at, question)
                    .unwrap_or_else(|| fallback_relevance(question, article, "gave it no score")),
                Err(why) => {
                    fallback_relevance(question, article, &format!("request failed ({why})"))
                }
            });
        }
    }
    Ok(all)
}

fn relevance_request(
    key: String,
    question: &RelevanceQuery,
    articles: &[&Article],
    fence: &PromptFence,
) -> deliberate_llm::ModelRequest {
    let list = |label: &str, items: &[String]| {
        let items: Vec<String> = items
            .iter()
            .take(50)
            .map(|it| truncate_chars(it, 100))
            .collect();
        if items.is_empty() {
            String::new()
        } else {
            format!("\n{label}: {}", items.join(", "))
        }
    };
    let asked = format!(
        "{}{}{}{}{}",
        truncate_chars(&question.name, 2_000),
        question
            .description
            .as_deref()
            .map(|it| format!("\n{}", truncate_chars(it, 2_000)))
            .unwrap_or_default(),
        list("Keywords", &question.keywords),
        list("Topics", &question.topics),
        list("Preferred authors", &question.authors),
    );
    let papers: Vec<String> = articles
        .iter()
        .enumerate()
        .map(|(at, article)| {
            let summary = article.summary.as_deref().unwrap_or("(no abstract)");
            let text = format!(
                "{}\n{}\n{}",
                truncate_chars(&article.title, 400),
                markdown::author_label(article),
                truncate_chars(summary, ABSTRACT_CHARS)
            );
            fence_passage(fence, &[("id", &(at + 1).to_string())], &text)
        })
        .collect();
    RELEVANCE_PROMPT.build_request::<RelevanceReply>(
        key,
        &[
            ("question", &fence.wrap("question", &asked)),
            ("papers", &papers.join("\n\n")),
        ],
    )
}

fn from_model(reply: &RelevanceReply, at: usize, question: &RelevanceQuery) -> Option<Relevance> {
    let found = reply.papers.iter().find(|it| it.paper == at + 1)?;
    let known = |it: &&String| {
        question
            .keywords
            .iter()
            .any(|own| own.eq_ignore_ascii_case(it))
    };
    found.score.is_finite().then(|| Relevance {
        score: (found.score / 100.0).clamp(0.0, 1.0),
        matched_keywords: found.keywords.iter().filter(known).cloned().collect(),
        reasoning: markdown::sanitize_inline(&truncate_chars(&found.reason, 300)),
        by: ScoredBy::Model,
    })
}

fn fallback_relevance(question: &RelevanceQuery, article: &Article, why: &str) -> Relevance {
    let mut found = word_relevance(question, article);
    found.reasoning = format!("The model {why}. {}", found.reasoning);
    found
}

/// Scores a paper by its words: each keyword and topic in its title or abstract counts, those in
/// the title more. The name of the question counts only if it has neither keywords nor topics: a
/// name may be any label and must not exclude a paper.
fn word_relevance(question: &RelevanceQuery, article: &Article) -> Relevance {
    let paper = ArticleWords::new(article);
    let keywords = paper.mean_coverage(&question.keywords);
    let topics = paper.mean_coverage(&question.topics);
    let bare = keywords.is_none() && topics.is_none();
    let name = bare.then(|| paper.coverage(&question.name));
    let parts = [(keywords, 0.5), (topics, 0.2), (name, 0.3)];
    let weight: f64 = parts
        .iter()
        .filter(|it| it.0.is_some())
        .map(|it| it.1)
        .sum();
    let sum: f64 = parts
        .iter()
        .map(|(it, weight)| it.unwrap_or(0.0) * weight)
        .sum();
    let bonus = if question.authors.iter().any(|it| has_author(article, it)) {
        0.1
    } else {
        0.0
    };
    let score = (sum / weight.max(f64::EPSILON) + bonus).clamp(0.0, 1.0);
    let matched: Vec<String> = paper.covered_phrases(&question.keywords).cloned().collect();
    Relevance {
        score: (score * 1_000.0).round() / 1_000.0,
        reasoning: paper.reason(question, matched.len(), score),
        matched_keywords: matched,
        by: ScoredBy::Words,
    }
}

/// Stemmed words of a paper.
struct ArticleWords {
    title: HashSet<String>,
    text: HashSet<String>,
}

impl ArticleWords {
    fn new(article: &Article) -> Self {
        let summary = article.summary.as_deref().unwrap_or_default();
        let mut text = verifier::content_words(&truncate_chars(summary, 20_000));
        let keywords = article.keywords.iter().take(100);
        text.extend(keywords.flat_map(|it| verifier::content_words(it)));
        Self {
            title: verifier::content_words(&article.title),
            text,
        }
    }

    /// Share of the words of a phrase that the paper contains, 0 to 1.
    fn coverage(&self, phrase: &str) -> f64 {
        let wanted = verifier::content_words(phrase);
        if wanted.is_empty() {
            return 0.0;
        }
        let points: f64 = wanted.iter().map(|it| self.word_score(it)).sum();
        points / wanted.len() as f64
    }

    fn word_score(&self, word: &str) -> f64 {
        if self.title.contains(word) {
            1.0
        } else if self.text.contains(word) {
            0.75
        } else {
            0.0
        }
    }

    /// Coverage of several phrases; `None` if there are none.
    fn mean_coverage(&self, phrases: &[String]) -> Option<f64> {
        let all: Vec<f64> = phrases
            .iter()
            .take(100)
            .map(|it| self.coverage(it))
            .collect();
        (!all.is_empty()).then(|| {
            // A paper need not contain every keyword, so the best one counts most.
            let best = all.iter().copied().fold(0.0, f64::max);
            let sum: f64 = all.iter().sum();
            0.5 * best + 0.5 * sum / all.len() as f64
        })
    }

    /// Phrases that the paper covers for the most part.
    fn covered_phrases<'a>(&self, phrases: &'a [String]) -> impl Iterator<Item = &'a String> {
        phrases.iter().filter(move |it| self.coverage(it) >= 0.6)
    }

    /// Explains the score.
    fn reason(&self, question: &RelevanceQuery, keywords: usize, score: f64) -> String {
        let (has, of, what) = match (&question.keywords, &question.topics) {
            (all, _) if !all.is_empty() => (keywords, all.len(), "keywords"),
            (_, all) if !all.is_empty() => (self.covered_phrases(all).count(), all.len(), "topics"),
            _ => {
                let all = verifier::content_words(&question.name);
                let has = all.iter().filter(|it| self.word_score(it) > 0.0).count();
                (has, all.len(), "words of the question")
            }
        };
        let band = score_label(score);
        if of == 0 {
            return format!("By words: the question has no words to compare; {band}.");
        }
        format!("By words: {has} of {of} {what} are in its title or abstract; {band}.")
    }
}

/// Whether the paper has this author.
fn has_author(article: &Article, author: &str) -> bool {
    let authors = article.authors.iter().take(1_000);
    authors
        .into_iter()
        .any(|it| contains_phrase(author, &it.family))
}

/// Describes a score in words.
pub(crate) fn score_label(score: f64) -> &'static str {
    match score {
        it if it < 0.3 => "not relevant",
        it if it < 0.5 => "weak",
        it if it < 0.7 => "useful",
        it if it <= 0.9 => "strong",
        _ => "an exact match",
    }
}

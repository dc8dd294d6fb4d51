//! The passages of one question, each once. They are numbered in the order they arrive, so that
//! ids stay valid and earlier evidence is kept.

use deliberate_core::{PromptFence, truncate_chars};
use deliberate_llm::ModelRequest;

use super::{
    prompts,
    verifier::{Attribution, EvidencePassage},
};
use crate::{
    RetrievedPassage,
    articles::TextSpan,
    retrieval::llm_reranker::{SCORED_CHARS, score_request},
};

/// Numbered, deduplicated passages of one question.
#[derive(Debug, Clone)]
pub(super) struct PassagePool {
    passages: Vec<RetrievedPassage>,
    /// The fence around them in prompts and answers.
    fence: PromptFence,
}

/// Passages of one question at the most.
const MAX_PASSAGES: usize = 120;

/// Characters of a passage that claims are checked against.
const MAX_PASSAGE_CHARS: usize = 12_000;

impl PassagePool {
    pub(super) const fn new(fence: PromptFence) -> Self {
        Self {
            passages: Vec::new(),
            fence,
        }
    }

    pub(super) const fn fence(&self) -> &PromptFence {
        &self.fence
    }

    /// Adds new passages and returns the index of each given passage, old or new.
    pub(super) fn add(&mut self, found: Vec<RetrievedPassage>) -> Vec<usize> {
        let mut places = Vec::new();
        for passage in found {
            let same = |it: &RetrievedPassage| {
                it.kept.id == passage.kept.id && it.passage.number == passage.passage.number
            };
            match self.passages.iter().position(same) {
                Some(at) if places.contains(&at) => {}
                Some(at) => places.push(at),
                None if self.passages.len() < MAX_PASSAGES => {
                    places.push(self.passages.len());
                    self.passages.push(passage);
                }
                None => {}
            }
        }
        places
    }

    pub(super) fn get(&self, at: usize) -> Option<&RetrievedPassage> {
        self.passages.get(at)
    }

    pub(super) fn len(&self) -> usize {
        self.passages.len()
    }

    /// The id by which a passage is cited: `p1` for index 0.
    pub(super) fn id(at: usize) -> String {
        format!("p{}", at + 1)
    }

    pub(super) fn by_id(&self, id: &str) -> Option<&RetrievedPassage> {
        let number: usize = id.strip_prefix('p')?.parse().ok()?;
        self.passages.get(number.checked_sub(1)?)
    }

    /// Converts the passages into the verifier's form.
    pub(super) fn evidence_passages(&self) -> Vec<EvidencePassage> {
        let all = self.passages.iter().enumerate();
        all.map(|(at, it)| evidence_passage(&Self::id(at), it))
            .collect()
    }

    /// Renders passages for a prompt up to the size limit and returns the indexes of those
    /// included.
    pub(super) fn render(&self, wanted: &[usize]) -> (String, Vec<usize>) {
        self.render_with(wanted, |_, it| it.passage.text.clone())
    }

    /// Like `render`, with the text that `text` returns for each passage.
    pub(super) fn render_with(
        &self,
        wanted: &[usize],
        text: impl Fn(usize, &RetrievedPassage) -> String,
    ) -> (String, Vec<usize>) {
        self.render_with_limit(wanted, prompts::MAX_TOTAL_CHARS, text)
    }

    /// Builds the request for scores of passages, and returns those that fit into it.
    pub(super) fn score_request(
        &self,
        key: String,
        question: &str,
        wanted: &[usize],
    ) -> (ModelRequest, Vec<usize>) {
        let (passages, shown) = self.render_with(wanted, |_, it| {
            truncate_chars(&it.passage.text, SCORED_CHARS)
        });
        let count = shown.len();
        let ask = score_request(key, "grade", question, &passages, count, &self.fence);
        (ask, shown)
    }

    /// Like `render_with`, with a smaller size limit. The first passage is always included.
    pub(super) fn render_with_limit(
        &self,
        wanted: &[usize],
        most: usize,
        text: impl Fn(usize, &RetrievedPassage) -> String,
    ) -> (String, Vec<usize>) {
        let most = most.min(prompts::MAX_TOTAL_CHARS);
        let mut out = String::new();
        let mut shown = Vec::new();
        for &at in wanted {
            let Some(found) = self.get(at) else {
                continue;
            };
            let passage =
                prompts::render_passage(&self.fence, &Self::id(at), found, &text(at, found));
            if out.len() + passage.len() > most && !shown.is_empty() {
                break;
            }
            out.push_str(&passage);
            out.push_str("\n\n");
            shown.push(at);
        }
        (out.trim_end().to_owned(), shown)
    }
}

fn evidence_passage(id: &str, found: &RetrievedPassage) -> EvidencePassage {
    let (text, place) = truncate_passage(&found.passage.text, found.place);
    let article = &found.kept.article;
    let authors = article.authors.iter().take(100);
    EvidencePassage {
        id: id.to_owned(),
        work: found.kept.id.clone(),
        text,
        place,
        credit: Attribution {
            authors: authors.map(|it| it.family.clone()).collect(),
            year: article.year(),
            title: truncate_chars(&article.title, 500),
        },
    }
}

/// Returns the beginning of a long passage and its position.
fn truncate_passage(text: &str, span: TextSpan) -> (String, TextSpan) {
    if text.chars().nth(MAX_PASSAGE_CHARS).is_none() {
        return (text.to_owned(), span);
    }
    let text: String = text.chars().take(MAX_PASSAGE_CHARS).collect();
    let pages = text.matches('\u{c}').count();
    let last = text
        .rsplit('\u{c}')
        .next()
        .unwrap_or_default()
        .chars()
        .count();
    let number = |it: usize| u32::try_from(it).unwrap_or(u32::MAX);
    let begun = if pages == 0 { span.start } else { 0 };
    let place = TextSpan {
        end_page: span.page.saturating_add(number(pages)),
        end: begun.saturating_add(number(last)),
        ..span
    };
    (text, place)
}

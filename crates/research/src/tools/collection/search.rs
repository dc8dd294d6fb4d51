//! `search_articles`: articles by what they are about, each once, with its best passage.

use std::{fmt::Write as _, sync::Arc};

use deliberate_core::cut_to_chars;
use deliberate_toolkit::{About, Call, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::shown::{ShownArticle, count, line, only_read, reads, with_notes};
use crate::{
    ArticleFilter, FoundPassage, Lab, Rerank, Retrieval,
    collect::{
        OrderBy, Place, date_of,
        fence::{DATA_NOT_ORDERS, fenced},
        kind_named, mode_name, tag_key,
    },
};

/// How much of a passage and of an abstract is shown.
const PREVIEW_CHARS: usize = 400;

/// `search_articles`.
pub(crate) struct SearchArticles(pub(crate) Arc<Lab>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 2000))]
    query: String,
    author: Option<String>,
    /// 2024 or 2024-05-17
    date_from: Option<String>,
    date_to: Option<String>,
    /// As preprint, book
    document_type: Option<String>,
    journal: Option<String>,
    #[schemars(length(max = 20), extend("x-separated" = "words"))]
    tags: Option<Vec<String>>,
    min_citations: Option<u64>,
    #[serde(default = "usual")]
    #[schemars(range(min = 1, max = 50))]
    limit: usize,
    #[serde(default)]
    sort_by: SortBy,
}

fn usual() -> usize {
    10
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum SortBy {
    #[default]
    Relevance,
    Date,
    Citations,
    Title,
}

impl SortBy {
    const fn order(self) -> OrderBy {
        match self {
            Self::Relevance => OrderBy::Relevance,
            Self::Date => OrderBy::Date,
            Self::Citations => OrderBy::Citations,
            Self::Title => OrderBy::Title,
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    /// By what was searched: hybrid, text or vector
    mode: &'static str,
    results: Vec<Found>,
    notes: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Found {
    #[serde(flatten)]
    article: ShownArticle,
    /// Comparable within this answer alone
    score: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    similarity: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    abstract_head: Option<String>,
    /// The best passage
    preview: String,
    section: Vec<String>,
    /// Where the passage stands; page 0 is the abstract
    place: Place,
}

impl Tool for SearchArticles {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        reads(
            "search_articles",
            "Search the collection",
            "Search the collection by words and meaning; each article once, with its best passage.",
        )
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let order = input.sort_by.order();
        let wanted = Retrieval {
            question: input.query.clone(),
            k: order.looked_at(input.limit),
            filter: filter(&input)?,
            rerank: matches!(self.0.options().retrieval.rerank, Rerank::Endpoint { .. }),
            per_article: Some(1),
            ..Retrieval::default()
        };
        let found = self.0.retrieve(call, &wanted).await?;
        let mut notes = found.notes;
        let (all, most) = (found.passages, input.limit);
        let passages = order.of(all, most, |it| (&it.kept, it.score), &mut notes);
        Ok(only_read(Output {
            said: with_notes(said(&input.query, &passages), &notes),
            mode: mode_name(found.mode),
            results: passages.iter().map(shown).collect(),
            notes,
        }))
    }
}

fn filter(input: &Input) -> Result<ArticleFilter, ToolError> {
    let given = |text: &Option<String>| text.clone().filter(|it| !it.trim().is_empty());
    let kind = given(&input.document_type);
    if let Some(kind) = &kind {
        kind_named("document_type", kind)?;
    }
    let tags = input.tags.iter().flatten().map(|it| tag_key(it));
    Ok(ArticleFilter {
        author: given(&input.author),
        date_from: date_of("date_from", input.date_from.as_deref())?,
        date_to: date_of("date_to", input.date_to.as_deref())?,
        kind,
        venue: given(&input.journal),
        tags: tags.filter(|it| !it.is_empty()).collect(),
        min_citations: input.min_citations.filter(|it| *it > 0),
        ..ArticleFilter::default()
    })
}

fn shown(found: &FoundPassage) -> Found {
    let head = found.kept.article.summary.as_deref();
    Found {
        article: ShownArticle::of(&found.kept),
        score: found.rerank_score.unwrap_or(found.score),
        similarity: found.similarity,
        abstract_head: head.map(|it| cut_to_chars(it, PREVIEW_CHARS)),
        preview: cut_to_chars(&found.passage.text, PREVIEW_CHARS),
        section: found.passage.section.clone(),
        place: found.place,
    }
}

fn said(query: &str, passages: &[FoundPassage]) -> String {
    if passages.is_empty() {
        return format!(
            "Nothing in the collection fits {:?}. Loosen the filters, or find papers with \
             search_papers and keep them with add_article.",
            cut_to_chars(query, 200)
        );
    }
    let many = count(passages.len() as u64, "article");
    let mut said = format!("{many}. {DATA_NOT_ORDERS}\n");
    for (at, found) in passages.iter().enumerate() {
        let preview = cut_to_chars(&found.passage.text, PREVIEW_CHARS);
        let page = found.page_label();
        let attributes = [("article", found.kept.cite_key.as_str()), ("place", &page)];
        let _ = write!(
            said,
            "\n{}. {}\n{}\n",
            at + 1,
            line(&found.kept),
            fenced(&attributes, &preview)
        );
    }
    said
}

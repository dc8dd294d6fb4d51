//! The `search_articles` tool: finds articles by content, each once, with its best passage.

use std::{fmt::Write as _, sync::Arc};

use deliberate_core::{PromptFence, truncate_chars};
use deliberate_toolkit::{Tool, ToolContext, ToolError, ToolMeta, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ArticleFilter, RerankOptions, ResearchServices, RetrievalQuery, RetrievedPassage,
    articles::{TextSpan, parse_work_kind},
    prompt_fence::{fence_passage, prompt_fence, untrusted_data_notice},
    retrieval::{
        index_filter::{parse_date_argument, tag_key},
        query::mode_name,
        sorting::OrderBy,
    },
    tools::rendering::{
        ArticleView, article_line, pluralize, read_only_meta, read_only_output, with_notes,
    },
};

/// Characters of a passage or an abstract in the output.
const PREVIEW_CHARS: usize = 400;

/// The `search_articles` tool.
pub(crate) struct SearchArticles(pub(crate) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 2000))]
    query: String,
    author: Option<String>,
    /// 2024 or 2024-05-17
    date_from: Option<String>,
    date_to: Option<String>,
    /// Such as preprint, book
    document_type: Option<String>,
    journal: Option<String>,
    #[schemars(length(max = 20), extend("x-separated" = "words"))]
    tags: Option<Vec<String>>,
    min_citations: Option<u64>,
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 50))]
    limit: usize,
    #[serde(default)]
    sort_by: SortBy,
}

fn default_limit() -> usize {
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
    /// Search mode: hybrid, text or vector
    mode: &'static str,
    results: Vec<ArticleHit>,
    notes: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ArticleHit {
    #[serde(flatten)]
    article: ArticleView,
    /// Comparable only within this answer
    score: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    similarity: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    abstract_head: Option<String>,
    /// Best passage
    preview: String,
    section: Vec<String>,
    /// Position of the passage; page 0 is the abstract
    place: TextSpan,
}

impl Tool for SearchArticles {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "search_articles",
            "Search the collection",
            "Search the collection by words and meaning; each article once, with its best passage.",
        )
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let order = input.sort_by.order();
        let wanted = RetrievalQuery {
            question: input.query.clone(),
            k: order.candidate_count(input.limit),
            filter: build_filter(&input)?,
            rerank: matches!(
                self.0.options().retrieval.rerank,
                RerankOptions::Endpoint { .. }
            ),
            per_article: Some(1),
            ..RetrievalQuery::default()
        };
        let found = self.0.retrieve(call, &wanted).await?;
        let mut notes = found.notes;
        let (all, most) = (found.passages, input.limit);
        let passages = order.apply(all, most, |it| (&it.kept, it.score), &mut notes);
        Ok(read_only_output(Output {
            said: with_notes(
                render_text(&input.query, &passages, &prompt_fence(call)),
                &notes,
            ),
            mode: mode_name(found.mode),
            results: passages.iter().map(to_article_hit).collect(),
            notes,
        }))
    }
}

fn build_filter(input: &Input) -> Result<ArticleFilter, ToolError> {
    let given = |text: &Option<String>| text.clone().filter(|it| !it.trim().is_empty());
    let kind = given(&input.document_type);
    if let Some(kind) = &kind {
        parse_work_kind("document_type", kind)?;
    }
    let tags = input.tags.iter().flatten().map(|it| tag_key(it));
    Ok(ArticleFilter {
        author: given(&input.author),
        date_from: parse_date_argument("date_from", input.date_from.as_deref())?,
        date_to: parse_date_argument("date_to", input.date_to.as_deref())?,
        kind,
        venue: given(&input.journal),
        tags: tags.filter(|it| !it.is_empty()).collect(),
        min_citations: input.min_citations.filter(|it| *it > 0),
        ..ArticleFilter::default()
    })
}

fn to_article_hit(found: &RetrievedPassage) -> ArticleHit {
    let head = found.kept.article.summary.as_deref();
    ArticleHit {
        article: ArticleView::from_record(&found.kept),
        score: found.rerank_score.unwrap_or(found.score),
        similarity: found.similarity,
        abstract_head: head.map(|it| truncate_chars(it, PREVIEW_CHARS)),
        preview: truncate_chars(&found.passage.text, PREVIEW_CHARS),
        section: found.passage.section.clone(),
        place: found.place,
    }
}

fn render_text(query: &str, passages: &[RetrievedPassage], fence: &PromptFence) -> String {
    if passages.is_empty() {
        return format!(
            "Nothing in the collection matches {:?}. Relax the filters, or find papers with \
             search_papers and add them with add_article.",
            truncate_chars(query, 200)
        );
    }
    let many = pluralize(passages.len() as u64, "article");
    let mut said = format!("{many}. {}\n", untrusted_data_notice(fence));
    for (at, found) in passages.iter().enumerate() {
        let preview = truncate_chars(&found.passage.text, PREVIEW_CHARS);
        let page = found.page_label();
        let attributes = [("article", found.kept.cite_key.as_str()), ("place", &page)];
        let _ = write!(
            said,
            "\n{}. {}\n{}\n",
            at + 1,
            article_line(&found.kept),
            fence_passage(fence, &attributes, &preview)
        );
    }
    said
}

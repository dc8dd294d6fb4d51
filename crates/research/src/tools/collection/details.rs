//! The `get_article_details` tool: everything known about one article, found by its exact name.

use std::fmt::Write as _;

use deliberate_core::{Article, PromptFence, truncate_chars};
use deliberate_toolkit::{Tool, ToolContext, ToolError, ToolMeta, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    articles::{ArticleFile, ArticleRepository, Outline, VersionedArticle},
    prompt_fence::{fence_passage, prompt_fence, untrusted_data_notice},
    tools::rendering::{
        ArticleView, article_line, escape_markdown, pluralize, read_only_meta, read_only_output,
    },
};

/// Characters of the text preview.
const PREVIEW_CHARS: usize = 500;

/// Pages that are searched for text, because the first may be an image.
const PREVIEW_PAGES: u32 = 5;

/// The `get_article_details` tool.
pub(crate) struct GetArticleDetails;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Id, DOI, arXiv id, citation key or full title
    #[schemars(length(min = 1, max = 1000))]
    article_identifier: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    article_id: String,
    summary: ArticleView,
    /// The full record
    record: Article,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<ArticleFile>,
    headings: usize,
    figures_and_tables: usize,
    references: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    preview: Option<String>,
    added_at: String,
}

impl Tool for GetArticleDetails {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "get_article_details",
            "Article details",
            "All that is known about one article.",
        )
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let library = ArticleRepository(call.store());
        let found = library.find(&input.article_identifier).await?;
        let kept = &found.record;
        let outline = library.outline(&kept.id).await?.unwrap_or_default();
        let pages = library.pages(&kept.id, 1, PREVIEW_PAGES).await?;
        let preview = pages.iter().find(|it| !it.trim().is_empty());
        let preview = preview.map(|it| truncate_chars(it, PREVIEW_CHARS));
        Ok(read_only_output(Output {
            said: render_text(&found, &outline, preview.as_deref(), &prompt_fence(call)),
            article_id: kept.id.clone(),
            summary: ArticleView::from_record(kept),
            record: kept.article.clone(),
            file: kept.file.clone(),
            headings: outline.headings.len(),
            figures_and_tables: outline.captions.len(),
            references: outline.references.len(),
            preview,
            added_at: kept.added_at.to_string(),
        }))
    }
}

fn render_text(
    found: &VersionedArticle,
    outline: &Outline,
    preview: Option<&str>,
    fence: &PromptFence,
) -> String {
    let kept = &found.record;
    let article = &kept.article;
    let mut said = format!("{}\n\n", article_line(kept));
    let mut say = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|it| !it.is_empty()) {
            let _ = writeln!(said, "- {name}: {value}");
        }
    };
    say("id", Some(kept.id.clone()));
    say("kind", Some(article.kind.as_str().to_owned()));
    say("date", article.date.map(|it| it.to_string()));
    say("DOI", article.doi.as_ref().map(ToString::to_string));
    say("arXiv", article.arxiv_id.as_ref().map(ToString::to_string));
    say("address", article.url.as_deref().map(escape_markdown));
    say(
        "cited",
        article.citation_count.map(|it| pluralize(it, "time")),
    );
    say("tags", Some(kept.tags.join(", ")));
    say("collections", Some(kept.collections.join(", ")));
    say(
        "file",
        kept.file.as_ref().map(|it| escape_markdown(&it.path)),
    );
    let sizes = format!(
        "{}, {}, {}, {}, {}",
        pluralize(kept.pages.into(), "page"),
        pluralize(kept.chars, "character"),
        pluralize(outline.headings.len() as u64, "heading"),
        pluralize(outline.captions.len() as u64, "caption"),
        pluralize(outline.references.len() as u64, "reference")
    );
    say(
        "text",
        Some(if kept.pages > 0 {
            sizes
        } else {
            "none".to_owned()
        }),
    );
    let warnings = kept.file.iter().flat_map(|it| &it.warnings);
    say(
        "warnings",
        Some(
            warnings
                .map(|it| escape_markdown(it))
                .collect::<Vec<_>>()
                .join("; "),
        ),
    );
    let shown = article.summary.as_deref().or(preview);
    if let Some(text) = shown {
        let _ = write!(
            said,
            "\n{}\n{}",
            untrusted_data_notice(fence),
            fence_passage(fence, &[], text)
        );
    }
    said
}

//! The `get_article_full_content` tool: the text of an article by standard sections.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use deliberate_core::PromptFence;
use deliberate_toolkit::{Tool, ToolContext, ToolError, ToolMeta, ToolOutput, compute};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::excerpt::{cut_excerpt, require_text};
use crate::{
    articles::{
        ArticleRecord, ArticleRepository, FullText,
        sections::{find_sections_by_role, sections},
    },
    prompt_fence::{fence_passage, prompt_fence, untrusted_data_notice},
    tools::rendering::{article_line, read_only_meta, read_only_output, with_notes},
};

/// Characters of the output.
const MAX_CHARS: usize = 100_000;

/// The `get_article_full_content` tool.
pub(crate) struct GetArticleFullContent;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 1000))]
    article_id: String,
    /// Default: the whole text
    #[schemars(length(max = 6))]
    include_sections: Option<Vec<ArticlePart>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum ArticlePart {
    Abstract,
    Introduction,
    Methods,
    Results,
    Discussion,
    References,
}

impl ArticlePart {
    const fn name(self) -> &'static str {
        match self {
            Self::Abstract => "abstract",
            Self::Introduction => "introduction",
            Self::Methods => "methods",
            Self::Results => "results",
            Self::Discussion => "discussion",
            Self::References => "references",
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    article_id: String,
    /// By name; `whole` for the whole text
    sections: BTreeMap<String, String>,
    cut: bool,
    notes: Vec<String>,
}

impl Tool for GetArticleFullContent {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "get_article_full_content",
            "Full content",
            "The text of an article, whole or by abstract, introduction, methods, results, \
             discussion, references.",
        )
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let library = ArticleRepository(call.store());
        let kept = library.find(&input.article_id).await?.record;
        let text = require_text(&kept, library.text(&kept.id).await?)?;
        let parts = input.include_sections.unwrap_or_default();
        let fence = prompt_fence(call);
        let output = compute(move || collect_parts(&kept, &text, &parts, &fence)).await?;
        Ok(read_only_output(output))
    }
}

/// Collects the requested parts, or the whole text.
fn collect_parts(
    record: &ArticleRecord,
    text: &FullText,
    parts: &[ArticlePart],
    fence: &PromptFence,
) -> Output {
    let mut gathered = PartCollector::new(text);
    if parts.is_empty() {
        let end = gathered.full_text.len();
        gathered.add("whole", &[(0, end)]);
    }
    for part in parts {
        gathered.add_part(*part, record.article.summary.as_deref());
    }
    let mut said = format!(
        "{}\n\n{}",
        article_line(record),
        untrusted_data_notice(fence)
    );
    for (name, text) in &gathered.parts {
        let attributes = [
            ("article", record.cite_key.as_str()),
            ("part", name.as_str()),
        ];
        let _ = write!(said, "\n{}", fence_passage(fence, &attributes, text));
    }
    if gathered.truncated {
        gathered
            .notes
            .push("Truncated; read_article reads the rest.".to_owned());
    }
    Output {
        said: with_notes(said, &gathered.notes),
        article_id: record.id.clone(),
        sections: gathered.parts.into_iter().collect(),
        cut: gathered.truncated,
        notes: gathered.notes,
    }
}

/// Collects parts of a text up to a total length.
struct PartCollector<'a> {
    text: &'a FullText,
    full_text: String,
    remaining_chars: usize,
    truncated: bool,
    parts: Vec<(String, String)>,
    notes: Vec<String>,
}

impl<'a> PartCollector<'a> {
    fn new(text: &'a FullText) -> Self {
        Self {
            text,
            full_text: text.join_pages(),
            remaining_chars: MAX_CHARS,
            truncated: false,
            parts: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn add_part(&mut self, part: ArticlePart, summary: Option<&str>) {
        let all = sections(self.text);
        let found = find_sections_by_role(&all, part.name());
        let ranges: Vec<(usize, usize)> = found.iter().map(|it| (it.start, it.end)).collect();
        match (part, summary) {
            (ArticlePart::Abstract, Some(summary)) => {
                self.parts
                    .push((part.name().to_owned(), summary.to_owned()));
            }
            _ if ranges.is_empty() => {
                self.notes
                    .push(format!("No section is named {} or similar.", part.name()));
            }
            _ => self.add(part.name(), &ranges),
        }
    }

    fn add(&mut self, name: &str, ranges: &[(usize, usize)]) {
        let mut all = Vec::new();
        for (from, to) in ranges {
            let shown = cut_excerpt(self.text, &self.full_text, *from, *to, self.remaining_chars);
            self.remaining_chars = self
                .remaining_chars
                .saturating_sub(shown.text.chars().count());
            self.truncated |= shown.truncated;
            all.push(shown.text);
        }
        self.parts.push((name.to_owned(), all.join("\n\n")));
    }
}

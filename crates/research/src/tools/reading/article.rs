//! The `read_article` tool: shows the outline of an article, a section, pages, or matching text.

use std::fmt::Write as _;

use deliberate_core::{PromptFence, truncate_chars};
use deliberate_toolkit::{
    ArgumentIssue, Tool, ToolContext, ToolError, ToolMeta, ToolOutput, compute,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    excerpt::{TextExcerpt, cut_excerpt, require_text},
    outline::{
        OutlineSection, outline_section, render_heading, same_heading_note, section_not_found,
    },
};
use crate::{
    articles::{
        ArticleRecord, ArticleRepository, FullText, TextSpan,
        in_document_search::search_in_document,
        sections::{find_section, sections},
    },
    prompt_fence::{fence_passage, prompt_fence, untrusted_data_notice},
    tools::rendering::{
        article_line, escape_markdown, pluralize, read_only_meta, read_only_output,
    },
};

/// Limits of headings, captions, and matches in the output.
const MAX_HEADINGS: usize = 200;
const MAX_CAPTIONS: usize = 100;
const MAX_HITS: usize = 20;

/// The `read_article` tool.
pub(crate) struct ReadArticle;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 1000))]
    article_identifier: String,
    /// Title or number
    #[schemars(length(min = 1, max = 500))]
    section: Option<String>,
    /// 3-5
    #[schemars(length(min = 1, max = 40))]
    pages: Option<String>,
    /// Words to find
    #[schemars(length(min = 1, max = 500))]
    find: Option<String>,
    /// Captions
    #[serde(default)]
    figures: bool,
    #[serde(default = "default_max_length")]
    #[schemars(range(min = 1000, max = 100_000))]
    max_length: usize,
}

fn default_max_length() -> usize {
    20_000
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    article_id: String,
    title: String,
    pages: u32,
    characters: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    outline: Vec<OutlineSection>,
    /// The requested text
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<TextSpan>,
    cut: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    found: Vec<ArticleTextHit>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    figures: Vec<ArticleFigure>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ArticleTextHit {
    place: TextSpan,
    context: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ArticleFigure {
    label: String,
    caption: String,
    page: u32,
}

impl Tool for ReadArticle {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "read_article",
            "Read an article",
            "Read an article: its outline, or one of section, pages, find, figures.",
        )
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        check_exclusive(&input)?;
        let library = ArticleRepository(call.store());
        let kept = library.find(&input.article_identifier).await?.record;
        let text = library.text(&kept.id).await?;
        let fence = prompt_fence(call);
        let output = compute(move || read_article(&input, &kept, text, &fence)).await??;
        Ok(read_only_output(output))
    }
}

/// Renders the requested part. A text may be long, so this is not for the runtime's threads.
fn read_article(
    input: &Input,
    article_record: &ArticleRecord,
    text: Option<FullText>,
    fence: &PromptFence,
) -> Result<Output, ToolError> {
    let reading = ArticleReader {
        fence,
        max_chars: input.max_length,
        record: article_record,
    };
    if let Some(name) = &input.section {
        reading.read_section(&require_text(article_record, text)?, name)
    } else if let Some(range) = &input.pages {
        reading.read_pages(&require_text(article_record, text)?, range)
    } else if let Some(words) = &input.find {
        Ok(reading.find_words(&require_text(article_record, text)?, words))
    } else if input.figures {
        Ok(reading.list_figures(&require_text(article_record, text)?))
    } else {
        Ok(reading.read_outline(text.as_ref()))
    }
}

fn check_exclusive(input: &Input) -> Result<(), ToolError> {
    let given = [
        ("section", input.section.is_some()),
        ("pages", input.pages.is_some()),
        ("find", input.find.is_some()),
        ("figures", input.figures),
    ];
    let given: Vec<&str> = given.iter().filter(|it| it.1).map(|it| it.0).collect();
    match given.as_slice() {
        [_, second, ..] => {
            let rule = "cannot be combined; give only one of section, pages, find, figures";
            Err(ToolError::Invalid(vec![ArgumentIssue::new(second, rule)]))
        }
        _ => Ok(()),
    }
}

struct ArticleReader<'a> {
    fence: &'a PromptFence,
    record: &'a ArticleRecord,
    max_chars: usize,
}

impl ArticleReader<'_> {
    fn empty_output(&self) -> Output {
        Output {
            said: String::new(),
            article_id: self.record.id.clone(),
            title: self.record.article.title.clone(),
            pages: self.record.pages,
            characters: self.record.chars,
            outline: Vec::new(),
            text: None,
            place: None,
            cut: false,
            found: Vec::new(),
            figures: Vec::new(),
        }
    }

    fn excerpt_output(&self, stretch: TextExcerpt, what: &str) -> Output {
        Output {
            said: format!(
                "{}\n\n{}\n{}{}",
                article_line(self.record),
                untrusted_data_notice(self.fence),
                stretch.render_fenced(self.fence, self.record, what),
                stretch.continuation_hint("pages")
            ),
            place: stretch.span,
            cut: stretch.truncated,
            text: Some(stretch.text),
            ..self.empty_output()
        }
    }

    fn read_section(&self, text: &FullText, name: &str) -> Result<Output, ToolError> {
        let all = sections(text);
        let Some(found) = find_section(&all, name) else {
            return Err(section_not_found(&all, name));
        };
        let whole = text.join_pages();
        let stretch = cut_excerpt(text, &whole, found.start, found.end, self.max_chars);
        let mut output = self.excerpt_output(stretch, &found.label());
        output.said.push_str(&same_heading_note(&all, found));
        Ok(output)
    }

    fn read_pages(&self, text: &FullText, range: &str) -> Result<Output, ToolError> {
        let last = text.pages.len();
        let (from, to) = parse_page_range(range, last).ok_or_else(|| {
            let rule = format!("must be a page or a range within 1-{last}: 3 or 3-5");
            ToolError::Invalid(vec![
                ArgumentIssue::new("pages", rule).with_value(&range.into()),
            ])
        })?;
        let starts = text.page_starts();
        let start = starts.get(from - 1).copied().unwrap_or(0);
        let end = starts.get(to - 1).copied().unwrap_or(0);
        let end = end + text.pages.get(to - 1).map_or(0, String::len);
        let whole = text.join_pages();
        let stretch = cut_excerpt(text, &whole, start, end, self.max_chars);
        Ok(self.excerpt_output(stretch, "pages"))
    }

    fn find_words(&self, text: &FullText, words: &str) -> Output {
        let (found, total) = search_in_document(text, words, MAX_HITS);
        let shown: Vec<String> = found
            .iter()
            .map(|it| format!("p. {}: {}", it.span.page, it.context))
            .collect();
        let said = if found.is_empty() {
            format!(
                "{}\n\n{:?} does not occur in its text.",
                article_line(self.record),
                escape_markdown(words)
            )
        } else {
            let attributes = [
                ("article", self.record.cite_key.as_str()),
                ("part", "finds"),
            ];
            format!(
                "{}\n\n{}, {} shown. {}\n{}",
                article_line(self.record),
                pluralize(total as u64, "place"),
                found.len(),
                untrusted_data_notice(self.fence),
                fence_passage(self.fence, &attributes, &shown.join("\n\n"))
            )
        };
        let found = found.into_iter().map(|it| ArticleTextHit {
            place: it.span,
            context: it.context,
        });
        Output {
            said,
            cut: total > MAX_HITS,
            found: found.collect(),
            ..self.empty_output()
        }
    }

    fn list_figures(&self, text: &FullText) -> Output {
        let captions = text.outline.captions.iter().take(MAX_CAPTIONS);
        let figures: Vec<ArticleFigure> = captions
            .map(|it| ArticleFigure {
                label: it.label.clone(),
                caption: truncate_chars(&it.text, 1_000),
                page: it.page,
            })
            .collect();
        let lines = figures
            .iter()
            .map(|it| format!("p. {}: {}", it.page, it.caption));
        let shown = lines.collect::<Vec<_>>().join("\n\n");
        let said = if figures.is_empty() {
            format!(
                "{}\n\nNo captions of figures or tables were found.",
                article_line(self.record)
            )
        } else {
            let attributes = [
                ("article", self.record.cite_key.as_str()),
                ("part", "captions"),
            ];
            format!(
                "{}\n\n{}\n{}",
                article_line(self.record),
                untrusted_data_notice(self.fence),
                fence_passage(self.fence, &attributes, &shown)
            )
        };
        Output {
            said,
            figures,
            ..self.empty_output()
        }
    }

    fn read_outline(&self, text: Option<&FullText>) -> Output {
        let mut said = article_line(self.record);
        let summary = self.record.article.summary.as_deref();
        if let Some(summary) = summary {
            let attributes = [
                ("article", self.record.cite_key.as_str()),
                ("part", "abstract"),
            ];
            let summary = truncate_chars(summary, self.max_chars);
            let _ = write!(
                said,
                "\n\n{}\n{}",
                untrusted_data_notice(self.fence),
                fence_passage(self.fence, &attributes, &summary)
            );
        }
        let Some(text) = text else {
            said.push_str(
                "\n\nIt has no text yet. Download an open PDF with download_pdf and read it with \
                 process_pdf.",
            );
            return Output {
                said,
                text: summary.map(str::to_owned),
                ..self.empty_output()
            };
        };
        let all = sections(text);
        let whole = text.join_pages();
        let _ = write!(
            said,
            "\n\n{}, {}, {}.\n\n## Outline\n",
            pluralize(text.pages.len() as u64, "page"),
            pluralize(self.record.chars, "character"),
            pluralize(text.outline.references.len() as u64, "reference")
        );
        for section in all.iter().take(MAX_HEADINGS) {
            let indent = "  ".repeat(usize::from(section.level.saturating_sub(1)).min(5));
            let _ = write!(said, "\n{indent}- {}", render_heading(section));
        }
        if all.is_empty() {
            said.push_str("\nIt has no headings; read it by pages.");
        }
        let entries = all
            .iter()
            .take(MAX_HEADINGS)
            .map(|it| outline_section(it, &whole));
        Output {
            said,
            outline: entries.collect(),
            text: summary.map(str::to_owned),
            cut: all.len() > MAX_HEADINGS,
            ..self.empty_output()
        }
    }
}

/// Parses `3`, `3-5`, `3-`, or `-5`; both ends must be within 1 and `last`.
fn parse_page_range(text: &str, last: usize) -> Option<(usize, usize)> {
    let text = text
        .trim()
        .trim_start_matches("pp.")
        .trim_start_matches("p.")
        .trim();
    let number = |it: &str| it.trim().parse::<usize>().ok();
    let (from, to) = match text.split_once(['-', '–']) {
        None => (number(text)?, number(text)?),
        Some(("", to)) => (1, number(to)?),
        Some((from, "")) => (number(from)?, last),
        Some((from, to)) => (number(from)?, number(to)?),
    };
    (from >= 1 && from <= to && from <= last).then_some((from, to.min(last)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_pages() {
        assert_eq!(parse_page_range("3", 9), Some((3, 3)));
        assert_eq!(parse_page_range("3-5", 9), Some((3, 5)));
        assert_eq!(parse_page_range("pp. 3 – 50", 9), Some((3, 9)));
        assert_eq!(parse_page_range("7-", 9), Some((7, 9)));
        for wrong in [
            "0",
            "10",
            "5-3",
            "x",
            "",
            "-",
            "1-2-3",
            "99999999999999999999",
        ] {
            assert_eq!(parse_page_range(wrong, 9), None, "{wrong}");
        }
    }
}

//! `read_article`: the way into one article: its outline, then a section, pages, or where words stand.

use std::fmt::Write as _;

use deliberate_core::cut_to_chars;
use deliberate_toolkit::{About, Call, Issue, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::shown::{count, line, only_read, plain, reads},
    outline::{OutlineEntry, entry, heading, namesakes, no_section},
    stretch::{Stretch, needed, stretch},
};
use crate::{
    blocking::blocking,
    collect::{
        Kept, Library, Place, Text,
        fence::{DATA_NOT_ORDERS, fenced},
        inside::find_inside,
        sections::{section_named, sections},
    },
};

/// The most headings, captions and finds that are shown.
const MOST_HEADINGS: usize = 200;
const MOST_CAPTIONS: usize = 100;
const MOST_FINDS: usize = 20;

/// `read_article`.
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
    /// Words
    #[schemars(length(min = 1, max = 500))]
    find: Option<String>,
    /// Captions
    #[serde(default)]
    figures: bool,
    #[serde(default = "usual")]
    #[schemars(range(min = 1000, max = 100_000))]
    max_length: usize,
}

fn usual() -> usize {
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
    outline: Vec<OutlineEntry>,
    /// The text that was asked for
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<Place>,
    cut: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    found: Vec<Found>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    figures: Vec<Figure>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Found {
    place: Place,
    context: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Figure {
    label: String,
    caption: String,
    page: u32,
}

impl Tool for ReadArticle {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        reads(
            "read_article",
            "Read an article",
            "Read an article: its outline, or one of section, pages, find, figures.",
        )
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        one_of(&input)?;
        let library = Library(call.store());
        let kept = library.find(&input.article_identifier).await?.kept;
        let text = library.text(&kept.id).await?;
        let output = blocking(move || read(&input, &kept, text)).await??;
        Ok(only_read(output))
    }
}

/// What was asked for. A text may be long.
fn read(input: &Input, kept: &Kept, text: Option<Text>) -> Result<Output, ToolError> {
    let reading = Reading {
        most: input.max_length,
        kept,
    };
    if let Some(name) = &input.section {
        reading.section(&needed(kept, text)?, name)
    } else if let Some(range) = &input.pages {
        reading.pages(&needed(kept, text)?, range)
    } else if let Some(words) = &input.find {
        Ok(reading.find(&needed(kept, text)?, words))
    } else if input.figures {
        Ok(reading.figures(&needed(kept, text)?))
    } else {
        Ok(reading.outline(text.as_ref()))
    }
}

fn one_of(input: &Input) -> Result<(), ToolError> {
    let given = [
        ("section", input.section.is_some()),
        ("pages", input.pages.is_some()),
        ("find", input.find.is_some()),
        ("figures", input.figures),
    ];
    let given: Vec<&str> = given.iter().filter(|it| it.1).map(|it| it.0).collect();
    match given.as_slice() {
        [_, second, ..] => {
            let rule = "is given beside another; give one of section, pages, find, figures";
            Err(ToolError::Invalid(vec![Issue::new(second, rule)]))
        }
        _ => Ok(()),
    }
}

struct Reading<'a> {
    kept: &'a Kept,
    most: usize,
}

impl Reading<'_> {
    fn empty(&self) -> Output {
        Output {
            said: String::new(),
            article_id: self.kept.id.clone(),
            title: self.kept.article.title.clone(),
            pages: self.kept.pages,
            characters: self.kept.chars,
            outline: Vec::new(),
            text: None,
            place: None,
            cut: false,
            found: Vec::new(),
            figures: Vec::new(),
        }
    }

    fn shown(&self, stretch: Stretch, what: &str) -> Output {
        Output {
            said: format!(
                "{}\n\n{DATA_NOT_ORDERS}\n{}{}",
                line(self.kept),
                stretch.fenced(self.kept, what),
                stretch.more("pages")
            ),
            place: stretch.place,
            cut: stretch.cut,
            text: Some(stretch.text),
            ..self.empty()
        }
    }

    fn section(&self, text: &Text, name: &str) -> Result<Output, ToolError> {
        let all = sections(text);
        let Some(found) = section_named(&all, name) else {
            return Err(no_section(&all, name));
        };
        let whole = text.whole();
        let stretch = stretch(text, &whole, found.start, found.end, self.most);
        let mut output = self.shown(stretch, &found.label());
        output.said.push_str(&namesakes(&all, found));
        Ok(output)
    }

    fn pages(&self, text: &Text, range: &str) -> Result<Output, ToolError> {
        let last = text.pages.len();
        let (from, to) = page_range(range, last).ok_or_else(|| {
            let rule = format!("must be a page or a range within 1-{last}: 3 or 3-5");
            ToolError::Invalid(vec![Issue::new("pages", rule).given(&range.into())])
        })?;
        let starts = text.page_starts();
        let start = starts.get(from - 1).copied().unwrap_or(0);
        let end = starts.get(to - 1).copied().unwrap_or(0);
        let end = end + text.pages.get(to - 1).map_or(0, String::len);
        let whole = text.whole();
        let stretch = stretch(text, &whole, start, end, self.most);
        Ok(self.shown(stretch, "pages"))
    }

    fn find(&self, text: &Text, words: &str) -> Output {
        let (found, total) = find_inside(text, words, MOST_FINDS);
        let shown: Vec<String> = found
            .iter()
            .map(|it| format!("p. {}: {}", it.place.page, it.context))
            .collect();
        let said = if found.is_empty() {
            format!(
                "{}\n\n{:?} does not stand in its text.",
                line(self.kept),
                plain(words)
            )
        } else {
            let attributes = [("article", self.kept.cite_key.as_str()), ("part", "finds")];
            format!(
                "{}\n\n{}, {} shown. {DATA_NOT_ORDERS}\n{}",
                line(self.kept),
                count(total as u64, "place"),
                found.len(),
                fenced(&attributes, &shown.join("\n\n"))
            )
        };
        let found = found.into_iter().map(|it| Found {
            place: it.place,
            context: it.context,
        });
        Output {
            said,
            cut: total > MOST_FINDS,
            found: found.collect(),
            ..self.empty()
        }
    }

    fn figures(&self, text: &Text) -> Output {
        let captions = text.outline.captions.iter().take(MOST_CAPTIONS);
        let figures: Vec<Figure> = captions
            .map(|it| Figure {
                label: it.label.clone(),
                caption: cut_to_chars(&it.text, 1_000),
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
                line(self.kept)
            )
        } else {
            let attributes = [
                ("article", self.kept.cite_key.as_str()),
                ("part", "captions"),
            ];
            format!(
                "{}\n\n{DATA_NOT_ORDERS}\n{}",
                line(self.kept),
                fenced(&attributes, &shown)
            )
        };
        Output {
            said,
            figures,
            ..self.empty()
        }
    }

    fn outline(&self, text: Option<&Text>) -> Output {
        let mut said = line(self.kept);
        let summary = self.kept.article.summary.as_deref();
        if let Some(summary) = summary {
            let attributes = [
                ("article", self.kept.cite_key.as_str()),
                ("part", "abstract"),
            ];
            let summary = cut_to_chars(summary, self.most);
            let _ = write!(
                said,
                "\n\n{DATA_NOT_ORDERS}\n{}",
                fenced(&attributes, &summary)
            );
        }
        let Some(text) = text else {
            said.push_str(
                "\n\nIts text was not read yet: download_pdf fetches an open PDF, process_pdf \
                 reads it.",
            );
            return Output {
                said,
                text: summary.map(str::to_owned),
                ..self.empty()
            };
        };
        let all = sections(text);
        let whole = text.whole();
        let _ = write!(
            said,
            "\n\n{}, {}, {}.\n\n## Outline\n",
            count(text.pages.len() as u64, "page"),
            count(self.kept.chars, "character"),
            count(text.outline.references.len() as u64, "reference")
        );
        for section in all.iter().take(MOST_HEADINGS) {
            let indent = "  ".repeat(usize::from(section.level.saturating_sub(1)).min(5));
            let _ = write!(said, "\n{indent}- {}", heading(section));
        }
        if all.is_empty() {
            said.push_str("\nIt has no headings; read it by pages.");
        }
        let entries = all.iter().take(MOST_HEADINGS).map(|it| entry(it, &whole));
        Output {
            said,
            outline: entries.collect(),
            text: summary.map(str::to_owned),
            cut: all.len() > MOST_HEADINGS,
            ..self.empty()
        }
    }
}

/// `3`, `3-5`, `3-`, `-5`: both ends within 1 to `last`.
fn page_range(text: &str, last: usize) -> Option<(usize, usize)> {
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
        assert_eq!(page_range("3", 9), Some((3, 3)));
        assert_eq!(page_range("3-5", 9), Some((3, 5)));
        assert_eq!(page_range("pp. 3 – 50", 9), Some((3, 9)));
        assert_eq!(page_range("7-", 9), Some((7, 9)));
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
            assert_eq!(page_range(wrong, 9), None, "{wrong}");
        }
    }
}

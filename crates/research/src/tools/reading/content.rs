//! `get_article_full_content`: the text of an article by the sections that most papers have.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use deliberate_toolkit::{About, Call, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::shown::{line, only_read, reads, with_notes},
    stretch::{needed, stretch},
};
use crate::{
    blocking::blocking,
    collect::{
        Kept, Library, Text,
        fence::{DATA_NOT_ORDERS, fenced},
        sections::{sections, sections_called},
    },
};

/// The most characters of an answer.
const MOST_CHARS: usize = 100_000;

/// `get_article_full_content`.
pub(crate) struct GetArticleFullContent;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 1000))]
    article_id: String,
    /// Default: the whole text
    #[schemars(length(max = 6))]
    include_sections: Option<Vec<Part>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Part {
    Abstract,
    Introduction,
    Methods,
    Results,
    Discussion,
    References,
}

impl Part {
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
    /// By their names; `whole` for the whole text
    sections: BTreeMap<String, String>,
    cut: bool,
    notes: Vec<String>,
}

impl Tool for GetArticleFullContent {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        reads(
            "get_article_full_content",
            "Full content",
            "The text of an article, whole or by abstract, introduction, methods, results, \
             discussion, references.",
        )
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let library = Library(call.store());
        let kept = library.find(&input.article_id).await?.kept;
        let text = needed(&kept, library.text(&kept.id).await?)?;
        let parts = input.include_sections.unwrap_or_default();
        let output = blocking(move || gathered(&kept, &text, &parts)).await?;
        Ok(only_read(output))
    }
}

/// The parts that were asked for; the whole text if none was.
fn gathered(kept: &Kept, text: &Text, parts: &[Part]) -> Output {
    let mut gathered = Gathered::new(text);
    if parts.is_empty() {
        let end = gathered.whole.len();
        gathered.add("whole", &[(0, end)]);
    }
    for part in parts {
        gathered.part(*part, kept.article.summary.as_deref());
    }
    let mut said = format!("{}\n\n{DATA_NOT_ORDERS}", line(kept));
    for (name, text) in &gathered.parts {
        let attributes = [("article", kept.cite_key.as_str()), ("part", name.as_str())];
        let _ = write!(said, "\n{}", fenced(&attributes, text));
    }
    if gathered.cut {
        gathered
            .notes
            .push("Cut off; read_article reads the rest.".to_owned());
    }
    Output {
        said: with_notes(said, &gathered.notes),
        article_id: kept.id.clone(),
        sections: gathered.parts.into_iter().collect(),
        cut: gathered.cut,
        notes: gathered.notes,
    }
}

/// Parts of a text, up to a length in all.
struct Gathered<'a> {
    text: &'a Text,
    whole: String,
    left: usize,
    cut: bool,
    parts: Vec<(String, String)>,
    notes: Vec<String>,
}

impl<'a> Gathered<'a> {
    fn new(text: &'a Text) -> Self {
        Self {
            text,
            whole: text.whole(),
            left: MOST_CHARS,
            cut: false,
            parts: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn part(&mut self, part: Part, summary: Option<&str>) {
        let all = sections(self.text);
        let found = sections_called(&all, part.name());
        let ranges: Vec<(usize, usize)> = found.iter().map(|it| (it.start, it.end)).collect();
        match (part, summary) {
            (Part::Abstract, Some(summary)) => {
                self.parts
                    .push((part.name().to_owned(), summary.to_owned()));
            }
            _ if ranges.is_empty() => {
                self.notes
                    .push(format!("No section is called {} or the like.", part.name()));
            }
            _ => self.add(part.name(), &ranges),
        }
    }

    fn add(&mut self, name: &str, ranges: &[(usize, usize)]) {
        let mut all = Vec::new();
        for (from, to) in ranges {
            let shown = stretch(self.text, &self.whole, *from, *to, self.left);
            self.left = self.left.saturating_sub(shown.text.chars().count());
            self.cut |= shown.cut;
            all.push(shown.text);
        }
        self.parts.push((name.to_owned(), all.join("\n\n")));
    }
}

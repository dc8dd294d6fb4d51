//! `search_papers`: all sources at once, best first, each paper once.

use std::{cmp::Ordering, fmt::Write as _, sync::Arc};

use deliberate_core::{Article, PartialDate, cut_to_chars};
use deliberate_toolkit::{About, Annotations, Call, Issue, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Lab,
    collect::{DATA_NOT_ORDERS, Library, fenced},
    discover::{
        all_failed, chosen, compared, end_of,
        search::{FoundPaper, SearchOptions, SourceReport, search},
    },
    sources::{PaperOrder, PaperQuery},
    tools::shown::{about, only_read, plain},
};

/// `search_papers`.
pub(crate) struct SearchPapers(pub(super) Arc<Lab>);

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Topic, title or question
    #[schemars(length(min = 1, max = 1000))]
    query: String,
    /// Names of sources; all without it
    #[serde(default)]
    #[schemars(length(max = 20), extend("x-separated" = "words"))]
    sources: Vec<String>,
    #[serde(default)]
    #[schemars(length(max = 10), extend("x-separated" = "families"))]
    authors: Vec<String>,
    /// 2020 or 2020-05-17
    date_from: Option<PartialDate>,
    date_to: Option<PartialDate>,
    venue: Option<String>,
    /// arXiv classes: cs.LG
    #[serde(default)]
    #[schemars(length(max = 20), extend("x-separated" = "words"))]
    categories: Vec<String>,
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 100))]
    max_results: usize,
    #[serde(default)]
    sort_by: PaperOrder,
}

fn ten() -> usize {
    10
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    /// Best first, or newest first.
    papers: Vec<Paper>,
    /// How each source answered.
    sources: Vec<SourceReport>,
}

/// A paper that was found.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Paper {
    /// What to call it by elsewhere: its DOI, arXiv id or another.
    identifier: Option<String>,
    /// The article of the collection, if it is in it.
    article_id: Option<String>,
    /// How well it fits, by the ranks the sources gave it.
    score: f64,
    /// All that is known of it.
    #[serde(flatten)]
    article: Article,
}

impl Tool for SearchPapers {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        about(
            "search_papers",
            "Search papers",
            "Find papers on arXiv, Semantic Scholar, OpenAlex, Crossref, PubMed, \
                 bioRxiv, medRxiv and Europe PMC at once, each once, best first. add_article keeps \
                 those you name",
            Annotations {
                open_world: true,
                ..Annotations::READS
            },
        )
    }

    fn takes_long(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let words = call
            .checked_content("query", &input.query)?
            .trim()
            .to_owned();
        if !words.chars().any(char::is_alphanumeric) {
            let issue = Issue::new("query", "must hold a word");
            return Err(ToolError::Invalid(vec![issue]));
        }
        if let (Some(from), Some(to)) = (input.date_from, input.date_to)
            && compared(from, to) == Ordering::Greater
        {
            let issue = Issue::new("date_to", "must not be before date_from");
            return Err(ToolError::Invalid(vec![issue]));
        }
        let sources = chosen(self.0.sources(), &input.sources)?;
        let query = PaperQuery {
            words,
            phrases: Vec::new(),
            authors: input.authors,
            venue: input.venue,
            categories: input.categories,
            from: input.date_from,
            to: input.date_to.or_else(|| end_of(input.sort_by, call.now())),
            limit: input.max_results,
            order: input.sort_by,
        };
        call.progress(0.0, None, &format!("asking {} sources", sources.len()));
        let found = search(&sources, &query, &SearchOptions::of(input.max_results)).await;
        if found.all_failed() {
            return Err(all_failed(&found.reports));
        }
        let mut papers = Vec::new();
        for paper in found.papers.into_iter().take(input.max_results) {
            papers.push(shown(call, paper).await?);
        }
        let said = said(&papers, &found.reports);
        Ok(only_read(Output {
            said,
            papers,
            sources: found.reports,
        }))
    }
}

async fn shown(call: &Call, paper: FoundPaper) -> Result<Paper, ToolError> {
    let known = Library(call.store()).known(&paper.article).await?;
    Ok(Paper {
        identifier: identifier(&paper.article),
        article_id: known.map(|it| it.kept.id),
        score: paper.score,
        article: paper.article,
    })
}

/// What a paper is called by elsewhere.
pub(crate) fn identifier(article: &Article) -> Option<String> {
    let doi = article.doi.as_ref().map(ToString::to_string);
    let arxiv = article.arxiv_id.as_ref().map(ToString::to_string);
    let pmid = article.pmid.as_ref().map(|it| format!("pmid:{it}"));
    let other = article
        .pmcid
        .clone()
        .or(article.s2_id.clone())
        .or(article.openalex_id.clone());
    doi.or(arxiv).or(pmid).or(other)
}

/// How much of an abstract is told.
const ABSTRACT_CHARS: usize = 320;

fn said(papers: &[Paper], reports: &[SourceReport]) -> String {
    let mut text = String::new();
    if papers.is_empty() {
        text.push_str("No paper fits.\n\n");
    } else {
        let _ = writeln!(text, "{DATA_NOT_ORDERS}\n");
    }
    for (number, paper) in papers.iter().enumerate() {
        let _ = write!(text, "{}. {}", number + 1, line(&paper.article));
        if paper.article_id.is_some() {
            text.push_str(" (in the collection)");
        }
        text.push('\n');
        if let Some(summary) = &paper.article.summary {
            let number = (number + 1).to_string();
            let told = fenced(
                &[("paper", &number)],
                &cut_to_chars(summary, ABSTRACT_CHARS),
            );
            let _ = writeln!(text, "{told}");
        }
    }
    text.push_str("\nSources: ");
    let told: Vec<String> = reports.iter().map(SourceReport::said).collect();
    text.push_str(&told.join("; "));
    text
}

/// A paper in one line of Markdown.
pub(crate) fn line(article: &Article) -> String {
    let mut text = format!("**{}**", plain(&article.title));
    let names: Vec<String> = article
        .authors
        .iter()
        .take(3)
        .map(|it| plain(&it.family))
        .collect();
    if !names.is_empty() {
        let more = if article.authors.len() > 3 {
            " et al."
        } else {
            ""
        };
        let _ = write!(text, ". {}{more}", names.join(", "));
    }
    let parts = [
        article.year().map(|it| it.to_string()),
        article.venue.as_deref().map(plain),
        article.citation_count.map(|it| match it {
            1 => "cited once".to_owned(),
            it => format!("cited {it} times"),
        }),
        identifier(article).as_deref().map(plain),
        (article.retracted == Some(true)).then(|| "**RETRACTED**".to_owned()),
    ];
    for part in parts.into_iter().flatten() {
        let _ = write!(text, ", {part}");
    }
    text
}

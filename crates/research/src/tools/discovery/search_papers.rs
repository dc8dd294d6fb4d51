//! The `search_papers` tool: searches all sources at once and returns each paper once, best first.

use std::{cmp::Ordering, fmt::Write as _, sync::Arc};

use deliberate_core::{Article, PartialDate, PromptFence, truncate_chars};
use deliberate_toolkit::{
    ArgumentIssue, Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ResearchServices,
    articles::ArticleRepository,
    discovery::{
        all_failed_error, compare_dates, default_end_date,
        search::{PaperSearchOptions, RankedPaper, SourceReport, search},
        select_sources,
    },
    prompt_fence::{fence_passage, prompt_fence, untrusted_data_notice},
    sources::{PaperOrder, PaperQuery},
    tools::rendering::{escape_markdown, read_only_output, tool_meta},
};

/// The `search_papers` tool.
pub(crate) struct SearchPapers(pub(super) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Topic, title or question
    #[schemars(length(min = 1, max = 1000))]
    query: String,
    /// Names of sources; default: all
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

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    /// Best or newest first
    papers: Vec<PaperView>,
    /// Answer of each source
    sources: Vec<SourceReport>,
}

/// A paper that was found.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PaperView {
    /// DOI, arXiv id or another id, for use in other tools
    identifier: Option<String>,
    /// If it is in the collection
    article_id: Option<String>,
    /// Relevance, from the ranks of the sources
    score: f64,
    /// The full record
    #[serde(flatten)]
    article: Article,
}

impl Tool for SearchPapers {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        tool_meta(
            "search_papers",
            "Search papers",
            "Find papers on arXiv, Semantic Scholar, OpenAlex, Crossref, PubMed, \
                 bioRxiv, medRxiv and Europe PMC at once, deduplicated, best first. add_article \
                 stores them",
            ToolHints {
                open_world: true,
                ..ToolHints::READ_ONLY
            },
        )
    }

    fn may_run_in_background(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let words = call.check_content("query", &input.query)?.trim().to_owned();
        if !words.chars().any(char::is_alphanumeric) {
            let issue = ArgumentIssue::new("query", "must contain a word");
            return Err(ToolError::Invalid(vec![issue]));
        }
        if let (Some(from), Some(to)) = (input.date_from, input.date_to)
            && compare_dates(from, to) == Ordering::Greater
        {
            let issue = ArgumentIssue::new("date_to", "must not be before date_from");
            return Err(ToolError::Invalid(vec![issue]));
        }
        let sources = select_sources(self.0.sources(), &input.sources)?;
        let query = PaperQuery {
            words,
            phrases: Vec::new(),
            authors: input.authors,
            venue: input.venue,
            categories: input.categories,
            from: input.date_from,
            to: input
                .date_to
                .or_else(|| default_end_date(input.sort_by, call.now())),
            limit: input.max_results,
            order: input.sort_by,
        };
        call.progress(0.0, None, &format!("asking {} sources", sources.len()));
        let found = search(
            &sources,
            &query,
            &PaperSearchOptions::with_limit(input.max_results),
        )
        .await;
        if found.all_failed() {
            return Err(all_failed_error(&found.reports));
        }
        let mut papers = Vec::new();
        for paper in found.papers.into_iter().take(input.max_results) {
            papers.push(to_paper_view(call, paper).await?);
        }
        let said = render_text(&papers, &found.reports, &prompt_fence(call));
        Ok(read_only_output(Output {
            said,
            papers,
            sources: found.reports,
        }))
    }
}

async fn to_paper_view(call: &ToolContext, paper: RankedPaper) -> Result<PaperView, ToolError> {
    let known = ArticleRepository(call.store())
        .find_same_work(&paper.article)
        .await?;
    Ok(PaperView {
        identifier: paper_identifier(&paper.article),
        article_id: known.map(|it| it.record.id),
        score: paper.score,
        article: paper.article,
    })
}

/// The identifier of a paper for use in other tools.
pub(crate) fn paper_identifier(article: &Article) -> Option<String> {
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

/// Characters of an abstract in the output.
const ABSTRACT_CHARS: usize = 320;

fn render_text(papers: &[PaperView], reports: &[SourceReport], fence: &PromptFence) -> String {
    let mut text = String::new();
    if papers.is_empty() {
        text.push_str("No paper matches.\n\n");
    } else {
        let _ = writeln!(text, "{}\n", untrusted_data_notice(fence));
    }
    for (number, paper) in papers.iter().enumerate() {
        let _ = write!(text, "{}. {}", number + 1, paper_line(&paper.article));
        if paper.article_id.is_some() {
            text.push_str(" (in the collection)");
        }
        text.push('\n');
        if let Some(summary) = &paper.article.summary {
            let number = (number + 1).to_string();
            let told = fence_passage(
                fence,
                &[("paper", &number)],
                &truncate_chars(summary, ABSTRACT_CHARS),
            );
            let _ = writeln!(text, "{told}");
        }
    }
    text.push_str("\nSources: ");
    let told: Vec<String> = reports.iter().map(SourceReport::describe).collect();
    text.push_str(&told.join("; "));
    text
}

/// Renders a paper as one line of Markdown.
pub(crate) fn paper_line(article: &Article) -> String {
    let mut text = format!("**{}**", escape_markdown(&article.title));
    let names: Vec<String> = article
        .authors
        .iter()
        .take(3)
        .map(|it| escape_markdown(&it.family))
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
        article.venue.as_deref().map(escape_markdown),
        article.citation_count.map(|it| match it {
            1 => "cited once".to_owned(),
            it => format!("cited {it} times"),
        }),
        paper_identifier(article).as_deref().map(escape_markdown),
        (article.retracted == Some(true)).then(|| "**RETRACTED**".to_owned()),
    ];
    for part in parts.into_iter().flatten() {
        let _ = write!(text, ", {part}");
    }
    text
}

//! The `extract_citations` tool: the references of an article, and the articles of the collection
//! that cite it.

use std::{collections::BTreeSet, fmt::Write as _};

use deliberate_core::PromptFence;
use deliberate_store::{DocumentFilter, Pagination};
use deliberate_toolkit::{Tool, ToolContext, ToolError, ToolMeta, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verify::parse_citation;
use crate::{
    analysis::CitedWorkMatcher,
    articles::{ARTICLE, ArticleRecord, ArticleRepository},
    prompt_fence::{fence_passage, prompt_fence, untrusted_data_notice},
    tools::rendering::{escape_markdown, pluralize, read_only_meta, read_only_output, with_notes},
};

/// The `extract_citations` tool.
pub(crate) struct ExtractCitations;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    article_identifier: String,
    #[serde(default = "yes")]
    include_outbound: bool,
    /// Include articles of the collection that cite it
    #[serde(default = "yes")]
    include_inbound: bool,
    /// How many citations to follow through the collection
    #[serde(default = "two")]
    #[schemars(range(min = 1, max = 3))]
    max_depth: u32,
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 1000))]
    max_results: usize,
}

fn yes() -> bool {
    true
}

fn two() -> u32 {
    2
}

fn hundred() -> usize {
    100
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    article_id: String,
    /// Its references, then those of cited articles in the collection
    outbound: Vec<CitedWork>,
    /// Articles of the collection that cite it
    inbound: Vec<CitingArticle>,
    /// Number of references in its text
    references: usize,
    /// Articles searched for citations
    looked_at: usize,
    notes: Vec<String>,
}

/// A cited work.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CitedWork {
    /// 1: cited by the article itself
    depth: u32,
    /// Citing article
    by: String,
    label: Option<String>,
    text: String,
    page: u32,
    title: Option<String>,
    year: Option<u16>,
    doi: Option<String>,
    arxiv_id: Option<String>,
    /// If it is in the collection
    article_id: Option<String>,
}

/// A citing article.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CitingArticle {
    article_id: String,
    title: String,
    /// The reference as printed
    text: String,
    page: u32,
}

/// Articles that are searched for citations.
const MAX_SCANNED_ARTICLES: usize = 5_000;

impl Tool for ExtractCitations {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "extract_citations",
            "Extract citations",
            "An article's references, parsed, and articles of the collection that cite it",
        )
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let library = ArticleRepository(call.store());
        let kept = library.find(&input.article_identifier).await?.record;
        let mut notes = Vec::new();
        if kept.pages == 0 {
            notes.push("it has no text yet; process_pdf reads it".to_owned());
        }
        let own = library.outline(&kept.id).await?.unwrap_or_default();
        let mut outbound = Vec::new();
        if input.include_outbound {
            let most = input.max_results;
            outbound = find_outbound(library, &kept, input.max_depth, most).await?;
            if outbound.len() > most {
                outbound.truncate(most);
                notes.push(format!(
                    "Only the first {most} are shown; raise max_results for more."
                ));
            }
        }
        let (inbound, looked_at) = if input.include_inbound {
            find_inbound(library, &kept, input.max_results, &mut notes).await?
        } else {
            (Vec::new(), 0)
        };
        let mut output = Output {
            said: String::new(),
            article_id: kept.id.clone(),
            outbound,
            inbound,
            references: own.references.len(),
            looked_at,
            notes,
        };
        output.said = render_text(&kept, &output, &input, &prompt_fence(call));
        Ok(read_only_output(output))
    }
}

fn render_text(
    record: &ArticleRecord,
    output: &Output,
    input: &Input,
    fence: &PromptFence,
) -> String {
    let mut said = format!(
        "# {}\n\n{}\n",
        escape_markdown(&record.article.title),
        pluralize(output.references as u64, "reference")
    );
    said.push_str(&render_outbound(&output.outbound, fence));
    if input.include_inbound {
        said.push_str(&render_inbound(&output.inbound));
    }
    with_notes(said, &output.notes)
}

/// Renders the references as printed, fenced.
fn render_outbound(outbound: &[CitedWork], fence: &PromptFence) -> String {
    let mut said = String::new();
    if !outbound.is_empty() {
        let _ = writeln!(said, "\n{}\n", untrusted_data_notice(fence));
    }
    for it in outbound {
        let known = it.article_id.as_ref().map(|id| format!(" (`{id}`)"));
        let by = (it.depth > 1).then(|| format!(" cited by `{}`", it.by));
        let label = it.label.iter().map(|it| ("reference", it.as_str()));
        let _ = writeln!(
            said,
            "{}{}{}",
            fence_passage(fence, &label.collect::<Vec<_>>(), &it.text),
            known.unwrap_or_default(),
            by.unwrap_or_default()
        );
    }
    said
}

fn render_inbound(inbound: &[CitingArticle]) -> String {
    let mut said = match inbound.len() {
        1 => "\n1 article of the collection cites it\n".to_owned(),
        many => format!("\n{many} articles of the collection cite it\n"),
    };
    for it in inbound {
        let title = escape_markdown(&it.title);
        let _ = writeln!(said, "- **{title}** (`{}`), p. {}", it.article_id, it.page);
    }
    said
}

/// Citations of an article in the bibliographies of the collection, one citation deep.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CollectionCitations {
    /// Works that it cites
    outbound: Vec<CitedWork>,
    /// Articles of the collection that cite it
    inbound: Vec<CitingArticle>,
}

impl CollectionCitations {
    /// Loads at most `most` citations in each direction; `None` if there are none.
    pub(crate) async fn load(
        library: ArticleRepository<'_>,
        record: &ArticleRecord,
        most: usize,
        notes: &mut Vec<String>,
    ) -> Result<Option<Self>, ToolError> {
        let mut outbound = find_outbound(library, record, 1, most).await?;
        if outbound.len() > most {
            outbound.truncate(most);
            notes.push(format!(
                "Only {most} of its references are shown; extract_citations shows more."
            ));
        }
        let (inbound, _) = find_inbound(library, record, most, notes).await?;
        let is_any = !outbound.is_empty() || !inbound.is_empty();
        Ok(is_any.then_some(Self { outbound, inbound }))
    }

    /// Renders both directions.
    pub(crate) fn render_text(&self, fence: &PromptFence) -> String {
        let references = pluralize(self.outbound.len() as u64, "reference");
        format!(
            "\n## From the bibliographies of the collection\n\n{references}\n{}{}",
            render_outbound(&self.outbound, fence),
            render_inbound(&self.inbound)
        )
    }
}

/// The references of an article and of its cited articles in the collection, `depth` citations
/// deep; returns one more than `most` if there are more.
async fn find_outbound(
    library: ArticleRepository<'_>,
    record: &ArticleRecord,
    depth: u32,
    most: usize,
) -> Result<Vec<CitedWork>, ToolError> {
    let mut all: Vec<CitedWork> = Vec::new();
    let mut seen = BTreeSet::from([record.id.clone()]);
    let mut from = vec![record.id.clone()];
    for depth in 1..=depth {
        let mut next = Vec::new();
        for id in from {
            let outline = library.outline(&id).await?.unwrap_or_default();
            for reference in outline.references {
                if all.len() > most {
                    return Ok(all);
                }
                let cited = resolve_reference(library, reference, depth, &id).await?;
                next.extend(
                    cited
                        .article_id
                        .clone()
                        .filter(|it| seen.insert(it.clone())),
                );
                all.push(cited);
            }
        }
        from = next;
    }
    Ok(all)
}

async fn resolve_reference(
    library: ArticleRepository<'_>,
    reference: deliberate_extract::DocumentReference,
    depth: u32,
    by: &str,
) -> Result<CitedWork, ToolError> {
    let article = parse_citation(&reference.text);
    let known = library.find_same_work(&article).await?;
    Ok(CitedWork {
        depth,
        by: by.to_owned(),
        label: reference.label,
        page: reference.page,
        title: Some(article.title.clone()).filter(|it| !it.is_empty()),
        year: article.year(),
        doi: article.doi.as_ref().map(ToString::to_string),
        arxiv_id: article.arxiv_id.as_ref().map(ToString::to_string),
        text: reference.text,
        article_id: known.map(|it| it.record.id),
    })
}

/// Articles whose bibliographies contain this one, newest first.
async fn find_inbound(
    library: ArticleRepository<'_>,
    record: &ArticleRecord,
    most: usize,
    notes: &mut Vec<String>,
) -> Result<(Vec<CitingArticle>, usize), ToolError> {
    let filter = DocumentFilter::with_key(ARTICLE, "has_text", "yes");
    let wanted = CitedWorkMatcher::new(&record.article);
    let mut citing = Vec::new();
    let mut looked_at = 0;
    while looked_at < MAX_SCANNED_ARTICLES {
        let page = Pagination {
            offset: u32::try_from(looked_at).unwrap_or(u32::MAX),
            limit: BATCH_SIZE,
        };
        let others = library.list(&filter, page).await?;
        if others.is_empty() {
            return Ok((citing, looked_at));
        }
        looked_at += others.len();
        for other in others.into_iter().filter(|it| it.record.id != record.id) {
            if citing.len() >= most {
                notes.push(format!(
                    "Only {most} citing articles are shown; there may be more."
                ));
                return Ok((citing, looked_at));
            }
            let outline = library.outline(&other.record.id).await?.unwrap_or_default();
            if let Some(found) = outline.references.into_iter().find(|it| wanted.matches(it)) {
                citing.push(CitingArticle {
                    article_id: other.record.id,
                    title: other.record.article.title,
                    text: found.text,
                    page: found.page,
                });
            }
        }
        // Let other tasks run while many articles are read.
        tokio::task::yield_now().await;
    }
    notes.push(format!(
        "Only the newest {looked_at} articles were searched for citations."
    ));
    Ok((citing, looked_at))
}

/// Articles that are read at a time.
const BATCH_SIZE: u32 = 200;

//! The `compare_articles` tool: shows what each article says about the same aspects, with pages.
//! The caller draws the conclusions.

use std::{collections::BTreeMap, fmt::Write as _};

use deliberate_citations::read_reference;
use deliberate_core::{Author, PromptFence};
use deliberate_extract::DocumentReference;
use deliberate_toolkit::{
    ArgumentIssue, Tool, ToolContext, ToolError, ToolMeta, ToolOutput, compute,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    analysis::{ArticleInsight, InsightKind, clear_locations, extract_insights},
    articles::{ArticleRecord, ArticleRepository, FullText, abstract_text, title_key},
    prompt_fence::{fence_passage, prompt_fence, untrusted_data_notice},
    tools::rendering::{escape_markdown, pluralize, read_only_meta, read_only_output},
};

/// The `compare_articles` tool.
pub(crate) struct CompareArticles;

/// Aspect to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Dimension {
    Methodology,
    Findings,
    Citations,
    Metrics,
    /// The contributions.
    Approach,
}

impl Dimension {
    const fn insight_kind(self) -> Option<InsightKind> {
        match self {
            Self::Methodology => Some(InsightKind::Methodology),
            Self::Findings => Some(InsightKind::Findings),
            Self::Metrics => Some(InsightKind::Metrics),
            Self::Approach => Some(InsightKind::Contributions),
            Self::Citations => None,
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Methodology => "Methodology",
            Self::Findings => "Findings",
            Self::Citations => "Citations",
            Self::Metrics => "Metrics",
            Self::Approach => "Approach",
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 2, max = 5), extend("x-separated" = "ids"))]
    article_ids: Vec<String>,
    #[serde(default = "default_dimensions")]
    #[schemars(length(min = 1, max = 5))]
    compare_dimensions: Vec<Dimension>,
}

fn default_dimensions() -> Vec<Dimension> {
    vec![
        Dimension::Methodology,
        Dimension::Findings,
        Dimension::Citations,
        Dimension::Metrics,
    ]
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    articles: Vec<ComparedArticle>,
    /// Works that several of them cite
    cited_by_several: Vec<String>,
    notes: Vec<String>,
}

/// A compared article.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ComparedArticle {
    article_id: String,
    title: String,
    authors: Vec<String>,
    year: Option<u16>,
    venue: Option<String>,
    citation_count: Option<u64>,
    /// Absent if unknown
    #[serde(skip_serializing_if = "Option::is_none")]
    retracted: Option<bool>,
    references: usize,
    /// Sentences by aspect
    says: Vec<DimensionInsights>,
}

/// Sentences of an article about one aspect.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DimensionInsights {
    dimension: Dimension,
    sentences: Vec<ArticleInsight>,
}

/// Sentences of an article about one aspect.
const MAX_SENTENCES: usize = 4;

/// Authors of an article in the output.
const MAX_AUTHORS: usize = 50;

impl Tool for CompareArticles {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "compare_articles",
            "Compare articles",
            "What two to five articles say about method, findings, metrics and citations, side by side with pages",
        )
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let library = ArticleRepository(call.store());
        let mut dimensions: Vec<Dimension> = Vec::new();
        for dimension in input.compare_dimensions {
            if !dimensions.contains(&dimension) {
                dimensions.push(dimension);
            }
        }
        let mut articles = Vec::new();
        let mut notes = Vec::new();
        let mut cited: Vec<BTreeMap<String, String>> = Vec::new();
        for one in load_articles(library, &input.article_ids).await? {
            let text = library.text(&one.id).await?;
            if text.is_none() {
                notes.push(format!(
                    "{:?} has no text yet, so only its abstract is compared; process_pdf reads it",
                    one.article.title
                ));
            }
            let dimensions = dimensions.clone();
            let (compared, cites) =
                compute(move || analyze_article(one, text, &dimensions)).await?;
            articles.push(compared);
            cited.push(cites);
        }
        let wants_citations = dimensions.contains(&Dimension::Citations);
        let cited_by_several = if wants_citations {
            shared_references(&cited)
        } else {
            Vec::new()
        };
        let said = render_text(
            &articles,
            wants_citations.then_some(&cited_by_several),
            &notes,
            &prompt_fence(call),
        );
        Ok(read_only_output(Output {
            said,
            articles,
            cited_by_several,
            notes,
        }))
    }
}

/// Loads the named articles, each once.
async fn load_articles(
    library: ArticleRepository<'_>,
    names: &[String],
) -> Result<Vec<ArticleRecord>, ToolError> {
    let mut kept: Vec<ArticleRecord> = Vec::new();
    for name in names {
        let found = library.find(name).await?.record;
        if kept.iter().any(|it| it.id == found.id) {
            let issue = ArgumentIssue::new("article_ids", "must name different articles")
                .with_value(&name.as_str().into());
            return Err(ToolError::Invalid(vec![issue]));
        }
        kept.push(found);
    }
    Ok(kept)
}

/// Analyzes an article and returns the works that it cites, by their keys.
fn analyze_article(
    one: ArticleRecord,
    text: Option<FullText>,
    dimensions: &[Dimension],
) -> (ComparedArticle, BTreeMap<String, String>) {
    let was_read = text.is_some();
    let text = text.unwrap_or_else(|| abstract_text(&one));
    let says = dimensions.iter().filter_map(|dimension| {
        let mut sentences = extract_insights(&text, dimension.insight_kind()?, MAX_SENTENCES);
        if !was_read {
            clear_locations(&mut sentences, &one.article.title);
        }
        Some(DimensionInsights {
            dimension: *dimension,
            sentences,
        })
    });
    let says = says.collect();
    let cites = text
        .outline
        .references
        .iter()
        .flat_map(reference_keys)
        .collect();
    let authors = one.article.authors.iter().take(MAX_AUTHORS);
    let compared = ComparedArticle {
        authors: authors.map(Author::full_name).collect(),
        year: one.article.year(),
        article_id: one.id,
        title: one.article.title,
        venue: one.article.venue,
        citation_count: one.article.citation_count,
        retracted: one.article.retracted,
        references: text.outline.references.len(),
        says,
    };
    (compared, cites)
}

/// Keys of a bibliography entry, its DOI and its title, each with its readable form.
fn reference_keys(reference: &DocumentReference) -> Vec<(String, String)> {
    let read = read_reference(&reference.text);
    let doi = read.doi.map(|it| it.to_string()).or(reference.doi.clone());
    let title = reference
        .title
        .clone()
        .or(Some(read.title).filter(|it| !it.is_empty()));
    let told = title.clone().or(doi.clone()).unwrap_or_default();
    let title = title.map(|it| title_key(&it)).filter(|it| it.len() > 10);
    let keys = [doi.map(|it| it.to_lowercase()), title]
        .into_iter()
        .flatten();
    keys.map(|key| (key, told.clone())).collect()
}

/// Works that at least two of the articles cite.
fn shared_references(cited: &[BTreeMap<String, String>]) -> Vec<String> {
    let many = |key: &String| cited.iter().filter(|it| it.contains_key(key)).count();
    let shared = cited.iter().flatten().filter(|(key, _)| many(key) > 1);
    // A work with two keys has the same readable form under both, so it is listed once.
    let told: BTreeMap<String, &String> = shared.map(|(_, told)| (title_key(told), told)).collect();
    told.into_values().take(50).cloned().collect()
}

fn render_text(
    articles: &[ComparedArticle],
    cited: Option<&Vec<String>>,
    notes: &[String],
    fence: &PromptFence,
) -> String {
    let mut text =
        String::from("| | title | authors | year | venue | cited |\n|---|---|---|---|---|---|\n");
    let cell = |it: &str| escape_markdown(it).replace('|', "\\|");
    for (number, one) in articles.iter().enumerate() {
        let authors = deliberate_core::truncate_chars(&one.authors.join(", "), 60);
        let year = one.year.map(|it| it.to_string()).unwrap_or_default();
        let times = one
            .citation_count
            .map(|it| it.to_string())
            .unwrap_or_default();
        let venue = one.venue.as_deref().unwrap_or("");
        let retracted = if one.retracted == Some(true) {
            " **RETRACTED**"
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "| {} | {}{retracted} | {} | {year} | {} | {times} |",
            article_letter(number),
            cell(&one.title),
            cell(&authors),
            cell(venue)
        );
    }
    let _ = writeln!(text, "\n{}", untrusted_data_notice(fence));
    let dimensions = articles
        .first()
        .map(|it| it.says.iter().map(|it| it.dimension).collect::<Vec<_>>());
    for dimension in dimensions.unwrap_or_default() {
        let _ = writeln!(text, "\n## {}", dimension.title());
        for (number, one) in articles.iter().enumerate() {
            let _ = writeln!(text, "\n**{}**", article_letter(number));
            let says = one.says.iter().find(|it| it.dimension == dimension);
            let sentences = says.map_or(&[][..], |it| &it.sentences);
            if sentences.is_empty() {
                text.push_str("\nNothing was found.\n");
            }
            for it in sentences {
                let page = it
                    .place
                    .map_or_else(|| "abstract".to_owned(), |it| format!("p. {}", it.page));
                let _ = writeln!(
                    text,
                    "{}",
                    fence_passage(
                        fence,
                        &[("article", &article_letter(number)), ("page", &page)],
                        &it.text
                    )
                );
            }
        }
    }
    if let Some(cited) = cited {
        text.push_str("\n## Citations\n\n");
        for (number, one) in articles.iter().enumerate() {
            let references = pluralize(one.references as u64, "reference");
            let _ = writeln!(text, "{}: {references}", article_letter(number));
        }
        let _ = writeln!(text, "\nCited by several of them: {}", cited.len());
        for title in cited {
            let _ = writeln!(text, "- {}", escape_markdown(title));
        }
    }
    for note in notes {
        let _ = writeln!(text, "\n{}", escape_markdown(note));
    }
    text
}

fn article_letter(number: usize) -> String {
    let letters = ["A", "B", "C", "D", "E"];
    letters
        .get(number)
        .map_or_else(|| number.to_string(), |it| (*it).to_owned())
}

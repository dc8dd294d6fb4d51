//! The `find_related_papers` tool: finds articles of similar meaning.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    sync::Arc,
};

use deliberate_core::Article;
use deliberate_toolkit::{Tool, ToolContext, ToolError, ToolMeta, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ArticleFilter, ResearchServices,
    articles::{ArticleRecord, ArticleRepository, author_key, title_key},
    tools::{
        discovery::paper_line,
        rendering::{escape_markdown, read_only_meta, read_only_output, with_notes},
    },
};

/// The `find_related_papers` tool.
pub(crate) struct FindRelatedPapers(pub(super) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    paper_identifier: String,
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = 20))]
    max_results: usize,
    /// Include what they share
    #[serde(default)]
    explain_connections: bool,
    #[serde(default = "a_tenth")]
    #[schemars(range(min = 0.0, max = 1.0))]
    similarity_threshold: f32,
}

fn five() -> usize {
    5
}

fn a_tenth() -> f32 {
    0.1
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    article_id: String,
    /// Most similar first
    related: Vec<RelatedArticle>,
    notes: Vec<String>,
}

/// A related article.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RelatedArticle {
    article_id: String,
    title: String,
    /// 0 to 1
    similarity: f32,
    /// What they share
    connections: Vec<String>,
}

impl Tool for FindRelatedPapers {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "find_related_papers",
            "Find related papers",
            "Articles of the collection that are most similar to one of them",
        )
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let library = ArticleRepository(call.store());
        let kept = library.find(&input.paper_identifier).await?.record;
        let filter = ArticleFilter::default();
        let (found, notes) = self
            .0
            .find_related(call, &kept, input.max_results, &filter)
            .await?;
        let own = ArticleTraits::load(library, &kept).await?;
        let mut said = format!("# Related to {}\n\n", escape_markdown(&kept.article.title));
        let mut related = Vec::new();
        for (other, similarity) in found {
            if similarity < input.similarity_threshold {
                continue;
            }
            let connections = if input.explain_connections {
                own.shared_traits(&ArticleTraits::load(library, &other).await?)
            } else {
                Vec::new()
            };
            let _ = writeln!(
                said,
                "- {similarity:.2} {} (`{}`)",
                paper_line(&other.article),
                other.cite_key
            );
            for connection in &connections {
                let _ = writeln!(said, "  - {}", escape_markdown(connection));
            }
            related.push(RelatedArticle {
                article_id: other.id,
                title: other.article.title,
                similarity,
                connections,
            });
        }
        if related.is_empty() {
            said.push_str("Nothing in the collection is that similar.\n");
        }
        Ok(read_only_output(Output {
            said: with_notes(said, &notes),
            article_id: kept.id,
            related,
            notes,
        }))
    }
}

/// Properties that two articles can share.
struct ArticleTraits {
    /// Readable names by normalized key.
    authors: BTreeMap<String, String>,
    words: BTreeMap<String, String>,
    venue: BTreeMap<String, String>,
    cited: BTreeMap<String, String>,
    title: String,
}

impl ArticleTraits {
    async fn load(
        library: ArticleRepository<'_>,
        record: &ArticleRecord,
    ) -> Result<Self, ToolError> {
        let outline = library.outline(&record.id).await?.unwrap_or_default();
        let article = &record.article;
        let cited = outline
            .references
            .iter()
            .filter_map(|it| it.title.as_deref());
        Ok(Self {
            authors: article
                .authors
                .iter()
                .map(|it| (author_key(&it.full_name()), it.full_name()))
                .collect(),
            words: topic_words(article)
                .into_iter()
                .map(|it| (it.clone(), it))
                .collect(),
            venue: article
                .venue
                .iter()
                .map(|it| (title_key(it), it.clone()))
                .collect(),
            cited: cited
                .map(|it| (title_key(it), it.to_owned()))
                .filter(|(key, _)| key.len() > 10)
                .collect(),
            title: title_key(&article.title),
        })
    }

    /// Describes what two articles share.
    fn shared_traits(&self, other: &Self) -> Vec<String> {
        let mut all = Vec::new();
        let parts = [
            ("shared authors", &self.authors, &other.authors, 5),
            ("shared topics", &self.words, &other.words, 8),
            ("both cite", &self.cited, &other.cited, 5),
            ("same venue", &self.venue, &other.venue, 1),
        ];
        for (what, own, others, most) in parts {
            let both = own.iter().filter(|(key, _)| others.contains_key(*key));
            let both: Vec<&str> = both.map(|(_, told)| told.as_str()).collect();
            let some: Vec<&str> = both.iter().take(most).copied().collect();
            match both.len().saturating_sub(most) {
                _ if both.is_empty() => {}
                0 => all.push(format!("{what}: {}", some.join(", "))),
                more => all.push(format!("{what}: {} and {more} more", some.join(", "))),
            }
        }
        if self.cited.contains_key(&other.title) {
            all.push("the given article cites it".to_owned());
        }
        if other.cited.contains_key(&self.title) {
            all.push("it cites the given article".to_owned());
        }
        all
    }
}

/// Long words that occur in papers about any topic.
const GENERIC_WORDS: &[&str] = &[
    "according",
    "although",
    "another",
    "approach",
    "because",
    "between",
    "further",
    "furthermore",
    "however",
    "including",
    "methods",
    "moreover",
    "present",
    "provide",
    "provides",
    "results",
    "several",
    "showing",
    "studies",
    "therefore",
    "through",
    "towards",
    "various",
    "whether",
    "without",
];

/// Keywords, and the long words of title and abstract.
fn topic_words(article: &Article) -> BTreeSet<String> {
    let summary = article.summary.as_deref().unwrap_or("");
    let text = format!("{} {summary}", article.title);
    let long = title_key(&text)
        .split(' ')
        .filter(|it| it.len() > 6 && !GENERIC_WORDS.contains(it))
        .map(str::to_owned)
        .collect::<Vec<_>>();
    article
        .keywords
        .iter()
        .map(|it| it.to_lowercase())
        .chain(long)
        .collect()
}

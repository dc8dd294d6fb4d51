//! The `extract_article_insights` tool: sentences in which an article describes itself, with pages.

use std::{collections::BTreeMap, fmt::Write as _};

use deliberate_toolkit::{Tool, ToolContext, ToolError, ToolMeta, ToolOutput, compute};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    analysis::{ArticleInsight, InsightKind, clear_locations, extract_insights},
    articles::{ArticleRepository, abstract_text},
    prompt_fence::{fence_passage, prompt_fence, untrusted_data_notice},
    tools::rendering::{escape_markdown, read_only_meta, read_only_output, with_notes},
};

/// The `extract_article_insights` tool.
pub(crate) struct ExtractArticleInsights;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    article_id: String,
    #[serde(default = "default_sections")]
    #[schemars(length(min = 1, max = 7))]
    include_sections: Vec<InsightKind>,
}

fn default_sections() -> Vec<InsightKind> {
    vec![
        InsightKind::Contributions,
        InsightKind::Methodology,
        InsightKind::Limitations,
        InsightKind::FutureWork,
        InsightKind::Connections,
    ]
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    article_id: String,
    /// Sentences by kind
    insights: BTreeMap<String, Vec<ArticleInsight>>,
    notes: Vec<String>,
}

/// Sentences of each kind.
const MAX_SENTENCES: usize = 6;

impl Tool for ExtractArticleInsights {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "extract_article_insights",
            "Extract article insights",
            "What an article says about its contributions, method, findings, limits and future work, with pages",
        )
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let library = ArticleRepository(call.store());
        let kept = library.find(&input.article_id).await?.record;
        let text = library.text(&kept.id).await?;
        let mut notes = Vec::new();
        if text.is_none() {
            notes.push("only its abstract is available; process_pdf reads its text".to_owned());
        }
        let was_read = text.is_some();
        let text = text.unwrap_or_else(|| abstract_text(&kept));
        let mut facets = Vec::new();
        for facet in input.include_sections {
            if !facets.contains(&facet) {
                facets.push(facet);
            }
        }
        let looking = compute(move || {
            let of = |facet: &InsightKind| (*facet, extract_insights(&text, *facet, MAX_SENTENCES));
            facets.iter().map(of).collect::<Vec<_>>()
        });
        let fence = &prompt_fence(call);
        let mut said = format!(
            "# {}\n\n{}\n",
            escape_markdown(&kept.article.title),
            untrusted_data_notice(fence)
        );
        let mut found = BTreeMap::new();
        for (facet, mut sentences) in looking.await? {
            if !was_read {
                clear_locations(&mut sentences, &kept.article.title);
            }
            let _ = writeln!(said, "\n## {}\n", facet.title());
            if sentences.is_empty() {
                said.push_str("Nothing was found.\n");
            }
            for it in &sentences {
                let page = it
                    .place
                    .map_or_else(|| "abstract".to_owned(), |it| it.page.to_string());
                let _ = writeln!(
                    said,
                    "{}",
                    fence_passage(fence, &[("page", &page)], &it.text)
                );
            }
            found.insert(kind_name(facet), sentences);
        }
        Ok(read_only_output(Output {
            said: with_notes(said, &notes),
            article_id: kept.id,
            insights: found,
            notes,
        }))
    }
}

fn kind_name(facet: InsightKind) -> String {
    facet.title().to_lowercase().replace(' ', "_")
}

//! `extract_article_insights`: what an article says of itself, sentence by sentence with its place.

use std::{collections::BTreeMap, fmt::Write as _};

use deliberate_toolkit::{About, Call, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    analyse::{Facet, Insight, aside, insights, placeless},
    collect::{DATA_NOT_ORDERS, Library, abstract_of, fenced},
    tools::shown::{only_read, plain, reads, with_notes},
};

/// `extract_article_insights`.
pub(crate) struct ExtractArticleInsights;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    article_id: String,
    #[serde(default = "usual")]
    #[schemars(length(min = 1, max = 7))]
    include_sections: Vec<Facet>,
}

fn usual() -> Vec<Facet> {
    vec![
        Facet::Contributions,
        Facet::Methodology,
        Facet::Limitations,
        Facet::FutureWork,
        Facet::Connections,
    ]
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    article_id: String,
    /// Sentences by what they are about
    insights: BTreeMap<String, Vec<Insight>>,
    notes: Vec<String>,
}

/// Sentences of each.
const EACH: usize = 6;

impl Tool for ExtractArticleInsights {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        reads(
            "extract_article_insights",
            "Extract article insights",
            "What an article says of its contributions, method, findings, limits and future work, with pages",
        )
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let library = Library(call.store());
        let kept = library.find(&input.article_id).await?.kept;
        let text = library.text(&kept.id).await?;
        let mut notes = Vec::new();
        if text.is_none() {
            notes.push("only its abstract is known; process_pdf reads its text".to_owned());
        }
        let was_read = text.is_some();
        let text = text.unwrap_or_else(|| abstract_of(&kept));
        let mut facets = Vec::new();
        for facet in input.include_sections {
            if !facets.contains(&facet) {
                facets.push(facet);
            }
        }
        let looking = aside(move || {
            let of = |facet: &Facet| (*facet, insights(&text, *facet, EACH));
            facets.iter().map(of).collect::<Vec<_>>()
        });
        let mut said = format!("# {}\n\n{DATA_NOT_ORDERS}\n", plain(&kept.article.title));
        let mut found = BTreeMap::new();
        for (facet, mut sentences) in looking.await? {
            if !was_read {
                placeless(&mut sentences, &kept.article.title);
            }
            let _ = writeln!(said, "\n## {}\n", facet.title());
            if sentences.is_empty() {
                said.push_str("Nothing was found.\n");
            }
            for it in &sentences {
                let page = it
                    .place
                    .map_or_else(|| "abstract".to_owned(), |it| it.page.to_string());
                let _ = writeln!(said, "{}", fenced(&[("page", &page)], &it.text));
            }
            found.insert(name_of(facet), sentences);
        }
        Ok(only_read(Output {
            said: with_notes(said, &notes),
            article_id: kept.id,
            insights: found,
            notes,
        }))
    }
}

fn name_of(facet: Facet) -> String {
    facet.title().to_lowercase().replace(' ', "_")
}

//! Which articles of the collection are to be cited: those that are named, or those a search finds.

use deliberate_index::SearchMode;
use deliberate_store::{ItemFilter, ItemOrder, Page};
use deliberate_toolkit::{Call, ToolError};

use crate::{
    Lab, Retrieval,
    collect::{ARTICLE, Kept, Library},
};

/// What was chosen.
pub(crate) struct Chosen {
    pub(crate) articles: Vec<Kept>,
    /// What was named and is not there, each with why.
    pub(crate) not_found: Vec<String>,
}

/// Those that are named; without names those that a search finds, the best first; without either
/// all, by their titles.
pub(crate) async fn choose(
    lab: &Lab,
    call: &Call,
    named: &[String],
    search: Option<&str>,
    most: usize,
) -> Result<Chosen, ToolError> {
    let library = Library(call.store());
    let mut chosen = Chosen {
        articles: Vec::new(),
        not_found: Vec::new(),
    };
    for name in named.iter().take(most) {
        match library.find(name).await {
            Ok(found) => chosen.add(found.kept),
            Err(ToolError::Told { message, .. }) => chosen.not_found.push(message),
            Err(error) => return Err(error),
        }
    }
    if !named.is_empty() {
        return Ok(chosen);
    }
    if let Some(question) = search.filter(|it| !it.trim().is_empty()) {
        let wanted = Retrieval {
            question: question.to_owned(),
            // Several passages of an article may be among the best.
            k: most.saturating_mul(4).min(1_000),
            mode: SearchMode::Hybrid,
            per_article: Some(1),
            ..Retrieval::default()
        };
        for found in lab.retrieve(call, &wanted).await?.passages {
            if chosen.articles.len() < most {
                chosen.add(found.kept);
            }
        }
        return Ok(chosen);
    }
    let filter = ItemFilter {
        order: ItemOrder::Key {
            name: "title".to_owned(),
            descending: false,
        },
        ..ItemFilter::of(ARTICLE)
    };
    let limit = u32::try_from(most).unwrap_or(Page::MOST);
    for version in library.list(&filter, Page::first(limit)).await? {
        chosen.add(version.kept);
    }
    Ok(chosen)
}

impl Chosen {
    /// Each once, however often it is named.
    fn add(&mut self, kept: Kept) {
        if !self.articles.iter().any(|it| it.id == kept.id) {
            self.articles.push(kept);
        }
    }
}

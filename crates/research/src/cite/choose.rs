//! Which articles of the collection are to be cited: those that are named, or those a search finds.

use deliberate_index::SearchMode;
use deliberate_store::{ItemFilter, ItemOrder, Page};
use deliberate_toolkit::{Call, ToolError};

use crate::{
    Lab, Retrieval,
    collect::{ARTICLE, Kept, Library},
};

/// What was chosen.
#[derive(Default)]
pub(crate) struct Chosen {
    pub(crate) articles: Vec<Kept>,
    /// What was named and is not there, each with why.
    pub(crate) not_found: Vec<String>,
    /// How many of all come behind those.
    pub(crate) left_out: usize,
}

/// Those that are named; without names those that a search finds, the best first, at most so many;
/// without either all, by their titles, at most so many.
pub(crate) async fn choose(
    lab: &Lab,
    call: &Call,
    named: &[String],
    search: Option<&str>,
    most: usize,
) -> Result<Chosen, ToolError> {
    let library = Library(call.store());
    let mut chosen = Chosen::default();
    for name in named {
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
    choose_all(library, 0, most).await
}

/// All that there are but the first so many, by their titles, at most so many.
pub(crate) async fn choose_all(
    library: Library<'_>,
    skipped: usize,
    most: usize,
) -> Result<Chosen, ToolError> {
    let filter = ItemFilter {
        order: ItemOrder::Key {
            name: "title".to_owned(),
            descending: false,
        },
        ..ItemFilter::of(ARTICLE)
    };
    let mut chosen = Chosen::default();
    loop {
        let wanted = most.saturating_sub(chosen.articles.len());
        let page = Page {
            offset: u32::try_from(skipped + chosen.articles.len()).unwrap_or(u32::MAX),
            limit: u32::try_from(wanted).unwrap_or(Page::MOST).min(Page::MOST),
        };
        let some = match wanted {
            0 => Vec::new(),
            _ => library.list(&filter, page).await?,
        };
        let last = some.len() < usize::try_from(page.limit).unwrap_or(usize::MAX);
        chosen.articles.extend(some.into_iter().map(|it| it.kept));
        if last || wanted == 0 {
            break;
        }
    }
    let all = library.0.count_items(&ItemFilter::of(ARTICLE)).await?;
    let all = usize::try_from(all).unwrap_or(usize::MAX);
    chosen.left_out = all.saturating_sub(skipped + chosen.articles.len());
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

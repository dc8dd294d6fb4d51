//! Which articles of the collection are to be cited: those that are named, or those a search finds.

use deliberate_core::cut_to_chars;
use deliberate_index::SearchMode;
use deliberate_store::{ItemFilter, ItemOrder, Page};
use deliberate_toolkit::{Call, Issue, ToolError};

use crate::{
    FoundPassage, Lab, Retrieval,
    collect::{ARTICLE, BY_MEANING_ALONE, Kept, Library, MOST_PASSAGES, keep_fitting},
};

/// What was chosen.
#[derive(Default)]
pub(crate) struct Chosen {
    pub(crate) articles: Vec<Kept>,
    /// What was named and is not there, each with why.
    pub(crate) not_found: Vec<String>,
    /// How many of all come behind those.
    pub(crate) left_out: usize,
    /// What whoever asked should know of the search.
    pub(crate) notes: Vec<String>,
}

/// Those that are named; or those that a search finds, the best first, at most so many; without
/// either all, by their titles, at most so many.
pub(crate) async fn choose(
    lab: &Lab,
    call: &Call,
    named: &[String],
    search: Option<&str>,
    most: usize,
) -> Result<Chosen, ToolError> {
    let library = Library(call.store());
    let search = search.filter(|it| !it.trim().is_empty());
    match search {
        Some(_) if !named.is_empty() => {
            let rule = "stands in place of articles: give one of the two";
            let issue = Issue::new("search_query", rule);
            Err(ToolError::Invalid(vec![issue]))
        }
        Some(question) => choose_found(lab, call, question, most).await,
        None if named.is_empty() => choose_all(library, 0, most).await,
        None => choose_named(library, named).await,
    }
}

async fn choose_named(library: Library<'_>, named: &[String]) -> Result<Chosen, ToolError> {
    let mut chosen = Chosen::default();
    for name in named {
        match library.find(name).await {
            Ok(found) => chosen.add(found.kept),
            Err(ToolError::Told { message, .. }) => chosen.not_found.push(message),
            Err(error) => return Err(error),
        }
    }
    Ok(chosen)
}

/// Those that speak of it. What only means something like it, without any of the words, is for
/// somebody to look at, not to be cited.
async fn choose_found(
    lab: &Lab,
    call: &Call,
    question: &str,
    most: usize,
) -> Result<Chosen, ToolError> {
    let wanted = Retrieval {
        question: question.to_owned(),
        // All that is looked at, to tell how many are left out.
        k: MOST_PASSAGES,
        mode: SearchMode::Hybrid,
        per_article: Some(1),
        ..Retrieval::default()
    };
    let found = lab.retrieve(call, &wanted).await?;
    let mut chosen = Chosen {
        notes: found.notes,
        ..Chosen::default()
    };
    let mut passages = found.passages;
    let by_words = |it: &FoundPassage| it.text_score.is_some();
    if !passages.iter().any(by_words) {
        chosen.notes.retain(|it| it != BY_MEANING_ALONE);
        chosen.not_found.push(format!(
            "no word of {:?} is in the collection",
            cut_to_chars(question.trim(), 200)
        ));
        return Ok(chosen);
    }
    keep_fitting(&mut passages, |it| it.score);
    if passages.len() >= MOST_PASSAGES {
        let note = format!("No more than {MOST_PASSAGES} are looked at: more may fit.");
        chosen.notes.push(note);
    }
    chosen.left_out = passages.len().saturating_sub(most);
    for it in passages.into_iter().take(most) {
        chosen.add(it.kept);
    }
    Ok(chosen)
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

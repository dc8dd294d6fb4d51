//! Which articles of the collection are to be cited: those that are named, or those a search finds.

use deliberate_core::truncate_chars;
use deliberate_index::SearchMode;
use deliberate_store::{DocumentFilter, DocumentOrder, Pagination};
use deliberate_toolkit::{ArgumentIssue, ToolContext, ToolError};

use crate::{
    ResearchServices, RetrievalQuery, RetrievedPassage,
    articles::{ARTICLE, ArticleRecord, ArticleRepository},
    retrieval::{
        retriever::{MAX_PASSAGES, VECTOR_ONLY_NOTE},
        sorting::drop_low_scores,
    },
};

/// What was chosen.
#[derive(Default)]
pub(crate) struct SelectedArticles {
    pub(crate) articles: Vec<ArticleRecord>,
    /// What was named and is not there, each with why.
    pub(crate) not_found: Vec<String>,
    /// How many of all come behind those.
    pub(crate) remaining: usize,
    /// What whoever asked should know of the search.
    pub(crate) notes: Vec<String>,
}

/// Those that are named; or those that a search finds, the best first, at most so many; without
/// either all, by their titles, at most so many.
pub(crate) async fn select_articles(
    lab: &ResearchServices,
    call: &ToolContext,
    named: &[String],
    search: Option<&str>,
    most: usize,
) -> Result<SelectedArticles, ToolError> {
    let library = ArticleRepository(call.store());
    let search = search.filter(|it| !it.trim().is_empty());
    match search {
        Some(_) if !named.is_empty() => {
            let rule = "stands in place of articles: give one of the two";
            let issue = ArgumentIssue::new("search_query", rule);
            Err(ToolError::Invalid(vec![issue]))
        }
        Some(question) => select_by_search(lab, call, question, most).await,
        None if named.is_empty() => select_all(library, 0, most).await,
        None => select_by_name(library, named).await,
    }
}

async fn select_by_name(
    library: ArticleRepository<'_>,
    named: &[String],
) -> Result<SelectedArticles, ToolError> {
    let mut chosen = SelectedArticles::default();
    for name in named {
        match library.find(name).await {
            Ok(found) => chosen.add(found.record),
            Err(ToolError::Custom { message, .. }) => chosen.not_found.push(message),
            Err(error) => return Err(error),
        }
    }
    Ok(chosen)
}

/// Those that speak of it. What only means something like it, without any of the words, is for
/// somebody to look at, not to be cited.
async fn select_by_search(
    lab: &ResearchServices,
    call: &ToolContext,
    question: &str,
    most: usize,
) -> Result<SelectedArticles, ToolError> {
    let wanted = RetrievalQuery {
        question: question.to_owned(),
        // All that is looked at, to tell how many are left out.
        k: MAX_PASSAGES,
        mode: SearchMode::Hybrid,
        per_article: Some(1),
        ..RetrievalQuery::default()
    };
    let found = lab.retrieve(call, &wanted).await?;
    let mut chosen = SelectedArticles {
        notes: found.notes,
        ..SelectedArticles::default()
    };
    let mut passages = found.passages;
    let by_words = |it: &RetrievedPassage| it.text_score.is_some();
    if !passages.iter().any(by_words) {
        chosen.notes.retain(|it| it != VECTOR_ONLY_NOTE);
        chosen.not_found.push(format!(
            "no word of {:?} is in the collection",
            truncate_chars(question.trim(), 200)
        ));
        return Ok(chosen);
    }
    drop_low_scores(&mut passages, |it| it.score);
    if passages.len() >= MAX_PASSAGES {
        let note = format!("No more than {MAX_PASSAGES} are looked at: more may fit.");
        chosen.notes.push(note);
    }
    chosen.remaining = passages.len().saturating_sub(most);
    for it in passages.into_iter().take(most) {
        chosen.add(it.kept);
    }
    Ok(chosen)
}

/// All that there are but the first so many, by their titles, at most so many.
pub(crate) async fn select_all(
    library: ArticleRepository<'_>,
    skipped: usize,
    most: usize,
) -> Result<SelectedArticles, ToolError> {
    let filter = DocumentFilter {
        order: DocumentOrder::Key {
            name: "title".to_owned(),
            descending: false,
        },
        ..DocumentFilter::of_kind(ARTICLE)
    };
    let mut chosen = SelectedArticles::default();
    loop {
        let wanted = most.saturating_sub(chosen.articles.len());
        let page = Pagination {
            offset: u32::try_from(skipped + chosen.articles.len()).unwrap_or(u32::MAX),
            limit: u32::try_from(wanted)
                .unwrap_or(Pagination::MAX)
                .min(Pagination::MAX),
        };
        let some = match wanted {
            0 => Vec::new(),
            _ => library.list(&filter, page).await?,
        };
        let last = some.len() < usize::try_from(page.limit).unwrap_or(usize::MAX);
        chosen.articles.extend(some.into_iter().map(|it| it.record));
        if last || wanted == 0 {
            break;
        }
    }
    let all = library
        .0
        .count_documents(&DocumentFilter::of_kind(ARTICLE))
        .await?;
    let all = usize::try_from(all).unwrap_or(usize::MAX);
    chosen.remaining = all.saturating_sub(skipped + chosen.articles.len());
    Ok(chosen)
}

impl SelectedArticles {
    /// Each once, however often it is named.
    fn add(&mut self, kept: ArticleRecord) {
        if !self.articles.iter().any(|it| it.id == kept.id) {
            self.articles.push(kept);
        }
    }
}

//! Selects the articles to cite: those that the caller names, or those that a search finds.

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

/// The selected articles.
#[derive(Default)]
pub(crate) struct SelectedArticles {
    pub(crate) articles: Vec<ArticleRecord>,
    /// Names that were not found, with reasons.
    pub(crate) not_found: Vec<String>,
    /// Number of articles after the selected ones.
    pub(crate) remaining: usize,
    /// Notes about the search for the caller.
    pub(crate) notes: Vec<String>,
}

/// Selects the named articles; or those that a search finds, best first, at most `most`; or,
/// without either, all by title, at most `most`.
pub(crate) async fn select_articles(
    services: &ResearchServices,
    call: &ToolContext,
    named: &[String],
    search: Option<&str>,
    most: usize,
) -> Result<SelectedArticles, ToolError> {
    let library = ArticleRepository(call.store());
    let search = search.filter(|it| !it.trim().is_empty());
    match search {
        Some(_) if !named.is_empty() => {
            let rule = "cannot be combined with articles; give only one of them";
            let issue = ArgumentIssue::new("search_query", rule);
            Err(ToolError::Invalid(vec![issue]))
        }
        Some(question) => select_by_search(services, call, question, most).await,
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

/// Selects articles that contain words of the query. An article that is only similar in meaning is
/// worth reading, but must not be cited automatically.
async fn select_by_search(
    services: &ResearchServices,
    call: &ToolContext,
    question: &str,
    most: usize,
) -> Result<SelectedArticles, ToolError> {
    let wanted = RetrievalQuery {
        question: question.to_owned(),
        // Retrieve as many as possible, so that the number of omitted ones is known.
        k: MAX_PASSAGES,
        mode: SearchMode::Hybrid,
        per_article: Some(1),
        ..RetrievalQuery::default()
    };
    let found = services.retrieve(call, &wanted).await?;
    let mut chosen = SelectedArticles {
        notes: found.notes,
        ..SelectedArticles::default()
    };
    let mut passages = found.passages;
    let by_words = |it: &RetrievedPassage| it.text_score.is_some();
    if !passages.iter().any(by_words) {
        chosen.notes.retain(|it| it != VECTOR_ONLY_NOTE);
        chosen.not_found.push(format!(
            "the collection contains no word of {:?}",
            truncate_chars(question.trim(), 200)
        ));
        return Ok(chosen);
    }
    drop_low_scores(&mut passages, |it| it.score);
    if passages.len() >= MAX_PASSAGES {
        let note =
            format!("Only the first {MAX_PASSAGES} passages are considered; more may match.");
        chosen.notes.push(note);
    }
    chosen.remaining = passages.len().saturating_sub(most);
    for it in passages.into_iter().take(most) {
        chosen.add(it.kept);
    }
    Ok(chosen)
}

/// Selects at most `most` articles by title, after the first `skipped`.
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
    /// Adds an article unless it is already selected.
    fn add(&mut self, record: ArticleRecord) {
        if !self.articles.iter().any(|it| it.id == record.id) {
            self.articles.push(record);
        }
    }
}

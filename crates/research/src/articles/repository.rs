//! Reads articles from the store. Articles are found by exact identifiers; similar ones are only
//! suggested in the error, never returned.

use std::{cmp::Reverse, collections::BTreeSet};

use deliberate_core::{Article, ArxivId, Change, Doi, Timestamp, did_you_mean};
use deliberate_store::{DocumentFilter, KeyMatch, Pagination, Store};
use deliberate_toolkit::{ErrorCode, ToolError};

use super::{ARTICLE, FULL_TEXT, FullText, Outline, VersionedArticle, record::title_key};
use crate::{
    discovery::MATCH, ingest::deduplication::is_same_work, prompt_fence::disarm_passage_tags,
    sources::PaperId,
};

/// Reads the articles of the collection.
#[derive(Clone, Copy)]
pub struct ArticleRepository<'a>(pub &'a dyn Store);

/// The most articles listed when a title is ambiguous.
const MAX_AMBIGUOUS_SHOWN: u32 = 10;

/// The most attempts to read a text that is being rewritten concurrently.
const MAX_READ_ATTEMPTS: usize = 5;

/// The most articles of one title that are compared to find the same work.
const MAX_SAME_TITLE: u32 = 200;

impl ArticleRepository<'_> {
    /// The article with this ID.
    pub async fn get(self, id: &str) -> Result<Option<VersionedArticle>, ToolError> {
        let item = self.0.document(ARTICLE, id).await?;
        Ok(item.and_then(VersionedArticle::read))
    }

    /// Finds an article by its ID, DOI, arXiv, PubMed or other identifier, citation key, or full
    /// title; an error if there is none.
    pub async fn find(self, identifier: &str) -> Result<VersionedArticle, ToolError> {
        match self.look_up(identifier).await? {
            Some(found) => Ok(found),
            None => Err(self.not_found_error(identifier).await),
        }
    }

    /// Finds an article like [`find`](Self::find); none is no error, an ambiguous title is.
    pub async fn look_up(self, identifier: &str) -> Result<Option<VersionedArticle>, ToolError> {
        let identifier = identifier.trim();
        if let Some(found) = self.get(identifier).await? {
            return Ok(Some(found));
        }
        if let Some((name, value)) = PaperId::parse(identifier).map(|id| paper_id_key(&id))
            && let Some(found) = self.find_by_key(name, &value).await?
        {
            return Ok(Some(found));
        }
        if let Some(found) = self
            .find_by_key("cite_key", &identifier.to_lowercase())
            .await?
        {
            return Ok(Some(found));
        }
        let title = title_key(identifier);
        if title.is_empty() {
            return Ok(None);
        }
        let filter = DocumentFilter::with_key(ARTICLE, "title", &title);
        let mut found = self
            .list(&filter, Pagination::limit(MAX_AMBIGUOUS_SHOWN))
            .await?;
        match found.len() {
            0 | 1 => Ok(found.pop()),
            _ => Err(ambiguous_error(identifier, &found)),
        }
    }

    /// Finds the article of the same work: by a common identifier, or by title and first author. A
    /// title alone, or a short one, needs more evidence.
    pub async fn find_same_work(
        self,
        article: &Article,
    ) -> Result<Option<VersionedArticle>, ToolError> {
        if let Some(found) = self.find_by_ids(article).await? {
            return Ok(Some(found));
        }
        let found = self.find_by_title(&article.title).await?;
        let same = |it: &VersionedArticle| is_same_work(&it.record.article, article);
        Ok(found.into_iter().find(same))
    }

    /// Finds the article with one of the identifiers of a work.
    pub(crate) async fn find_by_ids(
        self,
        article: &Article,
    ) -> Result<Option<VersionedArticle>, ToolError> {
        for (name, value) in article_id_keys(article) {
            if let Some(found) = self.find_by_key(name, &value).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The articles with a title.
    pub(crate) async fn find_by_title(
        self,
        title: &str,
    ) -> Result<Vec<VersionedArticle>, ToolError> {
        let title = title_key(title);
        if title.is_empty() {
            return Ok(Vec::new());
        }
        let filter = DocumentFilter::with_key(ARTICLE, "title", &title);
        self.list(&filter, Pagination::limit(MAX_SAME_TITLE)).await
    }

    /// The articles that match a filter.
    pub async fn list(
        self,
        filter: &DocumentFilter,
        page: Pagination,
    ) -> Result<Vec<VersionedArticle>, ToolError> {
        let items = self.0.documents(filter, page).await?;
        Ok(items
            .into_iter()
            .filter_map(VersionedArticle::read)
            .collect())
    }

    /// Finds the article with this value of a unique index key.
    pub async fn find_by_key(
        self,
        name: &str,
        value: &str,
    ) -> Result<Option<VersionedArticle>, ToolError> {
        let filter = DocumentFilter::with_key(ARTICLE, name, value);
        Ok(self.list(&filter, Pagination::limit(1)).await?.pop())
    }

    /// Loads the full text of an article.
    pub async fn text(self, id: &str) -> Result<Option<FullText>, ToolError> {
        for _ in 0..MAX_READ_ATTEMPTS {
            let Some(item) = self.0.document(FULL_TEXT, id).await? else {
                return Ok(None);
            };
            let pages = self.pages(id, 1, u32::MAX).await?;
            // The pages are read one by one, and another call may have replaced them meanwhile.
            if self.text_version(id).await? == item.version {
                return Ok(Some(FullText {
                    pages,
                    outline: serde_json::from_value(item.body).unwrap_or_default(),
                    version: item.version,
                }));
            }
        }
        Err(ToolError::Custom {
            code: ErrorCode::Conflict,
            message: "the full text keeps changing while it is read".to_owned(),
            hint: Some("Retry in a moment.".to_owned()),
        })
    }

    /// The version of an article's full text; 0 if there is none.
    pub(crate) async fn text_version(self, id: &str) -> Result<i64, ToolError> {
        let item = self.0.document(FULL_TEXT, id).await?;
        Ok(item.map_or(0, |it| it.version))
    }

    /// Loads a range of pages as far as they exist.
    pub(crate) async fn pages(
        self,
        id: &str,
        from: u32,
        to: u32,
    ) -> Result<Vec<String>, ToolError> {
        let mut pages = Vec::new();
        let mut offset = from.saturating_sub(1);
        while offset < to {
            let limit = Pagination::MAX.min(to - offset);
            let more = self
                .0
                .document_parts(FULL_TEXT, id, Pagination { offset, limit })
                .await?;
            let last = more.len() < limit as usize;
            pages.extend(more);
            if last {
                break;
            }
            offset = offset.saturating_add(limit);
        }
        Ok(pages)
    }

    /// Loads the outline of an article's full text without the text.
    pub async fn outline(self, id: &str) -> Result<Option<Outline>, ToolError> {
        let item = self.0.document(FULL_TEXT, id).await?;
        Ok(item.map(|it| serde_json::from_value(it.body).unwrap_or_default()))
    }

    /// A citation key that no article has: the wanted one, or the wanted one with a suffix.
    pub async fn unused_cite_key(self, wanted: &str) -> Result<String, ToolError> {
        self.unused_cite_key_excluding(wanted, &BTreeSet::new())
            .await
    }

    /// An unused citation key that is also not in `taken`, a set of keys in lower case.
    pub async fn unused_cite_key_excluding(
        self,
        wanted: &str,
        taken: &BTreeSet<String>,
    ) -> Result<String, ToolError> {
        let letters = ('a'..='z').map(String::from);
        for suffix in std::iter::once(String::new()).chain(letters) {
            let key = format!("{wanted}{suffix}");
            if self.is_cite_key_unused(&key, taken).await? {
                return Ok(key);
            }
        }
        // Many keys are taken: double the number until one is free, then bisect.
        let (mut used, mut free) = (1_u64, 2_u64);
        while !self
            .is_cite_key_unused(&format!("{wanted}{free}"), taken)
            .await?
        {
            (used, free) = (free, free.saturating_mul(2));
        }
        while free - used > 1 {
            let middle = used + (free - used) / 2;
            if self
                .is_cite_key_unused(&format!("{wanted}{middle}"), taken)
                .await?
            {
                free = middle;
            } else {
                used = middle;
            }
        }
        Ok(format!("{wanted}{free}"))
    }

    async fn is_cite_key_unused(
        self,
        key: &str,
        taken: &BTreeSet<String>,
    ) -> Result<bool, ToolError> {
        let key = key.to_lowercase();
        Ok(!taken.contains(&key) && self.find_by_key("cite_key", &key).await?.is_none())
    }

    /// The changes that delete an article, its full text and its matches. They fail if the article
    /// was changed since it was read; otherwise a full text added meanwhile would remain.
    pub async fn delete_changes(
        self,
        version: &VersionedArticle,
        now: Timestamp,
    ) -> Result<Vec<Change>, ToolError> {
        let own = &version.record.id;
        let drop = |kind: &str, id: &str| Change::DeleteDocument {
            kind: kind.to_owned(),
            id: id.to_owned(),
            at: now,
        };
        // Only a write detects a concurrent change, so the article is written before it is deleted.
        let mut changes = vec![version.put_change(now), drop(ARTICLE, own)];
        if self.text_version(own).await? > 0 {
            changes.push(drop(FULL_TEXT, own));
        }
        let matches = DocumentFilter::with_key(MATCH, "article", own);
        let matches = self
            .0
            .documents(&matches, Pagination::limit(Pagination::MAX))
            .await?;
        changes.extend(matches.iter().map(|it| drop(MATCH, &it.id)));
        Ok(changes)
    }

    /// The error for an unknown article, with the most similar one.
    async fn not_found_error(self, identifier: &str) -> ToolError {
        let similar = self.find_similar(identifier).await.unwrap_or_default();
        let hint = match similar {
            Some(title) => format!(
                "Did you mean {:?}? search_articles finds articles by subject, list_articles \
               lists all.",
                disarm_passage_tags(&title)
            ),
            None => "search_articles finds articles by subject, list_articles lists all; \
                   add_article or process_pdf adds one."
                .to_owned(),
        };
        ToolError::Custom {
            code: ErrorCode::ArticleNotFound,
            message: format!(
                "there is no article {:?} in the collection",
                deliberate_core::truncate_chars(identifier, 200)
            ),
            hint: Some(hint),
        }
    }

    /// The citation key or title that is most similar to the given text.
    async fn find_similar(self, identifier: &str) -> Result<Option<String>, ToolError> {
        if let Some(key) = self.find_similar_cite_key(identifier).await? {
            return Ok(Some(key));
        }
        let title = title_key(identifier);
        let mut words: Vec<&str> = title.split(' ').filter(|it| it.len() > 3).collect();
        words.sort_by_key(|it| Reverse(it.len()));
        let mut first = None;
        // One of the words may be misspelled.
        for word in words.into_iter().take(3) {
            let holds = KeyMatch::Contains {
                name: "title".to_owned(),
                text: word.to_owned(),
            };
            let found = self.find_by_key_match(holds).await?;
            let titles = found.iter().map(|it| it.record.article.title.as_str());
            if let Some(near) = did_you_mean(identifier, titles.clone()) {
                return Ok(Some(near));
            }
            first = first.or_else(|| titles.clone().next().map(str::to_owned));
        }
        Ok(first)
    }

    /// The most similar citation key among those with the same beginning.
    async fn find_similar_cite_key(self, identifier: &str) -> Result<Option<String>, ToolError> {
        let wanted = identifier.trim().to_lowercase();
        let start: String = wanted.chars().take(2).collect();
        if wanted.contains(char::is_whitespace) || start.is_empty() {
            return Ok(None);
        }
        let begins = KeyMatch::Between {
            name: "cite_key".to_owned(),
            to: Some(format!("{start}\u{10ffff}")),
            from: Some(start),
        };
        let found = self.find_by_key_match(begins).await?;
        let keys = found.iter().map(|it| it.record.cite_key.as_str());
        Ok(did_you_mean(&wanted, keys))
    }

    async fn find_by_key_match(self, key: KeyMatch) -> Result<Vec<VersionedArticle>, ToolError> {
        let mut filter = DocumentFilter::of_kind(ARTICLE);
        filter.keys.push(key);
        self.list(&filter, Pagination::limit(50)).await
    }
}

fn ambiguous_error(identifier: &str, found: &[VersionedArticle]) -> ToolError {
    let keys: Vec<&str> = found.iter().map(|it| it.record.cite_key.as_str()).collect();
    ToolError::Custom {
        code: ErrorCode::Ambiguous,
        message: format!("{} articles have the title {identifier:?}", found.len()),
        hint: Some(format!("Name one of them: {}.", keys.join(", "))),
    }
}

/// The index key of an identifier.
fn paper_id_key(id: &PaperId) -> (&'static str, String) {
    match id {
        PaperId::Doi(doi) => ("doi", doi.to_string()),
        PaperId::Arxiv(id) => ("arxiv", id.to_string()),
        PaperId::Pubmed(id) => ("pmid", id.clone()),
        PaperId::Pmc(id) => ("pmcid", id.to_lowercase()),
        PaperId::SemanticScholar(id) => ("s2", id.to_lowercase()),
        PaperId::OpenAlex(id) => ("openalex", id.to_lowercase()),
    }
}

/// The index keys of all identifiers of a work.
pub(crate) fn article_id_keys(article: &Article) -> impl Iterator<Item = (&'static str, String)> {
    let id = |name, value: Option<&str>| value.map(|it| (name, it.to_lowercase()));
    [
        id("doi", article.doi.as_ref().map(Doi::as_str)),
        id("arxiv", article.arxiv_id.as_ref().map(ArxivId::as_str)),
        id("pmid", article.pmid.as_deref()),
        id("pmcid", article.pmcid.as_deref()),
        id("s2", article.s2_id.as_deref()),
        id("openalex", article.openalex_id.as_deref()),
    ]
    .into_iter()
    .flatten()
}

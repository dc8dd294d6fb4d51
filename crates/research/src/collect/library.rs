//! The collection as it is read. Articles are found by exactly what they are called; what is only
//! similar is a hint in the error, never an answer.

use std::collections::BTreeSet;

use deliberate_core::{Article, ArxivId, Change, Doi, Timestamp, nearest};
use deliberate_store::{ItemFilter, KeyMatch, Page, Store};
use deliberate_toolkit::ToolError;

use super::{
    ARTICLE, Kept, Outline, TEXT, Text, Version, fence::harmless, kept::title_key, known::is_same,
};
use crate::sources::PaperId;

/// The collection, for reading.
#[derive(Clone, Copy)]
pub struct Library<'a>(pub &'a dyn Store);

/// Several of one title are all named, up to so many.
const MOST_NAMED: u32 = 10;

/// So many of one title are looked at to find the same work.
const MOST_TITLED: u32 = 200;

impl Library<'_> {
    /// The article of that id.
    pub async fn get(self, id: &str) -> Result<Option<Version>, ToolError> {
        let item = self.0.item(ARTICLE, id).await?;
        Ok(item.and_then(Version::read))
    }

    /// The article that is called so: by its id, DOI, arXiv, PubMed or other id, citation key, or
    /// its whole title.
    pub async fn find(self, identifier: &str) -> Result<Version, ToolError> {
        match self.look_up(identifier).await? {
            Some(found) => Ok(found),
            None => Err(self.not_found(identifier).await),
        }
    }

    /// The same; none is no error. More than one of a title is.
    pub async fn look_up(self, identifier: &str) -> Result<Option<Version>, ToolError> {
        let identifier = identifier.trim();
        if let Some(found) = self.get(identifier).await? {
            return Ok(Some(found));
        }
        if let Some((name, value)) = PaperId::parse(identifier).map(|id| key_of(&id))
            && let Some(found) = self.by_key(name, &value).await?
        {
            return Ok(Some(found));
        }
        if let Some(found) = self.by_key("cite_key", &identifier.to_lowercase()).await? {
            return Ok(Some(found));
        }
        let title = title_key(identifier);
        if title.is_empty() {
            return Ok(None);
        }
        let filter = ItemFilter::with(ARTICLE, "title", &title);
        let mut found = self.list(&filter, Page::first(MOST_NAMED)).await?;
        match found.len() {
            0 | 1 => Ok(found.pop()),
            _ => Err(ambiguous(identifier, &found)),
        }
    }

    /// The same work, if it is kept: of the same DOI, arXiv id or other id, or of the same title and
    /// first author. A title alone, or a short one, has to say more.
    pub async fn known(self, article: &Article) -> Result<Option<Version>, ToolError> {
        if let Some(found) = self.of_its_ids(article).await? {
            return Ok(Some(found));
        }
        let found = self.titled(&article.title).await?;
        let same = |it: &Version| is_same(&it.kept.article, article);
        Ok(found.into_iter().find(same))
    }

    /// The article that has one of the ids of a work.
    pub(super) async fn of_its_ids(self, article: &Article) -> Result<Option<Version>, ToolError> {
        for (name, value) in ids_of(article) {
            if let Some(found) = self.by_key(name, &value).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The articles of a title.
    pub(super) async fn titled(self, title: &str) -> Result<Vec<Version>, ToolError> {
        let title = title_key(title);
        if title.is_empty() {
            return Ok(Vec::new());
        }
        let filter = ItemFilter::with(ARTICLE, "title", &title);
        self.list(&filter, Page::first(MOST_TITLED)).await
    }

    /// Articles of which this is true.
    pub async fn list(self, filter: &ItemFilter, page: Page) -> Result<Vec<Version>, ToolError> {
        let items = self.0.items(filter, page).await?;
        Ok(items.into_iter().filter_map(Version::read).collect())
    }

    /// The article with that value under that name, which only one may have.
    pub async fn by_key(self, name: &str, value: &str) -> Result<Option<Version>, ToolError> {
        let filter = ItemFilter::with(ARTICLE, name, value);
        Ok(self.list(&filter, Page::first(1)).await?.pop())
    }

    /// The whole text of an article.
    pub async fn text(self, id: &str) -> Result<Option<Text>, ToolError> {
        let Some(item) = self.0.item(TEXT, id).await? else {
            return Ok(None);
        };
        let mut pages = Vec::new();
        loop {
            let offset = u32::try_from(pages.len()).unwrap_or(u32::MAX);
            let page = Page {
                offset,
                limit: Page::MOST,
            };
            let more = self.0.item_parts(TEXT, id, page).await?;
            let last = more.len() < Page::MOST as usize;
            pages.extend(more);
            if last {
                break;
            }
        }
        Ok(Some(Text {
            pages,
            outline: serde_json::from_value(item.body).unwrap_or_default(),
            version: item.version,
        }))
    }

    /// What stands where in the text of an article, without the text.
    pub async fn outline(self, id: &str) -> Result<Option<Outline>, ToolError> {
        let item = self.0.item(TEXT, id).await?;
        Ok(item.map(|it| serde_json::from_value(it.body).unwrap_or_default()))
    }

    /// A citation key that no article has: the wanted one, or it with a letter behind.
    pub async fn free_cite_key(self, wanted: &str) -> Result<String, ToolError> {
        self.free_cite_key_beside(wanted, &BTreeSet::new()).await
    }

    /// The same, and none of those that are about to be given out, in lower case.
    pub async fn free_cite_key_beside(
        self,
        wanted: &str,
        taken: &BTreeSet<String>,
    ) -> Result<String, ToolError> {
        for suffix in std::iter::once(String::new()).chain(suffixes()) {
            let key = format!("{wanted}{suffix}");
            if taken.contains(&key.to_lowercase()) {
                continue;
            }
            if self
                .by_key("cite_key", &key.to_lowercase())
                .await?
                .is_none()
            {
                return Ok(key);
            }
        }
        Ok(wanted.to_owned())
    }

    /// What deletes an article and its text.
    pub async fn removal(self, kept: &Kept, now: Timestamp) -> Result<Vec<Change>, ToolError> {
        let drop = |kind: &str| Change::DropItem {
            kind: kind.to_owned(),
            id: kept.id.clone(),
            at: now,
        };
        let mut changes = vec![drop(ARTICLE)];
        if self.0.item(TEXT, &kept.id).await?.is_some() {
            changes.push(drop(TEXT));
        }
        Ok(changes)
    }

    /// There is none, and which one may have been meant.
    async fn not_found(self, identifier: &str) -> ToolError {
        let similar = self.similar(identifier).await.unwrap_or_default();
        let hint = match similar {
            Some(title) => format!(
                "Did you mean {:?}? search_articles finds articles by what they are about, \
                 list_articles shows what there is.",
                harmless(&title)
            ),
            None => "search_articles finds articles by what they are about, list_articles shows \
                     what there is; add_article or process_pdf adds one."
                .to_owned(),
        };
        ToolError::Told {
            code: "ArticleNotFound".to_owned(),
            message: format!(
                "there is no article called {:?} in the collection",
                deliberate_core::cut_to_chars(identifier, 200)
            ),
            hint: Some(hint),
        }
    }

    async fn similar(self, identifier: &str) -> Result<Option<String>, ToolError> {
        let key = title_key(identifier);
        let Some(word) = key
            .split(' ')
            .max_by_key(|it| it.len())
            .filter(|it| it.len() > 3)
        else {
            return Ok(None);
        };
        let mut filter = ItemFilter::of(ARTICLE);
        filter.keys.push(KeyMatch::Holds {
            name: "title".to_owned(),
            text: word.to_owned(),
        });
        let found = self.list(&filter, Page::first(50)).await?;
        let titles = found.iter().map(|it| it.kept.article.title.as_str());
        let first = titles.clone().next().map(str::to_owned);
        Ok(nearest(identifier, titles).or(first))
    }
}

/// `a` to `z`, then `2`, `3` and so on, as long as it takes.
fn suffixes() -> impl Iterator<Item = String> {
    let letters = ('a'..='z').map(String::from);
    letters.chain((2..1_000).map(|it: u32| it.to_string()))
}

fn ambiguous(identifier: &str, found: &[Version]) -> ToolError {
    let keys: Vec<&str> = found.iter().map(|it| it.kept.cite_key.as_str()).collect();
    ToolError::Told {
        code: "Ambiguous".to_owned(),
        message: format!("{} articles are called {identifier:?}", found.len()),
        hint: Some(format!("Name one of them: {}.", keys.join(", "))),
    }
}

/// The key an id is kept under.
fn key_of(id: &PaperId) -> (&'static str, String) {
    match id {
        PaperId::Doi(doi) => ("doi", doi.to_string()),
        PaperId::Arxiv(id) => ("arxiv", id.to_string()),
        PaperId::Pubmed(id) => ("pmid", id.clone()),
        PaperId::Pmc(id) => ("pmcid", id.to_lowercase()),
        PaperId::SemanticScholar(id) => ("s2", id.to_lowercase()),
        PaperId::OpenAlex(id) => ("openalex", id.to_lowercase()),
    }
}

/// All ids of a work, under the keys they are kept under.
pub(super) fn ids_of(article: &Article) -> impl Iterator<Item = (&'static str, String)> {
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

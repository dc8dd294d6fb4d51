//! The stored record of an article and its index keys.

use deliberate_core::{Article, ArxivId, Change, Doi, IndexKey, StoredDocument, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sources::api::text_folding::fold_text;

/// The document kind of an article.
pub const ARTICLE: &str = "article";

/// An article of the collection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArticleRecord {
    /// The article's ID in the collection.
    pub id: String,
    /// The citation key in bibliographies, unique in the collection: `vaswani2017attention`.
    pub cite_key: String,
    /// The bibliographic data.
    pub article: Article,
    #[serde(default)]
    pub category: ArticleCategory,
    #[serde(default)]
    pub provenance: Provenance,
    /// The names of the collections that hold the article.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collections: Vec<String>,
    /// Tags in lower case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The file that the full text was read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<ArticleFile>,
    /// Files of the article that were read before and replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_files: Vec<ArticleFile>,
    /// The pages of the full text; 0 if there is none.
    #[serde(default)]
    pub pages: u32,
    /// The characters of the full text.
    #[serde(default)]
    pub chars: u64,
    pub added_at: Timestamp,
}

/// The most replaced files that are remembered per article.
const MAX_OTHER_FILES: usize = 8;

/// A file that an article was read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArticleFile {
    pub path: String,
    /// The SHA-256 of the content, in hex.
    pub sha256: String,
    pub bytes: u64,
    /// The extractor that read the file.
    pub extractor: String,
    /// The problems that the extractor reported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The purpose of an article in the collection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArticleCategory {
    #[default]
    ResearchPaper,
    /// A textbook, lecture notes, or a file of the user's own.
    External,
}

/// How an article came into the collection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Provenance {
    /// Found by a search.
    #[default]
    Discovered,
    /// Read from a file.
    Processed,
    /// Cited by another article.
    Cited,
    /// Added by a client.
    Given,
}

/// An article with its stored version, so that a concurrent change is detected when it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionedArticle {
    pub record: ArticleRecord,
    /// The version that was read; 0 for a new article.
    pub version: i64,
}

impl ArticleCategory {
    /// The serialized name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ResearchPaper => "research_paper",
            Self::External => "external",
        }
    }
}

impl VersionedArticle {
    /// A new article that is not stored yet.
    pub const fn new(record: ArticleRecord) -> Self {
        Self { record, version: 0 }
    }

    /// The change that stores the article.
    pub fn put_change(&self, now: Timestamp) -> Change {
        let kept = &self.record;
        Change::PutDocument {
            item: StoredDocument {
                kind: ARTICLE.to_owned(),
                id: kept.id.clone(),
                version: self.version,
                seq: 0,
                body: serde_json::to_value(kept).unwrap_or_default(),
                keys: kept.index_keys(),
                created_at: kept.added_at,
                updated_at: now,
            },
            parts: None,
        }
    }

    pub(super) fn read(item: StoredDocument) -> Option<Self> {
        let version = item.version;
        match serde_json::from_value(item.body) {
            Ok(kept) => Some(Self {
                record: kept,
                version,
            }),
            Err(error) => {
                tracing::error!(id = item.id, %error, "a stored article can't be read");
                None
            }
        }
    }
}

impl ArticleRecord {
    /// A record without data.
    pub fn empty(now: Timestamp) -> Self {
        Self {
            id: String::new(),
            cite_key: String::new(),
            article: Article::default(),
            category: ArticleCategory::default(),
            provenance: Provenance::default(),
            collections: Vec::new(),
            tags: Vec::new(),
            file: None,
            other_files: Vec::new(),
            pages: 0,
            chars: 0,
            added_at: now,
        }
    }

    /// The file of the current full text, then the replaced ones.
    pub fn files(&self) -> impl Iterator<Item = &ArticleFile> {
        self.file.iter().chain(&self.other_files)
    }

    /// The file with this hash, for changes.
    pub(crate) fn file_by_hash(&mut self, sha256: &str) -> Option<&mut ArticleFile> {
        let mut files = self.file.iter_mut().chain(&mut self.other_files);
        files.find(|it| it.sha256 == sha256)
    }

    /// Sets the file of the full text. A different previous file is remembered as replaced;
    /// otherwise reading a folder that holds both would make them replace each other each time.
    pub(crate) fn set_file(&mut self, file: ArticleFile) {
        let is_that = |it: &ArticleFile| it.path == file.path || it.sha256 == file.sha256;
        let gone = self.file.take().filter(|_| self.pages > 0);
        self.other_files.extend(gone);
        self.other_files.retain(|it| !is_that(it));
        let too_many = self.other_files.len().saturating_sub(MAX_OTHER_FILES);
        self.other_files.drain(..too_many);
        self.file = Some(file);
    }

    /// The keys by which the article is found and sorted.
    fn index_keys(&self) -> Vec<IndexKey> {
        let article = &self.article;
        let mut keys = vec![
            IndexKey::unique("cite_key", self.cite_key.to_lowercase()),
            IndexKey::shared("title", title_key(&article.title)),
            IndexKey::shared("kind", article.kind.as_str()),
            IndexKey::shared("category", self.category.as_str()),
            IndexKey::shared("has_text", if self.pages > 0 { "yes" } else { "no" }),
        ];
        let mut only = |name: &str, value: Option<&str>| {
            keys.extend(value.map(|value| IndexKey::unique(name, value.to_lowercase())));
        };
        only("doi", article.doi.as_ref().map(Doi::as_str));
        only("arxiv", article.arxiv_id.as_ref().map(ArxivId::as_str));
        only("pmid", article.pmid.as_deref());
        only("pmcid", article.pmcid.as_deref());
        only("s2", article.s2_id.as_deref());
        only("openalex", article.openalex_id.as_deref());
        for file in self.files() {
            only("sha256", Some(&file.sha256));
        }
        let mut shared = |name: &str, value: String| keys.push(IndexKey::shared(name, value));
        for file in self.files() {
            shared("path", file.path.clone());
        }
        for author in &article.authors {
            let (family, given) = (&author.family, author.given.as_deref());
            shared("author", author_key(&author.full_name()));
            if let Some(given) = given {
                shared("author", author_key(&format!("{family} {given}")));
            }
            shared("family", author_key(family));
        }
        for name in &self.collections {
            shared("collection", name.clone());
        }
        for tag in &self.tags {
            shared("tag", tag.clone());
        }
        if let Some(venue) = &article.venue {
            shared("venue", title_key(venue));
        }
        if let Some(date) = article.date {
            shared("date", date.as_number().to_string());
        }
        if let Some(count) = article.citation_count {
            shared("citations", format!("{count:012}"));
        }
        keys
    }
}

/// The form in which titles are compared: lower case, letters and digits only, no accents, single
/// spaces.
pub fn title_key(title: &str) -> String {
    fold_text(title)
}

/// The form in which names are compared.
pub fn author_key(name: &str) -> String {
    title_key(name)
}

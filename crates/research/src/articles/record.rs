//! What is kept of an article, and what it is found by.

use deliberate_core::{Article, ArxivId, Change, Doi, IndexKey, StoredDocument, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sources::api::text_folding::fold_text;

/// The kind of item an article is.
pub const ARTICLE: &str = "article";

/// An article of the collection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArticleRecord {
    /// Its id here.
    pub id: String,
    /// What it is cited by in bibliographies: `vaswani2017attention`. No other article has it.
    pub cite_key: String,
    /// The work.
    pub article: Article,
    /// Research, or something brought in from elsewhere.
    #[serde(default)]
    pub category: ArticleCategory,
    /// How it came here.
    #[serde(default)]
    pub provenance: Provenance,
    /// Collections it is in, by their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collections: Vec<String>,
    /// Tags, lower case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The file it was read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<ArticleFile>,
    /// Files of it that were read before, and gave way to that one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_files: Vec<ArticleFile>,
    /// Pages of its text; 0 if it has none.
    #[serde(default)]
    pub pages: u32,
    /// Characters of its text.
    #[serde(default)]
    pub chars: u64,
    /// When it came here.
    pub added_at: Timestamp,
}

/// How many files of one article are remembered beside the one its text is of.
const MAX_OTHER_FILES: usize = 8;

/// The file an article was read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArticleFile {
    /// Where it was.
    pub path: String,
    /// The SHA-256 of its bytes, in hex.
    pub sha256: String,
    /// How many bytes.
    pub bytes: u64,
    /// What read it.
    pub extractor: String,
    /// What was not as it should be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// What an article is here for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArticleCategory {
    /// A paper.
    #[default]
    ResearchPaper,
    /// A textbook, lecture notes, a file of one's own.
    External,
}

/// How an article came here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Provenance {
    /// It was found by a search and kept.
    #[default]
    Discovered,
    /// Its file was read.
    Processed,
    /// Another article cites it.
    Cited,
    /// A client gave it.
    Given,
}

/// An article as it was read, to be written again only if nobody else did meanwhile.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionedArticle {
    /// The article.
    pub record: ArticleRecord,
    /// Which version it was; 0 for a new one.
    pub version: i64,
}

impl ArticleCategory {
    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ResearchPaper => "research_paper",
            Self::External => "external",
        }
    }
}

impl VersionedArticle {
    /// An article that is not yet kept.
    pub const fn new(record: ArticleRecord) -> Self {
        Self { record, version: 0 }
    }

    /// The change that keeps it.
    pub fn put_change(&self, now: Timestamp) -> Change {
        let kept = &self.record;
        Change::PutItem {
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
                tracing::error!(id = item.id, %error, "an article can't be read");
                None
            }
        }
    }
}

impl ArticleRecord {
    /// An article of which nothing is known yet.
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

    /// The file its text is of, and those that gave way to it.
    pub fn files(&self) -> impl Iterator<Item = &ArticleFile> {
        self.file.iter().chain(&self.other_files)
    }

    /// The file with this hash, to be changed.
    pub(crate) fn file_by_hash(&mut self, sha256: &str) -> Option<&mut ArticleFile> {
        let mut files = self.file.iter_mut().chain(&mut self.other_files);
        files.find(|it| it.sha256 == sha256)
    }

    /// Has its text be that of a file. The file it was of until now, if it is another, is remembered:
    /// whoever brings a whole folder would have the two take turns.
    pub(crate) fn set_file(&mut self, file: ArticleFile) {
        let is_that = |it: &ArticleFile| it.path == file.path || it.sha256 == file.sha256;
        let gone = self.file.take().filter(|_| self.pages > 0);
        self.other_files.extend(gone);
        self.other_files.retain(|it| !is_that(it));
        let too_many = self.other_files.len().saturating_sub(MAX_OTHER_FILES);
        self.other_files.drain(..too_many);
        self.file = Some(file);
    }

    /// What it is found by and put in order by.
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

/// A title in the one form it is compared in: lower case, letters and digits only, no accents, single
/// spaces.
pub fn title_key(title: &str) -> String {
    fold_text(title)
}

/// A name in the one form it is compared in.
pub fn author_key(name: &str) -> String {
    title_key(name)
}

//! A file becomes an article with a text: read, recognised, joined with what is known of the same
//! work, and handed back as changes. Writes nothing itself.

pub(crate) mod batch_job;
pub(crate) mod deduplication;
pub(crate) mod identifier_conflicts;
pub(crate) mod metadata;
pub(crate) mod metadata_lookup;
pub(crate) mod open_nofollow;
pub(crate) mod partial_file_cleanup;
pub(crate) mod path_policy;
pub(crate) mod pdf_download;
pub(crate) mod unchanged_file;

use deliberate_core::{Article, Change, truncate_chars};
use deliberate_extract::{DocumentMetadata, ExtractError, ExtractedDocument};
use deliberate_toolkit::{ToolContext, ToolError};

use super::{
    articles::{
        ArticleCategory, ArticleFile, ArticleRecord, ArticleRepository, FullText, Provenance,
        VersionedArticle, repository::article_id_keys, title_key,
    },
    prompt_fence::escape_passage_tags,
};
use crate::{ResearchServices, blocking::run_blocking, sources::PaperId};
use batch_job::{ProgressShare, UNCHANGED};
use deduplication::{find_article_for_file, have_conflicting_ids};
use identifier_conflicts::{merge_with_existing, remove_conflicting_ids_except};
use metadata::{article_from_metadata, extract_abstract, matches_document};
use metadata_lookup::{best_id, look_up};
use path_policy::{VerifiedFile, file_sha256};

pub(crate) use identifier_conflicts::remove_conflicting_ids;

/// A file to be taken in.
pub(crate) struct IngestRequest {
    /// The file.
    pub(crate) file: VerifiedFile,
    /// Whether a file that was read before is left as it is.
    pub(crate) skip_existing: bool,
    /// What it is for.
    pub(crate) category: ArticleCategory,
    /// A collection it is put into.
    pub(crate) collection: Option<String>,
    /// What it is called, if whoever brings it says so.
    pub(crate) title: Option<String>,
    /// The article it is the file of, if that is known.
    pub(crate) article: Option<VersionedArticle>,
    /// What taking it in is of the work of the call.
    pub(crate) share: ProgressShare,
}

/// What came of it.
pub(crate) struct IngestResult {
    /// The article.
    pub(crate) record: ArticleRecord,
    /// What became of the file.
    pub(crate) outcome: IngestOutcome,
    /// What is to be kept.
    pub(crate) changes: Vec<Change>,
    /// What whoever brought it should know.
    pub(crate) notes: Vec<String>,
    /// How many headings, captions and references were found.
    pub(crate) outline: (usize, usize, usize),
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IngestOutcome {
    /// It is a new article.
    Added,
    /// It belongs to an article that was there.
    Merged,
    /// It was read before, and has not changed since.
    Unchanged,
}

impl IngestOutcome {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Merged => "joined",
            Self::Unchanged => UNCHANGED,
        }
    }
}

impl IngestRequest {
    /// A paper's file, as it is usually brought.
    pub(crate) const fn for_paper(file: VerifiedFile, skip_existing: bool) -> Self {
        Self {
            file,
            skip_existing,
            category: ArticleCategory::ResearchPaper,
            collection: None,
            title: None,
            article: None,
            share: ProgressShare::FULL,
        }
    }

    /// Takes it in.
    pub(crate) async fn run(
        self,
        lab: &ResearchServices,
        call: &ToolContext,
    ) -> Result<IngestResult, ToolError> {
        let library = ArticleRepository(call.store());
        let sha256 = file_sha256(&self.file).await?;
        if let Some(before) = self.find_ingested(library, &sha256).await? {
            return self.keep_unchanged(before, &sha256, call).await;
        }
        self.share.report(call, 0.2, "reading the file");
        let document = self.extract(lab).await?;
        let mut notes: Vec<String> = Vec::new();
        let file = self.article_file(&document, sha256.clone());
        let (meta, text, summary) = run_blocking(|| split_document(document)).await?;
        self.share.report(call, 0.6, "finding out what it is");
        let of_text = (&text, summary);
        let article = self.identify(lab, &meta, of_text, &mut notes).await;
        let before = library.find_by_key("sha256", &sha256).await?;
        let known = match (before, self.article.clone()) {
            (Some(before), Some(of)) => Some(merge_by_file(before, &of)?),
            (Some(before), None) => Some(before),
            (None, Some(of)) => Some(merge_with_existing(library, of).await?),
            (None, None) => {
                find_article_for_file(library, &article, &text, (self.category, &file)).await?
            }
        };
        // Another call may have read the same file meanwhile.
        let known = match known {
            Some(known) if self.skip_existing && has_file_text(&known, &sha256) => {
                return self.keep_unchanged(known, &sha256, call).await;
            }
            known => known,
        };
        self.build_result(call, (article, text, file), known, notes)
            .await
    }

    /// The article this file was read for already, if that is good enough.
    async fn find_ingested(
        &self,
        library: ArticleRepository<'_>,
        sha256: &str,
    ) -> Result<Option<VersionedArticle>, ToolError> {
        if !self.skip_existing {
            return Ok(None);
        }
        let before = library.find_by_key("sha256", sha256).await?;
        let is_its = |it: &VersionedArticle| {
            let of = self.article.as_ref();
            of.is_none_or(|of| of.record.id == it.record.id)
        };
        Ok(before.filter(|it| has_file_text(it, sha256) && is_its(it)))
    }

    async fn extract(&self, lab: &ResearchServices) -> Result<ExtractedDocument, ToolError> {
        let document = lab.extract_document(&self.file).await?;
        let letters = document.pages.iter().flat_map(|page| page.text.chars());
        if letters.filter(|it| it.is_alphanumeric()).take(1).count() == 0 {
            let pages = u32::try_from(document.pages.len()).unwrap_or(u32::MAX);
            return Err(extraction_error(&ExtractError::NoText { pages }));
        }
        Ok(document)
    }

    fn article_file(&self, document: &ExtractedDocument, sha256: String) -> ArticleFile {
        let warnings = document.warnings.iter().map(|it| match it.page {
            Some(page) => format!("page {page}: {}", it.message),
            None => it.message.clone(),
        });
        ArticleFile {
            path: self.file.path.to_string_lossy().into_owned(),
            sha256,
            bytes: self.file.bytes,
            extractor: document.extractor.clone(),
            warnings: warnings.take(20).collect(),
        }
    }

    /// The record of the work: what the document says, and what sources know of it.
    async fn identify(
        &self,
        lab: &ResearchServices,
        meta: &DocumentMetadata,
        (text, summary): (&FullText, Option<String>),
        notes: &mut Vec<String>,
    ) -> Article {
        let stem = self.file.path.file_stem().unwrap_or_default();
        let mut article = article_from_metadata(meta, &stem.to_string_lossy(), self.category);
        if let Some(title) = &self.title {
            article.title.clone_from(title);
        }
        article.summary = summary;
        if self.category == ArticleCategory::External {
            // A textbook's first page may name any paper.
            article.doi = None;
            article.arxiv_id = None;
            return article;
        }
        let is_asked = |it: &PaperId| {
            let of = self.article.as_ref().map(|it| &it.record.article);
            of.and_then(best_id).as_ref() == Some(it)
        };
        // Of an article that is its own the sources were asked before.
        let Some(id) = best_id(&article).filter(|it| !is_asked(it)) else {
            return article;
        };
        let told = look_up(lab, &id).await;
        notes.extend(told.notes);
        match told.article {
            Some(found) if matches_document(&found, &article.title, text) => {
                let mut whole = found;
                deliberate_citations::merge(&mut whole, &article);
                whole
            }
            Some(found) => {
                notes.push(format!(
                    "The id on its first page is that of {:?}, another work; it was left out.",
                    escape_passage_tags(&truncate_chars(&found.title, 200))
                ));
                article.doi = None;
                article.arxiv_id = None;
                article
            }
            None => article,
        }
    }

    async fn build_result(
        self,
        call: &ToolContext,
        (article, mut text, file): (Article, FullText, ArticleFile),
        known: Option<VersionedArticle>,
        notes: Vec<String>,
    ) -> Result<IngestResult, ToolError> {
        let library = ArticleRepository(call.store());
        let what = if known.is_some() {
            IngestOutcome::Merged
        } else {
            IngestOutcome::Added
        };
        let mut notes = notes;
        let mut version = match known {
            Some(mut known) => {
                // What a new one is called by is its own. If somebody gets that until it is kept,
                // the call is run again.
                let is_new = known.version == 0;
                let own = article_id_keys(&known.record.article)
                    .filter(|_| is_new)
                    .collect();
                let title = known.record.article.title.clone();
                deliberate_citations::merge(&mut known.record.article, &article);
                // With a subtitle it is still its own; another is not what it was called.
                if !is_new && !title_key(&known.record.article.title).contains(&title_key(&title)) {
                    known.record.article.title = title;
                }
                remove_conflicting_ids_except(library, &mut known.record, &own, &mut notes).await?;
                notes.extend(replaced_file_note(&known.record, &file));
                known
            }
            // Nobody has its ids. If somebody gets them until it is kept, the call is run again.
            None => new_article(call, article, self.category, Provenance::Processed).await?,
        };
        text.version = library.text_version(&version.record.id).await?;
        let kept = &mut version.record;
        kept.set_file(file);
        kept.pages = u32::try_from(text.pages.len()).unwrap_or(u32::MAX);
        kept.chars = text.char_count();
        kept.provenance = Provenance::Processed;
        if let Some(name) = self.collection.filter(|it| !kept.collections.contains(it)) {
            kept.collections.push(name);
        }
        let now = call.now();
        Ok(IngestResult {
            outcome: what,
            outline: text.outline.counts(),
            changes: vec![
                version.put_change(now),
                text.put_change(&version.record.id, now),
            ],
            record: version.record,
            notes,
        })
    }
}

/// Whether an article has a text, and the file with this hash was read for it.
fn has_file_text(version: &VersionedArticle, sha256: &str) -> bool {
    version.record.pages > 0 && version.record.files().any(|it| it.sha256 == sha256)
}

/// The article that a file was read for before, with what is known of the one it is brought for now.
fn merge_by_file(
    mut before: VersionedArticle,
    of: &VersionedArticle,
) -> Result<VersionedArticle, ToolError> {
    if before.record.id == of.record.id {
        return Ok(before);
    }
    if have_conflicting_ids(&before.record.article, &of.record.article) {
        return Err(ToolError::Custom {
            code: "AnothersFile".to_owned(),
            message: format!("the file is that of {}", before.record.cite_key),
            hint: Some("Fetch its own with download_pdf and another filename.".to_owned()),
        });
    }
    // A record that is not kept yet would be lost otherwise.
    if of.version == 0 {
        deliberate_citations::merge(&mut before.record.article, &of.record.article);
    }
    Ok(before)
}

/// What a document says of itself, its text and its abstract.
fn split_document(mut document: ExtractedDocument) -> (DocumentMetadata, FullText, Option<String>) {
    let meta = std::mem::take(&mut document.meta);
    let text = FullText::from_document(document);
    let summary = extract_abstract(&text);
    (meta, text, summary)
}

/// What to say if the text of another file goes.
fn replaced_file_note(kept: &ArticleRecord, file: &ArticleFile) -> Option<String> {
    let before = kept.file.as_ref().filter(|_| kept.pages > 0)?;
    let another = before.path != file.path && before.sha256 != file.sha256;
    another.then(|| {
        format!(
            "Its text was that of {}; the text of this file took its place.",
            before.path
        )
    })
}

/// An article that was not here before, with an id and a citation key of its own.
pub(crate) async fn new_article(
    call: &ToolContext,
    article: Article,
    category: ArticleCategory,
    provenance: Provenance,
) -> Result<VersionedArticle, ToolError> {
    let wanted = deliberate_citations::citation_key(&article);
    let cite_key = ArticleRepository(call.store())
        .unused_cite_key(&wanted)
        .await?;
    Ok(VersionedArticle::new(ArticleRecord {
        id: call.new_id(),
        cite_key,
        article,
        category,
        provenance,
        collections: Vec::new(),
        tags: Vec::new(),
        file: None,
        other_files: Vec::new(),
        pages: 0,
        chars: 0,
        added_at: call.now(),
    }))
}

/// Why a file gave no text, as a client reads it.
pub(crate) fn extraction_error(error: &ExtractError) -> ToolError {
    let code = match error {
        ExtractError::NotThere => "FileNotFound",
        ExtractError::TooLarge { .. } => "TooLarge",
        ExtractError::UnknownFormat => "UnknownFormat",
        ExtractError::Encrypted => "Encrypted",
        ExtractError::Broken { .. } => "BrokenFile",
        ExtractError::NoText { .. } => "NoText",
        ExtractError::TookTooLong { .. } | ExtractError::TooMuchMemory => "TooCostly",
        ExtractError::Io { .. } => "FileFailed",
    };
    ToolError::Custom {
        code: code.to_owned(),
        message: error.to_string(),
        hint: Some(error.hint().to_owned()),
    }
}

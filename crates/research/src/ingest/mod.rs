//! Turns a file into an article with a full text: extracts it, identifies the work, merges it with
//! an existing article, and returns the changes. It must not write anything itself.

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
use deliberate_toolkit::{ErrorCode, ToolContext, ToolError, compute};

use super::{
    articles::{
        ArticleCategory, ArticleFile, ArticleRecord, ArticleRepository, FullText, Provenance,
        VersionedArticle, repository::article_id_keys, title_key,
    },
    prompt_fence::disarm_passage_tags,
};
use crate::{ResearchServices, sources::PaperId};
use batch_job::{ProgressShare, UNCHANGED};
use deduplication::{find_article_for_file, have_conflicting_ids};
use identifier_conflicts::{merge_with_existing, remove_conflicting_ids_except};
use metadata::{article_from_metadata, extract_abstract, matches_document};
use metadata_lookup::{best_id, look_up};
use path_policy::{VerifiedFile, file_sha256};

pub(crate) use identifier_conflicts::remove_conflicting_ids;

/// A file to ingest.
pub(crate) struct IngestRequest {
    pub(crate) file: VerifiedFile,
    /// Whether a file that was read before is skipped.
    pub(crate) skip_existing: bool,
    pub(crate) category: ArticleCategory,
    /// The collection that the article is added to.
    pub(crate) collection: Option<String>,
    /// The title, if the caller gave one.
    pub(crate) title: Option<String>,
    /// The article that the file belongs to, if it is known.
    pub(crate) article: Option<VersionedArticle>,
    /// The share of this file in the progress of the call.
    pub(crate) share: ProgressShare,
}

/// The result of ingesting a file.
pub(crate) struct IngestResult {
    pub(crate) record: ArticleRecord,
    pub(crate) outcome: IngestOutcome,
    /// The changes to commit.
    pub(crate) changes: Vec<Change>,
    /// Notes for the caller.
    pub(crate) notes: Vec<String>,
    /// The numbers of headings, captions and references.
    pub(crate) outline: (usize, usize, usize),
}

/// The outcome for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IngestOutcome {
    /// It became a new article.
    Added,
    /// It was added to an existing article.
    Merged,
    /// It was read before and has not changed since.
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
    /// The usual request for the file of a paper.
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

    /// Ingests the file.
    pub(crate) async fn run(
        self,
        services: &ResearchServices,
        call: &ToolContext,
    ) -> Result<IngestResult, ToolError> {
        let library = ArticleRepository(call.store());
        let sha256 = file_sha256(&self.file).await?;
        if let Some(before) = self.find_ingested(library, &sha256).await? {
            return self.keep_unchanged(before, &sha256, call).await;
        }
        self.share.report(call, 0.2, "reading the file");
        let document = self.extract(services).await?;
        let mut notes: Vec<String> = Vec::new();
        let file = self.article_file(&document, sha256.clone());
        let (meta, text, summary) = compute(|| split_document(document)).await?;
        self.share.report(call, 0.6, "identifying the work");
        let of_text = (&text, summary);
        let article = self.identify(services, &meta, of_text, &mut notes).await;
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

    /// The article that this file was already read for, if it need not be read again.
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

    async fn extract(&self, services: &ResearchServices) -> Result<ExtractedDocument, ToolError> {
        let document = services.extract_document(&self.file).await?;
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

    /// Builds the record of the work from the document and from the sources.
    async fn identify(
        &self,
        services: &ResearchServices,
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
            // The first page of a textbook may name any paper.
            article.doi = None;
            article.arxiv_id = None;
            return article;
        }
        let is_asked = |it: &PaperId| {
            let of = self.article.as_ref().map(|it| &it.record.article);
            of.and_then(best_id).as_ref() == Some(it)
        };
        // The sources were already asked about an article that the caller named.
        let Some(id) = best_id(&article).filter(|it| !is_asked(it)) else {
            return article;
        };
        let told = look_up(services, &id).await;
        notes.extend(told.notes);
        match told.article {
            Some(found) if matches_document(&found, &article.title, text) => {
                let mut whole = found;
                deliberate_citations::merge(&mut whole, &article);
                whole
            }
            Some(found) => {
                notes.push(format!(
                    "The ID on the first page belongs to another work, {:?}, and was dropped.",
                    disarm_passage_tags(&truncate_chars(&found.title, 200))
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
                // The identifiers of a new article are its own. If another article gets them before
                // the commit, the commit fails and the call is run again.
                let is_new = known.version == 0;
                let own = article_id_keys(&known.record.article)
                    .filter(|_| is_new)
                    .collect();
                let title = known.record.article.title.clone();
                deliberate_citations::merge(&mut known.record.article, &article);
                // The title may lack a subtitle, but a different title is not that of the article.
                if !is_new && !title_key(&known.record.article.title).contains(&title_key(&title)) {
                    known.record.article.title = title;
                }
                remove_conflicting_ids_except(library, &mut known.record, &own, &mut notes).await?;
                notes.extend(replaced_file_note(&known.record, &file));
                known
            }
            // No article has its identifiers. If one gets them before the commit, the call is run
            // again.
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

/// Whether an article has a full text and the file with this hash was read for it.
fn has_file_text(version: &VersionedArticle, sha256: &str) -> bool {
    version.record.pages > 0 && version.record.files().any(|it| it.sha256 == sha256)
}

/// Merges the article that a file is ingested for into the one that it was read for before.
fn merge_by_file(
    mut before: VersionedArticle,
    of: &VersionedArticle,
) -> Result<VersionedArticle, ToolError> {
    if before.record.id == of.record.id {
        return Ok(before);
    }
    if have_conflicting_ids(&before.record.article, &of.record.article) {
        return Err(ToolError::Custom {
            code: ErrorCode::AnothersFile,
            message: format!("the file belongs to {}", before.record.cite_key),
            hint: Some(
                "Download the article's own file with download_pdf under another filename."
                    .to_owned(),
            ),
        });
    }
    // Otherwise a record that is not stored yet would be lost.
    if of.version == 0 {
        deliberate_citations::merge(&mut before.record.article, &of.record.article);
    }
    Ok(before)
}

/// Splits a document into metadata, full text and abstract.
fn split_document(mut document: ExtractedDocument) -> (DocumentMetadata, FullText, Option<String>) {
    let meta = std::mem::take(&mut document.meta);
    let text = FullText::from_document(document);
    let summary = extract_abstract(&text);
    (meta, text, summary)
}

/// The note that the text of another file was replaced.
fn replaced_file_note(record: &ArticleRecord, file: &ArticleFile) -> Option<String> {
    let before = record.file.as_ref().filter(|_| record.pages > 0)?;
    let another = before.path != file.path && before.sha256 != file.sha256;
    another.then(|| format!("The text of this file replaced that of {}.", before.path))
}

/// Creates a new article with an ID and a citation key.
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

/// Converts an extraction error to a tool error.
pub(crate) fn extraction_error(error: &ExtractError) -> ToolError {
    let code = match error {
        ExtractError::NotThere => ErrorCode::FileNotFound,
        ExtractError::TooLarge { .. } => ErrorCode::TooLarge,
        ExtractError::UnknownFormat => ErrorCode::UnknownFormat,
        ExtractError::Encrypted => ErrorCode::Encrypted,
        ExtractError::Broken { .. } => ErrorCode::BrokenFile,
        ExtractError::NoText { .. } => ErrorCode::NoText,
        ExtractError::TookTooLong { .. } | ExtractError::TooMuchMemory => ErrorCode::TooCostly,
        ExtractError::Io { .. } => ErrorCode::FileFailed,
    };
    ToolError::Custom {
        code,
        message: error.to_string(),
        hint: Some(error.hint().to_owned()),
    }
}

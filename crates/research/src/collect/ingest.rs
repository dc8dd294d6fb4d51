//! A file becomes an article with a text: read, recognised, joined with what is known of the same
//! work, and handed back as changes. Writes nothing itself.

use deliberate_core::{Article, Change, cut_to_chars};
use deliberate_extract::{Document, ExtractError, Meta};
use deliberate_toolkit::{Call, ToolError};

use super::{
    Category, Kept, KeptFile, Library, Provenance, Text, Version,
    about::{abstract_of, article_of, is_own},
    enrich::{best_id, look_up},
    fence::harmless,
    files::{SafeFile, sha256_of},
    job::{Share, UNCHANGED},
    known::{have_other_ids, known_file},
    library::ids_of,
    taken::{still_new, without_ids_of_others},
    title_key,
};
use crate::{Lab, blocking::blocking, sources::PaperId};

pub(crate) use super::taken::without_taken_ids;

/// A file to be taken in.
pub(crate) struct Ingest {
    /// The file.
    pub(crate) file: SafeFile,
    /// Whether a file that was read before is left as it is.
    pub(crate) skip_existing: bool,
    /// What it is for.
    pub(crate) category: Category,
    /// A collection it is put into.
    pub(crate) collection: Option<String>,
    /// What it is called, if whoever brings it says so.
    pub(crate) title: Option<String>,
    /// The article it is the file of, if that is known.
    pub(crate) of: Option<Version>,
    /// What taking it in is of the work of the call.
    pub(crate) share: Share,
}

/// What came of it.
pub(crate) struct Ingested {
    /// The article.
    pub(crate) kept: Kept,
    /// What became of the file.
    pub(crate) what: What,
    /// What is to be kept.
    pub(crate) changes: Vec<Change>,
    /// What whoever brought it should know.
    pub(crate) notes: Vec<String>,
    /// How many headings, captions and references were found.
    pub(crate) outline: (usize, usize, usize),
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// It is a new article.
    Added,
    /// It belongs to an article that was there.
    Joined,
    /// It was read before, and has not changed since.
    Unchanged,
}

impl What {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Joined => "joined",
            Self::Unchanged => UNCHANGED,
        }
    }
}

impl Ingest {
    /// A paper's file, as it is usually brought.
    pub(crate) const fn paper(file: SafeFile, skip_existing: bool) -> Self {
        Self {
            file,
            skip_existing,
            category: Category::ResearchPaper,
            collection: None,
            title: None,
            of: None,
            share: Share::WHOLE,
        }
    }

    /// Takes it in.
    pub(crate) async fn run(self, lab: &Lab, call: &Call) -> Result<Ingested, ToolError> {
        let library = Library(call.store());
        let sha256 = sha256_of(&self.file).await?;
        if let Some(before) = self.read_before(library, &sha256).await? {
            return self.unchanged(before, &sha256, call).await;
        }
        self.share.tell(call, 0.2, "reading the file");
        let document = self.extract(lab).await?;
        let mut notes: Vec<String> = Vec::new();
        let file = self.kept_file(&document, sha256.clone());
        let (meta, text, summary) = blocking(|| prepared(document)).await?;
        self.share.tell(call, 0.6, "finding out what it is");
        let of_text = (&text, summary);
        let article = self.recognise(lab, &meta, of_text, &mut notes).await;
        let before = library.by_key("sha256", &sha256).await?;
        let known = match (before, self.of.clone()) {
            (Some(before), Some(of)) => Some(joined_by_file(before, &of)?),
            (Some(before), None) => Some(before),
            (None, Some(of)) => Some(still_new(library, of).await?),
            (None, None) => known_file(library, &article, &text, (self.category, &file)).await?,
        };
        // Another call may have read the same file meanwhile.
        let known = match known {
            Some(known) if self.skip_existing && holds(&known, &sha256) => {
                return self.unchanged(known, &sha256, call).await;
            }
            known => known,
        };
        self.put(call, (article, text, file), known, notes).await
    }

    /// The article this file was read for already, if that is good enough.
    async fn read_before(
        &self,
        library: Library<'_>,
        sha256: &str,
    ) -> Result<Option<Version>, ToolError> {
        if !self.skip_existing {
            return Ok(None);
        }
        let before = library.by_key("sha256", sha256).await?;
        let is_its = |it: &Version| {
            let of = self.of.as_ref();
            of.is_none_or(|of| of.kept.id == it.kept.id)
        };
        Ok(before.filter(|it| holds(it, sha256) && is_its(it)))
    }

    async fn extract(&self, lab: &Lab) -> Result<Document, ToolError> {
        let document = lab.read(&self.file).await?;
        let letters = document.pages.iter().flat_map(|page| page.text.chars());
        if letters.filter(|it| it.is_alphanumeric()).take(1).count() == 0 {
            let pages = u32::try_from(document.pages.len()).unwrap_or(u32::MAX);
            return Err(unreadable(&ExtractError::NoText { pages }));
        }
        Ok(document)
    }

    fn kept_file(&self, document: &Document, sha256: String) -> KeptFile {
        let warnings = document.warnings.iter().map(|it| match it.page {
            Some(page) => format!("page {page}: {}", it.message),
            None => it.message.clone(),
        });
        KeptFile {
            path: self.file.path.to_string_lossy().into_owned(),
            sha256,
            bytes: self.file.bytes,
            extractor: document.extractor.clone(),
            warnings: warnings.take(20).collect(),
        }
    }

    /// The record of the work: what the document says, and what sources know of it.
    async fn recognise(
        &self,
        lab: &Lab,
        meta: &Meta,
        (text, summary): (&Text, Option<String>),
        notes: &mut Vec<String>,
    ) -> Article {
        let stem = self.file.path.file_stem().unwrap_or_default();
        let mut article = article_of(meta, &stem.to_string_lossy(), self.category);
        if let Some(title) = &self.title {
            article.title.clone_from(title);
        }
        article.summary = summary;
        if self.category == Category::External {
            // A textbook's first page may name any paper.
            article.doi = None;
            article.arxiv_id = None;
            return article;
        }
        let is_asked = |it: &PaperId| {
            let of = self.of.as_ref().map(|it| &it.kept.article);
            of.and_then(best_id).as_ref() == Some(it)
        };
        // Of an article that is its own the sources were asked before.
        let Some(id) = best_id(&article).filter(|it| !is_asked(it)) else {
            return article;
        };
        let told = look_up(lab, &id).await;
        notes.extend(told.notes);
        match told.article {
            Some(found) if is_own(&found, &article.title, text) => {
                let mut whole = found;
                deliberate_citations::merge(&mut whole, &article);
                whole
            }
            Some(found) => {
                notes.push(format!(
                    "The id on its first page is that of {:?}, another work; it was left out.",
                    harmless(&cut_to_chars(&found.title, 200))
                ));
                article.doi = None;
                article.arxiv_id = None;
                article
            }
            None => article,
        }
    }

    async fn put(
        self,
        call: &Call,
        (article, mut text, file): (Article, Text, KeptFile),
        known: Option<Version>,
        notes: Vec<String>,
    ) -> Result<Ingested, ToolError> {
        let library = Library(call.store());
        let what = if known.is_some() {
            What::Joined
        } else {
            What::Added
        };
        let mut notes = notes;
        let mut version = match known {
            Some(mut known) => {
                // What a new one is called by is its own. If somebody gets that until it is kept,
                // the call is run again.
                let is_new = known.version == 0;
                let own = ids_of(&known.kept.article).filter(|_| is_new).collect();
                let title = known.kept.article.title.clone();
                deliberate_citations::merge(&mut known.kept.article, &article);
                // With a subtitle it is still its own; another is not what it was called.
                if !is_new && !title_key(&known.kept.article.title).contains(&title_key(&title)) {
                    known.kept.article.title = title;
                }
                without_ids_of_others(library, &mut known.kept, &own, &mut notes).await?;
                notes.extend(replaced(&known.kept, &file));
                known
            }
            // Nobody has its ids. If somebody gets them until it is kept, the call is run again.
            None => new_article(call, article, self.category, Provenance::Processed).await?,
        };
        text.version = library.text_version(&version.kept.id).await?;
        let kept = &mut version.kept;
        kept.take_file(file);
        kept.pages = u32::try_from(text.pages.len()).unwrap_or(u32::MAX);
        kept.chars = text.chars();
        kept.provenance = Provenance::Processed;
        if let Some(name) = self.collection.filter(|it| !kept.collections.contains(it)) {
            kept.collections.push(name);
        }
        let now = call.now();
        Ok(Ingested {
            what,
            outline: text.outline.counts(),
            changes: vec![version.put(now), text.put(&version.kept.id, now)],
            kept: version.kept,
            notes,
        })
    }
}

/// Whether an article has a text, and the file with this hash was read for it.
fn holds(version: &Version, sha256: &str) -> bool {
    version.kept.pages > 0 && version.kept.files().any(|it| it.sha256 == sha256)
}

/// The article that a file was read for before, with what is known of the one it is brought for now.
fn joined_by_file(mut before: Version, of: &Version) -> Result<Version, ToolError> {
    if before.kept.id == of.kept.id {
        return Ok(before);
    }
    if have_other_ids(&before.kept.article, &of.kept.article) {
        return Err(ToolError::Told {
            code: "AnothersFile".to_owned(),
            message: format!("the file is that of {}", before.kept.cite_key),
            hint: Some("Fetch its own with download_pdf and another filename.".to_owned()),
        });
    }
    // A record that is not kept yet would be lost otherwise.
    if of.version == 0 {
        deliberate_citations::merge(&mut before.kept.article, &of.kept.article);
    }
    Ok(before)
}

/// What a document says of itself, its text and its abstract.
fn prepared(mut document: Document) -> (Meta, Text, Option<String>) {
    let meta = std::mem::take(&mut document.meta);
    let text = Text::of(document);
    let summary = abstract_of(&text);
    (meta, text, summary)
}

/// What to say if the text of another file goes.
fn replaced(kept: &Kept, file: &KeptFile) -> Option<String> {
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
    call: &Call,
    article: Article,
    category: Category,
    provenance: Provenance,
) -> Result<Version, ToolError> {
    let wanted = deliberate_citations::key_for(&article);
    let cite_key = Library(call.store()).free_cite_key(&wanted).await?;
    Ok(Version::new(Kept {
        id: call.fresh(),
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
pub(crate) fn unreadable(error: &ExtractError) -> ToolError {
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
    ToolError::Told {
        code: code.to_owned(),
        message: error.to_string(),
        hint: Some(error.hint().to_owned()),
    }
}

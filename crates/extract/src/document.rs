//! The result of an extraction. Plain values without a source format.

use serde::{Deserialize, Serialize};

/// A document as text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtractedDocument {
    /// The pages in order; a format without pages has one.
    pub pages: Vec<DocumentPage>,
    pub headings: Vec<Heading>,
    /// The captions of figures and tables.
    pub captions: Vec<Caption>,
    /// The bibliography, split into entries.
    pub references: Vec<DocumentReference>,
    pub meta: DocumentMetadata,
    /// The name of the extractor.
    pub extractor: String,
    /// Problems that the reader should know before trusting the text.
    pub warnings: Vec<DocumentWarning>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentPage {
    /// The position in the file, from 1.
    pub number: u32,
    /// The text in reading order, with blank lines between paragraphs.
    pub text: String,
    /// The printed page number, if known.
    pub label: Option<String>,
}

/// A heading and its position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heading {
    /// 1 for a chapter or section, 2 below it, and so on.
    pub level: u8,
    /// The heading as it appears in the page's text.
    pub title: String,
    /// From 1.
    pub page: u32,
    /// The character offset in the page's text.
    pub offset: u32,
}

/// The kind of object that a caption describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaptionKind {
    /// A figure, scheme or plate.
    Figure,
    Table,
}

/// A caption and its position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caption {
    pub kind: CaptionKind,
    /// For example `Figure 3`.
    pub label: String,
    /// The caption with its label, as it appears in the page's text.
    pub text: String,
    /// From 1.
    pub page: u32,
    /// The character offset in the page's text.
    pub offset: u32,
}

/// An entry of the bibliography. Uncertain fields are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentReference {
    /// The position in the list, from 1.
    pub number: u32,
    /// The label by which it is cited, for example `[12]`.
    pub label: Option<String>,
    /// The entry as printed, without its label.
    pub text: String,
    /// The page on which it starts, from 1.
    pub page: u32,
    /// The authors, as printed.
    pub authors: Vec<String>,
    pub title: Option<String>,
    pub year: Option<i32>,
    /// The journal, proceedings or publisher.
    pub venue: Option<String>,
    /// In lower case.
    pub doi: Option<String>,
    /// Without the version.
    pub arxiv_id: Option<String>,
    /// The first URL, unless it is only the DOI's.
    pub url: Option<String>,
}

/// The metadata of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentMetadata {
    /// From the file's metadata, or the largest print on the first page.
    pub title: Option<String>,
    /// As in the file's metadata.
    pub authors: Option<String>,
    /// The authors one by one, if the metadata lists them so.
    #[serde(default)]
    pub author_list: Vec<String>,
    pub subject: Option<String>,
    pub keywords: Option<String>,
    /// The creation date in the file's notation.
    pub created: Option<String>,
    /// The publication date in the metadata. A file is often created at another time.
    pub published: Option<String>,
    /// The journal or proceedings.
    pub venue: Option<String>,
    /// The URL of its PDF according to the metadata.
    pub pdf_url: Option<String>,
    /// The program that created the file.
    pub producer: Option<String>,
    /// The declared language.
    pub language: Option<String>,
    /// A DOI from the metadata or the first page, in lower case.
    pub doi: Option<String>,
    /// An arXiv identifier from there, without its version.
    pub arxiv_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentWarning {
    /// The page, from 1; `None` for the whole document.
    pub page: Option<u32>,
    /// One sentence.
    pub message: String,
}

impl ExtractedDocument {
    /// The whole text, with form feeds between pages.
    pub fn text(&self) -> String {
        let mut all = String::new();
        for (at, page) in self.pages.iter().enumerate() {
            if at > 0 {
                all.push('\u{c}');
            }
            all.push_str(&page.text);
        }
        all
    }

    pub(crate) fn add_warning(&mut self, page: Option<u32>, message: impl Into<String>) {
        /// More warnings add no information.
        const MAX_WARNINGS: usize = 200;
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(DocumentWarning {
                page,
                message: message.into(),
            });
        }
    }
}

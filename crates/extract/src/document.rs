//! What comes out of a document. Plain values: nothing here knows where they came from.

use serde::{Deserialize, Serialize};

/// A document as text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtractedDocument {
    /// The pages in order; a format without pages has one.
    pub pages: Vec<DocumentPage>,
    /// The headings in order.
    pub headings: Vec<Heading>,
    /// The captions of figures and tables in order.
    pub captions: Vec<Caption>,
    /// The bibliography, split into entries.
    pub references: Vec<DocumentReference>,
    /// What the document says of itself.
    pub meta: DocumentMetadata,
    /// Which extractor read it.
    pub extractor: String,
    /// What the reader should know before trusting the text.
    pub warnings: Vec<DocumentWarning>,
}

/// One page.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentPage {
    /// The page's place in the file, from 1.
    pub number: u32,
    /// Its text in reading order: paragraphs parted by blank lines.
    pub text: String,
    /// What is printed on it as its number, if that is known.
    pub label: Option<String>,
}

/// A heading and its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heading {
    /// 1 for a chapter or section, 2 below it, and so on.
    pub level: u8,
    /// The heading's words, as they stand in the page's text.
    pub title: String,
    /// The page it is on, from 1.
    pub page: u32,
    /// How many characters into the page's text it begins.
    pub offset: u32,
}

/// What a caption belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaptionKind {
    /// A figure, scheme or plate.
    Figure,
    /// A table.
    Table,
}

/// A caption and its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caption {
    /// Figure or table.
    pub kind: CaptionKind,
    /// Its label, for example `Figure 3`.
    pub label: String,
    /// The whole caption with its label, as it stands in the page's text.
    pub text: String,
    /// The page it is on, from 1.
    pub page: u32,
    /// How many characters into the page's text it begins.
    pub offset: u32,
}

/// One entry of the bibliography. What could not be told for sure is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentReference {
    /// Its place in the list, from 1.
    pub number: u32,
    /// The label it is cited by, for example `[12]`.
    pub label: Option<String>,
    /// The entry as printed, without its label.
    pub text: String,
    /// The page it begins on, from 1.
    pub page: u32,
    /// The authors, as printed.
    pub authors: Vec<String>,
    /// The title.
    pub title: Option<String>,
    /// The year of publication.
    pub year: Option<i32>,
    /// The journal, proceedings or publisher.
    pub venue: Option<String>,
    /// The DOI, in lower case.
    pub doi: Option<String>,
    /// The arXiv identifier without its version.
    pub arxiv_id: Option<String>,
    /// The first web address, unless it is only the DOI's.
    pub url: Option<String>,
}

/// What a document says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentMetadata {
    /// The title: the file's own record of it, or the largest print on the first page.
    pub title: Option<String>,
    /// The authors, as the file's own record gives them.
    pub authors: Option<String>,
    /// The same, each by itself, if the record has them so.
    #[serde(default)]
    pub author_list: Vec<String>,
    /// The subject.
    pub subject: Option<String>,
    /// The keywords.
    pub keywords: Option<String>,
    /// When it was made, as the file says it.
    pub created: Option<String>,
    /// When it was published, as the record says it. A file is often made at another time.
    pub published: Option<String>,
    /// The journal or proceedings it is in, as the record says it.
    pub venue: Option<String>,
    /// Where the record says that its PDF is.
    pub pdf_url: Option<String>,
    /// The program that made it.
    pub producer: Option<String>,
    /// The language it declares.
    pub language: Option<String>,
    /// A DOI found in the file's record or on its first page, in lower case.
    pub doi: Option<String>,
    /// An arXiv identifier found there, without its version.
    pub arxiv_id: Option<String>,
}

/// Something the reader should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentWarning {
    /// The page it is about, from 1; none if it is about the whole.
    pub page: Option<u32>,
    /// One sentence.
    pub message: String,
}

impl ExtractedDocument {
    /// All the text, pages parted by form feeds.
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
        /// More than this says nothing new.
        const MAX_WARNINGS: usize = 200;
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(DocumentWarning {
                page,
                message: message.into(),
            });
        }
    }
}

//! Which format a file is of: by its first bytes, then by its name. Names can lie; bytes win.

use serde::{Deserialize, Serialize};

/// The formats that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentFormat {
    /// Portable Document Format.
    Pdf,
    /// A web page.
    Html,
    /// Markdown.
    Markdown,
    /// Plain text.
    Text,
    /// A word processor's document (Office Open XML).
    Docx,
    /// An electronic book.
    Epub,
}

/// How far into a file its kind must show.
const HEAD_BYTES: usize = 4096;

impl DocumentFormat {
    /// The format of these bytes under this name; none if neither tells.
    pub fn detect(bytes: &[u8], name: &str) -> Option<Self> {
        let head = bytes.get(..HEAD_BYTES.min(bytes.len())).unwrap_or_default();
        let named = Self::from_file_name(name);
        // Junk may stand before it, but a text that speaks of PDFs is still a text.
        let texts = matches!(named, Some(Self::Html | Self::Markdown | Self::Text));
        let furthest = if texts { 3 } else { 1024 };
        if find_bytes(head, b"%PDF-").is_some_and(|at| at <= furthest) {
            return Some(Self::Pdf);
        }
        if head.starts_with(b"PK\x03\x04") {
            return Self::from_archive(bytes, head, name);
        }
        if named == Some(Self::Pdf) {
            // A damaged head is mended by the reader; it says so if it cannot.
            return named;
        }
        let is_wide = matches!(head, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
        if head.contains(&0) && !is_wide {
            return None;
        }
        match named {
            Some(Self::Docx | Self::Epub) => None,
            Some(other) => Some(other),
            None => looks_like_html(head).then_some(Self::Html),
        }
    }

    fn from_archive(bytes: &[u8], head: &[u8], name: &str) -> Option<Self> {
        if find_bytes(head, b"application/epub+zip").is_some() {
            return Some(Self::Epub);
        }
        match Self::from_file_name(name) {
            Some(format @ (Self::Docx | Self::Epub)) => Some(format),
            _ if find_bytes(bytes, b"word/document.xml").is_some() => Some(Self::Docx),
            _ if find_bytes(bytes, b"META-INF/container.xml").is_some() => Some(Self::Epub),
            _ => None,
        }
    }

    fn from_file_name(name: &str) -> Option<Self> {
        let (_, ending) = name.rsplit_once('.')?;
        match ending.to_ascii_lowercase().as_str() {
            "pdf" => Some(Self::Pdf),
            "html" | "htm" | "xhtml" => Some(Self::Html),
            "md" | "markdown" | "mkd" => Some(Self::Markdown),
            "txt" | "text" | "rst" | "org" | "tex" => Some(Self::Text),
            "docx" => Some(Self::Docx),
            "epub" => Some(Self::Epub),
            _ => None,
        }
    }

    /// The name of the format, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pdf => "pdf",
            Self::Html => "html",
            Self::Markdown => "markdown",
            Self::Text => "text",
            Self::Docx => "docx",
            Self::Epub => "epub",
        }
    }

    /// The format of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [
            Self::Pdf,
            Self::Html,
            Self::Markdown,
            Self::Text,
            Self::Docx,
            Self::Epub,
        ]
        .into_iter()
        .find(|format| format.name() == name)
    }
}

fn looks_like_html(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    ["<!doctype html", "<html", "<body"]
        .iter()
        .any(|mark| head.contains(mark))
}

/// Where `needle` begins in `hay`.
pub(crate) fn find_bytes(hay: &[u8], needle: &[u8]) -> Option<usize> {
    memchr::memmem::find(hay, needle)
}

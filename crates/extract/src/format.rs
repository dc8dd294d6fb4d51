//! Detects the format of a file by its first bytes, then by its name. Content wins over the name.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentFormat {
    Pdf,
    /// A web page.
    Html,
    Markdown,
    Text,
    /// Office Open XML.
    Docx,
    Epub,
}

/// The bytes in which the format must show.
const HEAD_BYTES: usize = 4096;

impl DocumentFormat {
    /// Detects the format; `None` if neither content nor name indicates one.
    pub fn detect(bytes: &[u8], name: &str) -> Option<Self> {
        let head = bytes.get(..HEAD_BYTES.min(bytes.len())).unwrap_or_default();
        let format = Self::from_file_name(name);
        // Junk may precede the mark, but a text about PDFs is still a text.
        let texts = matches!(format, Some(Self::Html | Self::Markdown | Self::Text));
        let furthest = if texts { 3 } else { 1024 };
        if find_bytes(head, b"%PDF-").is_some_and(|at| at <= furthest) {
            return Some(Self::Pdf);
        }
        if head.starts_with(b"PK\x03\x04") {
            return Self::from_archive(bytes, head, name);
        }
        if format == Some(Self::Pdf) {
            // The reader repairs a damaged header, or reports it.
            return format;
        }
        let is_wide = matches!(head, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
        if head.contains(&0) && !is_wide {
            return None;
        }
        match format {
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

pub(crate) fn find_bytes(hay: &[u8], needle: &[u8]) -> Option<usize> {
    memchr::memmem::find(hay, needle)
}

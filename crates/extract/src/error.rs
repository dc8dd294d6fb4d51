//! Why a document could not be read, with the next step for the user.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "error")]
pub enum ExtractError {
    #[error("there is no such file")]
    NotThere,
    /// The file, its number of pages or its unpacked size exceeds a limit.
    #[error("the document's {what} is {size}, over the limit of {limit}")]
    TooLarge {
        /// The quantity: `size in bytes`, `number of pages`, `unpacked size in bytes`.
        what: String,
        /// The size as far as it was counted.
        size: u64,
        limit: u64,
    },
    /// Neither its name nor its first bytes indicate a format.
    #[error("the file format is not supported")]
    UnknownFormat,
    /// It has a password.
    #[error("the document is encrypted and needs a password")]
    Encrypted,
    /// It cannot be parsed.
    #[error("the document is broken: {reason}")]
    Broken { reason: String },
    #[error("{}", no_text_message(*pages))]
    NoText {
        /// The number of pages; 0 for a format without pages.
        pages: u32,
    },
    #[error("reading the document took longer than {seconds} s")]
    TookTooLong { seconds: u64 },
    #[error("reading the document exceeded its memory limit")]
    TooMuchMemory,
    /// The file could not be read from disk, or the child could not be started.
    #[error("the document could not be read: {reason}")]
    Io { reason: String },
}

impl ExtractError {
    /// The next step for the user.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::NotThere => "Check the path.",
            Self::TooLarge { .. } => {
                "Raise the limit in the settings, or split the file into parts."
            }
            Self::UnknownFormat => {
                "Give a PDF, HTML, Markdown, plain text, DOCX or EPUB file with its usual ending."
            }
            Self::Encrypted => "Save a copy without the password and add that.",
            Self::Broken { .. } => {
                "Fetch the file again; if it opens in a viewer, print it to a new PDF and add that."
            }
            Self::NoText { pages: 0 } => "Check that it is the right file.",
            Self::NoText { .. } => "Run text recognition (OCR) on it first, then add it again.",
            Self::TookTooLong { .. } | Self::TooMuchMemory => {
                "Split the file into parts, or raise the limit in the settings."
            }
            Self::Io { .. } => "Check the file's permissions and try again.",
        }
    }

    pub(crate) fn broken(reason: impl Into<String>) -> Self {
        Self::Broken {
            reason: reason.into(),
        }
    }
}

fn no_text_message(pages: u32) -> String {
    match pages {
        0 => "the document has no text".to_owned(),
        1 => "the document's only page has no text: it is probably a scan".to_owned(),
        _ => format!("none of the document's {pages} pages has text: it is probably a scan"),
    }
}

impl From<std::io::Error> for ExtractError {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::NotFound {
            Self::NotThere
        } else {
            Self::Io {
                reason: error.to_string(),
            }
        }
    }
}

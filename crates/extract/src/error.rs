//! Why a document could not be read: one sentence each, and what to do about it.

use serde::{Deserialize, Serialize};

/// Why a document gave no text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "error")]
pub enum ExtractError {
    /// There is no such file.
    #[error("there is no such file")]
    NotThere,
    /// The file, its pages or what it unpacks to pass a limit.
    #[error("the document's {what} is {size}, over the limit of {limit}")]
    TooLarge {
        /// What is too large: `size in bytes`, `number of pages`, `unpacked size in bytes`.
        what: String,
        /// How large it is, as far as it was counted.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// Neither its name nor its first bytes say what it is.
    #[error("the file is of no format that can be read here")]
    UnknownFormat,
    /// It is locked with a password.
    #[error("the document is encrypted and needs a password")]
    Encrypted,
    /// It cannot be parsed.
    #[error("the document is broken: {reason}")]
    Broken {
        /// What is wrong with it.
        reason: String,
    },
    /// It has no text.
    #[error("{}", no_text_message(*pages))]
    NoText {
        /// How many pages it has; none if it is of a format without pages.
        pages: u32,
    },
    /// The time ran out.
    #[error("reading the document took longer than {seconds} s")]
    TookTooLong {
        /// The limit in seconds.
        seconds: u64,
    },
    /// The memory ran out.
    #[error("reading the document needed more memory than it may have")]
    TooMuchMemory,
    /// The file could not be read from disk, or the child could not be started.
    #[error("the document could not be read: {reason}")]
    Io {
        /// What the system said.
        reason: String,
    },
}

impl ExtractError {
    /// What the user can do next.
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

    /// A broken document, with the reason.
    pub(crate) fn broken(reason: impl Into<String>) -> Self {
        Self::Broken {
            reason: reason.into(),
        }
    }
}

fn no_text_message(pages: u32) -> String {
    match pages {
        0 => "the document holds no text".to_owned(),
        1 => "the document's one page holds no text: it is probably a scan".to_owned(),
        _ => format!("none of the document's {pages} pages holds text: it is probably a scan"),
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

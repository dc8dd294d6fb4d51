//! What can go wrong with an index.

use tantivy::TantivyError;
use tantivy::directory::error::LockError;

/// Why the index did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// Another process (or another handle) writes to the same folder.
    #[error("another process is writing to the search index: try again in a moment")]
    Busy,
    /// The files can't be read. They are derived: wipe them and index again.
    #[error("the search index can't be used and must be made again: {reason}")]
    Corrupt {
        /// What is wrong.
        reason: String,
    },
    /// There are no words in the question.
    #[error("the search needs at least one word to look for")]
    EmptyQuery,
    /// What was given can't be indexed or asked.
    #[error("{reason}")]
    Invalid {
        /// What is wrong, and what is allowed.
        reason: String,
    },
    /// The embedder did not do its part.
    #[error("no vectors can be made: {0}")]
    Embedding(#[from] crate::EmbedError),
    /// The disk or the machine did not do its part.
    #[error("the search index failed: {reason}")]
    Failed {
        /// What happened.
        reason: String,
    },
}

impl IndexError {
    pub(crate) fn invalid(reason: impl Into<String>) -> Self {
        Self::Invalid {
            reason: reason.into(),
        }
    }

    pub(crate) fn corrupt(reason: impl Into<String>) -> Self {
        Self::Corrupt {
            reason: reason.into(),
        }
    }

    pub(crate) fn failed(reason: impl std::fmt::Display) -> Self {
        Self::Failed {
            reason: format!("{reason}"),
        }
    }
}

impl From<std::io::Error> for IndexError {
    fn from(error: std::io::Error) -> Self {
        Self::failed(error)
    }
}

impl From<tokio::task::JoinError> for IndexError {
    fn from(error: tokio::task::JoinError) -> Self {
        if error.is_panic() {
            return Self::corrupt("reading it stopped half-way, which good files never cause");
        }
        Self::failed("the work was stopped")
    }
}

impl From<TantivyError> for IndexError {
    fn from(error: TantivyError) -> Self {
        match error {
            TantivyError::LockFailure(LockError::LockBusy, _) => Self::Busy,
            TantivyError::DataCorruption(_)
            | TantivyError::IncompatibleIndex(_)
            | TantivyError::OpenReadError(_)
            | TantivyError::DeserializeError(_) => Self::corrupt(error.to_string()),
            TantivyError::SchemaError(_) => Self::corrupt("it was made by another version"),
            other => Self::failed(other),
        }
    }
}

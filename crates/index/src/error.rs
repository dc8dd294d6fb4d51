//! Errors of the index.

use tantivy::TantivyError;
use tantivy::directory::error::LockError;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// Another process or handle writes to the same folder.
    #[error("another process is writing to the search index: try again in a moment")]
    Busy,
    /// The files cannot be read. They are derived: wipe them and index again.
    #[error("the search index can't be used and must be rebuilt: {reason}")]
    Corrupt { reason: String },
    /// The query has no words.
    #[error("the search needs at least one word to look for")]
    EmptyQuery,
    /// The document or the query is invalid.
    #[error("{reason}")]
    Invalid {
        /// What is wrong, and what is allowed.
        reason: String,
    },
    /// The embedder failed.
    #[error("no vectors can be made: {0}")]
    Embedding(#[from] crate::EmbedError),
    /// The disk or the system failed.
    #[error("the search index failed: {reason}")]
    Failed { reason: String },
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
            return Self::corrupt("reading it failed, which intact files never cause");
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

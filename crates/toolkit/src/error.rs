//! The errors of a tool call.
//!
//! Each error has a stable code, a one-sentence message, and a hint at the next step. None of them
//! contains a secret or a stack trace, and their size does not grow with the input.

use deliberate_core::ErrorCode;
use deliberate_llm::ModelError;
use deliberate_store::StoreError;
use serde::Serialize;
use serde_json::{Value, json};

use crate::UpstreamError;

/// The reason why a call failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// There is no such tool.
    #[error("there is no tool named {name:?}")]
    UnknownTool {
        /// The name that the caller sent.
        name: String,
        /// The tool with the most similar name.
        nearest: Option<String>,
    },
    /// The arguments violate the tool's schema or rules.
    #[error("{}", ArgumentIssue::join_messages(.0))]
    Invalid(Vec<ArgumentIssue>),
    /// No entity has the id.
    #[error("there is no {what} with id {id:?}")]
    NotFound {
        /// The kind of entity.
        what: EntityKind,
        /// The id that the caller sent.
        id: String,
    },
    /// The call would exceed a limit.
    #[error("{what}")]
    LimitReached {
        /// The limit, as a sentence without the final period.
        what: String,
        /// The hint: what the caller can do instead.
        instead: &'static str,
    },
    /// The model could not be reached, or its answer could not be used.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The call reached its time limit.
    #[error("the call exceeded its time limit of {limit_ms} ms")]
    Timeout {
        /// The time limit.
        limit_ms: u64,
    },
    /// A call with effects outside this server reached its time limit, so its progress is unknown.
    #[error("the call exceeded its time limit of {limit_ms} ms")]
    TimeoutUnknownEffect {
        /// The time limit.
        limit_ms: u64,
    },
    /// The client cancelled the call.
    #[error("the call was cancelled")]
    Cancelled,
    /// The server shut down before the call ended.
    #[error("the call was stopped because the server is shutting down")]
    Stopping,
    /// Too many calls are running and waiting.
    #[error("{running} calls are already running, which is the limit")]
    Overloaded {
        /// The number of running calls.
        running: usize,
    },
    /// The principal's scope does not include the tool.
    #[error("you may not use {what}")]
    Forbidden {
        /// The tool or resource.
        what: String,
    },
    /// An error of a feature crate, or one that was stored and is returned again.
    #[error("{message}")]
    Custom {
        /// The stable code.
        code: ErrorCode,
        /// The message.
        message: String,
        /// The next step.
        hint: Option<String>,
    },
    /// An upstream server, or the connection to it, failed.
    #[error("{}", .0.message)]
    Upstream(Box<UpstreamError>),
    /// A bug in the program, such as a panic.
    #[error("the tool failed because of a bug in the program; nothing was changed")]
    Internal,
}

/// A kind of entity that an id can name, with its error texts. The crate that owns the entity
/// defines its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntityKind {
    /// The entity's name in a sentence.
    pub label: &'static str,
    /// The code of the error if no entity has the id.
    pub not_found: ErrorCode,
    /// The next step if no entity has the id.
    pub hint: &'static str,
}

impl EntityKind {
    /// A suspended call.
    pub const SUSPENDED_CALL: Self = Self {
        label: "suspended call",
        not_found: ErrorCode::SuspensionNotFound,
        hint: "It may have expired. Repeat the original call.",
    };
    /// A resource, which is named by its URI.
    pub const RESOURCE: Self = Self {
        label: "resource",
        not_found: ErrorCode::ResourceNotFound,
        hint: "List the resources and their templates to see what exists.",
    };
}

impl std::fmt::Display for EntityKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.label)
    }
}

impl ToolError {
    /// Creates an error from a code that is known as text only: one that a record holds or an
    /// upstream server gave. A text that is not an [`ErrorCode`] stays the code as it is.
    pub fn from_code_text(code: &str, message: String, hint: Option<String>) -> Self {
        match code.parse() {
            Ok(code) => Self::Custom {
                code,
                message,
                hint,
            },
            Err(_) => Self::Upstream(Box::new(UpstreamError {
                code: code.to_owned(),
                message,
                hint,
                ..UpstreamError::default()
            })),
        }
    }

    /// Returns the stable code as text. It is an [`ErrorCode`] unless it came from an upstream
    /// server or from a record of another version.
    pub fn code(&self) -> &str {
        let code = match self {
            Self::UnknownTool { .. } => ErrorCode::UnknownTool,
            Self::Invalid(_) => ErrorCode::Validation,
            Self::NotFound { what, .. } => what.not_found,
            Self::LimitReached { .. } => ErrorCode::LimitReached,
            Self::Model(error) => return error.code(),
            Self::Store(error) => error.code(),
            Self::Timeout { .. } | Self::TimeoutUnknownEffect { .. } => ErrorCode::Timeout,
            Self::Cancelled => ErrorCode::Cancelled,
            Self::Stopping => ErrorCode::Stopping,
            Self::Overloaded { .. } => ErrorCode::Overloaded,
            Self::Forbidden { .. } => ErrorCode::Forbidden,
            Self::Custom { code, .. } => *code,
            Self::Upstream(upstream) => return &upstream.code,
            Self::Internal => ErrorCode::Internal,
        };
        code.as_str()
    }

    /// Returns the next step, if there is one.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::UnknownTool { nearest, .. } => match nearest {
                Some(name) => format!("Did you mean {name}?"),
                None => "List the tools to see their names.".to_owned(),
            },
            Self::Invalid(_) => "Correct the arguments and retry.".to_owned(),
            Self::NotFound { what, .. } => what.hint.to_owned(),
            Self::LimitReached { instead, .. } => (*instead).to_owned(),
            Self::Model(error) => return error.hint(),
            Self::Store(error) => return error.hint(),
            Self::Timeout { .. } => "Retry, or request less at once.".to_owned(),
            Self::TimeoutUnknownEffect { .. } => {
                "The operation may have completed. Check before retrying.".to_owned()
            }
            Self::Cancelled => return None,
            Self::Stopping => "Retry when the server is running again.".to_owned(),
            Self::Overloaded { .. } => "Retry in a moment.".to_owned(),
            Self::Forbidden { .. } => {
                "Ask the operator of this server to allow it for your token.".to_owned()
            }
            Self::Custom { hint, .. } => return hint.clone(),
            Self::Upstream(far) => return far.hint.clone(),
            Self::Internal => "Retry. If it fails again, please report it.".to_owned(),
        };
        Some(hint)
    }

    /// Removes what only the operator may see, for clients beyond this machine: the location of the
    /// database, and the command lines of upstream servers. These go to the log.
    pub fn redacted(self) -> Self {
        match self {
            Self::Store(
                store @ (StoreError::Connection { .. }
                | StoreError::LegacyDatabase { .. }
                | StoreError::NotOurDatabase { .. }
                | StoreError::Migration { .. }),
            ) => {
                tracing::error!(%store, "the database can't be used");
                Self::Custom {
                    code: store.code(),
                    message: "the database can't be used".to_owned(),
                    hint: Some("See `deliberate doctor` and the server's log.".to_owned()),
                }
            }
            Self::Upstream(far) => Self::Upstream(Box::new(far.redacted())),
            error => error,
        }
    }

    /// Returns the error as JSON: code, message, hint, and the arguments at fault.
    pub fn to_json(&self) -> Value {
        let mut error = json!({ "code": self.code(), "message": self.to_string() });
        if let Some(fields) = error.as_object_mut() {
            if let Some(hint) = self.hint() {
                fields.insert("hint".to_owned(), hint.into());
            }
            if let Self::Invalid(issues) = self {
                fields.insert("issues".to_owned(), json!(issues));
            }
            if let Self::Upstream(far) = self {
                fields.extend(far.more.clone());
            }
        }
        error
    }

    /// Returns the model's answer that could not be used, for the invocation log.
    pub(crate) fn unusable_answer(&self) -> Option<&str> {
        match self {
            Self::Model(ModelError::InvalidResponse { answer, .. }) => Some(answer),
            _ => None,
        }
    }
}

/// A violation of the tool's schema or rules by an argument.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArgumentIssue {
    /// The argument's path (`config.max_depth`), or `arguments` for the whole.
    pub field: String,
    /// The rule that is violated.
    pub rule: String,
    /// The value that was given, truncated; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The most similar valid name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub did_you_mean: Option<String>,
}

impl ArgumentIssue {
    /// Creates an issue for an argument and the rule that it violates.
    pub fn new(field: impl AsRef<str>, rule: impl Into<String>) -> Self {
        Self {
            field: deliberate_core::truncate_chars(field.as_ref(), 80),
            rule: rule.into(),
            value: None,
            did_you_mean: None,
        }
    }

    /// Adds the value that was given.
    pub fn with_value(mut self, value: &Value) -> Self {
        self.value = Some(deliberate_core::truncate_chars(&value.to_string(), 80));
        self
    }

    pub(crate) fn with_suggestion(mut self, nearest: Option<String>) -> Self {
        self.did_you_mean = nearest;
        self
    }

    /// Creates an issue for arguments that match their schema but can't be deserialized.
    pub(crate) fn unreadable(error: &serde_path_to_error::Error<serde_json::Error>) -> Self {
        let path = error.path().to_string();
        let field = if path == "." { "arguments" } else { &path };
        Self::new(field, error.inner().to_string())
    }

    fn join_messages(issues: &[Self]) -> String {
        let texts: Vec<String> = issues.iter().map(ToString::to_string).collect();
        texts.join("; ")
    }
}

impl std::fmt::Display for ArgumentIssue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.field, self.rule)?;
        if let Some(value) = &self.value {
            write!(f, ", got {value}")?;
        }
        if let Some(nearest) = &self.did_you_mean {
            write!(f, " (did you mean {nearest:?}?)")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn codes_of_model_errors_are_error_codes() {
        let provider = || "p".to_owned();
        let reason = provider;
        let unavailable = |provider| ModelError::Unavailable {
            provider,
            reason: reason(),
            attempts: 1,
        };
        let errors = [
            unavailable(provider()),
            unavailable("langbase".to_owned()),
            ModelError::Api {
                provider: provider(),
                status: 400,
                message: reason(),
            },
            ModelError::RateLimited {
                provider: provider(),
                retry_after: None,
            },
            ModelError::Timeout {
                provider: provider(),
                after: Duration::ZERO,
            },
            ModelError::InvalidResponse {
                provider: provider(),
                reason: reason(),
                answer: reason(),
            },
            ModelError::Misconfigured {
                provider: provider(),
                reason: reason(),
            },
            ModelError::Declined { reason: reason() },
            ModelError::BudgetExhausted { reason: reason() },
            ModelError::Pending,
        ];
        for error in errors {
            let code = error.code().parse::<ErrorCode>();
            assert!(code.is_ok(), "{code:?}");
        }
    }

    #[test]
    fn a_code_that_is_unknown_stays_text() {
        let known = ToolError::from_code_text("DiskFull", "full".to_owned(), None);
        assert!(matches!(
            known,
            ToolError::Custom {
                code: ErrorCode::DiskFull,
                ..
            }
        ));
        let unknown = ToolError::from_code_text("FromTomorrow", "new".to_owned(), None);
        assert_eq!(
            unknown.to_json(),
            json!({ "code": "FromTomorrow", "message": "new" })
        );
    }
}

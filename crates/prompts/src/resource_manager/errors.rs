//! Errors of resource management: a stable code, a sentence and a hint.

use std::{io, path::Path};

use deliberate_toolkit::{ErrorCode, ToolError};

use crate::model::LibraryItemKind;

/// Builds an error with a hint.
pub(super) fn manage_error(
    code: ErrorCode,
    message: impl Into<String>,
    hint: impl Into<Option<String>>,
) -> ToolError {
    ToolError::Custom {
        code,
        message: message.into(),
        hint: hint.into(),
    }
}

/// Builds the error of invalid arguments.
pub(super) fn invalid_input(message: impl Into<String>, hint: impl Into<String>) -> ToolError {
    manage_error(ErrorCode::InvalidInput, message, Some(hint.into()))
}

/// Builds the error of an action that needs confirmation.
pub(super) fn confirmation_needed(what: &str) -> ToolError {
    manage_error(
        ErrorCode::ConfirmationNeeded,
        format!("{what} Nothing was changed."),
        Some("Call again with confirm: true.".to_owned()),
    )
}

/// Builds the error of a file that cannot be read or written. It names only the file: the location
/// of the workspace is for the operator.
pub(super) fn io_error(doing: &str, path: &Path, error: &io::Error) -> ToolError {
    let name = path.file_name().map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    );
    tracing::warn!(path = %path.display(), %error, doing, "a file operation of the library failed");
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "Allow the server to write to its workspace."
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "Free disk space.",
        _ => "Check the workspace folder and the server's log.",
    };
    manage_error(
        ErrorCode::StorageError,
        format!("Can't {doing} `{name}`: {}.", error.kind()),
        Some(hint.to_owned()),
    )
}

/// Builds the error of an unknown name, with the most similar known one.
pub(super) fn unknown_name<'n>(
    what: &str,
    name: &str,
    known: impl IntoIterator<Item = &'n str>,
) -> ToolError {
    let hint = deliberate_core::did_you_mean(name, known).map_or_else(
        || format!("resource_manager with action list shows every {what}."),
        |near| format!("Did you mean `{near}`?"),
    );
    manage_error(
        ErrorCode::NotFound,
        format!(
            "There is no {what} `{}`.",
            deliberate_core::truncate_chars(name, 80)
        ),
        Some(hint),
    )
}

/// Builds the error of an id that already exists.
pub(super) fn already_exists(kind: LibraryItemKind, id: &str, file: &str) -> ToolError {
    manage_error(
        ErrorCode::AlreadyExists,
        format!(
            "A {} `{id}` already exists ({file}); nothing was written.",
            kind.as_str()
        ),
        Some("Change it with action update, or choose another id.".to_owned()),
    )
}

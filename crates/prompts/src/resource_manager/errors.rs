//! What goes wrong while files are managed, in words: a stable code, a sentence, what to do.

use std::{io, path::Path};

use deliberate_toolkit::ToolError;

use crate::model::LibraryItemKind;

/// An error with what to do.
pub(super) fn manage_error(
    code: &str,
    message: impl Into<String>,
    hint: impl Into<Option<String>>,
) -> ToolError {
    ToolError::Custom {
        code: code.to_owned(),
        message: message.into(),
        hint: hint.into(),
    }
}

/// Arguments that can't be used.
pub(super) fn invalid_input(message: impl Into<String>, hint: impl Into<String>) -> ToolError {
    manage_error("InvalidInput", message, Some(hint.into()))
}

/// Something that must be confirmed.
pub(super) fn confirmation_needed(what: &str) -> ToolError {
    manage_error(
        "ConfirmationNeeded",
        format!("{what} Nothing was changed."),
        Some("Call again with confirm: true.".to_owned()),
    )
}

/// A file that can't be read or written. Names the file by its last part: where the workspace
/// lies is for who runs the server.
pub(super) fn io_error(doing: &str, path: &Path, error: &io::Error) -> ToolError {
    let name = path.file_name().map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    );
    tracing::warn!(path = %path.display(), %error, doing, "a file of the library");
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "Let the server write to its workspace."
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "Make room on the disk.",
        _ => "Look at the workspace's folder and at the server's log.",
    };
    manage_error(
        "StorageError",
        format!("Can't {doing} `{name}`: {}.", error.kind()),
        Some(hint.to_owned()),
    )
}

/// A name that nothing has, with the nearest one.
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
        "NotFound",
        format!(
            "There is no {what} `{}`.",
            deliberate_core::truncate_chars(name, 80)
        ),
        Some(hint),
    )
}

/// An id that something has already.
pub(super) fn already_exists(kind: LibraryItemKind, id: &str, file: &str) -> ToolError {
    manage_error(
        "AlreadyExists",
        format!(
            "There is a {} `{id}` already ({file}); nothing was written.",
            kind.as_str()
        ),
        Some("Change it with action update, or choose another id.".to_owned()),
    )
}

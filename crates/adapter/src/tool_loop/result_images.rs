//! Which pictures of a result the model is shown. The text of the result says what it does not see.

use std::fmt::Write as _;

use deliberate_llm::{ModelError, ToolCallOutput};

/// A larger picture is not shown; model APIs reject it.
const MAX_IMAGE_BYTES: usize = 5 * 1024 * 1024;

/// Removes the pictures beyond the limits.
pub(super) fn limit_images(result: &mut ToolCallOutput, most: usize) {
    let all = result.images.len();
    let images = &mut result.images;
    images.retain(|image| image.data.len() <= MAX_IMAGE_BYTES);
    images.truncate(most);
    let hidden = all - images.len();
    note_hidden(
        result,
        hidden,
        &format!("at most {most} of a result are shown, of up to 5 MiB each"),
    );
}

/// Removes all pictures, for a model that takes none.
pub(super) fn remove_images(result: &mut ToolCallOutput) {
    let hidden = std::mem::take(&mut result.images).len();
    note_hidden(result, hidden, "this model takes no pictures");
}

/// Returns true if a provider may have refused a request because of the pictures in it: providers
/// answer so for models that see none, each in its own words.
pub(super) fn may_refuse_images(error: &ModelError) -> bool {
    match error {
        ModelError::Api { status, .. } => matches!(status, 400 | 404 | 413 | 415 | 422),
        // Some local servers fail.
        ModelError::Unavailable { reason, .. } => reason.to_lowercase().contains("image"),
        _ => false,
    }
}

fn note_hidden(result: &mut ToolCallOutput, count: usize, reason: &str) {
    if count > 0 {
        // Writing to a string cannot fail.
        let _ = write!(result.text, "\n[{count} picture(s) not shown: {reason}]");
    }
}

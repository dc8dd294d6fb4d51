//! One document in this thread: the right reader for its format, held to the limits, with a
//! panic of any parser turned into an error.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::limits::{Deadline, cut_to};
use crate::{Document, ExtractError, Format, Limits, markup, pdf};

/// Reads a document in this thread. A panic inside is caught and reported as a broken document;
/// the time is checked between pages, so a single hostile page may overrun it. Only a child
/// process ([`crate::Workshop`]) can be stopped for sure.
pub fn extract(bytes: &[u8], format: Format, limits: &Limits) -> Result<Document, ExtractError> {
    limits.check_size(bytes.len() as u64)?;
    let deadline = Deadline::of(limits);
    let read = || match format {
        Format::Pdf => pdf::read(bytes, limits, &deadline),
        Format::Html => markup::html(bytes, limits),
        Format::Markdown => markup::markdown(bytes),
        Format::Text => markup::text(bytes, limits),
        Format::Docx => markup::docx(bytes, limits),
        Format::Epub => markup::epub(bytes, limits, &deadline),
    };
    let mut document = guarded(read).unwrap_or_else(|| {
        Err(ExtractError::broken(
            "the parser gave up on something it did not expect",
        ))
    })?;
    cut_to(&mut document, limits.text_bytes);
    if format != Format::Pdf {
        drop_empty_end(&mut document);
    }
    Ok(document)
}

/// Pages that we made ourselves, and of which nothing is left, are none.
fn drop_empty_end(document: &mut Document) {
    while document.pages.len() > 1 && document.pages.pop_if(|page| page.text.is_empty()).is_some() {
    }
}

/// Runs `work`; none if it panicked.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

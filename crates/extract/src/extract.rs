//! One document in this thread: the right reader for its format, held to the limits, with a
//! panic of any parser turned into an error.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::limits::{Deadline, truncate_document};
use crate::{DocumentFormat, ExtractError, ExtractLimits, ExtractedDocument, markup, pdf};

/// Reads a document in this thread. A panic inside is caught and reported as a broken document;
/// the time is checked between pages, so a single hostile page may overrun it. Only a child
/// process ([`crate::ExtractorPool`]) can be stopped for sure.
pub fn extract(
    bytes: &[u8],
    format: DocumentFormat,
    limits: &ExtractLimits,
) -> Result<ExtractedDocument, ExtractError> {
    limits.check_size(bytes.len() as u64)?;
    let deadline = Deadline::new(limits);
    let read = || match format {
        DocumentFormat::Pdf => pdf::read_pdf(bytes, limits, &deadline),
        DocumentFormat::Html => markup::read_html(bytes, limits),
        DocumentFormat::Markdown => markup::read_markdown(bytes),
        DocumentFormat::Text => markup::read_plain_text(bytes, limits),
        DocumentFormat::Docx => markup::read_docx(bytes, limits),
        DocumentFormat::Epub => markup::read_epub(bytes, limits, &deadline),
    };
    let mut document = catch_panic(read).unwrap_or_else(|| {
        Err(ExtractError::broken(
            "the parser gave up on something it did not expect",
        ))
    })?;
    truncate_document(&mut document, limits.text_bytes);
    if format != DocumentFormat::Pdf {
        drop_trailing_empty_pages(&mut document);
    }
    Ok(document)
}

/// Pages that we made ourselves, and of which nothing is left, are none.
fn drop_trailing_empty_pages(document: &mut ExtractedDocument) {
    while document.pages.len() > 1 && document.pages.pop_if(|page| page.text.is_empty()).is_some() {
    }
}

/// Runs `work`; none if it panicked.
pub(crate) fn catch_panic<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

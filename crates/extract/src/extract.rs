//! Extracts one document in this thread: chooses the reader of its format, enforces the limits, and
//! turns a parser's panic into an error.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::limits::{Deadline, truncate_document};
use crate::{DocumentFormat, ExtractError, ExtractLimits, ExtractedDocument, markup, pdf};

/// Extracts a document in this thread. A panic is reported as a broken document; the time is
/// checked between pages, so a single hostile page may exceed it. Only a child process
/// ([`crate::ExtractorPool`]) can be stopped reliably.
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
            "the parser failed on unexpected input",
        ))
    })?;
    truncate_document(&mut document, limits.text_bytes);
    if format != DocumentFormat::Pdf {
        drop_trailing_empty_pages(&mut document);
    }
    Ok(document)
}

/// Removes generated pages at the end that have no text left.
fn drop_trailing_empty_pages(document: &mut ExtractedDocument) {
    while document.pages.len() > 1 && document.pages.pop_if(|page| page.text.is_empty()).is_some() {
    }
}

/// Runs `work`; `None` if it panicked.
pub(crate) fn catch_panic<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

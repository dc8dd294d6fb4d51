//! Laws: whatever is done to a file, reading it ends, panics nowhere, keeps its bounds, and
//! every heading and caption stands where it says.

use std::time::Duration;

use deliberate_extract::{
    DocumentFormat, ExtractLimits, ExtractedDocument, extract, parse_reference, split_references,
};
use proptest::prelude::*;

use super::pdf_builder::{sample_paper, zip_files};

fn limits() -> ExtractLimits {
    ExtractLimits {
        time: Duration::from_secs(20),
        text_bytes: 2_000,
        ..ExtractLimits::default()
    }
}

/// Asserts what holds of every document.
pub(crate) fn assert_invariants(document: &ExtractedDocument, limits: &ExtractLimits) {
    let total: usize = document.pages.iter().map(|page| page.text.len()).sum();
    assert!(total <= limits.text_bytes, "{total} bytes of text");
    for (number, page) in (1..).zip(&document.pages) {
        assert_eq!(page.number, number);
    }
    let at = |page: u32, offset: u32| -> String {
        let page = &document.pages[page as usize - 1];
        page.text.chars().skip(offset as usize).collect()
    };
    for heading in &document.headings {
        assert!(
            at(heading.page, heading.offset).starts_with(&heading.title),
            "{heading:?}"
        );
        assert!(!heading.title.is_empty() && heading.level >= 1);
    }
    for caption in &document.captions {
        assert!(
            at(caption.page, caption.offset).starts_with(&caption.text),
            "{caption:?}"
        );
    }
    for (number, entry) in (1..).zip(&document.references) {
        assert_eq!(entry.number, number);
    }
}

fn mutate(
    mut bytes: Vec<u8>,
    changes: &[(prop::sample::Index, u8)],
    cut: Option<prop::sample::Index>,
) -> Vec<u8> {
    for (index, byte) in changes {
        let place = index.index(bytes.len());
        bytes[place] = *byte;
    }
    if let Some(cut) = cut {
        bytes.truncate(cut.index(bytes.len()));
    }
    bytes
}

fn mutations()
-> impl Strategy<Value = (Vec<(prop::sample::Index, u8)>, Option<prop::sample::Index>)> {
    (
        prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
        prop::option::of(any::<prop::sample::Index>()),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_pdf_never_breaks_the_laws((changes, cut) in mutations()) {
        let bytes = mutate(sample_paper(), &changes, cut);
        if let Ok(document) = extract(&bytes, DocumentFormat::Pdf, &limits()) {
            assert_invariants(&document, &limits());
        }
    }

    #[test]
    fn a_damaged_archive_never_breaks_the_laws((changes, cut) in mutations()) {
        let body = b"<w:document><w:body><w:p><w:pPr><w:pStyle w:val=\"Heading1\"/></w:pPr><w:r><w:t>One</w:t></w:r></w:p><w:p><w:r><w:t>Text of it.</w:t></w:r></w:p></w:body></w:document>";
        let bytes = mutate(zip_files(&[("word/document.xml", body)]), &changes, cut);
        if let Ok(document) = extract(&bytes, DocumentFormat::Docx, &limits()) {
            assert_invariants(&document, &limits());
        }
    }

    #[test]
    fn any_text_keeps_the_laws(text in "[a-zA-Z0-9<>/&;#=\\-. \n\\[\\]\"\u{c}\u{e9}]{0,400}", kind in 0..3_usize) {
        let format = [DocumentFormat::Html, DocumentFormat::Markdown, DocumentFormat::Text][kind];
        let dressed = format!("# Introduction\n\n<h1>Introduction</h1>{text}\n\nReferences\n\n{text}\n\nFigure 1: {text}");
        if let Ok(document) = extract(dressed.as_bytes(), format, &limits()) {
            assert_invariants(&document, &limits());
        }
    }

    #[test]
    fn any_bibliography_can_be_split(text in "\\PC{0,300}") {
        parse_reference(&text);
        split_references(&text, 1);
    }
}

//! Whatever page or document is given: no panic, and every place that is told is in the text. A
//! DOCX and an EPUB get the bytes as the part that holds their text.
#![no_main]

use std::io::{Cursor, Write};
use std::time::Duration;

use deliberate_extract::{DocumentFormat, ExtractLimits, extract};
use libfuzzer_sys::fuzz_target;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const CONTAINER: &str =
    r#"<container><rootfiles><rootfile full-path="b.opf"/></rootfiles></container>"#;
const PACKAGE: &str = r#"<package><manifest><item id="c" href="c.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="c"/></spine></package>"#;

fuzz_target!(|data: &[u8]| {
    let Some((kind, text)) = data.split_first() else {
        return;
    };
    let (format, bytes) = match kind % 5 {
        0 => (DocumentFormat::Html, text.to_vec()),
        1 => (DocumentFormat::Markdown, text.to_vec()),
        2 => (DocumentFormat::Text, text.to_vec()),
        3 => (
            DocumentFormat::Docx,
            zip_files(&[("word/document.xml", text)]),
        ),
        _ => (
            DocumentFormat::Epub,
            zip_files(&[
                ("META-INF/container.xml", CONTAINER.as_bytes()),
                ("b.opf", PACKAGE.as_bytes()),
                ("c.xhtml", text),
            ]),
        ),
    };
    let limits = ExtractLimits {
        time: Duration::from_secs(5),
        ..ExtractLimits::default()
    };
    let Ok(document) = extract(&bytes, format, &limits) else {
        return;
    };
    let page = |number: u32| {
        let at = usize::try_from(number).unwrap() - 1;
        assert_eq!(document.pages[at].number, number);
        &document.pages[at].text
    };
    let begins = |number: u32, offset: u32, words: &str| {
        let rest: String = page(number).chars().skip(offset as usize).collect();
        assert!(rest.starts_with(words), "{words:?} at {offset} of {rest:?}");
    };
    for it in &document.headings {
        begins(it.page, it.offset, &it.title);
    }
    for it in &document.captions {
        begins(it.page, it.offset, &it.text);
    }
    for it in &document.references {
        page(it.page);
    }
});

fn zip_files(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let plain = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, bytes) in parts {
        archive.start_file(*name, plain).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

//! The formats beside PDF, and how a format is told.

use deliberate_extract::{ExtractError, Format, Limits, extract};

use crate::laws::assert_laws;
use crate::maker::{paper, zipped};

fn read(bytes: &[u8], format: Format) -> deliberate_extract::Document {
    let document = extract(bytes, format, &Limits::default()).expect("a readable document");
    assert_laws(&document, &Limits::default());
    document
}

#[test]
fn bytes_win_over_names() {
    assert_eq!(Format::detect(&paper(), "paper.txt"), Some(Format::Pdf));
    assert_eq!(
        Format::detect(b"<!DOCTYPE html><p>x", "unknown"),
        Some(Format::Html)
    );
    assert_eq!(
        Format::detect(b"# Title", "notes.MD"),
        Some(Format::Markdown)
    );
    assert_eq!(Format::detect(b"words", "a.txt"), Some(Format::Text));
    assert_eq!(Format::detect(b"wo\0rds", "a.txt"), None);
    assert_eq!(Format::detect(b"words", "a.xyz"), None);
    assert_eq!(Format::detect(b"words", "a.docx"), None);
    let docx = zipped(&[("word/document.xml", b"<w:document/>")]);
    assert_eq!(Format::detect(&docx, "download"), Some(Format::Docx));
}

#[test]
fn a_web_page_gives_its_words_and_no_scripts() {
    let page = br#"<!doctype html><html><head><title>A page &amp; more</title><style>p { color: red }</style>
        <script>alert("<p>never read</p>")</script></head>
        <body><nav>menu</nav><h1>Heading <b>one</b></h1><p>Some&nbsp;text &lt; more<br>next line</p>
        <ul><li>first</li><li>second</li></ul><!-- <p>hidden</p> -->
        <table><caption>Table 1 Counts of things</caption><tr><td>a</td><td>b</td></tr></table>
        <h2>References</h2><p>[1] A. Author. A title of the page. Journal of Pages, 2001.</p></body></html>"#;
    let document = read(page, Format::Html);
    let text = &document.pages[0].text;
    assert!(text.contains("Some text < more\nnext line"), "{text:?}");
    assert!(text.contains("- first\n- second"), "{text:?}");
    for never in ["never read", "color", "hidden", "alert", "menu"] {
        assert!(!text.contains(never), "{never} in {text:?}");
    }
    assert_eq!(document.meta.title.as_deref(), Some("A page & more"));
    let headings: Vec<_> = document
        .headings
        .iter()
        .map(|heading| (heading.level, heading.title.as_str()))
        .collect();
    assert_eq!(headings, [(1, "Heading one"), (2, "References")]);
    assert_eq!(document.captions[0].label, "Table 1");
    assert_eq!(document.references.len(), 1);
}

#[test]
fn markdown_headings_are_found_but_not_in_code() {
    let document = read(
        b"# One #\n\ntext\n\n```\n# not one\n```\n\nTwo\n---\n\n### Three\n",
        Format::Markdown,
    );
    let headings: Vec<_> = document
        .headings
        .iter()
        .map(|heading| (heading.level, heading.title.as_str()))
        .collect();
    assert_eq!(headings, [(1, "One"), (2, "Two"), (3, "Three")]);
    assert!(document.pages[0].text.contains("# not one"));
}

#[test]
fn form_feeds_part_pages() {
    let document = read(b"Introduction\nfirst page\x0csecond page\xe9", Format::Text);
    assert_eq!(document.pages.len(), 2);
    assert_eq!(document.headings[0].title, "Introduction");
    assert_eq!(document.pages[1].text, "second page\u{e9}");
}

#[test]
fn a_word_document_gives_headings_tables_and_its_record() {
    let body = br#"<?xml version="1.0"?><w:document xmlns:w="x"><w:body>
        <w:p><w:pPr><w:pStyle w:val="Heading2"/></w:pPr><w:r><w:t>A heading</w:t></w:r></w:p>
        <w:p><w:r><w:t xml:space="preserve">Words &amp; </w:t></w:r><w:r><w:t>more&#233;</w:t></w:r><w:del><w:r><w:t>gone</w:t></w:r></w:del></w:p>
        <w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
        </w:body></w:document>"#;
    let core = br#"<c xmlns:dc="d"><dc:title>The record's title</dc:title><dc:creator>Ada</dc:creator></c>"#;
    let document = read(
        &zipped(&[("word/document.xml", body), ("docProps/core.xml", core)]),
        Format::Docx,
    );
    assert_eq!(
        document.pages[0].text,
        "A heading\n\nWords & more\u{e9}\n\na\tb"
    );
    assert_eq!(
        (document.headings[0].level, document.headings[0].offset),
        (2, 0)
    );
    assert_eq!(document.meta.title.as_deref(), Some("The record's title"));
    assert_eq!(document.meta.authors.as_deref(), Some("Ada"));
}

#[test]
fn a_book_is_read_in_the_order_of_its_spine() {
    let container =
        br#"<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>"#;
    let package = br#"<package><metadata><dc:title xmlns:dc="d">A book</dc:title></metadata><manifest>
        <item id="b" href="two.xhtml" media-type="application/xhtml+xml"/><item id="a" href="./text/../one.xhtml" media-type="application/xhtml+xml"/>
        <item id="c" href="cover.png" media-type="image/png"/></manifest>
        <spine><itemref idref="a"/><itemref idref="b"/><itemref idref="c"/></spine></package>"#;
    let book = zipped(&[
        ("META-INF/container.xml", container),
        ("OPS/book.opf", package),
        (
            "OPS/one.xhtml",
            b"<html><body><h1>First</h1><p>alpha</p></body></html>",
        ),
        ("OPS/two.xhtml", b"<html><body><p>beta</p></body></html>"),
    ]);
    let document = read(&book, Format::Epub);
    let texts: Vec<_> = document
        .pages
        .iter()
        .map(|page| page.text.as_str())
        .collect();
    assert_eq!(texts, ["First\n\nalpha", "beta"]);
    assert_eq!(document.meta.title.as_deref(), Some("A book"));
}

#[test]
fn xml_that_defines_entities_is_refused() {
    let body = br#"<!DOCTYPE d [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><w:document><w:p><w:r><w:t>&b;</w:t></w:r></w:p></w:document>"#;
    let found = extract(
        &zipped(&[("word/document.xml", body)]),
        Format::Docx,
        &Limits::default(),
    );
    assert!(
        matches!(found, Err(ExtractError::Broken { reason }) if reason.contains("document type"))
    );
}

#[test]
fn a_zip_bomb_is_stopped_at_the_limit() {
    let bomb = zipped(&[("word/document.xml", &vec![b' '; 40_000_000])]);
    assert!(bomb.len() < 200_000);
    let limits = Limits {
        memory: 96_000_000,
        ..Limits::default()
    };
    let found = extract(&bomb, Format::Docx, &limits);
    assert!(
        matches!(found, Err(ExtractError::TooLarge { .. })),
        "{found:?}"
    );
}

#[test]
fn empty_documents_say_so() {
    for (bytes, format) in [
        (&b""[..], Format::Text),
        (b"   ", Format::Markdown),
        (b"<p></p>", Format::Html),
    ] {
        let found = extract(bytes, format, &Limits::default());
        assert!(
            matches!(found, Err(ExtractError::NoText { .. })),
            "{format:?}: {found:?}"
        );
    }
}

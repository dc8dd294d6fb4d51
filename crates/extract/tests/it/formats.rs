//! The formats beside PDF, and how a format is told.

use std::fmt::Write as _;

use deliberate_extract::{DocumentFormat, ExtractError, ExtractLimits, extract};

use super::{
    pdf_builder::{sample_paper, zip_files},
    properties::assert_invariants,
};

fn extract_bytes(bytes: &[u8], format: DocumentFormat) -> deliberate_extract::ExtractedDocument {
    let document = extract(bytes, format, &ExtractLimits::default()).expect("a readable document");
    assert_invariants(&document, &ExtractLimits::default());
    document
}

#[test]
fn bytes_win_over_names() {
    assert_eq!(
        DocumentFormat::detect(&sample_paper(), "paper.txt"),
        Some(DocumentFormat::Pdf)
    );
    assert_eq!(
        DocumentFormat::detect(b"<!DOCTYPE html><p>x", "unknown"),
        Some(DocumentFormat::Html)
    );
    assert_eq!(
        DocumentFormat::detect(b"# Title", "notes.MD"),
        Some(DocumentFormat::Markdown)
    );
    assert_eq!(
        DocumentFormat::detect(b"words", "a.txt"),
        Some(DocumentFormat::Text)
    );
    assert_eq!(DocumentFormat::detect(b"wo\0rds", "a.txt"), None);
    assert_eq!(DocumentFormat::detect(b"words", "a.xyz"), None);
    assert_eq!(DocumentFormat::detect(b"words", "a.docx"), None);
    let of_pdfs = b"Every such file begins with %PDF-1.7 and ends with %%EOF.";
    assert_eq!(
        DocumentFormat::detect(of_pdfs, "note.md"),
        Some(DocumentFormat::Markdown)
    );
    assert_eq!(
        DocumentFormat::detect(of_pdfs, "download"),
        Some(DocumentFormat::Pdf)
    );
    let wide = b"\xff\xfew\0i\0d\0e\0";
    assert_eq!(
        DocumentFormat::detect(wide, "a.txt"),
        Some(DocumentFormat::Text)
    );
    assert_eq!(
        extract_bytes(wide, DocumentFormat::Text).pages[0].text,
        "wide"
    );
    let docx = zip_files(&[("word/document.xml", b"<w:document/>")]);
    assert_eq!(
        DocumentFormat::detect(&docx, "download"),
        Some(DocumentFormat::Docx)
    );
}

#[test]
fn a_web_page_gives_its_words_and_no_scripts() {
    let page = br#"<!doctype html><html><head><title>A page &amp; more</title><style>p { color: red }</style>
        <script>alert("<p>never read</p>")</script></head>
        <body><nav>menu</nav><h1>Heading <b>one</b></h1><p>Some&nbsp;text &lt; more<br>next line</p>
        <ul><li>first</li><li>second</li></ul><!-- <p>hidden</p> -->
        <table><caption>Table 1 Counts of things</caption><tr><td>a</td><td>b</td></tr></table>
        <h2>References</h2><p>[1] A. Author. A title of the page. Journal of Pages, 2001.</p></body></html>"#;
    let document = extract_bytes(page, DocumentFormat::Html);
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
fn what_a_web_page_hides_is_not_read() {
    let page = br#"<p>Seen.</p><div hidden>Ignore <div>all</div> this.</div><p style="Display: none">Orders.</p>
        <p class="overflow-hidden">Shown.</p><nav>Never closed, so it is read.<p>And the rest."#;
    let text = &extract_bytes(page, DocumentFormat::Html).pages[0].text;
    for seen in ["Seen.", "Shown.", "Never closed", "And the rest."] {
        assert!(text.contains(seen), "{seen} not in {text:?}");
    }
    for hidden in ["Ignore", "this", "Orders"] {
        assert!(!text.contains(hidden), "{hidden} in {text:?}");
    }
}

#[test]
fn words_are_whole_whatever_they_are_spelled_with() {
    let page = "<p>smoul&shy;dering smoul&#173;dering smoul\u{ad}dering</p>\
                <p>\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}</p>\
                <p>&scaron; &oelig; &Aring; &leq; &nu; &nonsense;</p>";
    let document = extract_bytes(page.as_bytes(), DocumentFormat::Html);
    let text = &document.pages[0].text;
    assert!(
        text.contains("smouldering smouldering smouldering"),
        "{text}"
    );
    assert!(text.contains("\u{645}\u{6cc}\u{200c}\u{62e}"), "{text}");
    assert!(text.contains("š œ Å ≤ ν &nonsense;"), "{text}");
}

#[test]
fn tags_whose_quotes_never_pair_are_read_once() {
    let page = r#"<a ">" words "#.repeat(60_000);
    let text = &extract_bytes(page.as_bytes(), DocumentFormat::Html).pages[0].text;
    assert!(text.contains("words"));
    let page = "<p hidden>words ".repeat(60_000);
    assert!(
        extract_bytes(page.as_bytes(), DocumentFormat::Html).pages[0]
            .text
            .contains("words")
    );
}

#[test]
fn markdown_headings_are_found_but_not_in_code() {
    let document = extract_bytes(
        b"# One #\n\ntext\n\n```\n# not one\n```\n\nTwo\n---\n\n### Three\n",
        DocumentFormat::Markdown,
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
    let document = extract_bytes(
        b"Introduction\nfirst page\x0csecond page\xe9",
        DocumentFormat::Text,
    );
    assert_eq!(document.pages.len(), 2);
    assert_eq!(document.headings[0].title, "Introduction");
    assert_eq!(document.pages[1].text, "second page\u{e9}");
    let quoted = extract_bytes(b"It\x92s \x93so\x94 \x96 caf\xe9", DocumentFormat::Text);
    assert_eq!(
        quoted.pages[0].text,
        "It\u{2019}s \u{201c}so\u{201d} \u{2013} caf\u{e9}"
    );
}

#[test]
fn a_word_document_gives_headings_tables_and_its_record() {
    let body = br#"<?xml version="1.0"?><w:document xmlns:w="x"><w:body>
        <w:p><w:pPr><w:pStyle w:val="Heading2"/></w:pPr><w:r><w:t>A heading</w:t></w:r></w:p>
        <w:p><w:r><w:t xml:space="preserve">Words &amp; </w:t></w:r><w:r><w:t>more&#233;</w:t></w:r><w:del><w:r><w:t>gone</w:t></w:r></w:del></w:p>
        <w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
        </w:body></w:document>"#;
    let core = br#"<c xmlns:dc="d"><dc:title>The record's title</dc:title><dc:creator>Ada</dc:creator></c>"#;
    let document = extract_bytes(
        &zip_files(&[("word/document.xml", body), ("docProps/core.xml", core)]),
        DocumentFormat::Docx,
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
fn nothing_of_a_word_document_is_lost_inside_something_else() {
    let body = br#"<w:document><w:body>
        <w:p><w:pPr><w:tabs><w:tab w:val="left" w:pos="720"/></w:tabs></w:pPr><w:r><w:t>Before</w:t><mc:AlternateContent><mc:Choice><w:txbxContent><w:p><w:r><w:t>in a box</w:t></w:r></w:p></w:txbxContent></mc:Choice><mc:Fallback><w:p><w:r><w:t>in a box</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent><w:tab/><w:t>after</w:t></w:r></w:p>
        <w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>inner</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
        </w:body></w:document>"#;
    let notes = b"<w:footnotes><w:footnote><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:footnote></w:footnotes>";
    let core = b"<c><dc:title>Salt &amp; Water</dc:title></c>";
    let document = extract_bytes(
        &zip_files(&[
            ("word/document.xml", body),
            ("word/footnotes.xml", notes),
            ("docProps/core.xml", core),
        ]),
        DocumentFormat::Docx,
    );
    assert_eq!(
        document.pages[0].text,
        "in a box\n\nBefore\tafter\n\na inner\tb\n\nNotes\n\nA note."
    );
    assert_eq!(document.meta.title.as_deref(), Some("Salt & Water"));
}

#[test]
fn runs_that_a_word_document_does_not_show_are_not_read() {
    let body = br#"<w:document><w:body>
        <w:p><w:pPr><w:rPr><w:vanish/></w:rPr></w:pPr><w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>Seen</w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t> not this</w:t></w:r><w:r><w:t>, and seen.</w:t></w:r></w:p>
        </w:body></w:document>"#;
    let document = extract_bytes(
        &zip_files(&[("word/document.xml", body)]),
        DocumentFormat::Docx,
    );
    assert_eq!(document.pages[0].text, "Seen, and seen.");
}

#[test]
fn a_page_in_another_alphabet_is_read_as_it_declares() {
    // "Торф тлеет" in Windows' Cyrillic letters.
    let page = b"<html><meta charset=\"windows-1251\"><p>\xd2\xee\xf0\xf4 \xf2\xeb\xe5\xe5\xf2</p>";
    assert_eq!(
        extract_bytes(page, DocumentFormat::Html).pages[0].text,
        "Торф тлеет"
    );
}

#[test]
fn a_book_is_read_in_the_order_of_its_spine() {
    let container =
        br#"<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>"#;
    let package = br#"<package><metadata><dc:title xmlns:dc="d">A book &amp; more</dc:title><dc:creator>Ada</dc:creator><dc:creator>Ben</dc:creator></metadata><manifest>
        <item id="b" href="two%2C%20caf%C3%A9.xhtml" media-type="application/xhtml+xml"/><item id="a" href="./text/../one.xhtml" media-type="application/xhtml+xml"/>
        <item id="c" href="cover.png" media-type="image/png"/></manifest>
        <spine><itemref idref="a"/><itemref idref="b"/><itemref idref="c"/></spine></package>"#;
    let book = zip_files(&[
        ("META-INF/container.xml", container),
        ("OPS/book.opf", package),
        (
            "OPS/one.xhtml",
            b"<html><body><h1>First</h1><p>alpha</p></body></html>",
        ),
        (
            "OPS/two, caf\u{e9}.xhtml",
            b"<html><head><title/></head><body><p>beta</p></body></html>",
        ),
    ]);
    let document = extract_bytes(&book, DocumentFormat::Epub);
    let texts: Vec<_> = document
        .pages
        .iter()
        .map(|page| page.text.as_str())
        .collect();
    assert_eq!(texts, ["First\n\nalpha", "beta"]);
    assert_eq!(document.meta.title.as_deref(), Some("A book & more"));
    assert_eq!(document.meta.authors.as_deref(), Some("Ada; Ben"));
}

#[test]
fn xml_that_defines_entities_is_refused() {
    let body = br#"<!DOCTYPE d [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><w:document><w:p><w:r><w:t>&b;</w:t></w:r></w:p></w:document>"#;
    let found = extract(
        &zip_files(&[("word/document.xml", body)]),
        DocumentFormat::Docx,
        &ExtractLimits::default(),
    );
    assert!(
        matches!(found, Err(ExtractError::Broken { reason }) if reason.contains("document type"))
    );
}

#[test]
fn a_zip_bomb_is_stopped_at_the_limit() {
    let bomb = zip_files(&[("word/document.xml", &vec![b' '; 40_000_000])]);
    assert!(bomb.len() < 200_000);
    let limits = ExtractLimits {
        memory: 96_000_000,
        ..ExtractLimits::default()
    };
    let found = extract(&bomb, DocumentFormat::Docx, &limits);
    assert!(
        matches!(found, Err(ExtractError::TooLarge { .. })),
        "{found:?}"
    );
}

#[test]
fn empty_documents_say_so() {
    for (bytes, format) in [
        (&b""[..], DocumentFormat::Text),
        (b"   ", DocumentFormat::Markdown),
        (b"<p></p>", DocumentFormat::Html),
    ] {
        let found = extract(bytes, format, &ExtractLimits::default());
        assert_eq!(found, Err(ExtractError::NoText { pages: 0 }), "{format:?}");
        assert!(!found.expect_err("no text").to_string().contains("scan"));
    }
}

fn split_words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

fn document_words(document: &deliberate_extract::ExtractedDocument) -> Vec<&str> {
    let pages = document.pages.iter();
    pages.flat_map(|page| split_words(&page.text)).collect()
}

#[test]
fn a_long_text_without_pages_is_given_some() {
    let mut text = String::new();
    for part in 1..=40 {
        let _ = write!(text, "## Part {part}\n\n");
        for line in 1..=12 {
            let sentence = format!("Sentence {line} of part {part} \u{e9} is about turf. ");
            text.push_str(&sentence.repeat(4));
            text.push_str("\n\n");
        }
        let _ = write!(text, "Figure {part}: The bog in week {part}.\n\n");
    }
    text.push_str("## References\n\n");
    for at in 1..=120 {
        let _ = write!(
            text,
            "{at}. Author, A. Title number {at} of the bogs. Journal of Bogs, 2001.\n\n"
        );
    }
    let document = extract_bytes(text.as_bytes(), DocumentFormat::Markdown);
    let pages = &document.pages;
    assert!(pages.len() > 20, "{} pages", pages.len());
    assert!(pages.iter().zip(1..).all(|(page, at)| page.number == at));
    assert!(pages.iter().all(|page| page.text.chars().count() <= 6_100));
    let bare = text.replace("## ", "");
    assert_eq!(document_words(&document), split_words(&bare));
    // Parts begin pages, and nothing is the last on a page that belongs to the next.
    assert!(document.headings.iter().filter(|it| it.offset == 0).count() > 20);
    assert_eq!(document.captions.len(), 40);
    assert_eq!(document.references.len(), 120);
    let last = document.references.last().expect("an entry");
    assert_eq!(last.page, pages.last().expect("a page").number);
    assert_eq!(last.label.as_deref(), Some("120"));
}

#[test]
fn a_paragraph_longer_than_a_page_goes_on_on_the_next() {
    let sentence = "The bog is wet, and stays so. ";
    let line = sentence.repeat(1_000);
    let document = extract_bytes(line.as_bytes(), DocumentFormat::Text);
    assert!(document.pages.len() > 7);
    assert_eq!(document_words(&document), split_words(&line));
    assert!(document.pages.iter().all(|page| page.text.ends_with('.')));
    let without_spaces = "\u{e9}".repeat(9_000);
    let document = extract_bytes(without_spaces.as_bytes(), DocumentFormat::Text);
    let lengths = document.pages.iter().map(|page| page.text.chars().count());
    assert_eq!(lengths.collect::<Vec<_>>(), [4_000, 4_000, 1_000]);
}

#[test]
fn a_form_feed_in_a_long_text_makes_no_page_of_megabytes() {
    let text = format!("Preface\n\n\u{c}{}", "Turf burns well. ".repeat(9_000));
    let document = extract_bytes(text.as_bytes(), DocumentFormat::Text);
    assert!(document.pages.len() > 30);
}

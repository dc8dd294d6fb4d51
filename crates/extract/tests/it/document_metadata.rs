//! What documents beside PDFs say of themselves.

use deliberate_extract::{
    DocumentFormat, DocumentMetadata, ExtractLimits, ExtractedDocument, extract,
};

use super::{pdf_builder::zip_files, properties::assert_invariants};

fn extract_bytes(bytes: &[u8], format: DocumentFormat) -> ExtractedDocument {
    let document = extract(bytes, format, &ExtractLimits::default()).expect("a readable document");
    assert_invariants(&document, &ExtractLimits::default());
    document
}

#[expect(clippy::unnecessary_wraps, reason = "as the fields have it")]
fn some_text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn the_head_of_a_note_is_its_record_and_no_text() {
    let note = "---\r\ntitle: \"Peat: a study\" # for now\r\nauthor:\r\n  - name: Ilse Hartmann\r\n    \
        affiliation: Nowhere\r\n  - 'Kovács, Pál'\r\ndate: 2021-05-17\r\ntags: [peat, \"fire, slow\", O'Brien]\r\n\
        doi: https://doi.org/10.5555/ABC.1\r\nlang: en\r\nabstract: |\r\n  Peat burns\r\n  slowly.\r\nnested: {a: b}\r\n\
        ---\r\n# One\r\n\r\nWords.\r\n";
    let document = extract_bytes(note.as_bytes(), DocumentFormat::Markdown);
    assert_eq!(
        document.meta,
        DocumentMetadata {
            title: some_text("Peat: a study"),
            authors: some_text("Ilse Hartmann; Kovács, Pál"),
            author_list: vec!["Ilse Hartmann".to_owned(), "Kovács, Pál".to_owned()],
            keywords: some_text("peat; fire, slow; O'Brien"),
            published: some_text("2021-05-17"),
            language: some_text("en"),
            doi: some_text("10.5555/abc.1"),
            ..DocumentMetadata::default()
        }
    );
    let text = &document.pages[0].text;
    assert_eq!(text, "Abstract\n\nPeat burns slowly.\n\nOne\n\nWords.");
}

#[test]
fn people_are_read_in_every_common_form() {
    let note =
        "---\nauthor:\n- {given: Ilse, family: Hartmann}\n- family: Plato\nyear: 2021\n---\nWords.";
    let meta = extract_bytes(note.as_bytes(), DocumentFormat::Markdown).meta;
    assert_eq!(meta.author_list, ["Hartmann, Ilse", "Plato"]);
    assert_eq!(meta.published, some_text("2021"));
}

#[test]
fn a_head_that_unfolds_is_no_record() {
    let mut bomb = String::from("---\na: &a [x, x, x, x, x, x, x, x, x, x]\n");
    for (at, name) in ('b'..='i').enumerate() {
        let before = char::from(b'a' + u8::try_from(at).unwrap());
        let many = vec![format!("*{before}"); 10].join(", ");
        bomb = format!("{bomb}{name}: &{name} [{many}]\n");
    }
    bomb.push_str("---\nWords.");
    let document = extract_bytes(bomb.as_bytes(), DocumentFormat::Markdown);
    assert!(document.pages[0].text.contains("Words."));
    assert_eq!(document.meta.title, None);
}

#[test]
fn authors_in_one_text_stay_one_text() {
    let note = "---\nauthors: Ilse Hartmann and\n  Pál Kovács\n...\nWords.";
    let meta = extract_bytes(note.as_bytes(), DocumentFormat::Markdown).meta;
    assert_eq!(meta.authors, some_text("Ilse Hartmann and Pál Kovács"));
    assert!(meta.author_list.is_empty());
}

#[test]
fn a_rule_at_the_head_of_a_text_is_no_record() {
    for text in [
        "---\nOnly a rule: and\nsome words.\n---\nMore.",
        "---\n---\nMore.",
        "---\ntitle: never closed\n\nMore.",
        "----\ntitle: x\n---\nMore.",
        "---\n- a list\n---\nMore.",
    ] {
        let document = extract_bytes(text.as_bytes(), DocumentFormat::Markdown);
        let first = text.lines().nth(1).unwrap_or_default();
        let kept = &document.pages[0].text;
        assert!(kept.contains(first) && kept.contains("More."), "{kept:?}");
        assert_eq!(document.meta.published, None);
    }
}

#[test]
fn a_web_page_has_the_record_that_its_publisher_gives() {
    let page = br#"<head><title>On peat | A site</title><META content="On peat &amp; fire" name="citation_title">
        <meta name=citation_author content="Hartmann, Ilse"><meta name='citation_author' content='Kov&aacute;cs, P.'/>
        <meta name="DC.creator" content="Somebody else"><meta name="author" content="The site">
        <meta name="citation_doi" content="doi:10.5555/ABC.1"><meta name="citation_arxiv_id" content="2101.00001">
        <meta name="citation_publication_date" content="2021/05/17"><meta name="dc.date" content="1999">
        <meta name="citation_journal_title" content="Fire and Soil"><meta name="keywords" content="peat, fire">
        <meta name="citation_pdf_url" content="https://example.org/a.pdf"><meta name="DC.Language" content="en">
        <meta property="x" content="y"><meta name="empty"></head><body><p>Words.</p>"#;
    let document = extract_bytes(page, DocumentFormat::Html);
    assert_eq!(
        document.meta,
        DocumentMetadata {
            title: some_text("On peat & fire"),
            authors: some_text("Hartmann, Ilse; Kov\u{e1}cs, P."),
            author_list: vec!["Hartmann, Ilse".to_owned(), "Kov\u{e1}cs, P.".to_owned()],
            keywords: some_text("peat, fire"),
            published: some_text("2021/05/17"),
            venue: some_text("Fire and Soil"),
            pdf_url: some_text("https://example.org/a.pdf"),
            language: some_text("en"),
            doi: some_text("10.5555/abc.1"),
            arxiv_id: some_text("2101.00001"),
            ..DocumentMetadata::default()
        }
    );
    assert_eq!(document.pages[0].text, "Words.");
    let bare = extract_bytes(
        b"<meta name=\"author\" content=\"A and B\"><title>T</title><p>Words.",
        DocumentFormat::Html,
    );
    assert_eq!(bare.meta.title, some_text("T"));
    assert_eq!(bare.meta.authors, some_text("A and B"));
}

#[test]
fn a_book_has_the_record_of_its_package() {
    let container =
        br#"<container><rootfiles><rootfile full-path="b.opf"/></rootfiles></container>"#;
    let package = br#"<package><metadata><dc:title>T</dc:title><dc:creator>Ada</dc:creator><dc:creator>Ben</dc:creator>
        <dc:date>2019-03-01</dc:date><dc:language>de</dc:language><dc:subject>Peat</dc:subject><dc:subject>Fire</dc:subject></metadata>
        <manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>"#;
    let meta = extract_bytes(
        &zip_files(&[
            ("META-INF/container.xml", container),
            ("b.opf", package),
            ("a.xhtml", b"<p>Words.</p>"),
        ]),
        DocumentFormat::Epub,
    )
    .meta;
    assert_eq!(meta.author_list, ["Ada", "Ben"]);
    assert_eq!(meta.published, some_text("2019-03-01"));
    assert_eq!(meta.keywords, some_text("Peat; Fire"));
    assert_eq!(meta.language, some_text("de"));
}

#[test]
fn a_record_of_before_is_read() {
    let old = r#"{"title": null, "authors": "Ada", "subject": null, "keywords": null, "created": null,
        "producer": null, "language": null, "doi": null, "arxiv_id": null}"#;
    let meta: DocumentMetadata = serde_json::from_str(old).expect("a record");
    assert_eq!((meta.authors, meta.published), (some_text("Ada"), None));
}

#[test]
fn what_a_document_cites_is_not_what_it_is() {
    let cited = "Okafor, M., & Lindqvist, E. (2023). Moisture thresholds. Fire & Soil. \
        https://doi.org/10.5555/firesoil.2023.45 arXiv:2301.00001";
    for text in [
        format!("# Radio sensing of wet mires\n\nWords.\n\n## References\n\n{cited}\n"),
        format!("# Radio sensing of wet mires\n\nWords.\n\n[1] {cited}\n"),
    ] {
        let document = extract_bytes(text.as_bytes(), DocumentFormat::Markdown);
        assert_eq!(document.meta.doi, None, "{text}");
        assert_eq!(document.meta.arxiv_id, None, "{text}");
    }
    let own =
        format!("# Radio sensing\n\nhttps://doi.org/10.5555/own.1\n\n## References\n\n{cited}\n");
    let document = extract_bytes(own.as_bytes(), DocumentFormat::Markdown);
    assert_eq!(document.meta.doi, some_text("10.5555/own.1"));
}

//! Papers: reading order, words, headings, captions, bibliographies.

use deliberate_extract::CaptionKind;

use super::pdf_builder::{PdfPageBuilder, build_pages_pdf, extract_pdf, sample_paper};

#[test]
fn columns_are_read_one_after_the_other() {
    let document = extract_pdf(&sample_paper());
    let text = &document.pages[0].text;
    let place = |words: &str| {
        text.find(words)
            .unwrap_or_else(|| panic!("{words:?} is not in {text:?}"))
    };
    assert!(place("A Paper of Two Columns") < place("The left column begins"));
    assert!(place("The left column begins") < place("lead the reader over"));
    assert!(place("lead the reader over") < place("goes on as if the"));
    assert!(place("made to catch") < place("Figure 1:"));
    assert!(
        text.contains("lead the reader over to the other column, where the sentence")
            || text.contains("2 Methods"),
        "{text:?}"
    );
}

/// A page whose left column has so many lines, and whose right one has a heading and two.
fn extract_short_right_column(lines: usize) -> String {
    let mut builder = PdfPageBuilder::default().bold(54.0, 658.0, 12.0, "Abstract");
    let mut y = 643.0;
    for at in 0..lines {
        let line = format!("Line {at} of the left column has words enough to fill");
        builder = builder.line(54.0, y, 9.0, &line);
        y -= 12.0;
    }
    let builder = builder
        .bold(318.0, 658.0, 12.0, "Results")
        .line(
            318.0,
            643.0,
            9.0,
            "Of the 12 surveys, 7 repeat the same figure",
        )
        .line(318.0, 631.0, 9.0, "without checking it.");
    extract_pdf(&build_pages_pdf(&[builder])).pages[0]
        .text
        .clone()
}

#[test]
fn a_short_second_column_is_not_read_across() {
    for lines in [5, 15, 48] {
        let text = extract_short_right_column(lines);
        assert!(
            text.contains("repeat the same figure without checking it."),
            "{lines}: {text}"
        );
        let last = format!("Line {} of", lines - 1);
        assert!(text.find(&last) < text.find("Results"), "{lines}: {text}");
    }
}

#[test]
fn a_table_beside_nothing_is_left_in_rows() {
    let mut builder = PdfPageBuilder::default();
    let mut y = 640.0;
    for (name, value) in [
        ("Length of the line", "12 metres"),
        ("Depth of the well", "30 metres"),
        ("Weight of the stone", "9 tonnes"),
        ("Age of the oak tree", "410 years"),
    ] {
        builder = builder.line(54.0, y, 9.0, name).line(318.0, y, 9.0, value);
        y -= 12.0;
    }
    let text = extract_pdf(&build_pages_pdf(&[builder])).pages[0]
        .text
        .clone();
    assert!(text.contains("Depth of the well 30 metres"), "{text}");
}

#[test]
fn broken_words_are_whole_and_compounds_keep_their_hyphen() {
    let document = extract_pdf(&sample_paper());
    let text = &document.pages[0].text;
    assert!(text.contains("a broken word"), "{text:?}");
    assert!(text.contains("a well-known reader"), "{text:?}");
}

#[test]
fn headings_captions_and_identifiers_are_found() {
    let document = extract_pdf(&sample_paper());
    let titles: Vec<_> = document
        .headings
        .iter()
        .map(|heading| (heading.title.as_str(), heading.page))
        .collect();
    assert_eq!(
        titles,
        [("1 Introduction", 1), ("2 Methods", 1), ("References", 2)]
    );
    assert_eq!(document.captions.len(), 1);
    assert_eq!(document.captions[0].kind, CaptionKind::Figure);
    assert_eq!(document.captions[0].label, "Figure 1");
    assert!(document.captions[0].text.ends_with("above it."));
    assert_eq!(
        document.meta.title.as_deref(),
        Some("A Paper of Two Columns")
    );
    assert_eq!(document.meta.doi.as_deref(), Some("10.1234/test.5678"));
    assert_eq!(document.meta.arxiv_id.as_deref(), Some("2101.00001"));
}

#[test]
fn labelled_references_are_split_and_parsed() {
    let document = extract_pdf(&sample_paper());
    assert_eq!(document.references.len(), 2);
    let [first, second] = &document.references[..] else {
        unreachable!()
    };
    assert_eq!(first.label.as_deref(), Some("[1]"));
    assert_eq!(first.authors, ["A. Author", "B. Other"]);
    assert_eq!(first.title.as_deref(), Some("The first title of all"));
    assert_eq!((first.year, first.page), (Some(2001), 2));
    assert_eq!(
        second.title.as_deref(),
        Some("Another title that runs over the end of its line")
    );
    assert_eq!(second.doi.as_deref(), Some("10.1000/182"));
}

#[test]
fn counted_references_are_split() {
    let builder = PdfPageBuilder::default()
        .bold(60.0, 740.0, 12.0, "REFERENCES")
        .lines(
            60.0,
            720.0,
            &[
                "1. Alpha A. The first of the entries. J Test. 2001;4:1-9.",
                "2. Beta B, Gamma C. The second of the entries, which is",
                "so long that it needs a second line. J Test. 2002;5:1-9.",
                "3. Delta D. The third of the entries. J Test. 2003;6:1-9.",
            ],
        );
    let document = extract_pdf(&build_pages_pdf(&[builder]));
    let years: Vec<_> = document.references.iter().map(|entry| entry.year).collect();
    assert_eq!(years, [Some(2001), Some(2002), Some(2003)]);
    assert!(document.references[1].text.contains("which is so long"));
}

#[test]
fn hanging_references_are_split() {
    let mut builder = PdfPageBuilder::default().bold(60.0, 740.0, 12.0, "Bibliography");
    let mut y = 720.0;
    for (name, year) in [("Adams", 1999), ("Baker", 2000), ("Clark", 2001)] {
        builder = builder
            .line(
                60.0,
                y,
                10.0,
                &format!("{name}, J. ({year}). On a matter of some concern to all"),
            )
            .line(
                80.0,
                y - 12.0,
                10.0,
                "who read bibliographies. Journal of Concerns, 7, 1-9.",
            );
        y -= 24.0;
    }
    let document = extract_pdf(&build_pages_pdf(&[builder]));
    let found: Vec<_> = document
        .references
        .iter()
        .map(|entry| (entry.authors.clone(), entry.year))
        .collect();
    assert_eq!(
        found,
        [
            ("Adams, J.", 1999),
            ("Baker, J.", 2000),
            ("Clark, J.", 2001)
        ]
        .map(|(name, year)| (vec![name.to_owned()], Some(year)))
    );
    assert_eq!(
        document.references[0].title.as_deref(),
        Some("On a matter of some concern to all who read bibliographies")
    );
}

#[test]
fn running_heads_and_page_numbers_are_left_out_and_kept_as_labels() {
    let sheets: Vec<PdfPageBuilder> = (1..=6)
        .map(|page| {
            PdfPageBuilder::default()
                .line(200.0, 760.0, 9.0, "Journal of Running Heads, volume 3")
                .lines(
                    60.0,
                    700.0,
                    &[
                        &format!("Page text number {page} says something of its own,"),
                        "and something that every page repeats in its middle.",
                        &format!("The last line of page {page} is its own too."),
                    ],
                )
                .line(300.0, 40.0, 9.0, &(page + 100).to_string())
        })
        .collect();
    let document = extract_pdf(&build_pages_pdf(&sheets));
    for page in &document.pages {
        assert!(!page.text.contains("Running Heads"), "{:?}", page.text);
        assert!(page.text.contains("every page repeats"), "{:?}", page.text);
        assert_eq!(page.label, Some((page.number + 100).to_string()));
    }
}

#[test]
fn the_middle_of_a_table_stays_in_rows() {
    let mut builder = PdfPageBuilder::default().line(60.0, 720.0, 10.0, "Table 1. Some counts");
    for (row, y) in (1..=6).zip([700.0, 688.0, 676.0, 664.0, 652.0, 640.0]) {
        builder = builder
            .line(60.0, y, 10.0, &format!("row {row}"))
            .line(200.0, y, 10.0, &format!("{row}.5"))
            .line(300.0, y, 10.0, &format!("{row}.75"));
    }
    let document = extract_pdf(&build_pages_pdf(&[builder]));
    assert!(
        document.pages[0].text.contains("row 3 3.5 3.75"),
        "{:?}",
        document.pages[0].text
    );
    assert_eq!(document.captions[0].kind, CaptionKind::Table);
}

//! Bibliography files as other programs take them.

use deliberate_citations::{
    BibliographyEntry, read_bibtex, read_csl_json, read_ris, to_bibtex, to_csl_json, to_csv,
    to_endnote, to_ris,
};
use deliberate_core::{Article, Author, WorkKind};

use super::sample_articles;

/// A work with everything in it that formats trip over.
fn hostile_article() -> Article {
    Article {
        title:
            "100% {of} $x_1$ & #2 ~ ^\\ \"q\" @article{evil,\n}\u{0}\u{202E} ER  - \r\nTY  - JOUR"
                .to_owned(),
        authors: vec![
            Author::person("Doe, Jr", "J. and K."),
            Author {
                family: "Smith and Sons, Inc. }".to_owned(),
                organisation: true,
                ..Author::default()
            },
        ],
        kind: WorkKind::Book,
        date: sample_articles::year(2020),
        publisher: Some("=cmd|' /C calc'!A0".to_owned()),
        url: Some("https://example.org/a_b?c={d}&e=%20".to_owned()),
        keywords: vec!["a, b".to_owned(), "c\nd".to_owned()],
        ..Article::default()
    }
}

fn all_articles() -> Vec<Article> {
    let mut all = sample_articles::every_kind();
    all.push(hostile_article());
    all
}

#[test]
fn bibtex() {
    insta::assert_snapshot!(to_bibtex(&sample_articles::entries(&all_articles())));
}

#[test]
fn ris() {
    insta::assert_snapshot!(to_ris(&sample_articles::entries(&all_articles())).replace('\r', ""));
}

#[test]
fn endnote() {
    insta::assert_snapshot!(to_endnote(&sample_articles::entries(&all_articles())));
}

#[test]
fn csl_json() {
    let text = to_csl_json(&sample_articles::entries(&all_articles()));
    assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
    insta::assert_snapshot!(text);
}

#[test]
fn csv() {
    insta::assert_snapshot!(to_csv(&sample_articles::entries(&all_articles())).replace('\r', ""));
}

#[test]
fn a_cell_that_looks_like_a_formula_is_none() {
    for start in ["=1+1", "+1", "-1", "@SUM(A1)"] {
        let work = Article {
            title: start.to_owned(),
            ..Article::default()
        };
        let csv = to_csv(&[BibliographyEntry::from(&work)]);
        assert!(csv.contains(&format!("\"'{start}\"")), "{csv}");
    }
}

#[test]
fn nothing_makes_nothing_that_breaks() {
    assert_eq!(to_bibtex(&[]), "");
    assert_eq!(to_ris(&[]), "");
    assert_eq!(to_csl_json(&[]), "[]\n");
    let work = Article::default();
    assert_eq!(
        to_bibtex(&[BibliographyEntry::from(&work)]),
        "@misc{ref,\n}\n"
    );
}

#[test]
fn a_retraction_and_a_generation_go_with_the_record() {
    let article = Article {
        authors: vec![
            Author::person("King", "Martin Luther, Jr."),
            Author::person("de la Cruz", "Jean-Luc"),
        ],
        retracted: Some(true),
        ..sample_articles::journal()
    };
    let entries = [BibliographyEntry::from(&article)];
    let bibtex = to_bibtex(&entries);
    assert!(
        bibtex.contains("author = {King, Jr., Martin Luther and de la Cruz, Jean-Luc},"),
        "{bibtex}"
    );
    assert!(bibtex.contains("note = {Retracted},"), "{bibtex}");
    assert!(to_endnote(&entries).contains("%Z Retracted"));
    for read in [
        read_bibtex(&bibtex),
        read_ris(&to_ris(&entries)),
        read_csl_json(&to_csl_json(&entries)),
    ] {
        let back = &read.0[0].article;
        assert_eq!(back.retracted, Some(true), "{back:?}");
        assert_eq!(back.authors, article.authors);
    }
}

//! Citation keys.

use deliberate_citations::{BibliographyEntry, citation_key, citation_keys};
use deliberate_core::{Article, Author};

use super::sample_articles;

#[test]
fn keys_say_who_when_and_what() {
    assert_eq!(citation_key(&sample_articles::journal()), "lecun2015deep");
    assert_eq!(
        citation_key(&sample_articles::thesis()),
        "shannon1940symbolic"
    );
    assert_eq!(
        citation_key(&sample_articles::chapter()),
        "vandermaaten2009visualizing"
    );
    assert_eq!(
        citation_key(&sample_articles::article_without_year()),
        "lecunnotes"
    );
    let accents = Article {
        authors: vec![Author::person("Łukasz-Müller", "Jan")],
        title: "Über die Größe".to_owned(),
        ..Article::default()
    };
    assert_eq!(citation_key(&accents), "lukaszmulleruber");
    let none_of_it = Article {
        authors: vec![Author::person("王", "小明")],
        title: "深度学习".to_owned(),
        date: sample_articles::year(2020),
        ..Article::default()
    };
    assert_eq!(citation_key(&none_of_it), "ref2020");
    assert_eq!(citation_key(&Article::default()), "ref");
}

#[test]
fn equal_keys_get_letters_and_run_into_no_other() {
    let work = sample_articles::journal();
    let entry = |key| BibliographyEntry {
        key,
        article: &work,
    };
    let keys = citation_keys(&[
        entry(None),
        entry(None),
        entry(Some("lecun2015deepa")),
        entry(Some("my{key},\n")),
    ]);
    assert_eq!(
        keys,
        [
            "lecun2015deepb",
            "lecun2015deepc",
            "lecun2015deepa",
            "mykey"
        ]
    );
}

#[test]
fn a_given_key_is_kept_however_long_and_a_made_one_is_short() {
    let given = "schmidhuber_deep-learning-in-neural-networks-an-overview_2015_neural-networks";
    assert_eq!(
        citation_keys(&[BibliographyEntry {
            key: Some(given),
            article: &sample_articles::journal(),
        }]),
        [given]
    );
    let endless = Article {
        title: "x".repeat(300),
        date: sample_articles::year(2020),
        ..Article::default()
    };
    let made = citation_key(&endless);
    assert_eq!(made.len(), 60);
    let again = BibliographyEntry {
        key: Some(&made),
        article: &endless,
    };
    assert_eq!(citation_keys(&[again]), [made.as_str()]);
}

//! Whether two records are the same work, and putting them together.

use deliberate_citations::{MergeKey, is_same_work, merge, merge_all, merge_keys, read_reference};
use deliberate_core::{Article, ArxivId, Author, Doi, PartialDate, WorkKind};

use super::sample_articles;
use deliberate_citations::same_work::{SameWorkVerdict, decide_same_work, similarity};

#[test]
fn a_reference_finds_its_work_among_others() {
    let reference = read_reference(
        "LeCun Y, Bengio Y, Hinton G. Deep learning. Nature. 2015;521(7553):436-444.",
    );
    let decision = decide_same_work(
        &reference,
        [
            &sample_articles::conference(),
            &sample_articles::journal(),
            &sample_articles::preprint(),
        ],
    );
    assert_eq!(
        (decision.verdict, decision.best),
        (SameWorkVerdict::Same, Some(1))
    );
    assert_eq!(decision.likeness.differs, []);
}

#[test]
fn what_differs_is_told() {
    let wrong = Article {
        date: sample_articles::year(2012),
        pages: Some("1-9".to_owned()),
        doi: Doi::parse("10.1000/x"),
        ..sample_articles::journal()
    };
    let likeness = similarity(&wrong, &sample_articles::journal());
    let fields: Vec<&str> = likeness
        .differs
        .iter()
        .map(|it| it.field.as_str())
        .collect();
    assert_eq!(fields, ["year", "pages", "doi"]);
    assert!((likeness.score - 0.85).abs() < 1e-5, "{}", likeness.score);
    let invented = Article {
        authors: sample_articles::people(&[
            ("LeCun", "Yann"),
            ("Nobody", "N."),
            ("Hinton", "Geoffrey"),
        ]),
        ..sample_articles::journal()
    };
    assert_eq!(
        self::similarity(&invented, &sample_articles::journal()).differs[0].field,
        "authors"
    );
}

#[test]
fn the_weights_are_those_documented() {
    let same = sample_articles::journal();
    let score = |other: &Article| similarity(&same, other).score;
    assert!((score(&same) - 1.0).abs() < 1e-5);
    let a_year_off = Article {
        date: sample_articles::year(2016),
        ..same.clone()
    };
    assert!((score(&a_year_off) - (1.0 - 0.15 * 0.2)).abs() < 1e-5);
    let two_years_off = Article {
        date: sample_articles::year(2013),
        ..same.clone()
    };
    assert!((score(&two_years_off) - (1.0 - 0.15 * 0.6)).abs() < 1e-5);
    // What is missing takes no part.
    let title_only = Article {
        title: same.title.clone(),
        ..Article::default()
    };
    assert!((score(&title_only) - 1.0).abs() < 1e-5);
    let other_title = Article {
        title: "Shallow puddles".to_owned(),
        ..same.clone()
    };
    assert!(score(&other_title).abs() < 1e-5);
    // Without a title nothing is more than doubtful.
    let untitled = Article {
        title: String::new(),
        ..same.clone()
    };
    assert_eq!(
        decide_same_work(&untitled, [&same]).verdict,
        SameWorkVerdict::Doubtful
    );
}

#[test]
fn probably_needs_to_be_ahead() {
    let article = Article {
        title: "A study of the growth of grass".to_owned(),
        authors: sample_articles::people(&[("Green", "A.")]),
        date: sample_articles::year(2010),
        ..Article::default()
    };
    let near = Article {
        authors: sample_articles::people(&[("Brown", "B.")]),
        ..article.clone()
    };
    let alone = decide_same_work(&article, [&near]);
    assert_eq!(alone.verdict, SameWorkVerdict::Probably, "{alone:?}");
    let contested = decide_same_work(
        &article,
        [
            &near,
            &Article {
                date: super::sample_articles::year(2011),
                ..near.clone()
            },
        ],
    );
    assert_eq!(
        contested.verdict,
        SameWorkVerdict::Doubtful,
        "{contested:?}"
    );
    let none = decide_same_work(&article, []);
    assert_eq!(
        (none.verdict, none.best),
        (SameWorkVerdict::Different, None)
    );
}

#[test]
fn a_preprint_and_its_paper_are_one_work() {
    let arxiv = Article {
        doi: Doi::parse("10.48550/arXiv.1706.03762"),
        arxiv_id: None,
        sources: vec!["datacite".to_owned()],
        ..sample_articles::preprint()
    };
    assert!(is_same_work(&arxiv, &sample_articles::preprint()));
    assert_eq!(
        merge_keys(&arxiv).first(),
        ArxivId::parse("1706.03762").map(MergeKey::Arxiv).as_ref()
    );
    let paper = Article {
        kind: WorkKind::ConferencePaper,
        venue: Some("Advances in Neural Information Processing Systems".to_owned()),
        pages: Some("5998-6008".to_owned()),
        doi: Doi::parse("10.5555/3295222.3295349"),
        arxiv_id: None,
        date: PartialDate::new(2018, None, None),
        title: "Attention Is All You Need".to_owned(),
        retracted: Some(false),
        citation_count: Some(5),
        sources: vec!["crossref".to_owned()],
        ..sample_articles::preprint()
    };
    assert!(is_same_work(&arxiv, &paper));
    let mut merged = Article {
        citation_count: Some(9),
        ..arxiv
    };
    merge(&mut merged, &paper);
    assert_eq!(merged.kind, WorkKind::ConferencePaper);
    assert_eq!(merged.doi, paper.doi);
    assert_eq!(merged.year(), Some(2018));
    assert_eq!(merged.citation_count, Some(9));
    assert_eq!(merged.sources, ["datacite", "crossref"]);
    assert_eq!(merged.retracted, Some(false));
    merge(
        &mut merged,
        &Article {
            retracted: Some(true),
            ..Article::default()
        },
    );
    assert_eq!(merged.retracted, Some(true));
}

#[test]
fn two_editorials_of_one_journal_are_two_works() {
    let editorial = |doi: &str| Article {
        title: "Editorial".to_owned(),
        authors: sample_articles::people(&[("Doe", "J.")]),
        doi: Doi::parse(doi),
        ..Article::default()
    };
    assert!(!is_same_work(
        &editorial("10.1000/1"),
        &editorial("10.1000/2")
    ));
    assert!(is_same_work(
        &editorial("10.1000/1"),
        &editorial("10.1000/1")
    ));
    assert!(!is_same_work(&Article::default(), &Article::default()));
    let nobodys = Article {
        title: "Editorial".to_owned(),
        ..Article::default()
    };
    assert!(!is_same_work(&nobodys, &nobodys));
}

#[test]
fn merging_keeps_what_is_more_complete() {
    let mut into = Article {
        authors: vec![Author::person("Doe", "J.")],
        title: "Short".to_owned(),
        date: sample_articles::year(2020),
        keywords: vec!["AI".to_owned()],
        ..Article::default()
    };
    let other = Article {
        authors: vec![Author {
            orcid: Some("0000".to_owned()),
            ..Author::person("Doe", "Jane")
        }],
        title: "Short: and long".to_owned(),
        date: PartialDate::new(2020, Some(3), None),
        summary: Some("Words.".to_owned()),
        keywords: vec!["ai".to_owned(), "ml".to_owned()],
        ..Article::default()
    };
    merge(&mut into, &other);
    assert_eq!(into.authors, other.authors);
    assert_eq!(into.title, "Short: and long");
    assert_eq!(into.date, other.date);
    assert_eq!(into.summary, other.summary);
    assert_eq!(into.keywords, ["AI", "ml"]);
}

/// A preprint as some sources tell of it, and the paper that came of it.
fn versions() -> (Article, Article) {
    let preprint = Article {
        title: "A STUDY OF GRASS".to_owned(),
        authors: sample_articles::people(&[("Briain", "Seán Ó")]),
        kind: WorkKind::Preprint,
        venue: Some("arXiv.org".to_owned()),
        volume: Some("abs/2001.00001".to_owned()),
        issn: Some("2331-8422".to_owned()),
        doi: Doi::parse("10.48550/arXiv.2001.00001"),
        date: sample_articles::year(2020),
        ..Article::default()
    };
    let paper = Article {
        title: "A study of grass".to_owned(),
        authors: sample_articles::people(&[("Ó Briain", "Seán")]),
        kind: WorkKind::JournalArticle,
        venue: Some("Journal of Grass".to_owned()),
        doi: Doi::parse("10.1000/grass"),
        date: sample_articles::year(2021),
        ..Article::default()
    };
    (preprint, paper)
}

#[test]
fn two_and_many_are_merged_alike() {
    let (preprint, paper) = versions();
    let (mut one, mut other) = (preprint.clone(), paper.clone());
    merge(&mut one, &paper);
    merge(&mut other, &preprint);
    let all = merge_all(&[preprint, paper.clone()]);
    for merged in [&one, &other, &all] {
        // The number of a preprint is no volume of the journal.
        let place = (&merged.venue, &merged.volume, &merged.issn);
        assert_eq!(place, (&paper.venue, &None, &None));
        assert_eq!(merged.doi, paper.doi);
        // The DOI that gave way says where the preprint is.
        assert_eq!(merged.arxiv_id, ArxivId::parse("2001.00001"));
        assert_eq!(merged.title, paper.title);
        assert_eq!(merged.authors, paper.authors);
        assert_eq!(merged.kind, WorkKind::JournalArticle);
        assert_eq!(merged.year(), Some(2021));
    }
}

#[test]
fn a_preprint_that_someone_calls_an_article_stays_one() {
    let (mut preprint, _) = versions();
    let called = Article {
        kind: WorkKind::JournalArticle,
        venue: Some("arXiv (Cornell University)".to_owned()),
        ..preprint.clone()
    };
    let all = merge_all(&[preprint.clone(), called.clone()]);
    assert_eq!(all.kind, WorkKind::Preprint);
    merge(&mut preprint, &called);
    assert_eq!(preprint.kind, WorkKind::Preprint);
    assert_eq!(preprint.venue.as_deref(), Some("arXiv.org"));
}

#[test]
fn pages_of_a_venue_go_with_its_abbreviation() {
    let (_, mut paper) = versions();
    let short = Article {
        venue: Some("J. Grass".to_owned()),
        volume: Some("7".to_owned()),
        pages: Some("1-9".to_owned()),
        ..paper.clone()
    };
    merge(&mut paper, &short);
    assert_eq!(paper.venue.as_deref(), Some("Journal of Grass"));
    assert_eq!(paper.pages.as_deref(), Some("1-9"));
}

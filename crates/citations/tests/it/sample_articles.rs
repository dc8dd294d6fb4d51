//! Works whose citations are known.

use deliberate_citations::BibliographyEntry;
use deliberate_core::{Article, ArxivId, Author, Doi, PartialDate, WorkKind};

pub(crate) fn people(names: &[(&str, &str)]) -> Vec<Author> {
    names
        .iter()
        .map(|(family, given)| Author::person(*family, *given))
        .collect()
}

pub(crate) fn year(year: i32) -> Option<PartialDate> {
    PartialDate::new(year, None, None)
}

pub(crate) fn journal() -> Article {
    Article {
        title: "Deep learning".to_owned(),
        authors: people(&[
            ("LeCun", "Yann"),
            ("Bengio", "Yoshua"),
            ("Hinton", "Geoffrey"),
        ]),
        kind: WorkKind::JournalArticle,
        date: PartialDate::new(2015, Some(5), Some(28)),
        venue: Some("Nature".to_owned()),
        volume: Some("521".to_owned()),
        issue: Some("7553".to_owned()),
        pages: Some("436-444".to_owned()),
        doi: Doi::parse("10.1038/nature14539"),
        issn: Some("1476-4687".to_owned()),
        ..Article::default()
    }
}

pub(crate) fn conference() -> Article {
    Article {
        title: "Deep residual learning for image recognition".to_owned(),
        authors: people(&[
            ("He", "Kaiming"),
            ("Zhang", "Xiangyu"),
            ("Ren", "Shaoqing"),
            ("Sun", "Jian"),
        ]),
        kind: WorkKind::ConferencePaper,
        date: PartialDate::new(2016, Some(6), None),
        venue: Some(
            "Proceedings of the IEEE Conference on Computer Vision and Pattern Recognition"
                .to_owned(),
        ),
        pages: Some("770-778".to_owned()),
        publisher: Some("IEEE".to_owned()),
        doi: Doi::parse("10.1109/cvpr.2016.90"),
        ..Article::default()
    }
}

pub(crate) fn preprint() -> Article {
    Article {
        title: "Attention is all you need".to_owned(),
        authors: people(&[
            ("Vaswani", "Ashish"),
            ("Shazeer", "Noam"),
            ("Parmar", "Niki"),
            ("Uszkoreit", "Jakob"),
            ("Jones", "Llion"),
            ("Gomez", "Aidan N."),
            ("Kaiser", "Łukasz"),
        ]),
        kind: WorkKind::Preprint,
        date: PartialDate::new(2017, Some(6), Some(12)),
        arxiv_id: ArxivId::parse("1706.03762"),
        ..Article::default()
    }
}

pub(crate) fn book() -> Article {
    Article {
        title: "The art of computer programming".to_owned(),
        authors: people(&[("Knuth", "Donald E.")]),
        kind: WorkKind::Book,
        date: year(1997),
        publisher: Some("Addison-Wesley".to_owned()),
        isbn: Some("9780201896831".to_owned()),
        ..Article::default()
    }
}

pub(crate) fn chapter() -> Article {
    Article {
        title: "Visualizing high-dimensional data".to_owned(),
        authors: people(&[
            ("van der Maaten", "Laurens"),
            ("García de la Cruz", "María"),
        ]),
        kind: WorkKind::Chapter,
        date: year(2009),
        venue: Some("Handbook of data analysis".to_owned()),
        pages: Some("120-145".to_owned()),
        publisher: Some("Springer".to_owned()),
        ..Article::default()
    }
}

pub(crate) fn thesis() -> Article {
    Article {
        title: "A symbolic analysis of relay and switching circuits".to_owned(),
        authors: people(&[("Shannon", "Claude E.")]),
        kind: WorkKind::Thesis,
        date: year(1940),
        publisher: Some("Massachusetts Institute of Technology".to_owned()),
        ..Article::default()
    }
}

pub(crate) fn report() -> Article {
    Article {
        title: "Global tuberculosis report 2023".to_owned(),
        authors: vec![Author {
            family: "World Health Organization".to_owned(),
            organisation: true,
            ..Author::default()
        }],
        kind: WorkKind::Report,
        date: year(2023),
        publisher: Some("World Health Organization".to_owned()),
        url: Some("https://www.who.int/publications/i/item/9789240083851".to_owned()),
        ..Article::default()
    }
}

pub(crate) fn article_with_authors(count: usize) -> Article {
    let authors = (1..=count).map(|at| {
        Author::person(
            format!("Family{}", letter(at)),
            format!("G{}iven", letter(at)),
        )
    });
    Article {
        authors: authors.collect(),
        title: "A work of many".to_owned(),
        ..journal()
    }
}

fn letter(at: usize) -> char {
    char::from(b'a' + u8::try_from(at % 26).unwrap_or_default())
}

pub(crate) fn article_without_year() -> Article {
    Article {
        title: "Notes on nothing".to_owned(),
        date: None,
        ..journal()
    }
}

pub(crate) fn every_kind() -> Vec<Article> {
    vec![
        journal(),
        conference(),
        preprint(),
        book(),
        chapter(),
        thesis(),
        report(),
    ]
}

pub(crate) fn entries(articles: &[Article]) -> Vec<BibliographyEntry<'_>> {
    articles.iter().map(BibliographyEntry::from).collect()
}

pub(crate) fn other_kinds() -> Vec<Article> {
    let of = |kind: WorkKind, title: &str| Article {
        kind,
        title: title.to_owned(),
        authors: people(&[("Doe", "Jane")]),
        date: year(2021),
        publisher: Some("Zenodo".to_owned()),
        url: Some("https://example.org/x".to_owned()),
        ..Article::default()
    };
    let biorxiv = Article {
        publisher: None,
        url: None,
        venue: Some("bioRxiv".to_owned()),
        doi: Doi::parse("10.1101/2021.01.01.425001"),
        ..of(WorkKind::Preprint, "A preprint of biology")
    };
    vec![
        of(WorkKind::Dataset, "A set of data"),
        of(WorkKind::Software, "A program"),
        of(WorkKind::WebPage, "A page"),
        of(WorkKind::Document, "Lecture notes on something"),
        of(WorkKind::Unknown, "Something unknown"),
        biorxiv,
    ]
}

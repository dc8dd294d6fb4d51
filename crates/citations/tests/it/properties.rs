//! What holds for every record.

use deliberate_citations::{
    BibliographyEntry, CitationStyle, FormatOptions, OutputFormat, citation_keys, format,
    is_same_work, merge, merge_keys, read_any, read_bibtex, read_csl_json, read_reference,
    read_ris, same_work::similarity, to_bibtex, to_csl_json, to_csv, to_endnote, to_ris,
};
use deliberate_core::{Article, ArxivId, Author, Doi, PartialDate, WorkKind};
use proptest::prelude::*;

/// Any text: letters of all scripts, signs that formats take for their own, controls.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{1,40}",
        "[a-zA-Z{}\\\\$&%#_~^\"'`@,=-]{1,30}",
        prop::collection::vec(
            prop_oneof![
                Just("ER  - "),
                Just("TY  - JOUR"),
                Just("\n"),
                Just("\r\n"),
                Just("@article{x,"),
                Just("}"),
                Just("{"),
                Just(" and "),
                Just("others"),
                Just("\\"),
                Just("%0 Book"),
                Just("\u{0}"),
                Just("word"),
                Just("Ünï")
            ],
            1..8
        )
        .prop_map(|it| it.concat()),
    ]
}

fn any_kind() -> impl Strategy<Value = WorkKind> {
    use WorkKind as K;
    prop::sample::select(vec![
        K::JournalArticle,
        K::ConferencePaper,
        K::Preprint,
        K::Book,
        K::Chapter,
        K::Thesis,
        K::Report,
        K::Dataset,
        K::Software,
        K::WebPage,
        K::Document,
        K::Unknown,
    ])
}

fn any_author() -> impl Strategy<Value = Author> {
    (any_text(), prop::option::of(any_text()), any::<bool>()).prop_map(
        |(family, given, organisation)| Author {
            family,
            given: given.filter(|_| !organisation),
            organisation,
            orcid: None,
        },
    )
}

fn any_date() -> impl Strategy<Value = Option<PartialDate>> {
    (
        1000..=9999_i32,
        prop::option::of(1..=12_u8),
        prop::option::of(1..=31_u8),
    )
        .prop_map(|(year, month, day)| PartialDate::new(year, month, day))
}

prop_compose! {
    fn any_article()(
        title in any_text(),
        authors in prop::collection::vec(any_author(), 0..5),
        kind in any_kind(),
        date in prop::option::of(any_date()),
        (venue, publisher, summary, volume, issue) in (prop::option::of(any_text()), prop::option::of(any_text()), prop::option::of(any_text()), prop::option::of("[0-9A-Z]{1,4}"), prop::option::of("[0-9]{1,3}")),
        pages in prop::option::of("[a-z]?[0-9]{1,4}(-[a-z]?[0-9]{1,4})?"),
        doi in prop::option::of("10\\.[0-9]{4}/[a-z0-9._()-]{1,12}"),
        arxiv in prop::option::of("[0-9]{4}\\.[0-9]{5}"),
        keywords in prop::collection::vec(any_text(), 0..3),
        (count, retracted, sources) in (prop::option::of(0..9_u64), prop::option::of(any::<bool>()), prop::collection::vec("[a-c]", 0..3)),
    ) -> Article {
        Article {
            title, authors, kind, date: date.flatten(), venue, publisher, summary, volume, issue, pages,
            doi: doi.and_then(|it| Doi::parse(&it)), arxiv_id: arxiv.and_then(|it| ArxivId::parse(&it)),
            keywords, citation_count: count, retracted, sources, ..Article::default()
        }
    }
}

/// A text as every format keeps it.
fn normalized(text: &str) -> String {
    let hidden = |it: &char| matches!(it, '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2069}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}');
    let text: String = text
        .chars()
        .filter(|it| it.is_whitespace() || !it.is_control())
        .filter(|it| !hidden(it))
        .collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What is read as an address, or as arXiv, rather than as a journal.
fn is_no_venue(venue: &str) -> bool {
    let lower = venue.to_lowercase();
    ["http", "arxiv", "corr"]
        .iter()
        .any(|it| lower.starts_with(it))
}

fn normalized_option(text: Option<&String>) -> Option<String> {
    text.map(|it| normalized(it)).filter(|it| !it.is_empty())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bibtex_comes_back(articles in prop::collection::vec(any_article(), 1..4)) {
        let entries: Vec<BibliographyEntry<'_>> = articles.iter().map(BibliographyEntry::from).collect();
        let text = to_bibtex(&entries);
        let (records, _) = read_bibtex(&text);
        prop_assert_eq!(records.len(), articles.len(), "{}", text);
        for ((record, article), key) in records.iter().zip(&articles).zip(citation_keys(&entries)) {
            let read = &record.article;
            prop_assert_eq!(&record.key, &key);
            prop_assert_eq!(&read.title, &normalized(&article.title));
            prop_assert_eq!(&read.summary, &normalized_option(article.summary.as_ref()));
            prop_assert_eq!(&read.publisher, &normalized_option(article.publisher.as_ref()));
            let venue = normalized_option(article.venue.as_ref());
            if !venue.as_deref().is_some_and(is_no_venue) {
                prop_assert_eq!(&read.venue, &venue);
            }
            prop_assert_eq!(read.date, article.date);
            prop_assert_eq!(&read.volume, &article.volume);
            prop_assert_eq!(&read.issue, &article.issue);
            prop_assert_eq!(&read.pages, &article.pages);
            prop_assert_eq!(&read.doi, &article.doi);
            let arxiv = article.arxiv_id.clone();
            prop_assert_eq!(&read.arxiv_id, &arxiv);
            if !(article.kind == WorkKind::Unknown && article.arxiv_id.is_some()) {
                prop_assert_eq!(read.kind, article.kind);
            }
            let names: Vec<String> = article.authors.iter().map(|it| normalized(&it.family)).filter(|it| !it.is_empty()).collect();
            let read_names: Vec<String> = read.authors.iter().map(|it| it.family.clone()).collect();
            prop_assert_eq!(names, read_names, "{}", text);
        }
    }

    #[test]
    fn ris_comes_back(articles in prop::collection::vec(any_article(), 1..4)) {
        let entries: Vec<BibliographyEntry<'_>> = articles.iter().map(BibliographyEntry::from).collect();
        let text = to_ris(&entries);
        let (records, _) = read_ris(&text);
        prop_assert_eq!(records.len(), articles.len(), "{}", text);
        for (record, article) in records.iter().zip(&articles) {
            let read = &record.article;
            prop_assert_eq!(&read.title, &normalized(&article.title));
            prop_assert_eq!(&read.summary, &normalized_option(article.summary.as_ref()));
            prop_assert_eq!(&read.publisher, &normalized_option(article.publisher.as_ref()));
            let venue = normalized_option(article.venue.as_ref());
            if venue.as_ref() != Some(&read.title) {
                prop_assert_eq!(&read.venue, &venue);
            }
            prop_assert_eq!(read.date, article.date);
            prop_assert_eq!(read.kind, article.kind);
            prop_assert_eq!(&read.arxiv_id, &article.arxiv_id);
            // From a page to itself is that page.
            let pages = article.pages.clone().map(|it| match it.split_once('-') {
                Some((first, last)) if first == last => first.to_owned(),
                _ => it,
            });
            prop_assert_eq!(&read.pages, &pages);
            prop_assert_eq!(&read.doi, &article.doi);
            let keywords: Vec<String> = article.keywords.iter().map(|it| normalized(it)).filter(|it| !it.is_empty()).collect();
            prop_assert_eq!(&read.keywords, &keywords);
        }
    }

    #[test]
    fn csl_json_comes_back(article in any_article()) {
        let (records, _) = read_csl_json(&to_csl_json(&[BibliographyEntry::from(&article)]));
        let read = &records[0].article;
        prop_assert_eq!(&read.summary, &normalized_option(article.summary.as_ref()));
        prop_assert_eq!(read.date, article.date);
        prop_assert_eq!(&read.doi, &article.doi);
        let names: Vec<String> = article.authors.iter().map(|it| normalized(&it.family)).filter(|it| !it.is_empty()).collect();
        prop_assert_eq!(read.authors.iter().map(|it| it.family.clone()).collect::<Vec<_>>(), names);
    }

    #[test]
    fn plain_names_come_back_whole(names in prop::collection::vec(("\\p{Lu}\\p{Ll}{1,9}(-\\p{Lu}\\p{Ll}{1,6})?", "\\p{Lu}\\p{Ll}{1,9}( \\p{Lu}\\.)?"), 1..6)) {
        let authors: Vec<Author> = names.iter().map(|(family, given)| Author::person(family.as_str(), given.as_str())).collect();
        let article = Article { title: "T".to_owned(), authors: authors.clone(), ..Article::default() };
        let entries = [BibliographyEntry::from(&article)];
        prop_assert_eq!(&read_bibtex(&to_bibtex(&entries)).0[0].article.authors, &authors);
        prop_assert_eq!(&read_ris(&to_ris(&entries)).0[0].article.authors, &authors);
        prop_assert_eq!(&read_csl_json(&to_csl_json(&entries)).0[0].article.authors, &authors);
    }

    #[test]
    fn tables_keep_their_rows_and_columns(articles in prop::collection::vec(any_article(), 0..4)) {
        let entries: Vec<BibliographyEntry<'_>> = articles.iter().map(BibliographyEntry::from).collect();
        let csv = to_csv(&entries);
        prop_assert_eq!(csv.matches("\r\n").count(), articles.len() + 1);
        prop_assert_eq!(csv.lines().count(), articles.len() + 1);
        for line in csv.lines() {
            let outside: String = line.split('"').step_by(2).collect();
            prop_assert_eq!(outside.matches(',').count(), 21, "{}", line);
        }
        let endnote = to_endnote(&entries);
        prop_assert_eq!(endnote.lines().filter(|it| it.starts_with("%0 ")).count(), articles.len());
    }

    #[test]
    fn keys_are_unique_ascii_and_stable(articles in prop::collection::vec(any_article(), 0..12), own in prop::option::of(any_text())) {
        let mut entries: Vec<BibliographyEntry<'_>> = articles.iter().chain(&articles).map(BibliographyEntry::from).collect();
        if let (Some(entry), Some(own)) = (entries.first_mut(), &own) {
            entry.key = Some(own);
        }
        let keys = citation_keys(&entries);
        let unique: std::collections::HashSet<&String> = keys.iter().collect();
        prop_assert_eq!(unique.len(), entries.len());
        let plain = |it: char| it.is_ascii_graphic() && !"{}(),=\"#%~\\".contains(it);
        let all_plain = keys.iter().all(|it| !it.is_empty() && it.chars().all(plain));
        prop_assert!(all_plain);
        prop_assert_eq!(citation_keys(&entries), keys);
    }

    #[test]
    fn likeness_is_a_share_and_the_same_both_ways(a in any_article(), b in any_article()) {
        for (a, b) in [(&a, &b), (&a, &a)] {
            let (there, back) = (similarity(a, b), similarity(b, a));
            for (x, y) in [(there.score, back.score), (there.title, back.title), (there.authors, back.authors), (there.year, back.year), (there.venue, back.venue)] {
                prop_assert!((0.0..=1.0).contains(&x), "{x}");
                prop_assert!((x - y).abs() < 1e-5, "{x} {y}");
            }
            prop_assert_eq!(there.differs.len(), back.differs.len());
        }
        prop_assert_eq!(similarity(&a, &a).differs, []);
    }

    #[test]
    fn merging_twice_is_merging_once(a in any_article(), b in any_article()) {
        let mut once = a.clone();
        merge(&mut once, &b);
        let mut twice = once.clone();
        merge(&mut twice, &b);
        prop_assert_eq!(&once, &twice);
        let mut itself = a.clone();
        merge(&mut itself, &a);
        prop_assert_eq!(&itself, &a);
        prop_assert!(once.retracted == Some(true) || (a.retracted != Some(true) && b.retracted != Some(true)));
    }

    #[test]
    fn one_key_is_one_work(a in any_article(), b in any_article(), shared in 0..4) {
        let mut b = b;
        match shared {
            0 => b.doi = a.doi.clone(),
            1 => b.arxiv_id = a.arxiv_id.clone(),
            2 => { b.title = a.title.to_uppercase(); b.authors = a.authors.clone(); b.doi = None; b.arxiv_id = None; }
            _ => {}
        }
        let best = |article| merge_keys(article).into_iter().next();
        if best(&a).is_some() && best(&a) == best(&b) {
            prop_assert!(is_same_work(&a, &b));
        }
        prop_assert_eq!(is_same_work(&a, &b), is_same_work(&b, &a));
    }

    #[test]
    fn any_text_is_read_without_harm(text in any_text(), more in any_text()) {
        let text = format!("{text}{more}");
        read_any(&text);
        read_bibtex(&text);
        read_ris(&text);
        read_csl_json(&text);
        read_reference(&text);
        let _ = CitationStyle::from_csl_xml(&text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_record_can_be_formatted(articles in prop::collection::vec(any_article(), 1..4), style in prop::sample::select(vec!["ieee", "apa", "mla", "chicago", "chicago-notes", "vancouver", "nature"])) {
        let style = CitationStyle::find(style).unwrap();
        let entries: Vec<BibliographyEntry<'_>> = articles.iter().map(BibliographyEntry::from).collect();
        for output in [OutputFormat::Plain, OutputFormat::Html] {
            let formatted = format(&entries, &style, &FormatOptions { output, locale: None }).unwrap();
            prop_assert_eq!(formatted.entries.len(), articles.len());
            let mut places: Vec<usize> = formatted.entries.iter().map(|it| it.index).collect();
            places.sort_unstable();
            prop_assert_eq!(places, (0..articles.len()).collect::<Vec<_>>());
            if output == OutputFormat::Html {
                for entry in &formatted.entries {
                    let tags = ["<i>", "</i>", "<b>", "</b>", "<sup>", "</sup>", "<sub>", "</sub>", "</a>"].iter().fold(entry.text.clone(), |text, tag| text.replace(tag, "")).replace("<a href=\"http", "");
                    prop_assert!(!tags.contains('<'), "{}", entry.text);
                }
            }
        }
    }
}

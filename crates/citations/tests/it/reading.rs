//! Bibliography files of other programs, whole and broken.

use std::fmt::Write as _;

use deliberate_citations::{
    BibRecord, BibliographyFormat, detect_format, read_any, read_bibtex, read_csl_json, read_ris,
    to_bibtex, to_csl_json, to_ris,
};
use deliberate_core::{Article, WorkKind};

use super::sample_articles;

fn single_record(read: (Vec<BibRecord>, Vec<deliberate_citations::ReadProblem>)) -> BibRecord {
    assert_eq!(read.1, []);
    assert_eq!(read.0.len(), 1, "{read:?}");
    read.0.into_iter().next().expect("one record")
}

#[test]
fn bibtex_of_a_search_engine() {
    let text = r"@inproceedings{devlin2019bert,
  title={{BERT}: Pre-training of Deep Bidirectional Transformers for Language Understanding},
  author={Devlin, Jacob and Chang, Ming-Wei and Lee, Kenton and Toutanova, Kristina},
  booktitle={Proceedings of the 2019 conference of the {N}orth {A}merican chapter},
  pages={4171--4186},
  year={2019}
}";
    let record = single_record(read_bibtex(text));
    let article = record.article;
    assert_eq!(record.key, "devlin2019bert");
    assert_eq!(
        article.title,
        "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding"
    );
    assert_eq!(article.kind, WorkKind::ConferencePaper);
    assert_eq!(article.pages.as_deref(), Some("4171-4186"));
    assert_eq!(article.authors.len(), 4);
    assert_eq!(
        article.venue.as_deref(),
        Some("Proceedings of the 2019 conference of the North American chapter")
    );
}

#[test]
fn arxiv_as_a_journal_is_a_preprint() {
    let text = "@article{v, title={Attention}, author={A Vaswani}, journal={arXiv preprint arXiv:1706.03762v5}, year={2017}}";
    let article = single_record(read_bibtex(text)).article;
    assert_eq!(article.kind, WorkKind::Preprint);
    assert_eq!(article.arxiv_id.unwrap().as_str(), "1706.03762");
    assert_eq!(article.venue, None);
}

#[test]
fn the_id_of_a_preprint_is_no_volume() {
    let text = "@article{v, title={Attention}, author={A Vaswani}, journal={CoRR}, volume={abs/1706.03762}, year={2017}}";
    let article = single_record(read_bibtex(text)).article;
    assert_eq!(article.arxiv_id.unwrap().as_str(), "1706.03762");
    assert_eq!(article.volume, None);
}

#[test]
fn strings_quotes_comments_and_months() {
    let text = r#"
Some words, and an address: me@example.org
@comment{jabref-meta: {x}}
@string{ nat = "Nature" }
@STRING(full = nat # { } # "Physics")
@preamble{"\newcommand{\x}{y}"}
@Article(key:1,
  Title = "On {"}quotes{"} and M{\"u}ller",
  AUTHOR = "Kurt G{\"o}del and Erd\H{o}s, P{\'a}l",
  journal = full, month = sep, year = 1931, number = 7,
)
"#;
    let record = single_record(read_bibtex(text));
    assert_eq!(record.key, "key:1");
    assert_eq!(record.article.title, "On \"quotes\" and Müller");
    assert_eq!(record.article.authors[0].family, "Gödel");
    assert_eq!(record.article.authors[1].given.as_deref(), Some("Pál"));
    assert_eq!(record.article.venue.as_deref(), Some("Nature Physics"));
    assert_eq!(record.article.date.unwrap().to_string(), "1931-09");
    assert_eq!(record.article.issue.as_deref(), Some("7"));
}

#[test]
fn a_broken_entry_costs_itself_alone() {
    let text = "@article{a, title={One}, year={2001}}\n@article{b, title={Two}, year 2002}\n@article{c, title={Three\n@book{d, title={Four}}\n";
    let (records, problems) = read_bibtex(text);
    let titles: Vec<&str> = records.iter().map(|it| it.article.title.as_str()).collect();
    assert_eq!(titles, ["One", "Two", "Four"]);
    assert_eq!(problems[0].line, 2);
    assert!(problems[0].what.contains("`=` is missing"), "{problems:?}");
    assert!(problems.iter().any(|it| it.line == 3), "{problems:?}");
}

#[test]
fn hostile_bibtex_ends() {
    let itself = "@string{a = a # a}\n@string{a = a # a}\n".to_owned() + "@misc{x, title = a}";
    let mut laughs = "@string{l0 = {ha ha ha ha ha ha ha ha ha ha}}\n".to_owned();
    for at in 1..60 {
        let before = at - 1;
        let _ = writeln!(
            laughs,
            "@string{{l{at} = l{before} # l{before} # l{before} # l{before}}}"
        );
    }
    laughs.push_str("@misc{x, title = l59}");
    let mut costly = "@string{l0 = {".to_owned() + &"x".repeat(90_000) + "}}\n";
    costly.push_str(&"@misc{x, title = l0}\n".repeat(15_000));
    let braces = format!("@misc{{x, title={}", "{".repeat(300_000));
    let commands = format!(
        "@misc{{x, title={{{}}}}}",
        "\\a{".repeat(20_000) + &"}".repeat(20_000)
    );
    let many = "@a{b,c={\n".repeat(100_000);
    let ands = format!("@misc{{x, author={{{}}}}}", " and ".repeat(19_000));
    let spaces = format!("@misc{{x, author={{{}}}}}", " ".repeat(90_000));
    let accents = format!("@misc{{x, title={{{}}}}}", "\\'{\\".repeat(20_000));
    for text in [
        itself,
        laughs,
        costly,
        braces,
        commands,
        many,
        ands,
        spaces,
        accents,
        "@".repeat(100_000),
        "@a{".to_owned(),
    ] {
        let (records, problems) = read_bibtex(&text);
        assert!(records.len() < 10 || !problems.is_empty());
        assert!(problems.len() <= 201);
    }
}

#[test]
fn ris_of_a_publisher() {
    let text = "\u{FEFF}TY  - JOUR\r\nAU  - LeCun, Yann\r\nAU  - World Health Organization\r\nPY  - 2015\r\nDA  - 2015/05/28\r\nTI  - Deep\r\n learning\r\nJO  - Nature\r\nVL  - 521\r\nIS  - 7553\r\nSP  - 436\r\nEP  - 444\r\nSN  - 1476-4687\r\nUR  - https://doi.org/10.1038/nature14539\r\nID  - LeCun2015\r\nER  - \r\n";
    let record = single_record(read_ris(text));
    let article = record.article;
    assert_eq!(record.key, "LeCun2015");
    assert_eq!(article.title, "Deep learning");
    assert_eq!(article.pages.as_deref(), Some("436-444"));
    assert_eq!(article.date.unwrap().to_string(), "2015-05-28");
    assert_eq!(article.doi.unwrap().as_str(), "10.1038/nature14539");
    assert!(article.authors[1].organisation);
}

#[test]
fn broken_ris_is_told_and_read_on() {
    let text = "AU  - Lost\nTY  - JOUR\nTI  - One\nTY  - WHAT\nTI  - Two\nER  - \nER  - \nTY  - BOOK\nTI  - Three";
    let (records, problems) = read_ris(text);
    let titles: Vec<&str> = records.iter().map(|it| it.article.title.as_str()).collect();
    assert_eq!(titles, ["One", "Two", "Three"]);
    let lines: Vec<usize> = problems.iter().map(|it| it.line).collect();
    assert_eq!(lines, [1, 4, 4, 7, 8]);
}

#[test]
fn csl_json_in_its_forms() {
    let text = r#"{"items": [{"id": 7, "type": "paper-conference", "title": "A <i>B</i> &amp; C", "author": [{"family": "Beethoven", "given": "Ludwig", "non-dropping-particle": "van"}, {"literal": "WHO"}], "issued": {"date-parts": [["2020", 5]]}, "page": "1–9", "volume": 3}]}"#;
    let record = single_record(read_csl_json(text));
    assert_eq!(record.key, "7");
    assert_eq!(record.article.title, "A B &amp; C");
    assert_eq!(record.article.authors[0].family, "van Beethoven");
    assert!(record.article.authors[1].organisation);
    assert_eq!(record.article.date.unwrap().to_string(), "2020-05");
    assert_eq!(record.article.pages.as_deref(), Some("1-9"));
    assert_eq!(record.article.volume.as_deref(), Some("3"));
    let (records, problems) = read_csl_json(r#"[1, {"title": "T"}, "x"]"#);
    assert_eq!((records.len(), problems.len()), (1, 2));
    assert!(
        read_csl_json(&"[".repeat(100_000)).1[0]
            .what
            .contains("not JSON")
    );
}

#[test]
fn formats_are_told_by_their_looks() {
    let works = sample_articles::every_kind();
    let entries = sample_articles::entries(&works);
    let titles = |text: &str| -> Vec<String> {
        let (records, problems) = read_any(text);
        assert_eq!(problems, []);
        records.into_iter().map(|it| it.article.title).collect()
    };
    let wanted: Vec<String> = works.iter().map(|it| it.title.clone()).collect();
    for (text, format) in [
        (to_bibtex(&entries), BibliographyFormat::Bibtex),
        (to_ris(&entries), BibliographyFormat::Ris),
        (to_csl_json(&entries), BibliographyFormat::CslJson),
    ] {
        assert_eq!(detect_format(&text), Some(format));
        assert_eq!(titles(&text), wanted);
    }
    let (records, problems) = read_any("just words, me@example.org");
    assert!(records.is_empty() && problems[0].what.contains("neither"));
}

#[test]
fn an_entry_without_a_title_is_told() {
    let (records, problems) = read_bibtex("\n@book{x, year = 1999}");
    assert_eq!(
        records[0].article,
        Article {
            kind: WorkKind::Book,
            date: sample_articles::year(1999),
            ..Article::default()
        }
    );
    assert_eq!(problems[0].line, 2);
}

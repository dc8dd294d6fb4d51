//! Citations in styles, against what the styles' manuals say.

use super::sample_articles;
use deliberate_citations::{CitationStyle, FormatOptions, OutputFormat, format};

fn rendered(style: &str, articles: &[deliberate_core::Article], output: OutputFormat) -> String {
    let style = CitationStyle::find(style).unwrap();
    let options = FormatOptions {
        output,
        locale: None,
    };
    let formatted = format(&sample_articles::entries(articles), &style, &options).unwrap();
    let lines = formatted
        .entries
        .iter()
        .map(|it| format!("{} | {}", it.in_text, it.text));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_kind_of_work_in_the_common_styles() {
    let mut all = String::new();
    for style in [
        "ieee",
        "apa",
        "mla",
        "chicago",
        "chicago-notes",
        "harvard",
        "nature",
        "vancouver",
        "acm",
        "ama",
    ] {
        let text = rendered(style, &sample_articles::every_kind(), OutputFormat::Plain);
        all = format!("{all}## {style}\n{text}\n\n");
    }
    insta::assert_snapshot!(all);
}

#[test]
fn lists_of_authors_are_cut_as_the_style_says() {
    let works: Vec<_> = [1, 2, 3, 7, 21]
        .map(sample_articles::article_with_authors)
        .to_vec();
    let mut all = String::new();
    for style in ["apa", "ieee", "vancouver", "nature", "mla", "chicago"] {
        for work in &works {
            let text = rendered(style, std::slice::from_ref(work), OutputFormat::Plain);
            all = format!("{all}{style}: {text}\n");
        }
    }
    insta::assert_snapshot!(all);
}

#[test]
fn a_record_without_a_year_is_flagged() {
    let style = CitationStyle::find("apa").unwrap();
    let works = [
        sample_articles::article_without_year(),
        sample_articles::journal(),
    ];
    let formatted = format(
        &sample_articles::entries(&works),
        &style,
        &FormatOptions::default(),
    )
    .unwrap();
    let flagged = formatted.entries.iter().find(|it| it.index == 0).unwrap();
    assert!(flagged.text.contains("(date missing)"), "{}", flagged.text);
    assert!(!flagged.text.contains("n.d."), "{}", flagged.text);
    let fields: Vec<&str> = flagged
        .missing
        .iter()
        .filter(|it| it.essential)
        .map(|it| it.field.as_str())
        .collect();
    assert_eq!(fields, ["date"]);
    let formatted_entry = formatted.entries.iter().find(|it| it.index == 1).unwrap();
    assert_eq!(formatted_entry.missing, []);
}

#[test]
fn every_style_names_the_author_and_the_title_of_every_work() {
    for name in CitationStyle::names() {
        let style = CitationStyle::find(name).unwrap();
        let works = sample_articles::every_kind();
        let formatted = format(
            &sample_articles::entries(&works),
            &style,
            &FormatOptions::default(),
        )
        .unwrap();
        assert_eq!(formatted.entries.len(), works.len(), "{name}");
        for entry in &formatted.entries {
            let family = works[entry.index].authors[0]
                .family
                .rsplit(' ')
                .next()
                .unwrap()
                .to_lowercase();
            assert!(
                entry.text.to_lowercase().contains(&family),
                "{name}: {}",
                entry.text
            );
            assert!(!entry.in_text.is_empty(), "{name}: {}", entry.text);
        }
    }
}

#[test]
fn markdown_and_html_carry_the_marks_and_escape_the_text() {
    let mut work = sample_articles::journal();
    work.title = "A <script>alert('x')</script> & *stars* [link](javascript:x)".to_owned();
    let works = [work];
    insta::assert_snapshot!(
        [
            rendered("apa", &works, OutputFormat::Markdown),
            rendered("apa", &works, OutputFormat::Html),
            rendered("nature", &works, OutputFormat::Html),
            rendered("apa", &works, OutputFormat::Plain),
        ]
        .join("\n")
    );
}

#[test]
fn works_of_one_author_and_year_are_told_apart() {
    let other = deliberate_core::Article {
        title: "Shallow learning".to_owned(),
        doi: None,
        ..sample_articles::journal()
    };
    // The letters go by the order of the bibliography, not by that of the list.
    let text = rendered(
        "apa",
        &[other, sample_articles::journal()],
        OutputFormat::Plain,
    );
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("2015a). Deep"), "{text}");
    assert!(lines[1].contains("2015b). Shallow"), "{text}");
    assert!(lines[1].starts_with("(LeCun et al., 2015b)"), "{text}");
}

#[test]
fn two_equal_records_stay_two_entries() {
    let style = CitationStyle::find("ieee").unwrap();
    let works = [sample_articles::journal(), sample_articles::journal()];
    let formatted = format(
        &sample_articles::entries(&works),
        &style,
        &FormatOptions::default(),
    )
    .unwrap();
    let cited: Vec<&str> = formatted
        .entries
        .iter()
        .map(|it| it.in_text.as_str())
        .collect();
    assert_eq!(cited, ["[1]", "[2]"]);
    assert_ne!(formatted.entries[0].key, formatted.entries[1].key);
}

#[test]
fn a_locale_changes_the_words() {
    let style = CitationStyle::find("apa").unwrap();
    let works = [sample_articles::chapter()];
    let in_german = |locale: &str| {
        let options = FormatOptions {
            output: OutputFormat::Plain,
            locale: Some(locale.to_owned()),
        };
        format(&sample_articles::entries(&works), &style, &options)
    };
    let german = in_german("de").unwrap();
    assert!(
        german.entries[0].text.contains("(S. 120–145)"),
        "{}",
        german.entries[0].text
    );
    assert_eq!(german, in_german("DE_de").unwrap());
    let refused = in_german("tlh").unwrap_err().to_string();
    assert!(
        refused.contains("\"tlh\"") && refused.contains("en-US"),
        "{refused}"
    );
}

#[test]
fn an_unknown_style_gets_the_nearest_name() {
    let err = CitationStyle::find("chicgo").unwrap_err();
    assert_eq!(err.nearest.as_deref(), Some("chicago"));
    assert!(err.to_string().contains("did you mean `chicago`"), "{err}");
    assert_eq!(
        CitationStyle::find("quantum soup").unwrap_err().nearest,
        None
    );
    assert_eq!(CitationStyle::find(" IEEE ").unwrap().name(), "ieee");
    assert!(CitationStyle::find("Chicago Notes").is_ok());
}

#[test]
fn too_many_works_are_refused() {
    let style = CitationStyle::find("ieee").unwrap();
    let works = vec![sample_articles::book(); deliberate_citations::MAX_ENTRIES + 1];
    let err = format(
        &sample_articles::entries(&works),
        &style,
        &FormatOptions::default(),
    )
    .unwrap_err();
    assert!(err.to_string().contains("give fewer"), "{err}");
}

#[test]
fn no_style_leaves_punctuation_of_nothing() {
    const GAPS: [&str; 13] = [
        ",)", ",.", "()", " ,", ":.", ",,", "..", "(,", ";.", "( ", " )", " .", "[]",
    ];
    let mut works = sample_articles::every_kind();
    works.extend(sample_articles::other_kinds());
    for name in CitationStyle::names() {
        let style = CitationStyle::find(name).unwrap();
        let formatted = format(
            &sample_articles::entries(&works),
            &style,
            &FormatOptions::default(),
        )
        .unwrap();
        for entry in &formatted.entries {
            let gap = GAPS.iter().find(|it| entry.text.contains(**it));
            assert_eq!(gap, None, "{name}: {}", entry.text);
        }
    }
}

#[test]
fn punctuation_of_the_record_itself_stays() {
    let mut work = sample_articles::book();
    work.title = "Wait.. what,. (a ,) .NET story".to_owned();
    let text = rendered("ieee", &[work], OutputFormat::Plain);
    assert!(text.contains("Wait.. what,. (a ,) .NET story"), "{text}");
}

#[test]
fn the_other_kinds_of_work() {
    let mut all = String::new();
    for style in ["ieee", "apa", "vancouver", "chicago"] {
        let text = rendered(style, &sample_articles::other_kinds(), OutputFormat::Plain);
        all = format!("{all}## {style}\n{text}\n\n");
    }
    insta::assert_snapshot!(all);
}

#[test]
fn a_generation_is_no_given_name() {
    let article = deliberate_core::Article {
        authors: sample_articles::people(&[("King", "Martin Luther, Jr.")]),
        ..sample_articles::journal()
    };
    let apa = rendered("apa", std::slice::from_ref(&article), OutputFormat::Plain);
    assert!(apa.contains("King, M. L., Jr. (2015)"), "{apa}");
    let ieee = rendered("ieee", std::slice::from_ref(&article), OutputFormat::Plain);
    assert!(ieee.contains("M. L. King Jr."), "{ieee}");
}

#[test]
fn parts_of_a_date_that_are_not_known_leave_no_gap() {
    let dated = |date| deliberate_core::Article {
        date,
        ..sample_articles::journal()
    };
    for (date, expected) in [
        (
            sample_articles::year(1999),
            "Nature. 1999;521(7553):436–44.",
        ),
        (
            deliberate_core::PartialDate::new(2001, Some(12), None),
            "Nature. 2001 Dec;521(7553):436–44.",
        ),
    ] {
        let text = rendered("vancouver", &[dated(date)], OutputFormat::Plain);
        assert!(text.contains(expected), "{text}");
    }
    let preprint = deliberate_core::Article {
        date: None,
        ..sample_articles::preprint()
    };
    let apa = rendered("apa", &[preprint], OutputFormat::Plain);
    assert!(apa.contains("arXiv. https://arxiv.org/"), "{apa}");
}

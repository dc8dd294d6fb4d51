//! Style files of a user's own, some of them hostile.

use super::sample_articles;
use deliberate_citations::{CitationStyle, FormatOptions, StyleError, format};

fn style(macros: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="utf-8"?>
<style xmlns="http://purl.org/net/xbiblio/csl" class="in-text" version="1.0">
  <info><title>House</title><id>house</id><updated>2024-01-01T00:00:00+00:00</updated></info>
  {macros}
  <citation><layout prefix="{{" suffix="}}"><names variable="author"><name form="short"/></names></layout></citation>
  <bibliography><layout suffix=".">
    <names variable="author"><label/><substitute><text variable="title"/></substitute></names>
    <text variable="title" prefix=": "/>
    <text macro="a"/>
  </layout></bibliography>
</style>"#
    )
}

#[test]
fn a_users_own_style_is_used() {
    let style = CitationStyle::from_csl_xml(&style(
        r#"<macro name="a"><text variable="publisher" prefix=", "/></macro>"#,
    ))
    .unwrap();
    assert_eq!(style.name(), "House");
    let works = [sample_articles::book()];
    let formatted = format(
        &sample_articles::entries(&works),
        &style,
        &FormatOptions::default(),
    )
    .unwrap();
    assert_eq!(
        formatted.entries[0].text,
        "Donald E. Knuth: The art of computer programming, Addison-Wesley."
    );
    assert_eq!(formatted.entries[0].in_text, "{Knuth}");
}

#[test]
fn a_macro_that_calls_itself_is_refused() {
    let direct =
        CitationStyle::from_csl_xml(&style(r#"<macro name="a"><text macro="a"/></macro>"#))
            .unwrap_err();
    assert!(direct.to_string().contains("calls itself"), "{direct}");
    let around = style(
        r#"<macro name="a"><group><text macro="b"/></group></macro><macro name="b"><names variable="author"><substitute><text macro="a"/></substitute></names></macro>"#,
    );
    assert!(matches!(
        CitationStyle::from_csl_xml(&around),
        Err(StyleError::Unsafe(_))
    ));
}

#[test]
fn macros_that_multiply_are_refused() {
    let mut macros = String::new();
    for at in 0..40 {
        let name = if at == 0 {
            "a".to_owned()
        } else {
            format!("m{at}")
        };
        let call = format!(r#"<text macro="m{}"/>"#, at + 1);
        macros = format!(r#"{macros}<macro name="{name}">{call}{call}</macro>"#);
    }
    let err = CitationStyle::from_csl_xml(&style(&macros)).unwrap_err();
    assert!(err.to_string().contains("steps"), "{err}");
}

#[test]
fn what_is_no_style_is_refused() {
    let deep = format!("{}{}", "<group>".repeat(5_000), "</group>".repeat(5_000));
    let deep = style(&format!(r#"<macro name="a">{deep}</macro>"#));
    let entities = style("").replace("<style ", "<!DOCTYPE s [<!ENTITY a \"aaaa\">]><style ");
    for (what, xml) in [
        ("deep", deep),
        ("entities", entities),
        ("empty", String::new()),
        ("text", "not a style".to_owned()),
        ("html", "<html><body/></html>".to_owned()),
        ("cut", style("").chars().take(300).collect()),
        ("long", " ".repeat(1_100_000)),
    ] {
        let refused = CitationStyle::from_csl_xml(&xml);
        assert!(refused.is_err(), "{what}");
    }
}

#[test]
fn a_style_that_points_elsewhere_says_where() {
    let xml = r#"<style xmlns="http://purl.org/net/xbiblio/csl" version="1.0"><info><title>Dep</title><id>dep</id>
      <link href="http://www.zotero.org/styles/nature" rel="independent-parent"/><updated>2024-01-01T00:00:00+00:00</updated></info></style>"#;
    let err = CitationStyle::from_csl_xml(xml).unwrap_err();
    assert!(err.to_string().contains("styles/nature"), "{err}");
}

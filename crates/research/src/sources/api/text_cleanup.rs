//! Cleans the text of API responses: removes tags and invisible characters, decodes entities once,
//! normalizes white space, and limits the length.

use std::sync::LazyLock;

use deliberate_core::first_chars;
use deliberate_extract::decode_entities;
use regex::Regex;

pub(crate) const MAX_TITLE_CHARS: usize = 1_000;
pub(crate) const MAX_ABSTRACT_CHARS: usize = 20_000;
/// The longest text of every other field: a name, a venue, page numbers.
pub(crate) const MAX_LINE_CHARS: usize = 500;
pub(crate) const MAX_AUTHORS: usize = 2_000;
pub(crate) const MAX_KEYWORDS: usize = 50;

/// Matches tags of the elements that papers use and no others: `a <b and c> d` is mathematics.
static MARKUP_TAG: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = "jats:[a-z-]+|mml:[a-z]+|p|br|b|i|u|em|strong|bold|italic|sub|sup|sc|span|div|sec|\
                 title|label|h[1-6]|ul|ol|li|list|list-item|inline-formula|disp-formula|\
                 alternatives|xref|ext-link|a|tt|monospace|underline|scp|abstract|math|mi|mo|mn|\
                 mrow|msub|msup|mtext|script|style|img|table|tr|td|th|tbody|section|article";
    Regex::new(&format!(
        r#"(?i)<(/?)({names})(?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>]+))*\s*/?>"#
    ))
    .ok()
});

/// Matches elements whose content is not text: scripts, and formulas that are given a second time.
static NON_TEXT_ELEMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let of = |name: &str| format!(r"<{name}\b[^<>]*>.*?</{name}\s*>");
    let all = ["script", "style", "tex-math", "jats:tex-math"].map(of);
    Regex::new(&format!("(?is){}|<!--.*?-->", all.join("|"))).ok()
});

/// Cleans text that may hold tags and entities, as in JSON responses.
pub(crate) fn clean_markup(raw: &str, most: usize) -> Option<String> {
    // The result is cut to `most` characters, so the rest of a long text need not be cleaned.
    let raw = first_chars(raw, most.saturating_mul(8));
    let bare = strip_tags(raw);
    let decoded = decode_entities(&bare);
    // Some sources escape their tags, so these appear only after decoding.
    let plain_text = strip_tags(&decoded);
    clean_text(&plain_text, most)
}

/// Cleans text without markup, as it comes out of XML.
pub(crate) fn clean_text(raw: &str, most: usize) -> Option<String> {
    let mut text = String::with_capacity(raw.len().min(most));
    let (mut left, mut gap) = (most, false);
    for it in raw
        .chars()
        .filter(|it| is_visible(*it) || it.is_whitespace())
    {
        if it.is_whitespace() {
            gap = !text.is_empty();
            continue;
        }
        let need = 1 + usize::from(gap);
        if left < need {
            break;
        }
        if gap {
            text.push(' ');
        }
        text.push(it);
        (left, gap) = (left - need, false);
    }
    (!text.is_empty()).then_some(text)
}

/// Cleans an abstract and removes the heading `Abstract`.
pub(crate) fn clean_abstract(raw: &str) -> Option<String> {
    let text = clean_markup(raw, MAX_ABSTRACT_CHARS)?;
    let heading = ["Abstract:", "ABSTRACT:", "Abstract ", "ABSTRACT "];
    let rest = heading.iter().find_map(|it| text.strip_prefix(it));
    match rest.map(str::trim_start) {
        // In `Abstract interpretation is …` the word is not a heading.
        Some(rest) if rest.starts_with(char::is_uppercase) => Some(rest.to_owned()),
        _ => Some(text),
    }
}

/// Removes the full stop and the brackets that medical indexes add to a title.
pub(crate) fn strip_title_marks(title: &str) -> String {
    let one_stop = title.strip_suffix('.').filter(|it| !it.ends_with('.'));
    let title = one_stop.unwrap_or(title).trim();
    let inner = title.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    inner.unwrap_or(title).trim().to_owned()
}

/// Whether the publisher marked the title of a paper as retracted.
pub(crate) fn is_marked_retracted(title: &str) -> bool {
    let lower = first_chars(title, 40).to_lowercase();
    [
        "retracted:",
        "retracted article:",
        "[retracted]",
        "(retracted)",
    ]
    .iter()
    .any(|it| lower.starts_with(it))
}

/// Writes page ranges as `12-34`, whatever separates the numbers.
pub(crate) fn normalize_pages(pages: &str) -> String {
    let dashes = ['–', '—', '‐', '‑', '−'];
    let parts: Vec<String> = pages
        .replace(dashes, "-")
        .split('-')
        .map(|it| it.trim().to_owned())
        .collect();
    parts.join("-")
}

/// Removes the place that distinguishes journals of one name: `Lancet (London, England)`.
pub(crate) fn normalize_venue(venue: &str) -> String {
    let town = venue.strip_suffix(')').and_then(|it| it.rsplit_once(" ("));
    match town {
        Some((name, town)) if town.contains(',') && !name.is_empty() => name.to_owned(),
        _ => venue.to_owned(),
    }
}

/// Turns a three-letter language code into the two-letter one.
pub(crate) fn normalize_language(language: &str) -> String {
    let short = match language.to_lowercase().as_str() {
        "eng" => "en",
        "fre" | "fra" => "fr",
        "ger" | "deu" => "de",
        "spa" => "es",
        "por" => "pt",
        "ita" => "it",
        "rus" => "ru",
        "chi" | "zho" => "zh",
        "jpn" => "ja",
        "kor" => "ko",
        "dut" | "nld" => "nl",
        "pol" => "pl",
        "cze" | "ces" => "cs",
        "tur" => "tr",
        "swe" => "sv",
        "dan" => "da",
        "nor" => "no",
        "hun" => "hu",
        "ukr" => "uk",
        other => return other.to_owned(),
    };
    short.to_owned()
}

/// Keeps a URL only if it is a valid web address.
pub(crate) fn clean_url(raw: &str) -> Option<String> {
    let raw = raw.trim();
    let url = (raw.len() <= 2_000).then(|| url::Url::parse(raw).ok())??;
    matches!(url.scheme(), "http" | "https").then(|| url.to_string())
}

fn strip_tags(text: &str) -> String {
    if !text.contains('<') {
        return text.to_owned();
    }
    let (Some(unread), Some(tag)) = (NON_TEXT_ELEMENT.as_ref(), MARKUP_TAG.as_ref()) else {
        return text.to_owned();
    };
    let text = unread.replace_all(text, " ");
    let gap = |found: &regex::Captures<'_>| {
        let name = found.get(2).map_or("", |it| it.as_str()).to_lowercase();
        // `H<sub>2</sub>O` stays one word, but the words of two paragraphs stay apart.
        let block = matches!(
            name.trim_start_matches("jats:"),
            "p" | "br"
                | "div"
                | "sec"
                | "title"
                | "label"
                | "li"
                | "list"
                | "list-item"
                | "ul"
                | "ol"
                | "td"
                | "th"
                | "tr"
                | "section"
                | "article"
        ) || (name.starts_with('h') && name.len() == 2);
        if block { " " } else { "" }
    };
    tag.replace_all(&text, gap).into_owned()
}

/// Whether a character is neither a control character nor one that changes how others are shown.
fn is_visible(it: char) -> bool {
    !it.is_control()
        && !matches!(it, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffc}'
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(raw: &str) -> String {
        clean_markup(raw, MAX_ABSTRACT_CHARS).unwrap_or_default()
    }

    #[test]
    fn tags_go_and_mathematics_stays() {
        assert_eq!(
            clean("<jats:p>H<jats:sub>2</jats:sub>O</jats:p><jats:p>x</jats:p>"),
            "H2O x"
        );
        assert_eq!(
            clean("if a <b and c> d then p < 0.05"),
            "if a <b and c> d then p < 0.05"
        );
        assert_eq!(clean("a<script>alert('x')</script>b"), "a b");
        assert_eq!(clean("<p class=\"x > y\">z</p>"), "z");
        assert_eq!(
            clean("<tex-math>$x$</tex-math><mml:math><mml:mi>x</mml:mi></mml:math>"),
            "x"
        );
    }

    #[test]
    fn entities_are_decoded_once() {
        assert_eq!(clean("A &amp; B &lt; C"), "A & B < C");
        assert_eq!(clean("&amp;amp; &amp;lt;"), "&amp; &lt;");
        assert_eq!(clean("&Scaron;&ldquo;&le;&hearts;"), "Š“≤♥");
        assert_eq!(
            clean("&#x3b1;&beta;&nbsp;c &nonsense; &"),
            "αβ c &nonsense; &"
        );
        assert_eq!(clean("&lt;p&gt;told twice&lt;/p&gt;"), "told twice");
        assert_eq!(clean("&#0;&#xffffffff;"), "&#xffffffff;");
    }

    #[test]
    fn what_is_not_seen_goes() {
        assert_eq!(clean("a\u{0}b\u{202e}c \u{a0}\r\n\t d\u{feff}"), "abc d");
        assert_eq!(clean_markup(" \u{200b} ", MAX_TITLE_CHARS), None);
    }

    #[test]
    fn nothing_is_longer_than_it_may_be() {
        let long = "wörter ".repeat(10_000);
        let text = clean_markup(&long, MAX_TITLE_CHARS).unwrap_or_default();
        assert!(
            text.chars().count() <= MAX_TITLE_CHARS,
            "{}",
            text.chars().count()
        );
    }

    #[test]
    fn headings_of_abstracts_go() {
        assert_eq!(
            clean_abstract("<jats:title>Abstract</jats:title><jats:p>We.</jats:p>").as_deref(),
            Some("We.")
        );
        let text = "Abstract interpretation is old.";
        assert_eq!(clean_abstract(text).as_deref(), Some(text));
    }

    #[test]
    fn titles_lose_their_dress() {
        assert_eq!(strip_title_marks("[On teeth]."), "On teeth");
        assert_eq!(strip_title_marks("And then..."), "And then...");
        assert!(
            is_marked_retracted("RETRACTED: Cells")
                && !is_marked_retracted("Retraction of retracted:")
        );
    }

    #[test]
    fn small_things_have_one_form() {
        assert_eq!(normalize_pages("357 – 362"), "357-362");
        assert_eq!(normalize_pages("e12"), "e12");
        assert_eq!(normalize_venue("Lancet (London, England)"), "Lancet");
        assert_eq!(normalize_venue("Cells (Biology)"), "Cells (Biology)");
        assert_eq!(
            (normalize_language("GER"), normalize_language("en")),
            ("de".to_owned(), "en".to_owned())
        );
    }

    #[test]
    fn addresses_lead_somewhere() {
        assert_eq!(clean_url("javascript:alert(1)"), None);
        assert_eq!(clean_url("file:///etc/passwd"), None);
        assert!(clean_url(" https://a.org/x y ").is_some());
    }

    proptest::proptest! {
        #[test]
        fn whatever_comes_is_plain_and_short(raw in "(?s)[<>&;#xpib/\"' a-zé\u{0}\u{202e}]{0,80}", most in 1..40_usize) {
            let text = clean_markup(&raw, most).unwrap_or_default();
            proptest::prop_assert!(text.chars().count() <= most);
            proptest::prop_assert!(text.chars().all(is_visible_or_space));
            proptest::prop_assert_eq!(clean_text(&text, most).unwrap_or_default(), text);
        }
    }

    fn is_visible_or_space(it: char) -> bool {
        is_visible(it) || it == ' '
    }
}

//! File names for papers: generates one from the metadata, and checks one from a caller. Neither
//! can lead to another folder.

use deliberate_core::{Article, ArxivId, Doi, fold_letters};

/// The longest name in characters.
const MAX_NAME_CHARS: usize = 120;
const MAX_TITLE_WORDS: usize = 8;
const EXTENSION: &str = ".pdf";

/// Device names on Windows, with any extension.
const RESERVED_NAMES: &[&str] = &["con", "prn", "aux", "nul", "conin$", "conout$", "clock$"];

/// Generates `knuth-1984-literate-programming.pdf` from ASCII letters, digits and dashes.
pub fn file_name_for(article: &Article) -> String {
    let author = article.authors.first().map(|it| slugify(&it.family));
    let year = article.year().map(|it| it.to_string());
    let title = slugify(&article.title);
    let title: Vec<&str> = title.split('-').take(MAX_TITLE_WORDS).collect();
    let title = title.join("-");
    let mut parts: Vec<String> = Vec::new();
    parts.extend(author.filter(|it| !it.is_empty()));
    parts.extend(year);
    if title.is_empty() {
        // The title has no ASCII letters, so an identifier distinguishes the file from others.
        parts.push(fallback_id(article));
    } else {
        parts.push(title);
    }
    let stem: String = parts
        .join("-")
        .chars()
        .take(MAX_NAME_CHARS - EXTENSION.len())
        .collect();
    let stem = stem.trim_matches('-');
    if stem.is_empty() || is_reserved(stem) {
        return format!("paper-{stem}").trim_end_matches('-').to_owned() + EXTENSION;
    }
    format!("{stem}{EXTENSION}")
}

/// Returns the given name if it is a plain file name on every system.
pub fn safe_file_name(given: &str) -> Option<String> {
    let name = given.trim();
    let fine = !name.is_empty()
        && name.chars().count() <= MAX_NAME_CHARS
        && name.len() <= 240
        && !name.starts_with(['.', '-', '~'])
        && !name.ends_with('.')
        && name.chars().all(is_safe_char)
        && !is_reserved(name);
    fine.then(|| name.to_owned())
}

fn is_safe_char(letter: char) -> bool {
    let turns_text_around = matches!(
        letter,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
    );
    !letter.is_control()
        && !turns_text_around
        && !matches!(letter, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|')
}

fn is_reserved(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end();
    let stem = stem.to_lowercase();
    let numbered = ["com", "lpt"].iter().any(|device| {
        let mut rest = stem.strip_prefix(device).unwrap_or_default().chars();
        let is_number = |it: char| it.is_ascii_digit() || matches!(it, '¹' | '²' | '³');
        rest.next().is_some_and(is_number) && rest.next().is_none()
    });
    numbered || RESERVED_NAMES.contains(&stem.as_str())
}

fn fallback_id(article: &Article) -> String {
    let ids = [
        article.arxiv_id.as_ref().map(ArxivId::as_str),
        article.doi.as_ref().map(Doi::as_str),
        article.pmcid.as_deref(),
        article.pmid.as_deref(),
        article.openalex_id.as_deref(),
        article.s2_id.as_deref(),
    ];
    ids.into_iter()
        .flatten()
        .next()
        .map(slugify)
        .unwrap_or_default()
}

/// Reduces text to lower-case ASCII letters and digits, with one dash for everything between.
fn slugify(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars().flat_map(char::to_lowercase) {
        if letter.is_ascii_alphanumeric() {
            out.push(letter);
        } else if matches!(letter, '\'' | '’' | '\u{0300}'..='\u{036f}') {
            // No dash: `o'neil` is one word, and so is a letter with a combining mark.
        } else {
            let ascii = fold_to_ascii(letter);
            if ascii.is_empty() && !out.ends_with('-') && !out.is_empty() {
                out.push('-');
            }
            out.push_str(&ascii);
        }
        if out.len() > 2 * MAX_NAME_CHARS {
            break;
        }
    }
    out.trim_end_matches('-').to_owned()
}

/// The ASCII letters of a letter in lower case; empty if it has none. German umlauts are written out.
fn fold_to_ascii(letter: char) -> String {
    match letter {
        'ä' => "ae".to_owned(),
        'ö' => "oe".to_owned(),
        'ü' => "ue".to_owned(),
        _ if letter.is_alphabetic() => fold_letters(letter.encode_utf8(&mut [0; 4]))
            .filter(char::is_ascii_alphanumeric)
            .collect(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use deliberate_core::{Author, PartialDate};
    use proptest::prelude::*;

    use super::*;

    fn article(author: &str, year: i32, title: &str) -> Article {
        Article {
            title: title.to_owned(),
            authors: vec![Author::parse(author)],
            date: PartialDate::new(year, None, None),
            ..Article::default()
        }
    }

    #[test]
    fn names_say_who_when_and_what() {
        for (author, year, title, name) in [
            (
                "Donald E. Knuth",
                1984,
                "Literate Programming",
                "knuth-1984-literate-programming.pdf",
            ),
            (
                "Kurt Gödel",
                1931,
                "Über formal unentscheidbare Sätze",
                "goedel-1931-ueber-formal-unentscheidbare-saetze.pdf",
            ),
            ("", 0, "../../etc/passwd", "etc-passwd.pdf"),
            ("", 0, "CON", "paper-con.pdf"),
            ("", 0, "", "paper.pdf"),
            ("", 0, "量子力学", "paper.pdf"),
        ] {
            assert_eq!(file_name_for(&article(author, year, title)), name);
        }
        let mut unnamed = article("", 2020, "量子力学");
        unnamed.doi = Doi::parse("10.1234/AB.c");
        assert_eq!(file_name_for(&unnamed), "2020-10-1234-ab-c.pdf");
    }

    #[test]
    fn given_names_are_taken_or_refused() {
        for fine in [
            "paper.pdf",
            "Gödel 1931 (draft).pdf",
            "a",
            "console.pdf",
            "com10.pdf",
            "论文.pdf",
        ] {
            assert_eq!(safe_file_name(fine).as_deref(), Some(fine));
        }
        let long = "x".repeat(MAX_NAME_CHARS + 1);
        for bad in [
            "",
            " ",
            ".",
            "..",
            "../x.pdf",
            "a/b",
            "a\\b",
            "/etc/passwd",
            "C:\\x",
            "c:x",
            ".hidden",
            "~root",
            "-rf",
            "con",
            "CON.pdf",
            "nul.tar.gz",
            "LPT1",
            "com¹.pdf",
            "a\0b",
            "a\nb",
            "x.",
            "x<y",
            "x|y",
            "evil\u{202e}fdp.exe",
            long.as_str(),
        ] {
            assert_eq!(safe_file_name(bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn a_made_name_is_always_safe(author in ".{0,40}", year in -10..3000, title in ".{0,300}") {
            let name = file_name_for(&article(&author, year, &title));
            prop_assert!(name.is_ascii() && name.len() <= MAX_NAME_CHARS);
            prop_assert_eq!(safe_file_name(&name), Some(name.clone()));
            prop_assert!(name.strip_suffix(EXTENSION).is_some());
        }
    }
}

//! Parses an entry of a bibliography. Uncertain fields are left out: a missing title is better than a
//! wrong one.

use std::sync::LazyLock;

use regex::Regex;

use super::identifiers::{find_arxiv, find_doi, find_url, find_years};
use crate::DocumentReference;

static QUOTED_PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"[\u{201c}"]([^\u{201c}\u{201d}"]{8,400})[,.]?[\u{201d}"]"#).ok()
});
static INITIALS_PATTERN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^(?:\p{Lu}\p{M}?[.\s\-\u{2010}]{0,3}){1,5}$").ok());

pub fn parse_reference(text: &str) -> DocumentReference {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let doi = find_doi(&text);
    let arxiv_id = find_arxiv(&text);
    let url = find_url(&text);
    let year = find_year(&text);
    let parts = parse_quoted_title(&text)
        .or_else(|| parse_author_year(&text))
        .or_else(|| parse_sentences(&text))
        .unwrap_or_default();
    DocumentReference {
        authors: parts.authors,
        title: parts.title,
        year,
        venue: parts.venue,
        doi,
        arxiv_id,
        url,
        text,
        ..DocumentReference::default()
    }
}

#[derive(Default)]
struct DocumentReferenceFields {
    authors: Vec<String>,
    title: Option<String>,
    venue: Option<String>,
}

/// The year in brackets, else the last one that is not part of a URL or range.
fn find_year(text: &str) -> Option<i32> {
    let found = find_years(text);
    let around = |at: usize| {
        let before = text.get(..at).and_then(|head| head.chars().last());
        let after = text
            .get(at + 4..)
            .and_then(|tail| tail.chars().find(|c| !c.is_ascii_lowercase()));
        (before, after)
    };
    let bracketed = found.iter().find(|(at, _)| {
        let (before, after) = around(*at);
        before == Some('(') && matches!(after, Some(')' | ',' | ';'))
    });
    let free = found.iter().rev().find(|(at, _)| {
        let (before, after) = around(*at);
        !matches!(before, Some('-' | '\u{2013}' | '/' | '.' | ':' | '_' | '='))
            && !matches!(after, Some('-' | '\u{2013}' | '/' | '_' | ':'))
    });
    bracketed.or(free).map(|(_, year)| *year)
}

/// `A. Author and B. Other, "The title," Journal, …`
fn parse_quoted_title(text: &str) -> Option<DocumentReferenceFields> {
    let found = QUOTED_PATTERN.as_ref()?.captures(text)?;
    let (whole, title) = (found.get(0)?, found.get(1)?);
    let head = text.get(..whole.start())?;
    // Some styles put the year between the authors and the title.
    let head = match head.rsplit_once('(') {
        Some((before, after)) if !find_years(after).is_empty() => before,
        _ => find_years(head)
            .first()
            .and_then(|(at, _)| head.get(..*at))
            .unwrap_or(head),
    };
    Some(DocumentReferenceFields {
        authors: parse_authors(head),
        title: clean_title(title.as_str()),
        venue: parse_venue(text.get(whole.end()..)?),
    })
}

/// `Author, A., & Other, B. (2001). The title. Journal, …`, or `Author A. 2001. The title. …`
fn parse_author_year(text: &str) -> Option<DocumentReferenceFields> {
    let (at, _) = find_years(text).into_iter().find(|(at, _)| *at < 400)?;
    let head = text.get(..at)?;
    let tail = text
        .get(at + 4..)?
        .trim_start_matches(|c: char| c.is_ascii_lowercase());
    let bracketed = head.ends_with('(');
    let closed = if bracketed {
        let (_, rest) = tail.split_once(')')?;
        rest
    } else {
        tail.strip_prefix(['.', ',', ':'])?
    };
    if !bracketed && !head.trim_end().ends_with(['.', ',', ';']) {
        return None;
    }
    let authors = parse_authors(head.trim_end_matches(['(', ' ']));
    if authors.is_empty() {
        return None;
    }
    let rest = closed.trim_start_matches(['.', ',', ':', ' ']);
    let (title, rest) = split_sentence(rest)?;
    Some(DocumentReferenceFields {
        authors,
        title: clean_title(title),
        venue: parse_venue(rest),
    })
}

/// `A. Author and B. Other. The title. Journal, …, 2001.`
fn parse_sentences(text: &str) -> Option<DocumentReferenceFields> {
    let (head, rest) = split_sentence(text)?;
    let authors = parse_authors(head);
    if authors.is_empty() {
        return None;
    }
    let (title, rest) = split_sentence(rest)?;
    // Without a year or more words after it, it may not be a title.
    if rest.trim().is_empty() && find_years(title).is_empty() {
        return None;
    }
    Some(DocumentReferenceFields {
        authors,
        title: clean_title(title),
        venue: parse_venue(rest),
    })
}

/// Splits off the first sentence. A point after an initial or an abbreviation does not end it.
fn split_sentence(text: &str) -> Option<(&str, &str)> {
    for (at, mark) in text.char_indices() {
        if !matches!(mark, '.' | '?' | '!') {
            continue;
        }
        let after = at + mark.len_utf8();
        let next = text.get(after..)?;
        if !(next.is_empty() || next.starts_with(' ')) {
            continue;
        }
        let word = text
            .get(..at)?
            .rsplit([' ', '.', '-', '~'])
            .next()
            .unwrap_or_default();
        let short = word.chars().count() <= 1 || is_abbreviation(word);
        if mark == '.' && short && !next.is_empty() {
            continue;
        }
        return Some((text.get(..at)?, next.trim_start()));
    }
    None
}

fn is_abbreviation(word: &str) -> bool {
    matches!(
        word.trim_start_matches('('),
        "al" | "Jr"
            | "Sr"
            | "St"
            | "eds"
            | "ed"
            | "Eds"
            | "Ed"
            | "vol"
            | "Vol"
            | "no"
            | "No"
            | "pp"
            | "Proc"
            | "Conf"
            | "Int"
            | "Dr"
            | "vs"
            | "Univ"
            | "Dept"
            | "Ph"
            | "Th"
            | "Yu"
            | "Ch"
            | "Phys"
            | "Rev"
            | "Lett"
            | "Chem"
            | "Math"
            | "Trans"
            | "Soc"
            | "Appl"
            | "Opt"
            | "Sci"
    )
}

fn clean_title(title: &str) -> Option<String> {
    let title = title.trim().trim_end_matches([',', '.', ';']).trim();
    let letters = title.chars().filter(|c| c.is_alphabetic()).count();
    let wordy = title.split(' ').count() >= 2 || letters >= 10;
    let address = title.contains("://") || title.starts_with("10.");
    (wordy && letters >= 6 && title.chars().count() <= 400 && !address).then(|| title.to_owned())
}

/// The venue: the words up to the first digit.
fn parse_venue(rest: &str) -> Option<String> {
    let rest = rest.trim_start_matches([',', '.', ';', ' ', '\u{201d}', '"']);
    let rest = ["In: ", "In ", "in: ", "in "]
        .iter()
        .find_map(|word| rest.strip_prefix(word))
        .unwrap_or(rest);
    let end = rest
        .char_indices()
        .find(|(at, c)| {
            let following = rest
                .get(at + c.len_utf8()..)
                .unwrap_or_default()
                .trim_start();
            let before_number = following.starts_with(|c: char| c.is_ascii_digit())
                || following.starts_with("vol")
                || following.starts_with("pp")
                || following.starts_with("pages")
                || following.is_empty();
            matches!(c, ',' | '.' | '(' | ';') && (before_number || *c == ';')
                || (*c == ' ' && following.starts_with(|c: char| c.is_ascii_digit()))
        })
        .map_or(rest.len(), |(at, _)| at);
    let venue = rest
        .get(..end)?
        .trim()
        .trim_end_matches([',', '.', '('])
        .trim();
    let letters = venue.chars().filter(|c| c.is_alphabetic()).count();
    let is_address = venue.contains("://") || venue.to_lowercase().starts_with("doi");
    (letters >= 3 && venue.chars().count() <= 200 && !is_address).then(|| venue.to_owned())
}

/// The names in a list of authors; empty if it does not look like one.
fn parse_authors(list: &str) -> Vec<String> {
    let list = list
        .trim()
        .trim_end_matches([',', ':', ';'])
        .replace(" & ", ", ")
        .replace(" and ", ", ");
    let list = list.replace("et al.", "").replace("et al", "");
    let pieces: Vec<&str> = list
        .split([',', ';'])
        .map(str::trim)
        .filter(|piece| !piece.is_empty())
        .collect();
    if is_last_first_list(&pieces) {
        return pieces.chunks_exact(2).map(|pair| pair.join(", ")).collect();
    }
    let mut people: Vec<String> = Vec::new();
    for piece in pieces {
        let piece = piece.trim_start_matches("and ").trim_start_matches("& ");
        let suffix = matches!(
            piece,
            "Jr" | "Jr." | "Sr" | "Sr." | "II" | "III" | "eds." | "ed." | "Eds." | "Ed."
        );
        if suffix {
            continue;
        }
        let initials = INITIALS_PATTERN
            .as_ref()
            .is_some_and(|form| form.is_match(piece));
        match people.last_mut() {
            Some(last) if initials && !last.contains(", ") => {
                last.push_str(", ");
                last.push_str(piece);
            }
            _ if is_name(piece) => people.push(piece.to_owned()),
            _ => return Vec::new(),
        }
        if people.len() >= 100 {
            break;
        }
    }
    people
}

/// Whether a list is `Last, First, Last, First` with full first names.
fn is_last_first_list(pieces: &[&str]) -> bool {
    let written_out = |word: &str| {
        let mut letters = word.chars();
        letters.next().is_some_and(char::is_uppercase)
            && letters.next().is_some_and(char::is_lowercase)
            && letters.all(|c| c.is_alphabetic() || c == '-')
    };
    !pieces.is_empty()
        && pieces.len().is_multiple_of(2)
        && pieces.chunks_exact(2).all(|pair| match pair {
            [last, first] => {
                let given = first.split(' ').next().unwrap_or_default();
                written_out(last) && written_out(given) && first.split(' ').count() <= 3
            }
            _ => false,
        })
}

fn is_name(piece: &str) -> bool {
    let words = piece.split_whitespace().count();
    let strange = piece
        .chars()
        .any(|c| c.is_ascii_digit() || matches!(c, ':' | '/' | '"' | '\u{201c}' | '?' | '(' | '['));
    let high = piece.chars().any(char::is_uppercase);
    let low_words = piece
        .split_whitespace()
        .filter(|word| word.chars().next().is_some_and(char::is_lowercase) && word.len() > 3)
        .count();
    (1..=6).contains(&words) && !strange && high && low_words <= 1 && piece.chars().count() <= 60
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_titles() {
        let entry = parse_reference(
            "J. Doe, R. Roe, and K. Poe, \u{201c}A study of small things,\u{201d} IEEE Trans. Things, vol. 3, no. 2, pp. 1\u{2013}9, 2014, doi: 10.1109/ABC.2014.1.",
        );
        assert_eq!(entry.authors, ["J. Doe", "R. Roe", "K. Poe"]);
        assert_eq!(entry.title.as_deref(), Some("A study of small things"));
        assert_eq!(entry.year, Some(2014));
        assert_eq!(entry.venue.as_deref(), Some("IEEE Trans. Things"));
        assert_eq!(entry.doi.as_deref(), Some("10.1109/abc.2014.1"));
    }

    #[test]
    fn author_and_year() {
        let entry = parse_reference(
            "Smith, J. A., & Jones, B. (2019). Why plain words matter. Journal of Words, 12(3), 45\u{2013}67.",
        );
        assert_eq!(entry.authors, ["Smith, J. A.", "Jones, B."]);
        assert_eq!(entry.title.as_deref(), Some("Why plain words matter"));
        assert_eq!(entry.venue.as_deref(), Some("Journal of Words"));
        assert_eq!(entry.year, Some(2019));
    }

    #[test]
    fn plain_sentences() {
        let entry = parse_reference(
            "A. Vaswani, N. Shazeer, and N. Parmar. Attention is all you need. In Advances in Neural Information Processing Systems, pages 5998\u{2013}6008, 2017. arXiv:1706.03762",
        );
        assert_eq!(entry.authors.len(), 3);
        assert_eq!(entry.title.as_deref(), Some("Attention is all you need"));
        assert_eq!(
            entry.venue.as_deref(),
            Some("Advances in Neural Information Processing Systems")
        );
        assert_eq!(
            (entry.year, entry.arxiv_id.as_deref()),
            (Some(2017), Some("1706.03762"))
        );
    }

    #[test]
    fn first_names_written_out_stay_with_their_last_names() {
        let entry = parse_reference(
            "Ning, Xiang, and Lovell, Michael R., 2002, \u{201c}On the sliding of things,\u{201d} Journal of Tests, 124, pp. 5-13.",
        );
        assert_eq!(entry.authors, ["Ning, Xiang", "Lovell, Michael R."]);
        assert_eq!(entry.year, Some(2002));
    }

    #[test]
    fn what_cannot_be_told_is_left_out() {
        let entry = parse_reference("see the manual that came with the machine");
        assert_eq!(
            (entry.authors.len(), entry.title, entry.year),
            (0, None, None)
        );
        assert_eq!(parse_reference("").text, "");
    }
}

//! Excerpts of search hits, with marks around the matching terms.
//!
//! For words, the index returns the excerpt. This module creates excerpts for terms that were
//! found in the text itself, and shortens all: to the index, a page of Chinese may be one word.

/// The number of characters before and after a term.
const CONTEXT_CHARS: usize = 40;

/// The longest excerpt from the index, in characters.
const MAX_CHARS: usize = 400;

/// Returns an excerpt around the first of the terms, which are in lower case.
pub(crate) fn snippet_around(text: &str, terms: &[String]) -> String {
    let small = text.to_ascii_lowercase();
    let first = terms
        .iter()
        .filter_map(|term| Some((small.find(term.as_str())?, term)))
        .min_by_key(|(at, _)| *at);
    let (at, term) = first.map_or((0, ""), |(at, term)| (at, term.as_str()));
    highlight(
        &text_window(text, at, term.chars().count() + CONTEXT_CHARS),
        terms,
    )
}

/// Shortens an excerpt from the index and marks the text terms in it too.
pub(crate) fn shorten_indexed(excerpt: &str, terms: &[String]) -> String {
    let excerpt = highlight(excerpt, terms);
    if excerpt.chars().nth(MAX_CHARS).is_none() {
        return excerpt;
    }
    let first = excerpt.find('[').unwrap_or(0);
    text_window(&excerpt, first, MAX_CHARS - CONTEXT_CHARS)
}

/// Returns the text from a few characters before `at` to `after` characters behind it.
fn text_window(text: &str, at: usize, after: usize) -> String {
    let (before, rest) = text.split_at(at);
    let start = before.char_indices().rev().nth(CONTEXT_CHARS - 1);
    let start = start.map_or(0, |(start, _)| start);
    let end = rest.char_indices().nth(after);
    let end = end.map_or(text.len(), |(end, _)| at + end);
    let shown = text.get(start..end).unwrap_or_default();
    let left = if start > 0 { "…" } else { "" };
    let right = if end < text.len() { "…" } else { "" };
    format!("{left}{shown}{right}")
}

/// Puts `[` and `]` around the terms; where several begin, around the longest.
fn highlight(text: &str, terms: &[String]) -> String {
    let small = text.to_ascii_lowercase();
    let mut marked = String::with_capacity(text.len());
    let mut end_of_term = None;
    for (at, letter) in text.char_indices() {
        if end_of_term == Some(at) {
            marked.push(']');
            end_of_term = None;
        }
        if end_of_term.is_none() {
            let here = small.get(at..).unwrap_or_default();
            let term = terms.iter().filter(|term| here.starts_with(term.as_str()));
            if let Some(longest) = term.map(String::len).max() {
                marked.push('[');
                end_of_term = Some(at + longest);
            }
        }
        marked.push(letter);
    }
    if end_of_term.is_some() {
        marked.push(']');
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(terms: &[&str]) -> Vec<String> {
        terms.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_term_is_marked_and_the_longest_where_several_begin() {
        let marked = |text, of: &[&str]| highlight(text, &terms(of));
        assert_eq!(marked("时间来思考", &["思考", "时间"]), "[时间]来[思考]");
        assert_eq!(marked("思考思考", &["思考"]), "[思考][思考]");
        assert_eq!(marked("思考者", &["思", "思考"]), "[思考]者");
        assert_eq!(marked("Rust言語", &["rust言語"]), "[Rust言語]");
        assert_eq!(marked("nothing", &[]), "nothing");
        assert_eq!(marked("", &["思"]), "");
    }

    #[test]
    fn a_passage_says_where_it_was_cut() {
        let long = "字".repeat(100);
        let around = |text: &str| snippet_around(text, &terms(&["思考"]));
        let part = "字".repeat(CONTEXT_CHARS);
        assert_eq!(around("为思考而"), "为[思考]而");
        assert_eq!(around(&format!("{long}思考")), format!("…{part}[思考]"));
        assert_eq!(around(&format!("思考{long}")), format!("[思考]{part}…"));
        assert_eq!(
            around(&format!("{part}思考{part}")),
            format!("{part}[思考]{part}")
        );
        assert_eq!(around("no such term"), "no such term");
    }

    #[test]
    fn what_the_index_gave_is_cut_only_if_it_is_long() {
        assert_eq!(shorten_indexed("…a [word]…", &[]), "…a [word]…");
        let long = "字".repeat(1_000);
        let cut = shorten_indexed(&format!("{long} [word] {long}"), &[]);
        assert!(
            cut.contains(" [word] 字") && cut.chars().count() <= MAX_CHARS + 2,
            "{cut}"
        );
    }
}

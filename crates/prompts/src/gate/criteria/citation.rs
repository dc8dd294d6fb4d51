//! Counts the sources that an answer names. Each source counts once, however often and in whatever
//! form it is named.

use std::{collections::BTreeSet, sync::LazyLock};

use regex::Regex;

/// Compiles a built-in pattern. An invalid pattern finds nothing; a test compiles them all.
fn compile_pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

type LazyRegex = LazyLock<Option<Regex>>;

static URL: LazyRegex = LazyLock::new(|| compile_pattern(r#"https?://[^\s<>"'`\])}]+"#));
static DOI: LazyRegex = LazyLock::new(|| compile_pattern(r#"\b10\.\d{4,9}/[^\s<>"'`\])},;]+"#));
static ARXIV: LazyRegex =
    LazyLock::new(|| compile_pattern(r"(?i)\barxiv(?:\.org/(?:abs|pdf)/|:\s*)(\d{4}\.\d{4,5})"));
static NUMBER: LazyRegex =
    LazyLock::new(|| compile_pattern(r"\[(\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*)\]"));
static FOOTNOTE: LazyRegex = LazyLock::new(|| compile_pattern(r"\[\^([^\]\s]{1,40})\]"));
static KEY: LazyRegex = LazyLock::new(|| compile_pattern(r"\[[^\]\[]{0,200}@[^\]\[]{1,200}\]"));
static CITATION_KEYS: LazyRegex = LazyLock::new(|| compile_pattern(r"@([\w:.#$%&+?<>~/-]*\w)"));
static AUTHOR: LazyRegex = LazyLock::new(|| {
    compile_pattern(
        r"(\p{Lu}[\p{L}'’.-]+(?:\s(?:et\sal\.?|(?:&|and)\s\p{Lu}[\p{L}'’-]+))?),?\s(\d{4}[a-z]?)\b",
    )
});
static BRACKETS: LazyRegex = LazyLock::new(|| compile_pattern(r"\(([^()]{4,300})\)"));
static DEFINITION: LazyRegex =
    LazyLock::new(|| compile_pattern(r"^\s*(?:[-*]\s+)?\[(\^[^\]\s]{1,40}|\d{1,3})\]:?\s"));

/// Counts the sources that an answer names.
pub(crate) fn count_sources(answer: &str) -> usize {
    let mut found = BTreeSet::new();
    for line in answer.lines() {
        // In a list of references each line is one source; its URL is not a second one.
        if let Some(name) = find_first(&DEFINITION, line) {
            found.insert(match name.strip_prefix('^') {
                Some(note) => format!("note {note}"),
                None => format!("number {name}"),
            });
        } else {
            collect_from_line(line, &mut found);
        }
    }
    found.len()
}

fn collect_from_line(line: &str, found: &mut BTreeSet<String>) {
    let mut rest = line.to_owned();
    for id in extract_all(&ARXIV, &mut rest) {
        let number = id.rsplit(['/', ':', ' ']).next().unwrap_or(&id).to_owned();
        found.insert(format!("arxiv {number}"));
    }
    // A DOI URL counts as that DOI.
    for doi in extract_all(&DOI, &mut rest) {
        found.insert(format!("doi {}", trim_url(&doi).to_lowercase()));
    }
    for url in extract_all(&URL, &mut rest) {
        let url = trim_url(&url);
        let host = url.split("//").nth(1).unwrap_or_default();
        let is_resolver = ["doi.org", "dx.doi.org", "arxiv.org", "www.arxiv.org"]
            .iter()
            .any(|it| host.trim_end_matches('/') == *it);
        if !is_resolver && !host.is_empty() {
            found.insert(format!("url {url}"));
        }
    }
    for note in find_all(&FOOTNOTE, &rest) {
        found.insert(format!("note {note}"));
    }
    for numbers in bracketed_numbers(&rest) {
        found.extend(expand_numbers(&numbers).map(|number| format!("number {number}")));
    }
    for group in extract_all(&KEY, &mut rest) {
        found.extend(
            find_all(&CITATION_KEYS, &group)
                .into_iter()
                .map(|key| format!("key {key}")),
        );
    }
    for group in find_all(&BRACKETS, &rest) {
        if let Some(author) = AUTHOR.as_ref() {
            found.extend(author.captures_iter(&group).map(|it| {
                let part = |at| it.get(at).map(|it| it.as_str()).unwrap_or_default();
                format!("author {} {}", part(1), part(2))
            }));
        }
    }
}

/// Returns the numbers in square brackets that are neither an index, as in `a[1]`, nor the text of
/// a link.
fn bracketed_numbers(line: &str) -> Vec<String> {
    let Some(pattern) = NUMBER.as_ref() else {
        return Vec::new();
    };
    let found = pattern.find_iter(line).filter(|it| {
        let before = line.get(..it.start()).and_then(|it| it.chars().next_back());
        let after = line.get(it.end()..).and_then(|it| it.chars().next());
        !before.is_some_and(|it| it.is_alphanumeric() || matches!(it, '_' | ')'))
            && after != Some('(')
    });
    found
        .map(|it| it.as_str().trim_matches(['[', ']']).to_owned())
        .collect()
}

/// Expands `1, 3-5` to 1, 3, 4, 5.
fn expand_numbers(text: &str) -> impl Iterator<Item = u32> {
    text.split([',', ';']).flat_map(|part| {
        let mut ends = part
            .split(['-', '–'])
            .filter_map(|it| it.trim().parse::<u32>().ok());
        let from = ends.next().unwrap_or_default();
        let to = ends.next().unwrap_or(from);
        from..=to.clamp(from, from.saturating_add(100))
    })
}

fn trim_url(address: &str) -> &str {
    address.trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_'])
}

/// Returns the matches of the first group of a pattern, or the whole matches if it has no group.
fn find_all(pattern: &LazyRegex, text: &str) -> Vec<String> {
    let Some(pattern) = pattern.as_ref() else {
        return Vec::new();
    };
    pattern
        .captures_iter(text)
        .filter_map(|it| it.get(1).or_else(|| it.get(0)))
        .map(|it| it.as_str().to_owned())
        .collect()
}

fn find_first(pattern: &LazyRegex, text: &str) -> Option<String> {
    find_all(pattern, text).into_iter().next()
}

/// Returns the matches of a pattern and removes them from the text, so that they are not found
/// again as something else.
fn extract_all(pattern: &LazyRegex, text: &mut String) -> Vec<String> {
    let Some(pattern) = pattern.as_ref() else {
        return Vec::new();
    };
    let found = pattern
        .find_iter(text)
        .map(|it| it.as_str().to_owned())
        .collect();
    *text = pattern.replace_all(text, " ").into_owned();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_can_be_read() {
        for pattern in [
            &URL,
            &DOI,
            &ARXIV,
            &NUMBER,
            &FOOTNOTE,
            &KEY,
            &CITATION_KEYS,
            &AUTHOR,
            &BRACKETS,
            &DEFINITION,
        ] {
            assert!(pattern.is_some());
        }
    }

    #[test]
    fn each_way_to_name_a_source_counts_once() {
        for (answer, sources) in [
            ("none at all, a[1], f(x, 2020) and [link](notes.md)", 0),
            ("as shown [1], again [1] and [2, 4-5].", 4),
            ("see [@knuth1984; @lamport94, p. 3] and [@knuth1984]", 2),
            (
                "(Smith, 2020) and (Smith, 2020; Jones et al., 2019a) (Lee & Kim 2001)",
                3,
            ),
            ("doi:10.1000/xyz.123, https://doi.org/10.1000/XYZ.123", 1),
            ("arXiv:2301.00001v2 is https://arxiv.org/abs/2301.00001", 1),
            (
                "https://a.example/x. (https://a.example/x) https://b.example",
                2,
            ),
            (
                "a claim[^1] and one more[^two]\n\n[^1]: https://a.example\n",
                2,
            ),
            ("[1] A. Author, Title, https://a.example\n[2] B. Author", 2),
            ("[1](https://a.example) links", 1),
        ] {
            assert_eq!(count_sources(answer), sources, "{answer}");
        }
    }
}

//! Splits a text into sentences with their positions.

/// A span of a text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ByteSpan {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Words whose period does not end a sentence.
const ABBREVIATIONS: &[&str] = &[
    "al", "fig", "figs", "eq", "eqs", "ref", "refs", "sec", "no", "vol", "p", "pp", "vs", "cf",
    "e.g", "i.e", "dr", "mr", "mrs", "ms", "prof", "st", "approx", "resp", "etc", "tab", "ca",
    "ch", "chap",
];

/// Characters that may follow the final mark of a sentence.
const CLOSING_PUNCTUATION: [char; 6] = ['"', '\'', ')', ']', '”', '’'];

/// The sentences of a text, in order. Blank lines and form feeds also separate them.
pub(crate) fn split_sentences(text: &str) -> Vec<ByteSpan> {
    let mut spans = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, it)) = chars.next() {
        let next = chars.peek().copied();
        let ends = match it {
            '.' | '!' | '?' => {
                let after = text.get(at + it.len_utf8()..).unwrap_or("");
                let before = text.get(start..at).unwrap_or("");
                starts_sentence(before, after) && !(it == '.' && ends_with_abbreviation(before))
            }
            '\u{c}' => true,
            '\n' => next.is_some_and(|(_, next)| next == '\n'),
            _ => false,
        };
        if ends {
            let mut end = at + it.len_utf8();
            // Closing marks belong to the sentence that they close.
            while let Some((at, closing)) =
                chars.next_if(|(_, it)| CLOSING_PUNCTUATION.contains(it))
            {
                end = at + closing.len_utf8();
            }
            if !it.is_whitespace() {
                let before = text.get(start..at).unwrap_or("");
                end += footnote_mark_len(before, text.get(end..).unwrap_or(""));
            }
            while chars.next_if(|(at, _)| *at < end).is_some() {}
            push_trimmed(&mut spans, text, start, end);
            start = end;
        }
    }
    push_trimmed(&mut spans, text, start, text.len());
    spans
}

/// Adds a span without surrounding whitespace, unless it is empty.
fn push_trimmed(spans: &mut Vec<ByteSpan>, text: &str, start: usize, end: usize) {
    let Some(stretch) = text.get(start..end) else {
        return;
    };
    let trimmed = stretch.trim_start();
    let start = start + (stretch.len() - trimmed.len());
    let end = start + trimmed.trim_end().len();
    if end > start {
        spans.push(ByteSpan { start, end });
    }
}

/// Length of a footnote mark after the end of a sentence: `fact.¹`, or `fact.1` where the
/// superscript was lost.
fn footnote_mark_len(before: &str, after: &str) -> usize {
    let joins = |it: char| matches!(it, ',' | '–' | '—' | '-' | '⁻' | '˒');
    let raised = |it: char| matches!(it, '⁰' | '¹' | '²' | '³' | '⁴'..='⁹');
    let figure = |it: char| it.is_ascii_digit();
    if after.starts_with(raised) {
        return after.len() - after.trim_start_matches(|it| raised(it) || joins(it)).len();
    }
    let rest = after.trim_start_matches(|it| figure(it) || joins(it));
    let ends = rest.is_empty() || rest.starts_with(char::is_whitespace);
    if before.ends_with(char::is_alphabetic) && after.starts_with(figure) && ends {
        after.len() - rest.len()
    } else {
        0
    }
}

/// Whether a sentence begins here: after a space, with a capital, a digit, a bracket, or a quote.
fn starts_sentence(before: &str, after: &str) -> bool {
    let after = after.trim_start_matches(CLOSING_PUNCTUATION);
    let after = after.get(footnote_mark_len(before, after)..).unwrap_or("");
    let rest = after.trim_start();
    if rest.is_empty() {
        return true;
    }
    let begins = rest.chars().next().is_some_and(|it| {
        it.is_uppercase() || it.is_numeric() || matches!(it, '(' | '[' | '"' | '“' | '‘')
    });
    rest.len() < after.len() && begins
}

fn ends_with_abbreviation(before: &str) -> bool {
    let word = before
        .rsplit(|it: char| it.is_whitespace() || matches!(it, '(' | '[' | ',' | ';'))
        .next()
        .unwrap_or("");
    let lower = word.to_lowercase();
    let initial = word.chars().count() == 1 && word.chars().all(char::is_uppercase);
    initial || ABBREVIATIONS.contains(&lower.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<&str> {
        split_sentences(text)
            .iter()
            .filter_map(|it| text.get(it.start..it.end))
            .collect()
    }

    #[test]
    fn sentences_end_where_people_end_them() {
        assert_eq!(
            split(
                "We follow Smith et al. (2019), cf. Fig. 3. It grew by 3.5 %. \"Why?\" Nobody knows."
            ),
            [
                "We follow Smith et al. (2019), cf. Fig. 3.",
                "It grew by 3.5 %.",
                "\"Why?\"",
                "Nobody knows."
            ]
        );
        assert_eq!(
            split("J. R. Doe wrote it.\n\nA heading\n\nThe end"),
            ["J. R. Doe wrote it.", "A heading", "The end"]
        );
        assert_eq!(split("  "), Vec::<&str>::new());
        assert_eq!(
            split(
                "It is so [1, p. 5]. So it is [1,p. 5]. Peat burns.¹,² It smoulders.3 Nobody knows."
            ),
            [
                "It is so [1, p. 5].",
                "So it is [1,p. 5].",
                "Peat burns.¹,²",
                "It smoulders.3",
                "Nobody knows."
            ]
        );
    }
}

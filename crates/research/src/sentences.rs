//! Splits a text into sentences: one splitter for the verifier, the contexts of citations, and
//! insights.

use std::ops::Range;

/// Characters of a sentence; a longer one is split at a space.
const MAX_SENTENCE_CHARS: usize = 1_200;

/// Abbreviations whose period does not end a sentence.
const ABBREVIATIONS: &[&str] = &[
    "e.g", "i.e", "vs", "cf", "dr", "prof", "resp", "mr", "mrs", "ms", "st", "sp", "spp", "ed",
    "eds", "bzw", "vgl", "sog",
];

/// Abbreviations before a number, `Fig. 3` or `Fig. S3`; otherwise the period ends a sentence.
const NUMBER_ABBREVIATIONS: &[&str] = &[
    "fig", "figs", "eq", "eqs", "no", "nos", "ref", "refs", "sec", "tab", "vol", "p", "pp", "ca",
    "approx", "nr", "abb", "art", "ch", "chap",
];

/// Abbreviations that also end a sentence if a capital letter follows.
const FINAL_ABBREVIATIONS: &[&str] = &["al", "etc", "inc", "u.s", "u.k"];

/// Byte ranges of the sentences, trimmed. Together they cover everything except whitespace.
pub(crate) fn sentence_spans(text: &str) -> Vec<Range<usize>> {
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let mut found = Vec::new();
    let mut from = 0;
    let mut blank = None;
    for (at, &(_, letter)) in chars.iter().enumerate() {
        if letter.is_whitespace() {
            blank = Some(at);
        }
        let too_long = at - from >= MAX_SENTENCE_CHARS;
        let end = if ends_sentence(text, &chars, at) || ends_paragraph(&chars, at) {
            Some(at + 1)
        } else if too_long {
            Some(blank.filter(|&it| it > from).unwrap_or(at))
        } else {
            None
        };
        if let Some(end) = end {
            push_span(text, &chars, from, end, &mut found);
            from = end;
        }
    }
    push_span(text, &chars, from, chars.len(), &mut found);
    found
}

fn push_span(
    text: &str,
    chars: &[(usize, char)],
    from: usize,
    end: usize,
    found: &mut Vec<Range<usize>>,
) {
    let byte = |at: usize| chars.get(at).map_or(text.len(), |&(byte, _)| byte);
    let (start, end) = (byte(from), byte(end));
    let Some(stretch) = text.get(start..end) else {
        return;
    };
    let trimmed = stretch.trim_start();
    let start = start + (stretch.len() - trimmed.len());
    let end = start + trimmed.trim_end().len();
    if start < end {
        found.push(start..end);
    }
}

fn ends_sentence(text: &str, chars: &[(usize, char)], at: usize) -> bool {
    let char = |at: usize| chars.get(at).map(|&(_, it)| it);
    let Some(letter) = char(at) else {
        return false;
    };
    let is_ideographic = matches!(letter, '。' | '！' | '？');
    // Before any walk over what stands before, so that a long run is walked over once.
    if !is_ideographic && char(at + 1).is_some_and(|it| !it.is_whitespace()) {
        return false;
    }
    let closes = |it: char| matches!(it, '"' | '\'' | '”' | '’' | ')' | ']' | '»');
    let ends = |it: char| matches!(it, '.' | '!' | '?' | '。' | '！' | '？' | '؟' | '۔' | '।');
    // The mark, closing quotes and brackets, a footnote, whitespace, and then the start of a
    // sentence.
    let last = footnote_start(chars, at).map_or(at, |it| it.saturating_sub(1));
    let mut sign = last;
    while sign > 0 && char(sign).is_some_and(closes) {
        sign -= 1;
    }
    let noted = last != at;
    if !char(sign).is_some_and(ends) || char(at + 1).is_some_and(closes) {
        return false;
    }
    if is_ideographic || char(at + 1).is_none() {
        return true;
    }
    let mut begin = at + 1;
    while char(begin).is_some_and(char::is_whitespace) {
        begin += 1;
    }
    let begins = char(begin).is_none_or(|it| !it.is_lowercase());
    // `Fig.3 shows`: the digit is no footnote.
    let following = if noted { sign + 1 } else { begin };
    begins && (char(sign) != Some('.') || !is_abbreviation(text, chars, sign, following))
}

/// Where a footnote mark begins that ends at `at` and directly follows the end of a sentence:
/// `fact.¹`, or `fact.1` where the superscript was lost.
fn footnote_start(chars: &[(usize, char)], at: usize) -> Option<usize> {
    let char = |at: usize| chars.get(at).map(|&(_, it)| it);
    let figure = |it: char| it.is_ascii_digit() || matches!(it, '⁰' | '¹' | '²' | '³' | '⁴'..='⁹');
    let joins = |it: char| matches!(it, ',' | '–' | '—' | '-' | '⁻' | '˒');
    if !char(at).is_some_and(figure) {
        return None;
    }
    let mut start = at;
    while let Some(before) = start.checked_sub(1)
        && char(before).is_some_and(|it| figure(it) || joins(it))
    {
        start = before;
    }
    let raised = char(start).is_some_and(|it| !it.is_ascii_digit());
    let word = start.checked_sub(2).and_then(char);
    let after_sentence = matches!(start.checked_sub(1).and_then(char), Some('.' | '!' | '?'));
    let after_word = word.is_some_and(|it| it.is_alphabetic() || raised);
    (after_sentence && after_word).then_some(start)
}

/// Whether the period at `at` belongs to an abbreviation or an initial; `begin` is the index of the
/// next word.
fn is_abbreviation(text: &str, chars: &[(usize, char)], at: usize, begin: usize) -> bool {
    let mut from = at;
    while let Some(before) = from.checked_sub(1)
        && chars
            .get(before)
            .is_some_and(|&(_, it)| it.is_alphanumeric() || it == '.')
        && at - before < 12
    {
        from = before;
    }
    let byte = |at: usize| chars.get(at).map_or(text.len(), |&(byte, _)| byte);
    let word = text.get(byte(from)..byte(at)).unwrap_or_default();
    let initial = word.chars().count() == 1 && word.chars().all(char::is_uppercase) && from > 0;
    let name_before = initial && {
        // `by J. Smith`, but not `vitamin C. The`: an initial comes first or after another initial.
        let next = chars.get(at + 2).map(|&(_, it)| it);
        let before = text.get(..byte(from)).unwrap_or_default().trim_end();
        next.is_some_and(char::is_uppercase)
            && before
                .rsplit(|it: char| it.is_whitespace())
                .next()
                .is_some_and(|it| it.ends_with('.') || matches!(it, "by" | "and" | "of" | "from"))
    };
    let char = |at: usize| chars.get(at).map_or(' ', |&(_, it)| it);
    let (next, after) = (char(begin), char(begin + 1));
    let numbered = next.is_ascii_digit() || after.is_ascii_digit() || matches!(next, '(' | '[');
    // `z. B.`: single letters, each with a period.
    let letters = word.chars().count() == 1 && next.is_alphabetic() && after == '.';
    let word = word.to_lowercase();
    let word = word.as_str();
    let counted = from >= 2 && char(from - 1) == ' ' && char(from - 2).is_ascii_digit();
    name_before
        || letters
        || (ABBREVIATIONS.contains(&word) && !(word == "ms" && counted))
        || (NUMBER_ABBREVIATIONS.contains(&word) && numbered)
        || (FINAL_ABBREVIATIONS.contains(&word) && !next.is_uppercase())
}

/// Whether an empty line ends a paragraph at this character.
fn ends_paragraph(chars: &[(usize, char)], at: usize) -> bool {
    let char = |at: usize| chars.get(at).map(|&(_, it)| it);
    char(at) == Some('\n') && {
        let mut next = at + 1;
        while matches!(char(next), Some(' ' | '\t' | '\r')) {
            next += 1;
        }
        char(next) == Some('\n')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<&str> {
        sentence_spans(text)
            .into_iter()
            .filter_map(|it| text.get(it))
            .collect()
    }

    #[test]
    fn stops_that_end_and_stops_that_do_not() {
        assert_eq!(
            split("Smith et al. (2019) found 3.5 mg. See Fig. 2. It was \"fine.\" Then p. rose!"),
            [
                "Smith et al. (2019) found 3.5 mg.",
                "See Fig. 2.",
                "It was \"fine.\"",
                "Then p. rose!"
            ]
        );
        assert_eq!(split("Vitamin C. The dose"), ["Vitamin C.", "The dose"]);
        for one in [
            "Compare e.g. Fig. S3, Eq. (2), No. 5 and approx. 12 mg on p. 7.",
            "Säuger, z. B. Mäuse, vgl. Abb. 3, bzw. Ratten.",
        ] {
            assert_eq!(split(one), [one]);
        }
        assert_eq!(
            split("It is by Smith et al. The answer was no. It took 5 ms. Rats, mice, etc. Then"),
            [
                "It is by Smith et al.",
                "The answer was no.",
                "It took 5 ms.",
                "Rats, mice, etc.",
                "Then"
            ]
        );
        assert_eq!(split("睡眠有益。咖啡无效。"), ["睡眠有益。", "咖啡无效。"]);
        assert_eq!(split("هل نام؟ نعم. نام"), ["هل نام؟", "نعم.", "نام"]);
        assert_eq!(split("# Head\n\nText"), ["# Head", "Text"]);
        assert_eq!(split("  "), Vec::<&str>::new());
    }

    #[test]
    fn footnotes_belong_to_their_sentences() {
        assert_eq!(
            split("Peat burns.¹,² It smoulders.3 So says Fig.3 Nobody else. It took 3.5 m. Then"),
            [
                "Peat burns.¹,²",
                "It smoulders.3",
                "So says Fig.3 Nobody else.",
                "It took 3.5 m.",
                "Then"
            ]
        );
        assert_eq!(
            split("It is so [1, p. 5]. So it is [1,p. 5]. J. R. Doe wrote it.\n\nThe end"),
            [
                "It is so [1, p. 5].",
                "So it is [1,p. 5].",
                "J. R. Doe wrote it.",
                "The end"
            ]
        );
    }

    #[test]
    fn long_runs_are_walked_over_once() {
        for run in ["1", ")", "1,", ".1", "\" "] {
            let text = run.repeat(1_000_000);
            assert!(!sentence_spans(&text).is_empty(), "{run}");
        }
    }

    #[test]
    fn endless_lines_are_cut() {
        let line = "word ".repeat(20_000);
        let all = sentence_spans(&line);
        assert!(all.len() > 50);
        assert!(all.iter().all(|it| it.len() <= MAX_SENTENCE_CHARS));
        let solid = "x".repeat(100_000);
        assert!(
            sentence_spans(&solid)
                .iter()
                .all(|it| it.len() <= MAX_SENTENCE_CHARS + 1)
        );
    }
}

//! Shortens long text to a token budget: whole sentences of its beginning and of its end, where the
//! result stands, with a mark between them that says how much is left out.

use super::truncate::{approximate_tokens, bytes_per_token};

/// Marks that end a sentence if white space follows.
const END_MARKS: [char; 4] = ['.', '!', '?', '…'];

/// Marks that end a sentence in scripts that write no spaces.
const WIDE_END_MARKS: [char; 3] = ['。', '！', '？'];

/// Characters that may follow the final mark of a sentence.
const CLOSING_MARKS: [char; 8] = ['"', '\'', ')', ']', '”', '’', '」', '』'];

/// Words whose period does not end a sentence.
const ABBREVIATIONS: [&str; 9] = ["dr", "mr", "mrs", "ms", "prof", "fig", "eq", "vs", "cf"];

/// Shortens `text` to about `limit` tokens by leaving out whole sentences of its middle. A sentence
/// that is longer than half of the limit is shortened between words. The mark itself is always
/// there, even if it exceeds a tiny limit.
pub fn shorten_tokens(text: &str, limit: usize) -> String {
    let longest_mark = omission_mark(text.len());
    let tokens = approximate_tokens(text);
    if tokens <= limit || tokens <= approximate_tokens(&longest_mark) {
        return text.to_owned();
    }
    let room = limit.saturating_mul(bytes_per_token(text));
    let room = room.saturating_sub(longest_mark.len());
    let text = text.trim();
    let starts = sentence_starts(text);
    let tail = tail_start(text, &starts, room / 2);
    let head = head_end(text, &starts, room.saturating_sub(text.len() - tail));
    // The end takes what the beginning leaves.
    let wider = first_start(text, &starts, room.saturating_sub(head));
    let tail = wider.map_or(tail, |wider| wider.min(tail)).max(head);
    let beginning = text.get(..head).unwrap_or_default().trim_end();
    let middle = text.get(head..tail).unwrap_or_default();
    let end = text.get(tail..).unwrap_or_default();
    let mark = omission_mark(middle.chars().count());
    format!("{beginning}{mark}{end}").trim().to_owned()
}

fn omission_mark(chars: usize) -> String {
    format!(" [... {chars} characters left out ...] ")
}

/// The first sentence whose start leaves at most `room` bytes until the end of the text.
fn first_start(text: &str, starts: &[usize], room: usize) -> Option<usize> {
    starts
        .iter()
        .copied()
        .find(|start| text.len() - start <= room)
}

/// Where the end of the text begins that has at most `room` bytes: at a sentence, else at a word.
fn tail_start(text: &str, starts: &[usize], room: usize) -> usize {
    if let Some(start) = first_start(text, starts, room) {
        return start;
    }
    let mut start = text.len().saturating_sub(room);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let rest = text.get(start..).unwrap_or_default();
    let space = rest.find(char::is_whitespace).unwrap_or(0);
    let word = rest.get(space..).unwrap_or_default();
    start + space + (word.len() - word.trim_start().len())
}

/// Where the beginning of the text ends that has at most `room` bytes: before a sentence, else after
/// a word.
fn head_end(text: &str, starts: &[usize], room: usize) -> usize {
    let sentence = starts.iter().rev().find(|start| **start <= room);
    if let Some(end) = sentence.filter(|end| **end > 0) {
        return *end;
    }
    let mut end = room.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let head = text.get(..end).unwrap_or_default();
    head.rfind(char::is_whitespace).unwrap_or(end)
}

/// The positions at which the sentences and lines of a text begin. Nothing begins with a small
/// letter.
fn sentence_starts(text: &str) -> Vec<usize> {
    let mut starts = vec![0];
    let mut sentence = 0;
    // Whether a sentence has ended, and whether white space must follow.
    let mut end: Option<bool> = None;
    let mut is_spaced = false;
    for (at, letter) in text.char_indices() {
        if letter.is_whitespace() {
            is_spaced = true;
            if letter == '\n' {
                end = end.or(Some(true));
            }
            continue;
        }
        if !is_spaced && end.is_some() && CLOSING_MARKS.contains(&letter) {
            continue;
        }
        if end.is_some_and(|needs_space| is_spaced || !needs_space) && !letter.is_lowercase() {
            starts.push(at);
            sentence = at;
        }
        is_spaced = false;
        end = if WIDE_END_MARKS.contains(&letter) {
            Some(false)
        } else if END_MARKS.contains(&letter) {
            let before = text.get(sentence..at).unwrap_or_default();
            (letter != '.' || !is_abbreviation(before)).then_some(true)
        } else {
            None
        };
    }
    starts
}

/// Tells whether the period after `before` belongs to an abbreviation, an initial or the number of
/// an item.
fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit(char::is_whitespace).next().unwrap_or(before);
    if before.chars().all(|letter| letter.is_ascii_digit()) {
        return true;
    }
    let word = word.trim_start_matches(['(', '[', '"']);
    let mut letters = word.chars();
    let is_initial =
        matches!((letters.next(), letters.next()), (Some(one), None) if one.is_uppercase());
    let is_dotted = word.contains('.') && word.chars().all(|it| it == '.' || it.is_alphabetic());
    is_initial || is_dotted || ABBREVIATIONS.contains(&word.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_middle_is_left_out_in_whole_sentences() {
        let middle = "It goes on and on. ".repeat(50);
        let text = format!("We begin here. {middle}So Dr. Who gets 3.5 m. The result is 42.");
        let short = shorten_tokens(&text, 40);
        let (head, rest) = short.split_once(" [... ").unwrap();
        let (count, tail) = rest.split_once(" characters left out ...] ").unwrap();
        assert!(head.starts_with("We begin here.") && head.ends_with("on and on."));
        assert!(
            tail.ends_with("So Dr. Who gets 3.5 m. The result is 42."),
            "{short}"
        );
        assert!(
            tail.starts_with("It goes") || tail.starts_with("So Dr."),
            "{short}"
        );
        let left_out: usize = count.parse().unwrap();
        // The white space before the mark belongs to what is left out.
        assert!(
            head.len() + left_out + tail.len() >= text.len() - 2,
            "{short}"
        );
    }

    #[test]
    fn sentences_and_lines_are_found() {
        let found = |text: &str| -> Vec<String> {
            let mut starts = sentence_starts(text);
            starts.push(text.len());
            let pairs = starts.windows(2);
            pairs
                .map(|it| text.get(it[0]..it[1]).unwrap().trim().to_owned())
                .collect()
        };
        assert_eq!(
            found("1. One of e.g. These.\n2. Two, i.e. 3.5!\n- \"Why?\" he asked. (Yes.) No"),
            [
                "1. One of e.g. These.",
                "2. Two, i.e. 3.5!",
                "- \"Why?\" he asked.",
                "(Yes.)",
                "No"
            ]
        );
        assert_eq!(
            found("他说：「好。」然后走了。完"),
            ["他说：「好。」", "然后走了。", "完"]
        );
    }

    #[test]
    fn short_text_is_left_alone() {
        assert_eq!(shorten_tokens("four", 1), "four");
        assert_eq!(
            shorten_tokens("shorter than the mark", 1),
            "shorter than the mark"
        );
    }

    proptest! {
        #[test]
        fn the_limit_holds_and_both_ends_are_from_the_text(
            text in "([a-zA-Z.!? \\n]|\\PC){0,400}", limit in 0usize..120,
        ) {
            let short = shorten_tokens(&text, limit);
            prop_assert!(approximate_tokens(&short) <= limit.max(16));
            prop_assert_eq!(shorten_tokens(&short, limit.max(16)), short.clone());
            if short != text {
                let (head, rest) = short.split_once("[... ").unwrap();
                let (_, tail) = rest.rsplit_once(" ...]").unwrap();
                prop_assert!(text.trim().starts_with(head.trim()));
                prop_assert!(text.trim().ends_with(tail.trim()));
            }
        }
    }
}

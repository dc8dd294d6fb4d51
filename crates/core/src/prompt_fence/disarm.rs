//! Finds what reads as a tag, however it is spelled, and takes its bracket away. All other text
//! stays as it is, byte for byte, without the characters that only hide or reorder text.

use std::borrow::Cow;

use super::fold::{FoldedLetter, fold, is_invisible, looks_like};

/// Stands for the bracket of a disarmed tag. It must not read as a bracket of a tag itself.
const DISARMED: char = '[';

const OPENING: &str = "<‹⟨〈⟪❮❬❰˂ᐸᗏ≺⧼⪡⪻";
const CLOSING: &str = ">›⟩〉⟫❯❭❱˃ᐳᗒ≻⧽⪢⪼";
const SLASHES: &str = "/\\⁄∕⧸⟋╱〳";

/// Returns the text without anything that reads as one of these tags: its opening bracket becomes
/// `[`. Spellings with invisible characters, look-alike letters, other brackets, escapes, capitals
/// and blanks are found. Tag characters and bidirectional controls are dropped everywhere; other
/// invisible characters, which some scripts and emoji need, only within what reads as a tag.
pub fn disarm_tags<'t>(text: &'t str, tags: &[&str]) -> Cow<'t, str> {
    let may_open = |letter: char| {
        matches!(letter, '<' | '&' | '\\' | '%' | '＜' | '﹤' | '〈') || OPENING.contains(letter)
    };
    let spans = if text.chars().any(may_open) {
        find_tags(text, tags)
    } else {
        Vec::new()
    };
    if spans.is_empty() && !text.chars().any(is_dropped) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    let mut copied = 0;
    for span in &spans {
        let before = text.get(copied..span.start).unwrap_or_default();
        safe.extend(before.chars().filter(|it| !is_dropped(*it)));
        safe.push(DISARMED);
        let name = text.get(span.after_bracket..span.end).unwrap_or_default();
        safe.extend(name.chars().filter(|it| !is_invisible(*it)));
        copied = span.end;
    }
    let rest = text.get(copied..).unwrap_or_default();
    safe.extend(rest.chars().filter(|it| !is_dropped(*it)));
    Cow::Owned(safe)
}

/// Tells whether a character is dropped wherever it is: tag characters carry hidden text,
/// bidirectional controls show text in another order than it is read, and control characters mean
/// nothing to a model.
const fn is_dropped(letter: char) -> bool {
    match letter {
        '\u{e0000}'..='\u{e007f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        letter => letter.is_ascii_control() && is_invisible(letter),
    }
}

/// Where a tag stands in the text, from its bracket to the end of its name.
struct TagSpan {
    start: usize,
    after_bracket: usize,
    end: usize,
}

fn find_tags(text: &str, tags: &[&str]) -> Vec<TagSpan> {
    let glyphs = fold(text);
    let mut spans: Vec<TagSpan> = Vec::new();
    let mut rest = glyphs.as_slice();
    while let Some((bracket, after)) = rest.split_first() {
        rest = after;
        if !OPENING.contains(bracket.letter) {
            continue;
        }
        let Some(end) = tag_end(text, bracket, after, tags) else {
            continue;
        };
        spans.push(TagSpan {
            start: bracket.start,
            after_bracket: bracket.end,
            end,
        });
        // One character may fold to several letters.
        while let Some((_, after)) = rest.split_first().filter(|(it, _)| it.start < end) {
            rest = after;
        }
    }
    spans
}

/// Returns where the name of a tag ends, if one follows the bracket.
fn tag_end(
    text: &str,
    bracket: &FoldedLetter,
    after: &[FoldedLetter],
    tags: &[&str],
) -> Option<usize> {
    let mut rest = after;
    let mut closes = false;
    while let Some((glyph, after)) = rest.split_first() {
        let is_slash = SLASHES.contains(glyph.letter);
        if !is_slash && !matches!(glyph.letter, ' ' | '|' | '!' | '?') {
            break;
        }
        closes |= is_slash;
        rest = after;
    }
    let name_start = rest.first()?.start;
    // What is invisible does not count: it may be dropped, and the tag would stand there.
    let is_adjacent = rest.len() == after.len();
    tags.iter().find_map(|tag| {
        let (end, behind) = strip_name(rest, tag)?;
        let next = text.get(end..).and_then(|it| it.chars().next());
        let is_longer = next.is_some_and(continues_name);
        // No type has the random part of a tag.
        let has_part = behind.first().is_some_and(|it| it.letter == '-');
        let is_type = || !has_part && is_type_argument(text, bracket.start, name_start);
        let is_tag = closes || opens_tag(behind, is_adjacent) && !is_type();
        let is_tag = is_tag && !is_longer;
        is_tag.then_some(end)
    })
}

/// Strips a tag's name, which may have blanks in it, and returns where it ends.
fn strip_name<'g>(glyphs: &'g [FoldedLetter], name: &str) -> Option<(usize, &'g [FoldedLetter])> {
    let mut rest = glyphs;
    let mut end = 0;
    for (number, wanted) in name.chars().enumerate() {
        if number > 0 {
            rest = skip_blanks(rest);
        }
        let (glyph, after) = rest.split_first()?;
        if !looks_like(glyph.letter, wanted) {
            return None;
        }
        end = glyph.end;
        rest = after;
    }
    Some((end, rest))
}

/// Tells whether what follows a name makes it an opening tag: a bracket, a slash, an attribute, or
/// nothing any more. `a < line.length` is none, nor is `a < line and b > c`.
fn opens_tag(behind: &[FoldedLetter], is_adjacent: bool) -> bool {
    let mut rest = behind;
    if let Some((_, after)) = behind.split_first().filter(|(it, _)| it.letter == '-') {
        rest = skip_word(after);
    }
    rest = skip_blanks(rest);
    let Some(next) = rest.first() else {
        return true;
    };
    if CLOSING.contains(next.letter) || SLASHES.contains(next.letter) {
        return true;
    }
    loop {
        let after = skip_blanks(skip_word(rest));
        match after.first() {
            Some(it) if it.letter == '=' => return after.len() < rest.len(),
            Some(it) if CLOSING.contains(it.letter) => return is_adjacent,
            _ if after.len() == rest.len() => return false,
            _ => rest = after,
        }
    }
}

/// Tells whether a bracket belongs to code such as `Vec<Node>`.
fn is_type_argument(text: &str, bracket: usize, name: usize) -> bool {
    let before = text.get(..bracket).and_then(|it| it.chars().next_back());
    let mut name = text.get(name..).unwrap_or_default().chars();
    before.is_some_and(|it| it.is_alphanumeric() || matches!(it, '_' | ':'))
        && name.next().is_some_and(|it| it.is_ascii_uppercase())
        && name.next().is_some_and(|it| it.is_ascii_lowercase())
}

fn continues_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn skip_word(glyphs: &[FoldedLetter]) -> &[FoldedLetter] {
    skip(glyphs, |it| continues_name(it) || matches!(it, '-' | ':'))
}

fn skip_blanks(glyphs: &[FoldedLetter]) -> &[FoldedLetter] {
    skip(glyphs, |it| it == ' ')
}

fn skip(glyphs: &[FoldedLetter], skipped: impl Fn(char) -> bool) -> &[FoldedLetter] {
    let length = glyphs.iter().take_while(|it| skipped(it.letter)).count();
    glyphs.get(length..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEST_TAGS: &[&str] = &["given", "step", "node", "line", "passage"];

    #[test]
    fn a_type_argument_has_no_random_part() {
        let disarm = |text| disarm_tags(text, TEST_TAGS).into_owned();
        assert_eq!(disarm("Vec<Node>"), "Vec<Node>");
        assert_eq!(disarm("x<Node-7f3a2c>"), "x[Node-7f3a2c>");
    }

    #[test]
    fn every_spelling_of_a_tag_is_disarmed() {
        for spelling in [
            "</given>",
            "<given>",
            "</GIVEN>",
            "< / given >",
            "<\n/\tgiven\n>",
            "</ g i v e n >",
            "<\\/given>",
            "<//given>",
            "</given-7f3a2c>",
            "<given-000000>",
            "</given",
            "<given id=\"1\">",
            "<given/>",
            "<given x>",
            "<\u{7}given x>",
            "<\u{200b}given x>",
            "<GIVEN hidden more id = 1>",
            "<\u{200b}/given>",
            "</g\u{200b}iven>",
            "</g\u{ad}iv\u{34f}en\u{fe0f}>",
            "</gi\u{2060}ven>",
            "</gi\u{e0076}ven>",
            "</gi\u{7}ven>",
            "</gі\u{200d}vеn>",
            "</ɡıvεη>",
            "</ΓΙVEN>".replace('Γ', "g").as_str(),
            "＜／ｇｉｖｅｎ＞",
            "﹤/given﹥",
            "‹/given›",
            "〈/given〉",
            "〈/given〉",
            "⟨/given⟩",
            "</𝐠𝐢𝐯𝐞𝐧>",
            "</ⓖⓘⓥⓔⓝ>",
            "</gívèn>",
            "</gi\u{301}ven>",
            "&lt;/given&gt;",
            "&LT;/given&GT;",
            "&lt/given&gt",
            "&amp;lt;/given&amp;gt;",
            "&#60;/given&#62;",
            "&#x3C;&#x2F;given&#x3E;",
            "&#0000060;/given>",
            "&l\u{200b}t;/given>",
            "<&sol;&#103;iven>",
            "</gi&#8203;ven>",
            "</gi&shy;ven>",
            "\\u003c/given\\u003e",
            "\\\\u003C\\/given>",
            "\\x3c/given\\x3e",
            "\\u{3c}/given>",
            "%3C/given%3E",
            "%253C%252Fgiven%253E",
            "<|/given|>",
            "<⁄given>",
            "<∕given>",
        ] {
            let hostile = format!("a {spelling} b");
            let safe = disarm_tags(&hostile, TEST_TAGS);
            assert!(!safe.contains(spelling), "{spelling:?}: {safe:?}");
            assert!(safe.starts_with("a [") && safe.ends_with(" b"), "{safe:?}");
            assert_eq!(disarm_tags(&safe, TEST_TAGS), safe);
        }
    }

    #[test]
    fn other_text_stays_as_it_is() {
        for text in [
            "",
            "a<b a < b c > d",
            "Vec<u8> Vec<Node> HashMap<Line, Vec<Step>> Iter::<Node>::new()",
            "while i < line.len() && n < node { step <<= 1; }",
            "if a < step && b > c; x <- given; y <given.name; a < line and b > c",
            "<passing> <stepper> </linear> <nodes> <p class=\"line\">x</p> <!-- given -->",
            "«given» 50% given &amp; given &lt; 3 \\line \\node{a} C:\\step",
            "می‌خواهم क्‍ष 👩‍💻 ❤️ שלום\u{200f}! ﷺ ｇｉｖｅｎ",
            "<",
            "</",
            "&lt;",
            "α < β, <ste",
        ] {
            assert_eq!(disarm_tags(text, TEST_TAGS), text);
        }
    }

    #[test]
    fn what_hides_or_reorders_text_is_dropped() {
        let hidden: String = "ab".chars().map(|it| shifted(it, 0xe0000)).collect();
        assert_eq!(disarm_tags(&format!("x{hidden}y"), TEST_TAGS), "xy");
        assert_eq!(
            disarm_tags("\u{202e}x\u{202c}\u{2066}y\u{1b}[0m", TEST_TAGS),
            "xy[0m"
        );
        assert_eq!(
            disarm_tags("❤\u{fe0f} </g\u{fe0f}iven> ❤\u{fe0f}", TEST_TAGS),
            "❤\u{fe0f} [/given> ❤\u{fe0f}"
        );
    }

    fn shifted(letter: char, by: u32) -> char {
        char::from_u32(letter as u32 + by).unwrap()
    }

    #[test]
    fn long_hostile_texts_take_linear_time() {
        // Quadratic time would take hours, and the test runner ends a test that hangs.
        for piece in [
            "<",
            "< ",
            "&",
            "&amp;",
            "\\",
            "%25",
            "<g",
            "</given",
            "\u{200b}<",
            "<\u{200b}",
        ] {
            let text = piece.repeat(200_000 / piece.len());
            let _ = disarm_tags(&text, TEST_TAGS);
            let _ = disarm_tags(&format!("<{}/given>", " ".repeat(200_000)), TEST_TAGS);
        }
    }

    proptest! {
        #[test]
        fn no_text_reads_as_a_tag_any_more(
            text in "(</? ?[gG]iven|</given>|<passage|[<>/\\\\&;#% a-z\n-]|lt;|\u{200b}|\u{ad}|[＜‹]|\\PC){0,40}"
        ) {
            let safe = disarm_tags(&text, TEST_TAGS);
            let again = disarm_tags(&safe, TEST_TAGS);
            prop_assert_eq!(&again, &safe);
            let lower = safe.to_lowercase();
            for tag in ["</given", "</passage", "<passage>"] {
                for at in lower.match_indices(tag).map(|(at, _)| at + tag.len()) {
                    let next = lower.get(at..).and_then(|rest| rest.chars().next());
                    // Another name, `</givens`, is none of ours.
                    prop_assert!(next.is_some_and(|it| it.is_alphanumeric() || it == '_'), "{}", lower);
                }
            }
        }

        #[test]
        fn text_without_brackets_stays(text in "[a-zA-Zа-яα-ω0-9 .,;:!?\n\"'(){}=+*-]{0,80}") {
            let safe = disarm_tags(&text, TEST_TAGS);
            prop_assert_eq!(safe.as_ref(), &text);
        }
    }
}

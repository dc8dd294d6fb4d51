//! Odd letters made plain: ligatures spelled out, accents put on their letters, controls
//! dropped. Mathematics stays as it is.

use unicode_normalization::char::compose;

/// What a letter of a document is written as in text; none if it is nothing to read.
pub(crate) fn tidy(letter: char) -> Tidy {
    match letter {
        '\u{fb00}' => Tidy::Many("ff"),
        '\u{fb01}' => Tidy::Many("fi"),
        '\u{fb02}' => Tidy::Many("fl"),
        '\u{fb03}' => Tidy::Many("ffi"),
        '\u{fb04}' => Tidy::Many("ffl"),
        '\u{fb05}' | '\u{fb06}' => Tidy::Many("st"),
        '\u{a0}'
        | '\u{2000}'..='\u{200a}'
        | '\u{202f}'
        | '\u{205f}'
        | '\u{3000}'
        | '\t'
        | '\n'
        | '\r' => Tidy::One(' '),
        '\u{ad}' | '\u{2010}' | '\u{2011}' => Tidy::One('-'),
        // Marks of direction and width, the byte order mark, and the tag block, whose letters
        // are read by models and by nobody else. Joiners stay: Persian and Hindi are spelled with
        // them.
        '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}' => Tidy::Nothing,
        _ if letter.is_control() => Tidy::Nothing,
        _ => Tidy::One(letter),
    }
}

/// What became of a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tidy {
    Nothing,
    One(char),
    Many(&'static str),
}

/// The accent that a spacing mark stands for when it is printed over a letter.
fn accent(mark: char) -> Option<char> {
    Some(match mark {
        '\u{60}' => '\u{300}',
        '\u{b4}' => '\u{301}',
        '^' | '\u{2c6}' => '\u{302}',
        '~' | '\u{2dc}' => '\u{303}',
        '\u{af}' | '\u{2c9}' => '\u{304}',
        '\u{2d8}' => '\u{306}',
        '\u{2d9}' => '\u{307}',
        '\u{a8}' => '\u{308}',
        '\u{2da}' => '\u{30a}',
        '\u{2dd}' => '\u{30b}',
        '\u{2c7}' => '\u{30c}',
        '\u{b8}' => '\u{327}',
        '\u{2db}' => '\u{328}',
        '\u{300}'..='\u{36f}' => mark,
        _ => return None,
    })
}

/// Whether a letter can be printed over another as its accent.
pub(super) fn is_accent(mark: char) -> bool {
    accent(mark).is_some()
}

/// A letter with an accent over it, if there is such a letter.
pub(super) fn accented(letter: char, mark: char) -> Option<char> {
    let letter = match letter {
        '\u{131}' => 'i',
        '\u{237}' => 'j',
        other => other,
    };
    compose(letter, accent(mark)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ligatures_are_spelled_and_mathematics_is_kept() {
        assert_eq!(tidy('\u{fb03}'), Tidy::Many("ffi"));
        assert_eq!(tidy('\u{1d465}'), Tidy::One('\u{1d465}'));
        assert_eq!(tidy('\u{e0041}'), Tidy::Nothing);
        assert_eq!(tidy('\u{7}'), Tidy::Nothing);
    }

    #[test]
    fn accents_join_their_letters() {
        assert_eq!(accented('e', '\u{b4}'), Some('\u{e9}'));
        assert_eq!(accented('\u{131}', '\u{a8}'), Some('\u{ef}'));
        assert_eq!(accented('x', 'y'), None);
    }
}

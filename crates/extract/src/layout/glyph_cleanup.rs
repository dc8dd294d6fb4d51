//! Normalizes glyphs: expands ligatures, composes accents, drops control characters. Mathematical
//! letters stay.

use unicode_normalization::char::compose;

/// The text of a character; nothing if it is not readable.
pub(crate) fn replace_glyph(letter: char) -> GlyphReplacement {
    match letter {
        '\u{fb00}' => GlyphReplacement::Text("ff"),
        '\u{fb01}' => GlyphReplacement::Text("fi"),
        '\u{fb02}' => GlyphReplacement::Text("fl"),
        '\u{fb03}' => GlyphReplacement::Text("ffi"),
        '\u{fb04}' => GlyphReplacement::Text("ffl"),
        '\u{fb05}' | '\u{fb06}' => GlyphReplacement::Text("st"),
        '\u{a0}'
        | '\u{2000}'..='\u{200a}'
        | '\u{202f}'
        | '\u{205f}'
        | '\u{3000}'
        | '\t'
        | '\n'
        | '\r' => GlyphReplacement::Char(' '),
        '\u{ad}' | '\u{2010}' | '\u{2011}' => GlyphReplacement::Char('-'),
        // Bidirectional and zero-width marks, the byte order mark, and the tag block, which only models
        // read. Joiners stay, because Persian and Hindi need them.
        '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}' => GlyphReplacement::Drop,
        _ if letter.is_control() => GlyphReplacement::Drop,
        _ => GlyphReplacement::Char(letter),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GlyphReplacement {
    Drop,
    Char(char),
    Text(&'static str),
}

/// The combining accent of a spacing mark that is printed over a letter.
fn combining_accent(mark: char) -> Option<char> {
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

/// Whether a character can be printed over another as its accent.
pub(super) fn is_accent(mark: char) -> bool {
    combining_accent(mark).is_some()
}

/// Composes a letter and an accent, if Unicode has the result.
pub(super) fn compose_accent(letter: char, mark: char) -> Option<char> {
    let letter = match letter {
        '\u{131}' => 'i',
        '\u{237}' => 'j',
        other => other,
    };
    compose(letter, combining_accent(mark)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ligatures_are_spelled_and_mathematics_is_kept() {
        assert_eq!(replace_glyph('\u{fb03}'), GlyphReplacement::Text("ffi"));
        assert_eq!(
            replace_glyph('\u{1d465}'),
            GlyphReplacement::Char('\u{1d465}')
        );
        assert_eq!(replace_glyph('\u{e0041}'), GlyphReplacement::Drop);
        assert_eq!(replace_glyph('\u{7}'), GlyphReplacement::Drop);
    }

    #[test]
    fn accents_join_their_letters() {
        assert_eq!(compose_accent('e', '\u{b4}'), Some('\u{e9}'));
        assert_eq!(compose_accent('\u{131}', '\u{a8}'), Some('\u{ef}'));
        assert_eq!(compose_accent('x', 'y'), None);
    }
}

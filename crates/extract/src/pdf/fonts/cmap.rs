//! Character maps (CMaps): from the codes of a composite font to text (`ToUnicode`) or to glyph
//! ids (`Encoding`).

use std::collections::HashMap;

use crate::pdf::interpreter::lexer::{PdfLexer, PdfToken};

/// Limit of entries; a real font has at most 65,536 glyphs.
const MAX_ENTRIES: usize = 200_000;
/// Limit of codespace ranges; a real font has a few.
const MAX_CODESPACES: usize = 100;

#[derive(Debug, Default)]
pub(crate) struct CharMap {
    /// Length in bytes, lowest and highest code of each range of codes.
    pub(crate) codespaces: Vec<(u8, u32, u32)>,
    /// Text by code.
    pub(crate) text: HashMap<u32, Box<str>>,
    /// First code, last code and first glyph id of each range, in the order of codes.
    pub(crate) glyphs: Vec<(u32, u32, u32)>,
}

impl CharMap {
    /// Parses a map; unreadable parts are left out.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let mut map = Self::default();
        let mut words: Vec<PdfToken<'_>> = Vec::new();
        for token in PdfLexer::new(bytes) {
            match token {
                PdfToken::Operator(name) => {
                    match name {
                        b"endcodespacerange" => map.add_codespaces(&words),
                        b"endbfchar" => map.add_characters(&words),
                        b"endbfrange" => map.add_ranges(&words),
                        b"endcidrange" => map.add_glyph_ranges(&words),
                        b"endcidchar" => map.add_glyphs(&words),
                        _ => {}
                    }
                    words.clear();
                }
                _ if words.len() < MAX_ENTRIES => words.push(token),
                _ => {}
            }
        }
        map.glyphs.sort_by_key(|(low, ..)| *low);
        map
    }

    /// The glyph id of a code.
    pub(crate) fn glyph_id(&self, code: u32) -> Option<u32> {
        let after = self.glyphs.partition_point(|(low, ..)| *low <= code);
        let (low, high, first) = self.glyphs.get(after.checked_sub(1)?)?;
        (code <= *high).then(|| first.wrapping_add(code - low))
    }

    fn add_codespaces(&mut self, words: &[PdfToken<'_>]) {
        for pair in words.chunks_exact(2) {
            if let [PdfToken::Text(low), PdfToken::Text(high)] = pair
                && self.codespaces.len() < MAX_CODESPACES
            {
                let length = u8::try_from(low.len().clamp(1, 4)).unwrap_or(4);
                self.codespaces
                    .push((length, parse_code(low), parse_code(high)));
            }
        }
    }

    fn add_characters(&mut self, words: &[PdfToken<'_>]) {
        for pair in words.chunks_exact(2) {
            if let [PdfToken::Text(from), PdfToken::Text(to)] = pair {
                self.insert(parse_code(from), decode_utf16(to));
            }
        }
    }

    fn add_ranges(&mut self, words: &[PdfToken<'_>]) {
        let mut rest = words;
        while let [PdfToken::Text(low), PdfToken::Text(high), target, more @ ..] = rest {
            let (low, high) = (
                parse_code(low),
                parse_code(high).min(parse_code(low).saturating_add(0xffff)),
            );
            rest = more;
            match target {
                PdfToken::Text(first) => self.add_sequence(low, high, first),
                PdfToken::ArrayStart => {
                    let end = rest
                        .iter()
                        .position(|word| *word == PdfToken::ArrayEnd)
                        .unwrap_or(rest.len());
                    let (list, more) = rest.split_at(end);
                    for (at, item) in (low..=high).zip(list) {
                        if let PdfToken::Text(to) = item {
                            self.insert(at, decode_utf16(to));
                        }
                    }
                    rest = more.get(1..).unwrap_or_default();
                }
                _ => {}
            }
        }
    }

    fn add_sequence(&mut self, low: u32, high: u32, first: &[u8]) {
        let mut units: Vec<u16> = utf16_units(first);
        for at in low..=high {
            self.insert(at, String::from_utf16_lossy(&units));
            if let Some(last) = units.last_mut() {
                *last = last.wrapping_add(1);
            }
        }
    }

    fn add_glyph_ranges(&mut self, words: &[PdfToken<'_>]) {
        for triple in words.chunks_exact(3) {
            if let [
                PdfToken::Text(low),
                PdfToken::Text(high),
                PdfToken::Number(first),
            ] = triple
                && self.glyphs.len() < MAX_ENTRIES
            {
                self.glyphs
                    .push((parse_code(low), parse_code(high), *first as u32));
            }
        }
    }

    fn add_glyphs(&mut self, words: &[PdfToken<'_>]) {
        for pair in words.chunks_exact(2) {
            if let [PdfToken::Text(from), PdfToken::Number(to)] = pair
                && self.glyphs.len() < MAX_ENTRIES
            {
                self.glyphs
                    .push((parse_code(from), parse_code(from), *to as u32));
            }
        }
    }

    fn insert(&mut self, code: u32, text: String) {
        if self.text.len() < MAX_ENTRIES {
            self.text.insert(code, text.into_boxed_str());
        }
    }
}

fn parse_code(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .take(4)
        .fold(0, |code, &byte| (code << 8) | u32::from(byte))
}

fn utf16_units(bytes: &[u8]) -> Vec<u16> {
    match bytes {
        [single] => vec![u16::from(*single)],
        _ => bytes
            .as_chunks::<2>()
            .0
            .iter()
            .map(|pair| u16::from_be_bytes(*pair))
            .collect(),
    }
}

fn decode_utf16(bytes: &[u8]) -> String {
    String::from_utf16_lossy(&utf16_units(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_ranges_and_lists_are_read() {
        let map = CharMap::parse(
            b"1 begincodespacerange <0000> <FFFF> endcodespacerange
              2 beginbfchar <0003> <0020> <0004> <00660069> endbfchar
              2 beginbfrange <0010> <0012> <0041> <0020> <0021> [<0061> <D835DC00>] endbfrange
              1 begincidrange <0000> <00ff> 5 endcidrange",
        );
        assert_eq!(map.codespaces, [(2, 0, 0xffff)]);
        let text = |code| map.text.get(&code).map(|text| &**text);
        assert_eq!(text(3), Some(" "));
        assert_eq!(text(4), Some("fi"));
        assert_eq!(text(0x12), Some("C"));
        assert_eq!(text(0x21), Some("\u{1d400}"));
        assert_eq!(map.glyph_id(2), Some(7));
    }

    #[test]
    fn a_range_that_claims_everything_is_bounded() {
        let map = CharMap::parse(b"1 beginbfrange <00000000> <ffffffff> <0041> endbfrange");
        assert!(map.text.len() <= MAX_ENTRIES);
    }
}

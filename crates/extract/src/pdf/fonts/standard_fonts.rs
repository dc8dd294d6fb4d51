//! The encodings and standard fonts that every PDF reader knows: the glyph name of each code, and the
//! widths of the glyphs.

use std::collections::HashMap;

use super::glyph_names::decode_glyph_name;

/// The glyph names of the 256 codes; an empty name has no glyph.
pub(super) type GlyphNames = [&'static str; 256];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StandardEncoding {
    Standard,
    MacRoman,
    WinAnsi,
    MacExpert,
    Symbol,
    ZapfDingbats,
}

impl StandardEncoding {
    /// The encoding that a font dictionary names.
    pub(super) fn by_name(name: &[u8]) -> Option<Self> {
        match name {
            b"StandardEncoding" => Some(Self::Standard),
            b"MacRomanEncoding" => Some(Self::MacRoman),
            b"WinAnsiEncoding" => Some(Self::WinAnsi),
            b"MacExpertEncoding" => Some(Self::MacExpert),
            _ => None,
        }
    }

    const fn data_name(self) -> &'static str {
        match self {
            Self::Standard => "Standard",
            Self::MacRoman => "MacRoman",
            Self::WinAnsi => "WinAnsi",
            Self::MacExpert => "MacExpert",
            Self::Symbol => "Symbol",
            Self::ZapfDingbats => "ZapfDingbats",
        }
    }

    pub(super) fn glyph_names(self) -> GlyphNames {
        let mut names = [""; 256];
        for (first, run) in data_lines(include_str!("data/encodings.txt"), self.data_name()) {
            for (slot, name) in names.iter_mut().skip(first).zip(run.split(' ')) {
                *slot = name;
            }
        }
        names
    }
}

/// The standard font most similar to a font: its metrics and its own encoding stand in where a file
/// says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StandardFont {
    Courier,
    Helvetica,
    HelveticaBold,
    TimesRoman,
    TimesBold,
    TimesItalic,
    TimesBoldItalic,
    Symbol,
    ZapfDingbats,
}

impl StandardFont {
    pub(super) fn by_name(name: &str) -> Self {
        let name = name.split_once('+').map_or(name, |(_, rest)| rest);
        let has = |mark: &str| name.contains(mark);
        let (bold, slanted) = (has("Bold"), has("Italic") || has("Oblique"));
        if has("Symbol") {
            Self::Symbol
        } else if has("Dingbats") {
            Self::ZapfDingbats
        } else if has("Courier") || has("Mono") {
            Self::Courier
        } else if has("Times") || has("Roman") || has("Serif") {
            match (bold, slanted) {
                (true, true) => Self::TimesBoldItalic,
                (true, false) => Self::TimesBold,
                (false, true) => Self::TimesItalic,
                (false, false) => Self::TimesRoman,
            }
        } else if bold {
            Self::HelveticaBold
        } else {
            Self::Helvetica
        }
    }

    /// The encoding of the symbol fonts.
    pub(super) const fn own_encoding(self) -> Option<StandardEncoding> {
        match self {
            Self::Symbol => Some(StandardEncoding::Symbol),
            Self::ZapfDingbats => Some(StandardEncoding::ZapfDingbats),
            _ => None,
        }
    }

    const fn data_name(self) -> &'static str {
        match self {
            Self::Courier => "Courier",
            Self::Helvetica => "Helvetica",
            Self::HelveticaBold => "Helvetica-Bold",
            Self::TimesRoman => "Times-Roman",
            Self::TimesBold => "Times-Bold",
            Self::TimesItalic => "Times-Italic",
            Self::TimesBoldItalic => "Times-BoldItalic",
            Self::Symbol => "Symbol",
            Self::ZapfDingbats => "ZapfDingbats",
        }
    }

    /// The widths by text, as shares of the size.
    pub(super) fn widths(self) -> StandardWidths {
        let mut widths = HashMap::new();
        let is_dingbats = self == Self::ZapfDingbats;
        for (width, names) in data_lines(include_str!("data/widths.txt"), self.data_name()) {
            for text in names.split(' ') {
                if let Some(text) = decode_glyph_name(text, is_dingbats) {
                    widths.entry(text).or_insert(width as f64 / 1000.0);
                }
            }
        }
        StandardWidths(widths)
    }
}

/// The widths of a standard font by text.
pub(super) struct StandardWidths(HashMap<String, f64>);

impl StandardWidths {
    /// The width of a code's text. All glyphs of the typewriter font are as wide as the usual one.
    pub(super) fn width(&self, text: &str) -> f64 {
        /// The width of a glyph that the font does not have.
        const USUAL_WIDTH: f64 = 0.6;
        match self.0.get(text) {
            Some(width) => *width,
            None if text.is_empty() => 0.0,
            None => USUAL_WIDTH,
        }
    }
}

/// The number and the names of each line of an entry.
fn data_lines(
    text: &'static str,
    entry: &'static str,
) -> impl Iterator<Item = (usize, &'static str)> {
    text.lines().filter_map(move |line| {
        let (number, names) = line
            .strip_prefix(entry)?
            .strip_prefix(' ')?
            .split_once(' ')?;
        Some((number.parse().ok()?, names))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_name_the_glyphs_of_their_codes() {
        let name = |encoding: StandardEncoding, code: usize| encoding.glyph_names()[code];
        assert_eq!(name(StandardEncoding::Standard, 39), "quoteright");
        assert_eq!(name(StandardEncoding::WinAnsi, 39), "quotesingle");
        assert_eq!(name(StandardEncoding::WinAnsi, 128), "Euro");
        assert_eq!(name(StandardEncoding::WinAnsi, 255), "ydieresis");
        assert_eq!(name(StandardEncoding::MacRoman, 128), "Adieresis");
        assert_eq!(name(StandardEncoding::MacExpert, 33), "exclamsmall");
        assert_eq!(name(StandardEncoding::Symbol, 97), "alpha");
        assert_eq!(name(StandardEncoding::ZapfDingbats, 33), "a1");
        assert_eq!(name(StandardEncoding::Standard, 0), "");
    }

    #[test]
    fn every_glyph_of_an_encoding_has_a_text() {
        for encoding in [
            StandardEncoding::Standard,
            StandardEncoding::MacRoman,
            StandardEncoding::WinAnsi,
            StandardEncoding::MacExpert,
            StandardEncoding::Symbol,
            StandardEncoding::ZapfDingbats,
        ] {
            let names = encoding.glyph_names();
            assert!(names.iter().filter(|name| !name.is_empty()).count() > 140);
            for name in names.into_iter().filter(|name| !name.is_empty()) {
                let is_dingbats = encoding == StandardEncoding::ZapfDingbats;
                assert!(decode_glyph_name(name, is_dingbats).is_some(), "{name}");
            }
        }
    }

    #[test]
    fn widths_are_those_of_the_most_similar_font() {
        for (name, text, width) in [
            ("Helvetica", "A", "0.667"),
            ("ABCDEF+Arial-BoldMT", "A", "0.722"),
            ("TimesNewRomanPS-ItalicMT", "A", "0.611"),
            ("CourierNew", "A", "0.600"),
            ("Symbol", "\u{3b1}", "0.631"),
            ("ZapfDingbats", "\u{2701}", "0.974"),
            ("Helvetica", "", "0.000"),
        ] {
            let found = StandardFont::by_name(name).widths().width(text);
            assert_eq!(format!("{found:.3}"), width, "{name}");
        }
    }
}

//! The text of glyph names: the Adobe Glyph List with the names of TeX fonts, and the names that
//! spell their characters. Knows no codes.

use std::sync::LazyLock;

/// The most bytes of a name in PDF. A longer one would be decoded again for each code that has it.
const MAX_NAME_BYTES: usize = 127;

/// A list of names, sorted by name.
struct GlyphList(Vec<&'static str>);

impl GlyphList {
    fn parse(text: &'static str) -> Self {
        Self(text.lines().filter(|line| !line.starts_with('#')).collect())
    }

    fn text(&self, name: &str) -> Option<String> {
        let key = |line: &&'static str| line.split(' ').next().unwrap_or_default();
        let at = self.0.binary_search_by_key(&name, key).ok()?;
        let codes = self.0.get(at)?.split(' ').skip(1);
        codes.map(parse_character).collect()
    }
}

static GLYPH_NAMES: LazyLock<GlyphList> =
    LazyLock::new(|| GlyphList::parse(include_str!("data/glyph_names.txt")));
static DINGBATS: LazyLock<GlyphList> =
    LazyLock::new(|| GlyphList::parse(include_str!("data/dingbats.txt")));

/// The text of a glyph name, as the Adobe Glyph List Specification reads it: without the suffix of a
/// variant (`a.sc`), part by part (`f_f_i`), by list, or by the code that it spells (`uni20AC`,
/// `u1F600`). `None` if the name says nothing about its character, as `g123` does.
pub(super) fn decode_glyph_name(name: &str, is_dingbats: bool) -> Option<String> {
    if name.len() > MAX_NAME_BYTES {
        return None;
    }
    let plain = match name.split_once('.') {
        Some(("", _)) | None => name,
        Some((plain, _)) => plain,
    };
    let known = |name: &str| {
        let dingbat = is_dingbats.then(|| DINGBATS.text(name)).flatten();
        dingbat
            .or_else(|| GLYPH_NAMES.text(name))
            .or_else(|| decode_hexadecimal_name(name))
    };
    known(plain).or_else(|| {
        let parts = plain.contains('_').then(|| plain.split('_'))?;
        let texts = parts.filter_map(|part| {
            let single = || (part.len() == 1).then(|| part.to_owned());
            known(part).or_else(single)
        });
        Some(texts.collect::<String>()).filter(|text| !text.is_empty())
    })
}

/// The text of `uni` with four digits for each UTF-16 unit, or of `u` with four to six digits.
fn decode_hexadecimal_name(name: &str) -> Option<String> {
    if let Some(digits) = name.strip_prefix("uni")
        && !digits.is_empty()
        && digits.len() % 4 == 0
        && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    {
        let (units, _) = digits.as_bytes().as_chunks::<4>();
        let units = units
            .iter()
            .map(|unit| u16::from_str_radix(str::from_utf8(unit).ok()?, 16).ok())
            .collect::<Option<Vec<u16>>>()?;
        return String::from_utf16(&units).ok();
    }
    let digits = name.strip_prefix('u')?;
    (4..=6)
        .contains(&digits.len())
        .then(|| parse_character(digits))?
        .map(String::from)
}

fn parse_character(digits: &str) -> Option<char> {
    if digits.starts_with('+') {
        return None;
    }
    u32::from_str_radix(digits, 16)
        .ok()
        .and_then(char::from_u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_by_list_by_part_and_by_code() {
        let cases = [
            ("A", "A"),
            ("eacute", "\u{e9}"),
            ("ffi", "\u{fb03}"),
            ("f_f_i", "\u{fb03}"),
            ("f_f_j.alt", "ffj"),
            ("T_h", "Th"),
            ("a.sc", "a"),
            ("uni20AC", "\u{20ac}"),
            ("uni00660069", "fi"),
            ("uniD83DDE00", "\u{1f600}"),
            ("u1F600.alt", "\u{1f600}"),
            ("dalethatafpatah", "\u{5d3}\u{5b2}"),
            ("arrowright", "\u{2192}"),
        ];
        for (name, text) in cases {
            assert_eq!(
                decode_glyph_name(name, false).as_deref(),
                Some(text),
                "{name}"
            );
        }
        for name in [
            "", ".notdef", "g123", "G65", "cid_", "uni20A", "u+0041", "uniD800", "é_",
        ] {
            assert_eq!(decode_glyph_name(name, false), None, "{name}");
        }
    }

    #[test]
    fn dingbats_have_names_of_their_own() {
        assert_eq!(decode_glyph_name("a10", true).as_deref(), Some("\u{2721}"));
        assert_eq!(decode_glyph_name("a10", false), None);
    }

    #[test]
    fn the_lists_are_sorted_and_whole() {
        for list in [&*GLYPH_NAMES, &*DINGBATS] {
            let names = || list.0.iter().filter_map(|line| line.split(' ').next());
            assert!(names().is_sorted());
            assert!(names().all(|name| list.text(name).is_some()));
        }
    }
}

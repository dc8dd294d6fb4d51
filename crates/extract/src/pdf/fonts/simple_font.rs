//! One-byte fonts: the text and width of each of their 256 codes, from the font's encoding, the names
//! of its glyphs and its widths.

use lopdf::{Dictionary, Document, Object};

use super::{
    font_program::read_program_encoding,
    glyph_names::decode_glyph_name,
    standard_fonts::{StandardEncoding, StandardFont},
};
use crate::pdf::object_access::{dict_at, get, list_at, name_at, number, number_at, resolve};

type GlyphTable = Vec<(Box<str>, f64)>;

/// The text and width of each code, as a share of the size.
pub(super) fn build_glyph_table(file: &Document, dict: &Dictionary, name: &str) -> GlyphTable {
    let font = StandardFont::by_name(name);
    let is_dingbats = font == StandardFont::ZapfDingbats;
    let encoding = get(file, dict, b"Encoding");
    let said = match encoding {
        Some(Object::Name(name)) => StandardEncoding::by_name(name),
        Some(Object::Dictionary(given)) => {
            name_at(file, given, b"BaseEncoding").and_then(StandardEncoding::by_name)
        }
        _ => None,
    };
    let mut texts = match said.or(font.own_encoding()) {
        Some(encoding) => encoding_texts(encoding),
        None if name_at(file, dict, b"Subtype") == Some(b"Type3") => bitmap_texts(),
        None => default_texts(encoding.is_none() && !dict.has(b"FontDescriptor")),
    };
    // A base encoding overrides the program's own.
    if said.is_none() {
        for (code, name) in read_program_encoding(file, dict) {
            set_text(&mut texts, usize::from(code), &name, is_dingbats);
        }
    }
    if let Some(Object::Dictionary(given)) = encoding {
        set_differences(file, given, &mut texts, is_dingbats);
    }
    let widths = list_at(file, dict, b"Widths");
    let standard_widths = widths.is_none().then(|| font.widths());
    let with_width = |text: String| {
        let width = standard_widths.as_ref().map_or(0.0, |it| it.width(&text));
        (text.into_boxed_str(), width)
    };
    let mut table: GlyphTable = texts.into_iter().map(with_width).collect();
    if let Some(widths) = widths {
        set_widths(file, dict, widths, &mut table);
    }
    table
}

fn encoding_texts(encoding: StandardEncoding) -> Vec<String> {
    let is_dingbats = encoding == StandardEncoding::ZapfDingbats;
    let text = |name| decode_glyph_name(name, is_dingbats).unwrap_or_default();
    encoding.glyph_names().map(text).to_vec()
}

/// The texts of a font that does not name its encoding: Windows', because writers that forget it mean
/// that more often than the standard one. Only a `bare` font, of which the file has no more than the
/// name, has the standard encoding; the codes that are free there are read as Windows'.
fn default_texts(bare: bool) -> Vec<String> {
    let mut texts = encoding_texts(StandardEncoding::WinAnsi);
    if bare {
        let standard = encoding_texts(StandardEncoding::Standard);
        for (text, standard) in texts.iter_mut().zip(standard) {
            if !standard.is_empty() {
                *text = standard;
            }
        }
    }
    texts
}

/// The texts of a Type 3 font. Most are TeX's bitmap fonts, whose glyphs have numbers for names: their
/// ligatures lie at the codes of TeX's old and new encoding.
fn bitmap_texts() -> Vec<String> {
    const LIGATURES: [&str; 5] = ["ff", "fi", "fl", "ffi", "ffl"];
    let mut texts = default_texts(false);
    for first in [0x0b, 0x1b] {
        for (text, ligature) in texts.iter_mut().skip(first).zip(LIGATURES) {
            ligature.clone_into(text);
        }
    }
    texts
}

/// Replaces the codes that the font encodes differently than its base encoding.
fn set_differences(
    file: &Document,
    encoding: &Dictionary,
    texts: &mut [String],
    is_dingbats: bool,
) {
    let mut code = 0;
    for item in list_at(file, encoding, b"Differences").unwrap_or_default() {
        match resolve(file, item) {
            Object::Name(name) => {
                let name = String::from_utf8_lossy(name);
                set_text(texts, code, &name, is_dingbats);
                code = code.saturating_add(1);
            }
            other => {
                if let Some(start) = number(other) {
                    code = start.clamp(0.0, 256.0) as usize;
                }
            }
        }
    }
}

/// Sets the text of a code by its glyph name. A name that says nothing of its character leaves the
/// code as it is: such fonts are mostly subsets that keep their codes.
fn set_text(texts: &mut [String], code: usize, name: &str, is_dingbats: bool) {
    let Some(slot) = texts.get_mut(code) else {
        return;
    };
    if let Some(text) = decode_glyph_name(name, is_dingbats) {
        *slot = text;
    }
}

fn set_widths(file: &Document, dict: &Dictionary, widths: &[Object], table: &mut GlyphTable) {
    let first = number_at(file, dict, b"FirstChar")
        .unwrap_or(0.0)
        .clamp(0.0, 255.0) as usize;
    let missing = dict_at(file, dict, b"FontDescriptor")
        .and_then(|descriptor| number_at(file, descriptor, b"MissingWidth"))
        .unwrap_or(0.0);
    for (code, entry) in table.iter_mut().enumerate() {
        let given = code
            .checked_sub(first)
            .and_then(|at| widths.get(at))
            .and_then(|width| number(resolve(file, width)));
        entry.1 = given.unwrap_or(missing) / 1000.0;
    }
}

#[cfg(test)]
mod tests {
    use lopdf::dictionary;

    use super::*;

    fn texts_of(dict: &Dictionary, name: &str) -> Vec<String> {
        let table = build_glyph_table(&Document::new(), dict, name);
        table.into_iter().map(|(text, _)| text.into()).collect()
    }

    #[test]
    fn differences_replace_codes_of_the_base_encoding() {
        let font = dictionary! {
            "Subtype" => "Type1",
            "Encoding" => dictionary! {
                "BaseEncoding" => "MacRomanEncoding",
                "Differences" => vec![
                    Object::Integer(65), "alpha".into(), "f_f_i".into(), "g123".into(),
                    Object::Integer(300), "B".into(), Object::Integer(255), "uni20AC".into(),
                ],
            },
            "FirstChar" => 65,
            "Widths" => vec![Object::Integer(500), Object::Real(250.0)],
        };
        let table = build_glyph_table(&Document::new(), &font, "ABCDEF+Some");
        let entry = |code: usize| (&*table[code].0, table[code].1);
        assert_eq!(entry(65), ("\u{3b1}", 0.5));
        assert_eq!(entry(66), ("\u{fb03}", 0.25));
        assert_eq!(entry(67), ("C", 0.0));
        assert_eq!(entry(128), ("\u{c4}", 0.0));
        assert_eq!(entry(255), ("\u{20ac}", 0.0));
    }

    #[test]
    fn a_font_without_an_encoding_is_read_by_its_kind() {
        let bare = dictionary! { "Subtype" => "Type1" };
        let described = dictionary! { "Subtype" => "TrueType", "FontDescriptor" => dictionary! {} };
        let bitmap = dictionary! { "Subtype" => "Type3" };
        assert_eq!(texts_of(&bare, "Helvetica")[39], "\u{2019}");
        assert_eq!(texts_of(&bare, "Helvetica")[0xe9], "\u{d8}");
        assert_eq!(texts_of(&bare, "Symbol")[0x61], "\u{3b1}");
        assert_eq!(texts_of(&bare, "ZapfDingbats")[0x21], "\u{2701}");
        assert_eq!(texts_of(&described, "Arial")[39], "'");
        assert_eq!(texts_of(&described, "Arial")[0xe9], "\u{e9}");
        assert_eq!(texts_of(&bitmap, "")[0x1c], "fi");
        assert_eq!(texts_of(&described, "Arial")[0x1c], "");
    }
}

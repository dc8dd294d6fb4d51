//! Fonts: the text and width of each code of a string. Composite fonts are read here, one-byte
//! fonts by the names of their glyphs (`simple_font`). Knows no positions on a page.

pub(crate) mod cmap;
mod font_program;
mod glyph_names;
mod simple_font;
mod standard_fonts;

use std::collections::HashMap;

use lopdf::{Dictionary, Document, Object};

use super::{
    object_access::{
        dict_at, get, list_at, name_at, number, number_at, numbers_at, resolve, stream_at,
    },
    stream_decoder::decode_stream,
};
use cmap::CharMap;

/// A code of a string: its text and advance, as a share of the font size.
#[derive(Debug, Clone, Copy)]
pub(super) struct DecodedGlyph<'f> {
    pub(super) text: &'f str,
    pub(super) width: f64,
    /// Whether word spacing applies: the one-byte code 32.
    pub(super) is_space: bool,
}

#[derive(Debug)]
pub(super) struct Font {
    codes: FontEncoding,
    /// Whether its name or descriptor says that it is bold.
    pub(super) bold: bool,
    /// The size of its letters relative to the nominal size; 1 except for Type 3 fonts.
    pub(super) em: f64,
}

#[derive(Debug)]
enum FontEncoding {
    Simple(Vec<(Box<str>, f64)>),
    Composite(Box<CompositeFont>),
}

#[derive(Debug)]
struct CompositeFont {
    codespaces: Vec<(u8, u32, u32)>,
    text: HashMap<u32, Box<str>>,
    glyphs: Option<CharMap>,
    widths: HashMap<u32, f64>,
    default_width: f64,
}

/// Limit of the unpacked bytes of a font program or map.
pub(super) const MAX_FONT_BYTES: u64 = 16_000_000;

impl Font {
    pub(super) fn read(file: &Document, dict: &Dictionary) -> Self {
        let subtype = name_at(file, dict, b"Subtype").unwrap_or_default();
        let name = String::from_utf8_lossy(name_at(file, dict, b"BaseFont").unwrap_or_default())
            .into_owned();
        let map = stream_at(file, dict, b"ToUnicode")
            .and_then(|stream| decode_stream(file, stream, MAX_FONT_BYTES))
            .map(|bytes| CharMap::parse(&bytes))
            .unwrap_or_default();
        let mut em = 1.0;
        let codes = if subtype == b"Type0" {
            FontEncoding::Composite(Box::new(CompositeFont::read(file, dict, map)))
        } else {
            let mut table = simple_font::build_glyph_table(file, dict, &name);
            for (code, (text, _)) in (0_u32..).zip(&mut table) {
                if let Some(said) = map.text.get(&code).filter(|said| is_meaningful(said)) {
                    *text = said.clone();
                }
            }
            if subtype == b"Type3" {
                em = scale_type3_widths(file, dict, &mut table);
            }
            FontEncoding::Simple(table)
        };
        Self {
            codes,
            bold: is_bold(file, dict, &name),
            em,
        }
    }

    /// Decodes a string, code by code.
    pub(super) fn decode<'f>(&'f self, bytes: &[u8], mut each: impl FnMut(DecodedGlyph<'f>)) {
        match &self.codes {
            FontEncoding::Simple(table) => {
                for &byte in bytes {
                    if let Some((text, width)) = table.get(usize::from(byte)) {
                        each(DecodedGlyph {
                            text,
                            width: *width,
                            is_space: byte == b' ',
                        });
                    }
                }
            }
            FontEncoding::Composite(font) => font.decode(bytes, each),
        }
    }
}

/// Some writers map every code that they cannot name to nothing or to a filler.
fn is_meaningful(text: &str) -> bool {
    text.chars().any(|c| c != '\0' && c != '\u{fffd}')
}

/// The widths of a Type 3 font are in its own units: converts them to shares of the size and
/// returns the size of its letters.
fn scale_type3_widths(file: &Document, dict: &Dictionary, table: &mut [(Box<str>, f64)]) -> f64 {
    let matrix =
        numbers_at::<6>(file, dict, b"FontMatrix").unwrap_or([0.001, 0.0, 0.0, 0.001, 0.0, 0.0]);
    let [across, _, _, up, ..] = matrix;
    let mut widest = 0.0_f64;
    for (_, width) in table.iter_mut() {
        *width *= 1000.0 * across.abs();
        widest = widest.max(*width);
    }
    let height = numbers_at::<4>(file, dict, b"FontBBox")
        .map_or(0.0, |[_, low, _, high]| (high - low).abs() * up.abs());
    // A bounding box can be empty or absurd; the widest letter is about an em.
    if height > widest * 0.5 && height < widest * 4.0 {
        height * 0.9
    } else if widest > 0.0 {
        widest
    } else {
        1.0
    }
}

fn is_bold(file: &Document, dict: &Dictionary, name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let lower = lower
        .split_once('+')
        .map_or(lower.as_str(), |(_, rest)| rest);
    if [
        "bold", "black", "heavy", "semibd", "demi", "-medi", "cmbx", "sfbx", "ecbx", "lmb",
        "cmssbx",
    ]
    .iter()
    .any(|mark| lower.contains(mark))
    {
        return true;
    }
    let owner = list_at(file, dict, b"DescendantFonts")
        .and_then(|list| resolve(file, list.first()?).as_dict().ok())
        .unwrap_or(dict);
    let Some(descriptor) = dict_at(file, owner, b"FontDescriptor") else {
        return false;
    };
    number_at(file, descriptor, b"FontWeight").is_some_and(|weight| weight >= 600.0)
        || number_at(file, descriptor, b"Flags")
            .is_some_and(|flags| (flags as i64) & (1 << 18) != 0)
}

impl CompositeFont {
    fn read(file: &Document, dict: &Dictionary, map: CharMap) -> Self {
        let encoding = get(file, dict, b"Encoding");
        let mut codespaces = Vec::new();
        let mut glyphs = None;
        let mut text = map.text;
        match encoding {
            Some(Object::Stream(stream)) => {
                let bytes = decode_stream(file, stream, MAX_FONT_BYTES).unwrap_or_default();
                let read = CharMap::parse(&bytes);
                codespaces.clone_from(&read.codespaces);
                glyphs = Some(read);
            }
            Some(Object::Name(name)) => {
                let name = String::from_utf8_lossy(name);
                // The codes of these maps are UTF-16 themselves.
                if text.is_empty() && (name.contains("UCS2") || name.contains("UTF16")) {
                    text = (0x20..=0xffff)
                        .filter_map(|code| Some((code, char::from_u32(code)?.to_string().into())))
                        .collect();
                }
            }
            _ => {}
        }
        if codespaces.is_empty() {
            codespaces.push((2, 0, 0xffff));
        }
        let below = list_at(file, dict, b"DescendantFonts")
            .and_then(|list| resolve(file, list.first()?).as_dict().ok());
        Self {
            codespaces,
            text,
            glyphs,
            widths: below
                .map(|below| read_widths(file, below))
                .unwrap_or_default(),
            default_width: below
                .and_then(|below| number_at(file, below, b"DW"))
                .unwrap_or(1000.0)
                / 1000.0,
        }
    }

    fn decode<'f>(&'f self, bytes: &[u8], mut each: impl FnMut(DecodedGlyph<'f>)) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (code, length) = self.next_code(rest);
            rest = rest.get(length..).unwrap_or_default();
            let glyph = self
                .glyphs
                .as_ref()
                .and_then(|map| map.glyph_id(code))
                .unwrap_or(code);
            each(DecodedGlyph {
                text: self.text.get(&code).map_or("", |text| text),
                width: self
                    .widths
                    .get(&glyph)
                    .copied()
                    .unwrap_or(self.default_width),
                is_space: length == 1 && code == 32,
            });
        }
    }

    fn next_code(&self, bytes: &[u8]) -> (u32, usize) {
        let mut code = 0;
        for (length, &byte) in (1_u8..=4).zip(bytes) {
            code = (code << 8) | u32::from(byte);
            if self
                .codespaces
                .iter()
                .any(|(long, low, high)| *long == length && (*low..=*high).contains(&code))
            {
                return (code, usize::from(length));
            }
        }
        let usual =
            usize::from(self.codespaces.first().map_or(2, |space| space.0)).min(bytes.len());
        let code = bytes
            .iter()
            .take(usual)
            .fold(0, |code, &byte| (code << 8) | u32::from(byte));
        (code, usual.max(1))
    }
}

/// The widths by glyph id: `first [w w w]` or `first last w`.
fn read_widths(file: &Document, dict: &Dictionary) -> HashMap<u32, f64> {
    let mut widths = HashMap::new();
    let mut rest = list_at(file, dict, b"W").unwrap_or_default();
    while let [first, second, more @ ..] = rest {
        let Some(first) = number(resolve(file, first)) else {
            break;
        };
        let first = first as u32;
        match resolve(file, second) {
            Object::Array(list) => {
                for (glyph, width) in (first..).zip(list) {
                    if let Some(width) = number(resolve(file, width)) {
                        widths.insert(glyph, width / 1000.0);
                    }
                }
                rest = more;
            }
            last => {
                let (Some(last), Some(width)) = (
                    number(last),
                    more.first().and_then(|width| number(resolve(file, width))),
                ) else {
                    break;
                };
                for glyph in first..=(last as u32).min(first.saturating_add(0xffff)) {
                    widths.insert(glyph, width / 1000.0);
                }
                rest = more.get(1..).unwrap_or_default();
            }
        }
        if widths.len() > 200_000 {
            break;
        }
    }
    widths
}

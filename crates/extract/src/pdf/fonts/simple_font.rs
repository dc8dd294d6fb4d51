//! One-byte fonts: the text and width of each of their 256 codes. Encodings, glyph names and
//! built-in metrics are the library's; it gets a tiny document with only a cleaned copy of the font,
//! because it panics on unexpected input.

use std::collections::HashMap;

use pdf_extract::{
    Dictionary, Document, MediaBox, Object, OutputDev, OutputError, Stream, Transform, output_doc,
};

use super::MAX_FONT_BYTES;
use crate::{
    extract::catch_panic,
    pdf::{
        object_access::{dict_at, get, list_at, name_at, number, number_at, resolve, stream_at},
        stream_decoder::decode_stream,
    },
};

type GlyphTable = Vec<(Box<str>, f64)>;

/// The text and width of each code, as a share of the size.
pub(crate) fn build_glyph_table(file: &Document, dict: &Dictionary, name: &str) -> GlyphTable {
    let (encoding, named) = supported_encoding(file, dict);
    let based = matches!(&encoding, Some(Object::Dictionary(dict)) if dict.has(b"BaseEncoding"))
        || matches!(&encoding, Some(Object::Name(_)));
    let core = standard_font_name(name);
    let program = embedded_font_program(file, dict);
    let embedded = program.is_some();
    let true_type = name_at(file, dict, b"Subtype") == Some(b"TrueType");
    let mut table = decode_with_library(core, program, None, true_type);
    if let Some(encoding) = encoding {
        let said = decode_with_library(core, None, Some(encoding), true_type);
        for (code, (mine, said)) in (0_u32..).zip(table.iter_mut().zip(said)) {
            // Without a base encoding, the embedded font program decides about codes without differences.
            if based || !embedded || named.contains_key(&code) {
                *mine = said;
            }
        }
    }
    for (code, text) in named {
        if let (Some(text), Some(entry)) = (text, table.get_mut(code as usize)) {
            entry.0 = text.into_boxed_str();
        }
    }
    set_widths(file, dict, &mut table);
    table
}

/// The font's own widths override the built-in metrics.
fn set_widths(file: &Document, dict: &Dictionary, table: &mut GlyphTable) {
    let Some(widths) = list_at(file, dict, b"Widths") else {
        return;
    };
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

/// Text by code for names that spell their character; `None` for others.
type NamedGlyphs = HashMap<u32, Option<String>>;

/// A copy of the encoding with only what the library supports.
fn supported_encoding(file: &Document, dict: &Dictionary) -> (Option<Object>, NamedGlyphs) {
    let mut named = NamedGlyphs::new();
    let known = |name: &[u8]| {
        matches!(
            name,
            b"MacRomanEncoding" | b"MacExpertEncoding" | b"WinAnsiEncoding"
        )
    };
    match get(file, dict, b"Encoding") {
        Some(Object::Name(name)) if known(name) => (Some(Object::Name(name.clone())), named),
        Some(Object::Dictionary(given)) => {
            let mut clean = Dictionary::new();
            if let Some(base) = name_at(file, given, b"BaseEncoding").filter(|name| known(name)) {
                clean.set("BaseEncoding", Object::Name(base.to_vec()));
            }
            let mut differences = Vec::new();
            let mut code = 0_u32;
            for item in list_at(file, given, b"Differences").unwrap_or_default() {
                match resolve(file, item) {
                    Object::Name(name) if code < 256 => {
                        let name = String::from_utf8_lossy(name);
                        differences.push(Object::Integer(i64::from(code)));
                        differences.push(Object::Name(base_glyph_name(&name).as_bytes().to_vec()));
                        named.insert(code, decode_glyph_name(&name));
                        code += 1;
                    }
                    other => {
                        if let Some(start) = number(other) {
                            code = start.clamp(0.0, 256.0) as u32;
                        }
                    }
                }
            }
            clean.set("Differences", differences);
            (Some(Object::Dictionary(clean)), named)
        }
        _ => (None, named),
    }
}

/// A glyph name without its variant suffix: `a.sc` is an `a`.
fn base_glyph_name(name: &str) -> &str {
    match name.split_once('.') {
        Some((plain, _)) if !plain.is_empty() => plain,
        _ => name,
    }
}

/// The text of a name that spells it: `uni20AC`, `u1F600`, `f_f_i`.
fn decode_glyph_name(name: &str) -> Option<String> {
    let name = base_glyph_name(name);
    if name.contains('_') {
        let parts: Vec<&str> = name.split('_').collect();
        if parts.iter().all(|part| part.len() == 1) {
            return Some(parts.concat());
        }
    }
    let digits = name
        .strip_prefix("uni")
        .filter(|digits| digits.len() == 4)
        .or_else(|| {
            name.strip_prefix('u')
                .filter(|digits| (4..=6).contains(&digits.len()))
        })?;
    let code = u32::from_str_radix(digits, 16).ok()?;
    char::from_u32(code).map(String::from)
}

/// The unpacked font program, if its kind has an encoding.
fn embedded_font_program(file: &Document, dict: &Dictionary) -> Option<(&'static str, Stream)> {
    let descriptor = dict_at(file, dict, b"FontDescriptor")?;
    if let Some(stream) = stream_at(file, descriptor, b"FontFile") {
        let bytes = decode_stream(file, stream, MAX_FONT_BYTES)?;
        return Some(("FontFile", Stream::new(Dictionary::new(), bytes)));
    }
    let stream = stream_at(file, descriptor, b"FontFile3")?;
    if name_at(file, &stream.dict, b"Subtype") != Some(b"Type1C") {
        return None;
    }
    let mut kind = Dictionary::new();
    kind.set("Subtype", Object::Name(b"Type1C".to_vec()));
    Some((
        "FontFile3",
        Stream::new(kind, decode_stream(file, stream, MAX_FONT_BYTES)?),
    ))
}

/// The standard font most similar to a name, for its metrics.
fn standard_font_name(name: &str) -> &'static str {
    let name = name.split_once('+').map_or(name, |(_, rest)| rest);
    let has = |mark: &str| name.contains(mark);
    let (bold, slanted) = (has("Bold"), has("Italic") || has("Oblique"));
    if has("Symbol") {
        return "Symbol";
    }
    if has("Dingbats") {
        return "ZapfDingbats";
    }
    if has("Courier") || has("Mono") {
        return "Courier";
    }
    if has("Times") || has("Roman") || has("Serif") {
        return match (bold, slanted) {
            (true, true) => "Times-BoldItalic",
            (true, false) => "Times-Bold",
            (false, true) => "Times-Italic",
            (false, false) => "Times-Roman",
        };
    }
    if bold { "Helvetica-Bold" } else { "Helvetica" }
}

/// Decodes the 256 codes of a font with the library. If it fails, the standard font is used.
fn decode_with_library(
    core: &str,
    program: Option<(&'static str, Stream)>,
    encoding: Option<Object>,
    true_type: bool,
) -> GlyphTable {
    let ask = |program, encoding, subtype| {
        catch_panic(|| {
            let file = build_probe_pdf(core, subtype, program, encoding);
            let mut recorder = GlyphRecorder::default();
            output_doc(&file, &mut recorder)
                .ok()
                .map(|()| recorder.codes)
        })
        .flatten()
        .filter(|codes| codes.len() == 256)
    };
    let subtype = if true_type && program.is_none() {
        "TrueType"
    } else {
        "Type1"
    };
    ask(program, encoding, subtype)
        .or_else(|| ask(None, None, "Type1"))
        .unwrap_or_else(|| {
            (0..=255_u8)
                .map(|code| (char::from(code).to_string().into_boxed_str(), 0.5))
                .collect()
        })
}

/// Builds a document of one page that shows every code of one font.
fn build_probe_pdf(
    core: &str,
    subtype: &str,
    program: Option<(&'static str, Stream)>,
    encoding: Option<Object>,
) -> Document {
    let mut file = Document::new();
    let mut font = Dictionary::new();
    font.set("Type", Object::Name(b"Font".to_vec()));
    font.set("Subtype", Object::Name(subtype.as_bytes().to_vec()));
    font.set("BaseFont", Object::Name(core.as_bytes().to_vec()));
    if let Some((key, stream)) = program {
        let id = file.add_object(stream);
        let mut descriptor = Dictionary::new();
        descriptor.set(key, id);
        font.set("FontDescriptor", descriptor);
    }
    if let Some(encoding) = encoding {
        font.set("Encoding", encoding);
    }
    let mut shown = b"BT /F 1 Tf <".to_vec();
    for code in 0..=255_u8 {
        shown.extend(format!("{code:02x}").bytes());
    }
    shown.extend(b"> Tj ET");
    let contents = file.add_object(Stream::new(Dictionary::new(), shown));
    let mut fonts = Dictionary::new();
    fonts.set("F", font);
    let mut resources = Dictionary::new();
    resources.set("Font", fonts);
    let mut page = Dictionary::new();
    page.set("Type", Object::Name(b"Page".to_vec()));
    page.set("Contents", contents);
    page.set("Resources", resources);
    page.set("MediaBox", vec![0.into(), 0.into(), 100.into(), 100.into()]);
    let page = file.add_object(page);
    let mut pages = Dictionary::new();
    pages.set("Type", Object::Name(b"Pages".to_vec()));
    pages.set("Kids", vec![page.into()]);
    pages.set("Count", 1);
    let pages = file.add_object(pages);
    let mut catalog = Dictionary::new();
    catalog.set("Type", Object::Name(b"Catalog".to_vec()));
    catalog.set("Pages", pages);
    let catalog = file.add_object(catalog);
    file.trailer.set("Root", catalog);
    file
}

/// Records what the library decodes for each code.
#[derive(Default)]
struct GlyphRecorder {
    codes: GlyphTable,
}

impl OutputDev for GlyphRecorder {
    fn begin_page(
        &mut self,
        _: u32,
        _: &MediaBox,
        _: Option<(f64, f64, f64, f64)>,
    ) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_page(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn output_character(
        &mut self,
        _: &Transform,
        width: f64,
        _: f64,
        _: f64,
        text: &str,
    ) -> Result<(), OutputError> {
        let text = text.replace('\0', "").into_boxed_str();
        self.codes.push((text, width));
        Ok(())
    }

    fn begin_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), OutputError> {
        Ok(())
    }
}

//! The encoding inside an embedded font program: the glyph name of each code.

use lopdf::{Dictionary, Document};
use memchr::memmem;

use super::MAX_FONT_BYTES;
use crate::pdf::{
    interpreter::lexer::{PdfLexer, PdfToken},
    object_access::{dict_at, name_at, stream_at},
    stream_decoder::decode_stream,
};

/// The codes and glyph names of the font's program; empty if it has none that is read here.
pub(super) fn read_program_encoding(file: &Document, dict: &Dictionary) -> Vec<(u8, String)> {
    let Some(descriptor) = dict_at(file, dict, b"FontDescriptor") else {
        return Vec::new();
    };
    if let Some(stream) = stream_at(file, descriptor, b"FontFile") {
        let bytes = decode_stream(file, stream, MAX_FONT_BYTES);
        return bytes.map_or_else(Vec::new, |bytes| read_type1_encoding(&bytes));
    }
    match stream_at(file, descriptor, b"FontFile3") {
        Some(stream) if name_at(file, &stream.dict, b"Subtype") == Some(b"Type1C") => {
            let bytes = decode_stream(file, stream, MAX_FONT_BYTES);
            bytes.map_or_else(Vec::new, |bytes| read_cff_encoding(&bytes))
        }
        _ => Vec::new(),
    }
}

/// Reads `/Encoding 256 array ... dup 65 /A put ... def` in the clear part of a Type 1 program.
fn read_type1_encoding(bytes: &[u8]) -> Vec<(u8, String)> {
    /// An array has 256 entries of four words and a loop that empties it.
    const MAX_WORDS: usize = 2_000;
    let Some(start) = memmem::find(bytes, b"/Encoding") else {
        return Vec::new();
    };
    let array = bytes.get(start + b"/Encoding".len()..).unwrap_or_default();
    let mut codes = Vec::new();
    let (mut code, mut glyph) = (None, None);
    for token in PdfLexer::new(array).take(MAX_WORDS) {
        match token {
            PdfToken::Number(number) => code = Some(number),
            PdfToken::Name(name) => glyph = Some(name),
            PdfToken::Operator(b"put") => {
                if let (Some(code), Some(name)) = (code.take(), glyph.take())
                    && (0.0..256.0).contains(&code)
                    && name != b".notdef"
                {
                    codes.push((code as u8, String::from_utf8_lossy(name).into_owned()));
                }
            }
            PdfToken::Operator(b"def" | b"StandardEncoding") => break,
            _ => {}
        }
    }
    codes
}

fn read_cff_encoding(bytes: &[u8]) -> Vec<(u8, String)> {
    let Some(table) = ttf_parser::cff::Table::parse(bytes) else {
        return Vec::new();
    };
    let name = |code: u8| {
        let name = table.glyph_name(table.glyph_index(code)?)?;
        (name != ".notdef").then(|| (code, name.to_owned()))
    };
    (0..=255).filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_array_of_a_type_1_program_is_read() {
        let program = b"%!PS-AdobeFont-1.0: CMR10\n/FontName /CMR10 def\n/Encoding 256 array\n\
            0 1 255 {1 index exch /.notdef put} for\ndup 11 /ff put\ndup 65 /A put\ndup 300 /B put\n\
            readonly def\ndup 66 /C put\ncurrentfile eexec \x00\xff(((";
        let read = read_type1_encoding(program);
        assert_eq!(read, [(11, "ff".to_owned()), (65, "A".to_owned())]);
        assert!(read_type1_encoding(b"/Encoding StandardEncoding def dup 1 /A put").is_empty());
        assert!(read_type1_encoding(b"").is_empty());
    }

    #[test]
    fn a_broken_cff_program_has_no_encoding() {
        assert!(read_cff_encoding(b"").is_empty());
        assert!(read_cff_encoding(&[1, 0, 4, 1, 0, 1, 1, 1, 255, 255]).is_empty());
    }
}

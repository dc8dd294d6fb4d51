//! Decodes streams up to a limit. Knows filters, not contents.

use std::io::Read;

use flate2::read::{DeflateDecoder, ZlibDecoder};
use lopdf::{Dictionary, Document, Object, Stream};

use super::object_access::{integer, resolve};

/// Decodes at most `most` bytes of a stream; a broken one yields what could be decoded. `None` if its
/// filter never holds text.
pub(super) fn decode_stream(file: &Document, stream: &Stream, most: u64) -> Option<Vec<u8>> {
    let filters = filter_names(file, &stream.dict);
    let mut bytes = None;
    for (at, filter) in filters.iter().enumerate() {
        let input: &[u8] = bytes.as_deref().unwrap_or(&stream.content);
        let parameters = decode_parameters(file, &stream.dict, at);
        let output = match filter.as_slice() {
            b"FlateDecode" | b"Fl" => undo_predictor(inflate(input, most), parameters),
            b"ASCIIHexDecode" | b"AHx" => decode_hex(input),
            b"LZWDecode" | b"LZW" | b"ASCII85Decode" | b"A85" => {
                decode_with_library(input, filter, parameters, most)?
            }
            b"Crypt" => input.to_vec(),
            _ => return None,
        };
        bytes = Some(output);
    }
    let mut bytes = bytes.unwrap_or_else(|| stream.content.clone());
    bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    Some(bytes)
}

fn filter_names(file: &Document, dict: &Dictionary) -> Vec<Vec<u8>> {
    match dict.get(b"Filter").ok().map(|filter| resolve(file, filter)) {
        Some(Object::Name(name)) => vec![name.clone()],
        Some(Object::Array(list)) => list
            .iter()
            .take(8)
            .filter_map(|item| resolve(file, item).as_name().ok().map(<[u8]>::to_vec))
            .collect(),
        _ => Vec::new(),
    }
}

fn decode_parameters<'a>(
    file: &'a Document,
    dict: &'a Dictionary,
    at: usize,
) -> Option<&'a Dictionary> {
    let found = dict.get(b"DecodeParms").or_else(|_| dict.get(b"DP")).ok()?;
    match resolve(file, found) {
        Object::Dictionary(one) => (at == 0).then_some(one),
        Object::Array(list) => resolve(file, list.get(at)?).as_dict().ok(),
        _ => None,
    }
}

fn inflate(input: &[u8], most: u64) -> Vec<u8> {
    let mut output = Vec::new();
    // After an error the bytes before it are still there.
    let _ = ZlibDecoder::new(input).take(most).read_to_end(&mut output);
    if output.is_empty() {
        let bare = input.get(2..).unwrap_or_default();
        let _ = DeflateDecoder::new(bare)
            .take(most)
            .read_to_end(&mut output);
    }
    output
}

/// The unpacked size of a stream, counted up to `most`.
pub(super) fn unpacked_size(input: &[u8], most: u64) -> u64 {
    // Only data with a zlib header is decoded.
    if input.first().is_none_or(|byte| byte & 0x0f != 8) {
        return 0;
    }
    let mut packed = ZlibDecoder::new(input).take(most);
    let mut room = [0; 4_096];
    let mut size = 0;
    while let Ok(read @ 1..) = packed.read(&mut room) {
        size += read as u64;
    }
    size
}

fn decode_hex(input: &[u8]) -> Vec<u8> {
    let digits: Vec<u8> = input
        .iter()
        .take_while(|byte| **byte != b'>')
        .filter_map(|byte| (*byte as char).to_digit(16))
        .map(|digit| digit as u8)
        .collect();
    digits
        .chunks(2)
        .map(|pair| match *pair {
            [high, low] => high << 4 | low,
            [high] => high << 4,
            _ => 0,
        })
        .collect()
}

/// Rare filters go through the library, which has no limit: only small input.
fn decode_with_library(
    input: &[u8],
    filter: &[u8],
    parameters: Option<&Dictionary>,
    most: u64,
) -> Option<Vec<u8>> {
    if input.len() as u64 > most / 64 {
        return None;
    }
    let mut dict = Dictionary::new();
    let long: &[u8] = match filter {
        b"LZW" | b"LZWDecode" => b"LZWDecode",
        _ => b"ASCII85Decode",
    };
    dict.set("Filter", Object::Name(long.to_vec()));
    if let Some(parameters) = parameters {
        dict.set("DecodeParms", parameters.clone());
    }
    Stream::new(dict, input.to_vec())
        .decompressed_content()
        .ok()
}

/// Undoes the predictor of compressed tables.
fn undo_predictor(data: Vec<u8>, parameters: Option<&Dictionary>) -> Vec<u8> {
    let number = |key: &[u8], default: i64| {
        parameters
            .and_then(|dict| dict.get(key).ok())
            .and_then(integer)
            .unwrap_or(default)
    };
    if !(10..=15).contains(&number(b"Predictor", 1)) {
        return data;
    }
    let size =
        |key: &[u8], default| usize::try_from(number(key, default).clamp(1, 65_536)).unwrap_or(1);
    let bits = size(b"Colors", 1) * size(b"BitsPerComponent", 8);
    let pixel = bits.div_ceil(8).max(1);
    let row = (bits * size(b"Columns", 1)).div_ceil(8).max(1);
    let mut output: Vec<u8> = Vec::with_capacity(data.len());
    let mut above = vec![0_u8; row];
    for line in data.chunks(row + 1) {
        let Some((&kind, line)) = line.split_first() else {
            break;
        };
        let mut now = vec![0_u8; row];
        for (at, &byte) in line.iter().enumerate() {
            let left = at
                .checked_sub(pixel)
                .and_then(|at| now.get(at))
                .copied()
                .unwrap_or(0);
            let up = above.get(at).copied().unwrap_or(0);
            let corner = at
                .checked_sub(pixel)
                .and_then(|at| above.get(at))
                .copied()
                .unwrap_or(0);
            let guess = match kind {
                1 => left,
                2 => up,
                3 => u16::midpoint(u16::from(left), u16::from(up)) as u8,
                4 => paeth(left, up, corner),
                _ => 0,
            };
            if let Some(place) = now.get_mut(at) {
                *place = byte.wrapping_add(guess);
            }
        }
        output.extend(now.iter().take(line.len()));
        above = now;
    }
    output
}

fn paeth(left: u8, up: u8, corner: u8) -> u8 {
    let (a, b, c) = (i16::from(left), i16::from(up), i16::from(corner));
    let guess = a + b - c;
    let (to_left, to_up, to_corner) = ((guess - a).abs(), (guess - b).abs(), (guess - c).abs());
    if to_left <= to_up && to_left <= to_corner {
        left
    } else if to_up <= to_corner {
        up
    } else {
        corner
    }
}

//! Access to PDF objects without trusting any of them.

use lopdf::{Dictionary, Document, Object, Stream};

/// Resolves an object, following a few references at most.
pub(super) fn resolve<'a>(file: &'a Document, object: &'a Object) -> &'a Object {
    let mut object = object;
    for _ in 0..8 {
        let Object::Reference(id) = object else {
            return object;
        };
        match file.objects.get(id) {
            Some(next) => object = next,
            None => return &Object::Null,
        }
    }
    &Object::Null
}

/// The value of a key.
pub(super) fn get<'a>(file: &'a Document, dict: &'a Dictionary, key: &[u8]) -> Option<&'a Object> {
    match resolve(file, dict.get(key).ok()?) {
        Object::Null => None,
        found => Some(found),
    }
}

/// The dictionary at a key; for a stream, its dictionary.
pub(super) fn dict_at<'a>(
    file: &'a Document,
    dict: &'a Dictionary,
    key: &[u8],
) -> Option<&'a Dictionary> {
    match get(file, dict, key)? {
        Object::Dictionary(found) => Some(found),
        Object::Stream(stream) => Some(&stream.dict),
        _ => None,
    }
}

pub(super) fn list_at<'a>(
    file: &'a Document,
    dict: &'a Dictionary,
    key: &[u8],
) -> Option<&'a [Object]> {
    get(file, dict, key)?.as_array().ok().map(Vec::as_slice)
}

pub(super) fn stream_at<'a>(
    file: &'a Document,
    dict: &'a Dictionary,
    key: &[u8],
) -> Option<&'a Stream> {
    get(file, dict, key)?.as_stream().ok()
}

pub(super) fn name_at<'a>(
    file: &'a Document,
    dict: &'a Dictionary,
    key: &[u8],
) -> Option<&'a [u8]> {
    get(file, dict, key)?.as_name().ok()
}

pub(super) fn number_at(file: &Document, dict: &Dictionary, key: &[u8]) -> Option<f64> {
    number(get(file, dict, key)?)
}

pub(super) fn number(object: &Object) -> Option<f64> {
    match object {
        Object::Integer(whole) => Some(*whole as f64),
        Object::Real(real) => Some(f64::from(*real)),
        _ => None,
    }
}

pub(super) fn integer(object: &Object) -> Option<i64> {
    match object {
        Object::Integer(whole) => Some(*whole),
        Object::Real(real) => Some(*real as i64),
        _ => None,
    }
}

/// The numbers of a box or matrix at a key.
pub(super) fn numbers_at<const N: usize>(
    file: &Document,
    dict: &Dictionary,
    key: &[u8],
) -> Option<[f64; N]> {
    let list = list_at(file, dict, key)?;
    let numbers: Vec<f64> = list
        .iter()
        .filter_map(|item| number(resolve(file, item)))
        .filter(|number| number.is_finite())
        .collect();
    numbers.try_into().ok()
}

/// Decodes a text string: UTF-16 or UTF-8 with a byte order mark, or `PDFDocEncoding`, which is
/// Latin-1 for our purposes.
pub(super) fn decode_text(object: &Object) -> Option<String> {
    let Object::String(bytes, _) = object else {
        return None;
    };
    let text = match bytes.as_slice() {
        [0xfe, 0xff, rest @ ..] => decode_utf16(rest, u16::from_be_bytes),
        [0xff, 0xfe, rest @ ..] => decode_utf16(rest, u16::from_le_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        plain => match std::str::from_utf8(plain) {
            Ok(text) => text.to_owned(),
            Err(_) => plain.iter().map(|byte| char::from(*byte)).collect(),
        },
    };
    let text = text.replace('\0', "");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units: Vec<u16> = bytes
        .as_chunks::<2>()
        .0
        .iter()
        .map(|pair| unit(*pair))
        .collect();
    String::from_utf16_lossy(&units)
}

//! Base64 data: its size without decoding, and its bytes on request.

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

/// The maximum number of bytes that are decoded at once.
pub const MAX_DECODED_BYTES: usize = 64 << 20;

/// The reason why data could not be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DataError {
    /// The data is not base64.
    #[error("the data is not base64: {0}; ask the server to encode it")]
    NotBase64(String),
    /// The data is too large to be decoded at once.
    #[error(
        "the data is about {0} bytes, more than the {MAX_DECODED_BYTES} that are decoded at once; read it in parts"
    )]
    TooLarge(usize),
}

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// Computes the number of decoded bytes from the length of the data.
pub(super) const fn decoded_size(base64: &str) -> usize {
    base64.len() / 4 * 3
}

/// Decodes base64. Line breaks, missing padding and the URL-safe alphabet are accepted.
pub(super) fn decode_base64(base64: &str) -> Result<Vec<u8>, DataError> {
    if decoded_size(base64) > MAX_DECODED_BYTES {
        return Err(DataError::TooLarge(decoded_size(base64)));
    }
    let tidy: Vec<u8> = base64
        .bytes()
        .filter(|it| !it.is_ascii_whitespace())
        .collect();
    let url_safe = tidy.iter().any(|it| *it == b'-' || *it == b'_');
    let engine = if url_safe { URL_SAFE } else { STANDARD };
    engine
        .decode(tidy)
        .map_err(|error| DataError::NotBase64(error.to_string()))
}

/// Formats a size for people.
pub(super) fn format_size(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KB", (bytes + 512) / 1024),
        _ => format!("{} MB", (bytes + (1 << 19)) >> 20),
    }
}

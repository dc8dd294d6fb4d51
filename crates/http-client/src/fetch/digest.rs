//! SHA-256 digests and hexadecimal text.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// Writes two hex digits per byte.
pub(super) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The SHA-256 of several parts. Each part is preceded by its length, so different lists of parts
/// have different digests.
pub(super) fn digest(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    to_hex(&hash.finalize())
}

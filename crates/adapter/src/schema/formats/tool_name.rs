//! Names that every API accepts: at most 64 letters, digits, `_` and `-`. Different names stay
//! different.

use sha2::{Digest as _, Sha256};

/// The maximum length of a tool name.
pub const MAX_TOOL_NAME_CHARS: usize = 64;

/// The number of hex digits of the hash that keeps shortened names different.
const HASH_CHARS: usize = 16;

/// Returns the name unchanged if it is valid, otherwise a readable stem with a hash of the whole
/// name.
pub fn safe_name(name: &str) -> String {
    sanitize(name, |it| it == '_' || it == '-')
}

/// Returns a valid field name, which may also contain dots.
pub(super) fn safe_field(name: &str) -> String {
    sanitize(name, |it| it == '_' || it == '-' || it == '.')
}

fn sanitize(name: &str, also: impl Fn(char) -> bool) -> String {
    let fits = |it: char| it.is_ascii_alphanumeric() || also(it);
    let good = !name.is_empty() && name.len() <= MAX_TOOL_NAME_CHARS && name.chars().all(&fits);
    if good && !looks_hashed(name) {
        return name.to_owned();
    }
    let room = MAX_TOOL_NAME_CHARS - HASH_CHARS - 1;
    let stem: String = name
        .chars()
        .map(|it| if fits(it) { it } else { '_' })
        .take(room)
        .collect();
    let digest = Sha256::digest(name.as_bytes());
    let mark = digest
        .iter()
        .take(HASH_CHARS / 2)
        .fold(String::with_capacity(HASH_CHARS), |mark, byte| {
            mark + &format!("{byte:02x}")
        });
    format!("{stem}_{mark}")
}

/// Returns true if a name ends like one with a hash; it gets a hash too, because it could otherwise
/// equal another name.
fn looks_hashed(name: &str) -> bool {
    name.rsplit_once('_').is_some_and(|(_, end)| {
        end.len() == HASH_CHARS
            && end
                .bytes()
                .all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
    })
}

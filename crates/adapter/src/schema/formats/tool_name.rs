//! Names that every API takes: at most 64 of letters, digits, `_` and `-`. Two different names
//! stay two different names.

use sha2::{Digest as _, Sha256};

/// The longest name.
pub const MAX_TOOL_NAME_CHARS: usize = 64;

/// The hex digits of the mark that keeps shortened names apart.
const HASH_CHARS: usize = 16;

/// The name as it is, if it may stay; else a readable stem and a mark made from the whole name.
pub fn safe_name(name: &str) -> String {
    sanitize(name, |it| it == '_' || it == '-')
}

/// The same for fields, where a dot may stand too.
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

/// A name that ends like a marked one is marked too, or it could be taken for another's.
fn looks_hashed(name: &str) -> bool {
    name.rsplit_once('_').is_some_and(|(_, end)| {
        end.len() == HASH_CHARS
            && end
                .bytes()
                .all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
    })
}

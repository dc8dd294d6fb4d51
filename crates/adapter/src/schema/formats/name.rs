//! Names that every API takes: at most 64 of letters, digits, `_` and `-`. Two different names
//! stay two different names.

use sha2::{Digest as _, Sha256};

/// The longest name.
pub const LONGEST_NAME: usize = 64;

/// The hex digits of the mark that keeps shortened names apart.
const MARK: usize = 16;

/// The name as it is, if it may stay; else a readable stem and a mark made from the whole name.
pub fn safe_name(name: &str) -> String {
    safe(name, |it| it == '_' || it == '-')
}

/// The same for fields, where a dot may stand too.
pub(super) fn safe_field(name: &str) -> String {
    safe(name, |it| it == '_' || it == '-' || it == '.')
}

fn safe(name: &str, also: impl Fn(char) -> bool) -> String {
    let fits = |it: char| it.is_ascii_alphanumeric() || also(it);
    let good = !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(&fits);
    if good && !looks_marked(name) {
        return name.to_owned();
    }
    let room = LONGEST_NAME - MARK - 1;
    let stem: String = name
        .chars()
        .map(|it| if fits(it) { it } else { '_' })
        .take(room)
        .collect();
    let digest = Sha256::digest(name.as_bytes());
    let mark = digest
        .iter()
        .take(MARK / 2)
        .fold(String::with_capacity(MARK), |mark, byte| {
            mark + &format!("{byte:02x}")
        });
    format!("{stem}_{mark}")
}

/// A name that ends like a marked one is marked too, or it could be taken for another's.
fn looks_marked(name: &str) -> bool {
    name.rsplit_once('_').is_some_and(|(_, end)| {
        end.len() == MARK
            && end
                .bytes()
                .all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
    })
}

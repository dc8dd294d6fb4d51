//! Tool names that every model provider accepts: letters, digits, `_` and `-`, at most 64
//! characters.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// The maximum length of a function name.
pub const MAX_NAME: usize = 64;
/// The number of hash characters in a changed name.
const HASH_CHARS: usize = 8;

/// Returns the qualified name of a server's tool: `server__tool`. If that is too long or has
/// characters that providers reject, a hash replaces what is lost, so that no two tools get the
/// same name.
pub fn qualified_tool_name(server: &str, tool: &str) -> String {
    sanitize_name(&format!("{server}__{tool}"))
}

/// Replaces characters that providers reject and shortens the name to [`MAX_NAME`]; a changed name
/// ends in a hash of the original.
pub fn sanitize_name(name: &str) -> String {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.len() <= MAX_NAME && !name.is_empty() && name.chars().all(fine) {
        return name.to_owned();
    }
    let mut short: String = name
        .chars()
        .map(|c| if fine(c) { c } else { '_' })
        .take(MAX_NAME - HASH_CHARS - 1)
        .collect();
    short.push('_');
    let hash = Sha256::digest(name.as_bytes());
    for byte in hash.iter().take(HASH_CHARS / 2) {
        // Writing to a string cannot fail.
        let _ = write!(short, "{byte:02x}");
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_stays() {
        assert_eq!(qualified_tool_name("fs", "read_file"), "fs__read_file");
        assert_eq!(
            qualified_tool_name("fs", "a.b"),
            qualified_tool_name("fs", "a.b")
        );
        assert_ne!(
            qualified_tool_name("fs", "a.b"),
            qualified_tool_name("fs", "a_b")
        );
    }
}

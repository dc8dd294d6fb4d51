//! What an id may look like. Ids become paths, so the grammar is strict.

/// The longest part of an id.
const MAX_SEGMENT_CHARS: usize = 100;

/// Whether one part of an id is well formed: `[A-Za-z0-9_][A-Za-z0-9_-]*`.
pub fn is_segment(part: &str) -> bool {
    part.len() <= MAX_SEGMENT_CHARS
        && !part.starts_with('-')
        && !part.is_empty()
        && part
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Whether a whole id is well formed: parts with `/` between them.
pub fn is_id(id: &str) -> bool {
    id.split('/').all(is_segment)
}

/// A name as people mix it up: case, `-`, `_` and blanks do not tell names apart.
pub(crate) fn normalize_name(name: &str) -> String {
    name.chars()
        .map(|character| match character {
            '-' | ' ' => '_',
            other => other.to_ascii_lowercase(),
        })
        .collect()
}

/// Whether two names are the same as people mix them up.
pub(crate) fn is_same_name(one: &str, other: &str) -> bool {
    normalize_name(one.trim()) == normalize_name(other.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_as_people_mix_them_up() {
        assert!(is_same_name(" Code-Quality", "code_quality"));
        assert!(is_same_name("Code quality", "code-quality"));
        assert!(!is_same_name("code-quality", "codequality"));
    }
}

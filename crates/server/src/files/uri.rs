//! Converts between file URIs and paths, without access to the disk.

use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;
use url::Url;

/// Tells whether the URI has the scheme `file`.
pub(super) fn is_file_uri(uri: &str) -> bool {
    uri.get(..5)
        .is_some_and(|start| start.eq_ignore_ascii_case("file:"))
}

/// The path of a file URI of this machine; `None` for anything that is not plainly one.
///
/// Percent-encoding is decoded once and never again. Paths with `.`, `..` or empty components are
/// rejected instead of normalized: no honest client sends them.
pub(super) fn uri_to_path(uri: &str) -> Option<PathBuf> {
    let (scheme, rest) = uri.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("file") || rest.contains(['?', '#', '\\']) {
        return None;
    }
    let (host, _) = rest.split_once('/')?;
    if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
        return None;
    }
    let encoded = rest.get(host.len()..)?;
    let decoded = percent_decode_str(encoded).decode_utf8().ok()?;
    let inner = decoded.strip_prefix('/')?;
    let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    if decoded.contains('\0') || !inner.split('/').all(plain) {
        return None;
    }
    if cfg!(windows) {
        // `/C:/…`: on Windows a backslash is a separator, too.
        let safe = !inner.contains('\\') && inner.get(1..3) == Some(":/");
        return safe.then(|| PathBuf::from(inner));
    }
    Some(PathBuf::from(decoded.as_ref()))
}

/// The URI of a path; `None` if the path is not UTF-8.
pub(super) fn path_to_uri(path: &Path) -> Option<String> {
    path.to_str()?;
    Url::from_file_path(path).ok().map(String::from)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_plainly_a_path_of_this_machine_is_refused() {
        let refused = [
            "file:",
            "file://",
            "file:///",
            "file:/etc/passwd",
            "file://host/share/a",
            "file:////host/share/a",
            "file:///a/../b",
            "file:///a/%2e%2e/b",
            "file:///a/%2E./b",
            "file:///a/.%2e/b",
            "file:///a/..%2fb",
            "file:///a//b",
            "file:///a/./b",
            "file:///a/",
            "file:///a%00b",
            "file:///a?b",
            "file:///a#b",
            "file:///%ff",
            "file://\\\\host\\share",
            "file:///\\\\host\\share",
            "https://localhost/a",
            "/a",
            "",
        ];
        for uri in refused {
            assert_eq!(uri_to_path(uri), None, "{uri}");
        }
    }

    #[test]
    fn percent_encoding_is_taken_off_once() {
        let cases = [
            ("file:///a/b%20c", "/a/b c"),
            ("FILE://localhost/a", "/a"),
            ("file:///a/%252e%252e/b", "/a/%2e%2e/b"),
            ("file:///a/%C3%A9", "/a/é"),
            ("file:///a/b..c", "/a/b..c"),
        ];
        for (uri, expected) in cases {
            assert_eq!(uri_to_path(uri), Some(PathBuf::from(expected)), "{uri}");
        }
    }

    #[test]
    fn a_path_comes_back_from_its_address() {
        for text in ["/a b/c%20d", "/a?b#c", "/é/ü", "/a..b/~x", "/a;b=c&d"] {
            let there = path_to_uri(Path::new(text)).unwrap();
            assert_eq!(uri_to_path(&there), Some(PathBuf::from(text)), "{there}");
        }
    }
}

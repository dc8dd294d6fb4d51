//! Decodes bytes: by the byte order mark, as UTF-8, or in the encoding that a page declares.

use encoding_rs::{Encoding, ISO_2022_JP, WINDOWS_1252};

/// A page declares its encoding within this many bytes.
const DECLARATION_BYTES: usize = 1_024;

/// Decodes UTF-8 or UTF-16 by the byte order mark, valid UTF-8, else Windows-1252, which most of
/// what calls itself Latin-1 is.
pub(super) fn decode(bytes: &[u8]) -> String {
    decode_as(bytes, None)
}

/// Decodes HTML or XML, which may declare its encoding.
pub(super) fn decode_markup(bytes: &[u8]) -> String {
    decode_as(bytes, find_declared_encoding(bytes))
}

fn decode_as(bytes: &[u8], declared: Option<&'static Encoding>) -> String {
    if let Some((marked, mark)) = Encoding::for_bom(bytes) {
        let bytes = bytes.get(mark..).unwrap_or_default();
        return marked.decode_without_bom_handling(bytes).0.into_owned();
    }
    // All of its bytes are ASCII, so it would pass for UTF-8.
    let disguised = declared == Some(ISO_2022_JP);
    match std::str::from_utf8(bytes) {
        Ok(text) if !disguised => text.to_owned(),
        _ => {
            let encoding = declared.unwrap_or(WINDOWS_1252);
            encoding.decode_without_bom_handling(bytes).0.into_owned()
        }
    }
}

/// The declared encoding: `<meta charset="…">`, `content="text/html; charset=…"`,
/// `<?xml encoding="…"?>`. `None` for UTF-8 or UTF-16: the bytes show that, or it is wrong.
fn find_declared_encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    let first = bytes
        .get(..DECLARATION_BYTES)
        .unwrap_or(bytes)
        .to_ascii_lowercase();
    let first = String::from_utf8_lossy(&first);
    let after = ["charset", "encoding"].iter().find_map(|name| {
        let (_, after) = first.split_once(name)?;
        after.trim_start().strip_prefix('=')
    })?;
    let label = after.trim_start().trim_start_matches(['"', '\'']);
    let end = label
        .find(|c: char| !(c.is_ascii_alphanumeric() || "-_:.".contains(c)))
        .unwrap_or(label.len());
    let encoding = Encoding::for_label(label.get(..end)?.as_bytes())?;
    (encoding.output_encoding() != encoding_rs::UTF_8).then_some(encoding)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_in_what_it_declares() {
        for (label, text) in [
            ("windows-1251", "Торф тлеет"),
            ("KOI8-R", "Торф тлеет"),
            ("Shift_JIS", "泥炭の火災"),
            ("euc-jp", "泥炭の火災"),
            ("iso-2022-jp", "泥炭の火災"),
            ("GBK", "泥炭火灾"),
            ("big5", "泥炭火災"),
            ("euc-kr", "이탄 화재"),
            ("iso-8859-2", "Žluťoučký kůň"),
        ] {
            let encoding = Encoding::for_label(label.as_bytes()).expect(label);
            for head in [
                format!("<html><meta charset={label}>"),
                format!("<META content='text/html; charset = {label}'>"),
                format!("<?xml version=\"1.0\" encoding=\"{label}\"?>"),
            ] {
                let bytes = encoding.encode(&format!("{head}{text}")).0.into_owned();
                assert_eq!(decode_markup(&bytes), format!("{head}{text}"));
            }
        }
    }

    #[test]
    fn what_the_bytes_are_counts_more_than_what_a_page_says() {
        let page = "<meta charset=windows-1251>Torf über Ton";
        assert_eq!(decode_markup(page.as_bytes()), page);
        assert_eq!(
            decode_markup(b"<meta charset=utf-8>\x93caf\xe9\x94"),
            "<meta charset=utf-8>“café”"
        );
        assert_eq!(decode_markup(b"\xff\xfeP\0e\0"), "Pe");
        assert_eq!(decode(b"\xef\xbb\xbfPeat"), "Peat");
        assert_eq!(decode(b"charset=koi8-r \xe9"), "charset=koi8-r é");
        assert_eq!(
            decode_markup(b"<meta charset=bogus>\xe9"),
            "<meta charset=bogus>é"
        );
        assert_eq!(decode_markup(b"<meta charset"), "<meta charset");
    }
}

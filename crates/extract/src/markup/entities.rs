//! Character references of HTML and XML in a text that is not parsed as a page. Knows every name of
//! HTML; definitions inside a document are ignored.

use html5gum::{State, Token, Tokenizer};

/// The longest reference without its ampersand, rounded up.
const MAX_REFERENCE_LEN: usize = 40;

/// Replaces the references that end with a semicolon, once; unknown ones stay as written.
pub fn decode_entities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let end = after
            .bytes()
            .take(MAX_REFERENCE_LEN)
            .position(|byte| byte == b';');
        let decoded = end.and_then(|end| Some((end, decode_entity(after.get(..end)?)?)));
        if let Some((end, decoded)) = decoded {
            out.push_str(&decoded);
            rest = after.get(end + 1..).unwrap_or_default();
        } else {
            out.push('&');
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

/// The text of a reference, given by what stands between `&` and `;`. A code that is no character has
/// none, and the null character's is empty.
pub fn decode_entity(name: &str) -> Option<String> {
    if name.len() > MAX_REFERENCE_LEN {
        return None;
    }
    if let Some(digits) = name.strip_prefix('#') {
        let code = match digits.strip_prefix(['x', 'X']) {
            Some(digits) => parse_code(digits, 16)?,
            None => parse_code(digits, 10)?,
        };
        return match char::from_u32(code)? {
            '\0' => Some(String::new()),
            // HTML reads the codes of Windows, which are control characters otherwise.
            '\u{80}'..='\u{9f}' => tokenize_reference(name),
            letter => Some(letter.to_string()),
        };
    }
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_name.then(|| tokenize_reference(name))?
}

fn parse_code(digits: &str, base: u32) -> Option<u32> {
    let is_number = !digits.starts_with('+');
    is_number.then(|| u32::from_str_radix(digits, base).ok())?
}

/// Lets the tokenizer read the reference where it expects text and no tags.
fn tokenize_reference(name: &str) -> Option<String> {
    let reference = format!("&{name};");
    let mut tokenizer = Tokenizer::new(&reference);
    tokenizer.set_state(State::RcData);
    let text: String = tokenizer
        .flatten()
        .filter_map(|token| match token {
            Token::String(text) => Some(String::from_utf8_lossy(&text).into_owned()),
            _ => None,
        })
        .collect();
    // A known name is one or two characters. Others stay, or only their beginning is replaced.
    (text.chars().count() <= 2).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_replaced_once_and_unknown_ones_stay() {
        assert_eq!(
            decode_entities("a &lt; b &amp;lt; &#233;&#xe9; &bogus; & x"),
            "a < b &lt; \u{e9}\u{e9} &bogus; & x"
        );
        assert_eq!(decode_entities("&semi;&;&amp&amp;;"), ";&;&amp&;");
        assert_eq!(
            decode_entities("&notit; &copy &ltx;"),
            "&notit; &copy &ltx;"
        );
    }

    #[test]
    fn every_name_of_html_is_known() {
        let cases = [
            ("CounterClockwiseContourIntegral", "\u{2233}"),
            ("nbsp", "\u{a0}"),
            ("lt", "<"),
            ("amp", "&"),
            ("NotEqualTilde", "\u{2242}\u{338}"),
            ("#150", "\u{2013}"),
            ("#x1F600", "\u{1f600}"),
            ("#0", ""),
        ];
        for (name, text) in cases {
            assert_eq!(decode_entity(name).as_deref(), Some(text), "{name}");
        }
        for name in [
            "",
            "#",
            "#x",
            "#+65",
            "#xd800",
            "#99999999999",
            "a b",
            "&",
            "bogus",
        ] {
            assert_eq!(decode_entity(name), None, "{name}");
        }
    }
}

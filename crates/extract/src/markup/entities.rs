//! Character references of HTML and XML: the numbered ones and the names in everyday use.
//! Nothing is ever defined by a document itself.

/// A text with its references replaced; what is unknown stays as written.
pub(crate) fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let end = after
            .char_indices()
            .take(12)
            .find(|(_, c)| *c == ';')
            .map(|(at, _)| at);
        let known = end.and_then(|end| after.get(..end)).and_then(character);
        if let (Some(letter), Some(end)) = (known, end) {
            out.push(letter);
            rest = after.get(end + 1..).unwrap_or_default();
        } else {
            out.push('&');
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

/// The character a reference names.
pub(super) fn character(name: &str) -> Option<char> {
    if let Some(digits) = name.strip_prefix('#') {
        let code = match digits.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => digits.parse().ok()?,
        };
        return char::from_u32(code).filter(|letter| *letter != '\0');
    }
    NAMES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, letter)| *letter)
}

const NAMES: [(&str, char); 92] = [
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", ' '),
    ("ndash", '\u{2013}'),
    ("mdash", '\u{2014}'),
    ("hellip", '\u{2026}'),
    ("lsquo", '\u{2018}'),
    ("rsquo", '\u{2019}'),
    ("ldquo", '\u{201c}'),
    ("rdquo", '\u{201d}'),
    ("sbquo", '\u{201a}'),
    ("bdquo", '\u{201e}'),
    ("laquo", '\u{ab}'),
    ("raquo", '\u{bb}'),
    ("copy", '\u{a9}'),
    ("reg", '\u{ae}'),
    ("trade", '\u{2122}'),
    ("deg", '\u{b0}'),
    ("plusmn", '\u{b1}'),
    ("times", '\u{d7}'),
    ("divide", '\u{f7}'),
    ("minus", '\u{2212}'),
    ("middot", '\u{b7}'),
    ("bull", '\u{2022}'),
    ("para", '\u{b6}'),
    ("sect", '\u{a7}'),
    ("micro", '\u{b5}'),
    ("frac12", '\u{bd}'),
    ("frac14", '\u{bc}'),
    ("sup2", '\u{b2}'),
    ("sup3", '\u{b3}'),
    ("euro", '\u{20ac}'),
    ("pound", '\u{a3}'),
    ("yen", '\u{a5}'),
    ("cent", '\u{a2}'),
    ("le", '\u{2264}'),
    ("ge", '\u{2265}'),
    ("ne", '\u{2260}'),
    ("asymp", '\u{2248}'),
    ("equiv", '\u{2261}'),
    ("infin", '\u{221e}'),
    ("sum", '\u{2211}'),
    ("prod", '\u{220f}'),
    ("int", '\u{222b}'),
    ("radic", '\u{221a}'),
    ("part", '\u{2202}'),
    ("isin", '\u{2208}'),
    ("rarr", '\u{2192}'),
    ("larr", '\u{2190}'),
    ("harr", '\u{2194}'),
    ("alpha", '\u{3b1}'),
    ("beta", '\u{3b2}'),
    ("gamma", '\u{3b3}'),
    ("delta", '\u{3b4}'),
    ("epsilon", '\u{3b5}'),
    ("theta", '\u{3b8}'),
    ("lambda", '\u{3bb}'),
    ("mu", '\u{3bc}'),
    ("pi", '\u{3c0}'),
    ("sigma", '\u{3c3}'),
    ("tau", '\u{3c4}'),
    ("phi", '\u{3c6}'),
    ("chi", '\u{3c7}'),
    ("psi", '\u{3c8}'),
    ("omega", '\u{3c9}'),
    ("Delta", '\u{394}'),
    ("Sigma", '\u{3a3}'),
    ("Omega", '\u{3a9}'),
    ("eacute", '\u{e9}'),
    ("egrave", '\u{e8}'),
    ("ecirc", '\u{ea}'),
    ("euml", '\u{eb}'),
    ("aacute", '\u{e1}'),
    ("agrave", '\u{e0}'),
    ("acirc", '\u{e2}'),
    ("auml", '\u{e4}'),
    ("aring", '\u{e5}'),
    ("aelig", '\u{e6}'),
    ("ccedil", '\u{e7}'),
    ("iacute", '\u{ed}'),
    ("iuml", '\u{ef}'),
    ("ntilde", '\u{f1}'),
    ("oacute", '\u{f3}'),
    ("ocirc", '\u{f4}'),
    ("ouml", '\u{f6}'),
    ("oslash", '\u{f8}'),
    ("uacute", '\u{fa}'),
    ("uuml", '\u{fc}'),
    ("szlig", '\u{df}'),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_replaced_once_and_unknown_ones_stay() {
        assert_eq!(
            unescaped("a &lt; b &amp;lt; &#233;&#xe9; &bogus; & x"),
            "a < b &lt; \u{e9}\u{e9} &bogus; & x"
        );
    }
}

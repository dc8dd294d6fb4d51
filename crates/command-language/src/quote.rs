//! Quoting: finds the end of a quoted text, unquotes it, and quotes any text.

/// The two quote characters.
pub(crate) const QUOTE_CHARS: [char; 2] = ['"', '\''];

/// Quotes any text so that it parses to the same bytes.
///
/// ```
/// use deliberate_command_language::quote;
/// assert_eq!(quote("say \"hi\""), r#""say \"hi\"""#);
/// ```
pub fn quote(text: &str) -> String {
    quote_with(text, '"')
}

/// Quotes with the given quote character. A backslash is doubled only where it would otherwise
/// escape something, so that patterns stay legible and an escaped quote of the other kind stays
/// escaped.
pub(crate) fn quote_with(text: &str, mark: char) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push(mark);
    let mut chars = text.chars().peekable();
    while let Some(each) = chars.next() {
        match each {
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\\' => {
                let escapes = match chars.peek() {
                    None | Some('\\' | 'n' | 't' | '\n' | '\t') => true,
                    Some(next) => *next == mark,
                };
                quoted.push_str(if escapes { "\\\\" } else { "\\" });
            }
            _ => {
                if each == mark {
                    quoted.push('\\');
                }
                quoted.push(each);
            }
        }
    }
    quoted.push(mark);
    quoted
}

/// Returns the content of a closed quoted text. A backslash that does not start an escape stays
/// unchanged.
pub(crate) fn unquote(quoted: &str) -> String {
    let mut chars = quoted.chars();
    let mark = chars.next();
    chars.next_back();
    let mut text = String::with_capacity(quoted.len());
    while let Some(each) = chars.next() {
        if each != '\\' {
            text.push(each);
            continue;
        }
        match chars.clone().next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('\\') => text.push('\\'),
            next if next.is_some() && next == mark => text.extend(next),
            _ => {
                text.push('\\');
                continue;
            }
        }
        chars.next();
    }
    text
}

/// Finds the ends of quoted texts, in time linear in the length of the text however many are
/// queried: whether a quote is escaped depends only on the backslashes before it, so the last
/// unescaped quote is known beforehand.
pub(crate) struct QuoteFinder<'a> {
    text: &'a str,
    last_unescaped: [Option<usize>; 2],
}

impl<'a> QuoteFinder<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let mut last_unescaped = [None; 2];
        let mut escaped = false;
        for (at, byte) in text.bytes().enumerate() {
            if byte == b'\\' {
                escaped = !escaped;
                continue;
            }
            for (mark, place) in QUOTE_CHARS.iter().zip(&mut last_unescaped) {
                if !escaped && byte == *mark as u8 {
                    *place = Some(at);
                }
            }
            escaped = false;
        }
        Self {
            text,
            last_unescaped,
        }
    }

    /// Returns the quote character at an offset, if there is one.
    pub(crate) fn quote_char(&self, at: usize) -> Option<char> {
        let byte = self.text.as_bytes().get(at)?;
        QUOTE_CHARS.into_iter().find(|mark| *mark as u8 == *byte)
    }

    /// Returns the end of the quoted text that starts here; `None` if none does or it is not
    /// closed.
    pub(crate) fn quote_end(&self, at: usize) -> Option<usize> {
        let mark = self.quote_char(at)?;
        let which = QUOTE_CHARS.iter().position(|known| *known == mark)?;
        if self.last_unescaped.get(which).copied().flatten()? <= at {
            return None;
        }
        let mut escaped = false;
        let inner = self.text.as_bytes().get(at + 1..)?;
        for (offset, byte) in inner.iter().enumerate() {
            match *byte {
                b'\\' => escaped = !escaped,
                byte if byte == mark as u8 && !escaped => return Some(at + offset + 2),
                _ => escaped = false,
            }
        }
        None
    }
}

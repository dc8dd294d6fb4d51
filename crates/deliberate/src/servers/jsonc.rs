//! Converts JSON with comments and trailing commas, as editors keep their settings, to plain JSON.
//! Line breaks stay, so that errors have the correct line.

/// Removes comments, and commas before a closing bracket.
pub(crate) fn to_json(text: &str) -> String {
    strip_trailing_commas(&strip_comments(text))
}

fn strip_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut quoted = false;
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some(_)) if quoted => {
                out.push(c);
                out.extend(chars.next());
            }
            ('"', _) => {
                quoted = !quoted;
                out.push(c);
            }
            ('/', Some('/')) if !quoted => while chars.next_if(|c| *c != '\n').is_some() {},
            ('/', Some('*')) if !quoted => {
                chars.next();
                let mut last = ' ';
                for c in chars.by_ref() {
                    if c == '\n' {
                        out.push(c);
                    }
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
                // Separate tokens stay separate.
                out.push(' ');
            }
            _ => out.push(c),
        }
    }
    out
}

fn strip_trailing_commas(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // A comma and the white space after it, kept until the next token is known.
    let mut held = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if !held.is_empty() && c.is_whitespace() {
            held.push(c);
            continue;
        }
        let kept = if matches!(c, '}' | ']') {
            held.trim_start_matches(',')
        } else {
            &held
        };
        out.push_str(kept);
        held.clear();
        match c {
            ',' => held.push(c),
            '"' => {
                out.push(c);
                copy_quoted(&mut chars, &mut out);
            }
            _ => out.push(c),
        }
    }
    out.push_str(&held);
    out
}

/// Copies a string up to its closing quote.
fn copy_quoted(chars: &mut std::str::Chars<'_>, out: &mut String) {
    while let Some(c) = chars.next() {
        out.push(c);
        match c {
            '"' => break,
            '\\' => out.extend(chars.next()),
            _ => {}
        }
    }
}

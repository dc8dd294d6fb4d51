//! Splits a web page into tags and the text between them. Knows where a tag and an element end, not
//! what they mean.

/// Elements that never have content.
const VOID_ELEMENTS: [&str; 13] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track",
    "wbr",
];

pub(crate) struct HtmlTag<'t> {
    pub(crate) name: String,
    /// The text between its brackets.
    attributes: &'t str,
    pub(crate) is_closing: bool,
    pub(crate) is_void: bool,
    /// Whether its element is hidden.
    pub(crate) is_hidden: bool,
}

/// Iterates over the tags of a text.
#[derive(Clone)]
pub(crate) struct HtmlTokenizer<'t> {
    rest: &'t str,
    /// Whether quotes come in pairs. If not, every search for a closing quote would scan the rest of
    /// the text.
    pairs: bool,
    /// Whether elements are closed. If not, every search for an end tag would scan the rest.
    closed: bool,
}

impl<'t> HtmlTokenizer<'t> {
    pub(crate) const fn new(text: &'t str) -> Self {
        Self {
            rest: text,
            pairs: true,
            closed: true,
        }
    }

    /// The text after the last tag.
    pub(crate) const fn rest(&self) -> &'t str {
        self.rest
    }

    /// The text before the next `<`, and the tag there; no tag if the `<` is plain text.
    pub(crate) fn next(&mut self) -> Option<(&'t str, Option<HtmlTag<'t>>)> {
        let (before, after) = self.rest.split_once('<')?;
        let tag = self.parse_tag(after);
        let length = tag.as_ref().map_or(0, |(_, length)| *length);
        self.rest = after.get(length..).unwrap_or_default();
        Some((before, tag.map(|(tag, _)| tag)))
    }

    /// Parses a tag or comment; returns its length after the `<`.
    fn parse_tag(&mut self, after: &'t str) -> Option<(HtmlTag<'t>, usize)> {
        let nothing = |length| {
            let tag = HtmlTag {
                name: String::new(),
                attributes: "",
                is_closing: false,
                is_void: true,
                is_hidden: false,
            };
            Some((tag, length))
        };
        if let Some(comment) = after.strip_prefix("!--") {
            return nothing(comment.find("-->").map_or(after.len(), |end| end + 6));
        }
        if after.starts_with(['!', '?']) {
            return nothing(after.find('>').map_or(after.len(), |end| end + 1));
        }
        let (closes, named) = after
            .strip_prefix('/')
            .map_or((false, after), |named| (true, named));
        if !named.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        let name: String = named
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | ':'))
            .take(40)
            .map(|c| c.to_ascii_lowercase())
            .collect();
        let end = self.end_of_tag(after);
        let inside = after.get(..end).unwrap_or_default();
        let tag = HtmlTag {
            is_void: inside.ends_with('/') || VOID_ELEMENTS.contains(&name.as_str()),
            is_hidden: !closes && is_hidden(inside),
            name,
            attributes: inside,
            is_closing: closes,
        };
        Some((tag, (end + 1).min(after.len())))
    }

    /// The position of a tag's `>` outside quotes.
    fn end_of_tag(&mut self, after: &str) -> usize {
        if self.pairs {
            let mut quote = None;
            for (at, byte) in after.bytes().enumerate() {
                match (quote, byte) {
                    (None, b'>') => return at,
                    (None, b'"' | b'\'') => quote = Some(byte),
                    (Some(open), _) if open == byte => quote = None,
                    _ => {}
                }
            }
            self.pairs = false;
        }
        after.find('>').unwrap_or(after.len())
    }

    /// Consumes everything up to and including the closing tag of that name.
    pub(crate) fn take_raw_text(&mut self, name: &str) -> &'t str {
        let text = self.rest;
        let mut at = 0;
        while let Some(found) = text.get(at..).and_then(|rest| rest.find("</")) {
            let start = at + found;
            let after = text.get(start + 2..).unwrap_or_default();
            let same = after
                .get(..name.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(name));
            if same {
                let end = after.find('>').map_or(after.len(), |end| end + 1);
                self.rest = after.get(end..).unwrap_or_default();
                return text.get(..start).unwrap_or_default();
            }
            at = start + 2;
        }
        self.rest = "";
        text
    }

    /// Skips the rest of the element that `opened`, nested elements of its name included. Returns false
    /// and skips nothing if it is never closed.
    pub(crate) fn skip_element(&mut self, opened: &HtmlTag<'_>) -> bool {
        if !self.closed {
            return false;
        }
        let mut ahead = self.clone();
        let mut open = 1_usize;
        while let Some((_, tag)) = ahead.next() {
            let Some(tag) = tag.filter(|tag| tag.name == opened.name && !tag.is_void) else {
                continue;
            };
            if tag.is_closing {
                open -= 1;
            } else {
                open += 1;
            }
            if open == 0 {
                *self = ahead;
                return true;
            }
        }
        self.closed = false;
        false
    }
}

impl HtmlTag<'_> {
    /// The value of an attribute with its references replaced.
    pub(crate) fn attribute(&self, wanted: &str) -> Option<String> {
        let space = |c: char| c.is_whitespace() || c == '/';
        let mut rest = self.attributes.get(self.name.len()..)?;
        loop {
            rest = rest.trim_start_matches(space);
            let end = rest.find(|c: char| space(c) || c == '=');
            let (key, after) = rest.split_at(end.unwrap_or(rest.len()));
            let Some(text) = after.trim_start().strip_prefix('=') else {
                if rest.is_empty() {
                    return None;
                }
                rest = after;
                continue;
            };
            let (text, after) = split_value(text.trim_start());
            if key.eq_ignore_ascii_case(wanted) {
                return Some(crate::markup::unescape(text));
            }
            rest = after;
        }
    }
}

/// Splits off a value, quoted or not.
fn split_value(text: &str) -> (&str, &str) {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''));
    match quote {
        Some(quote) => {
            let inside = text.get(1..).unwrap_or_default();
            inside.split_once(quote).unwrap_or((inside, ""))
        }
        None => text.split_at(text.find(char::is_whitespace).unwrap_or(text.len())),
    }
}

fn is_hidden(inside: &str) -> bool {
    /// Attributes that hide an element stand within this many bytes.
    const MAX_SCAN_BYTES: usize = 4_096;
    let near: String = inside
        .chars()
        .take(MAX_SCAN_BYTES)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    let named = strip_quoted(&near);
    let bare = named.split_whitespace().skip(1).any(|word| {
        let word = word.trim_end_matches('/');
        word == "hidden" || word.starts_with("hidden=")
    });
    bare || near
        .split_once("style=")
        .is_some_and(|(_, style)| style_hides(style))
}

/// Whether inline styles hide the element.
fn style_hides(style: &str) -> bool {
    let quote = style.chars().next().filter(|c| matches!(c, '"' | '\''));
    let inside = match quote {
        Some(quote) => style.get(1..).unwrap_or_default().split(quote).next(),
        None => style.split(char::is_whitespace).next(),
    };
    let none = |value: &str| {
        let number = value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
        number.parse::<f64>() == Ok(0.0)
    };
    let mut declared = inside.unwrap_or_default().split(';');
    declared.any(|it| {
        let Some((name, value)) = it.split_once(':') else {
            return false;
        };
        let value = value.split('!').next().unwrap_or_default().trim();
        match name.trim() {
            "display" => value == "none",
            "visibility" => value == "hidden",
            "font-size" | "opacity" => none(value),
            _ => false,
        }
    })
}

fn strip_quoted(text: &str) -> String {
    let mut quote = None;
    let mut outside = String::new();
    for letter in text.chars() {
        match (quote, letter) {
            (None, '"' | '\'') => quote = Some(letter),
            (None, _) => outside.push(letter),
            (Some(open), _) if open == letter => quote = None,
            _ => {}
        }
    }
    outside
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_hidden(tag: &str) -> bool {
        let mut tags = HtmlTokenizer::new(tag);
        tags.next()
            .and_then(|(_, tag)| tag)
            .is_some_and(|tag| tag.is_hidden)
    }

    fn attribute_value(tag: &str, attribute: &str) -> Option<String> {
        let mut tags = HtmlTokenizer::new(tag);
        let (_, tag) = tags.next()?;
        tag?.attribute(attribute)
    }

    #[test]
    fn attributes_are_read_however_they_are_written() {
        for tag in [
            r#"<meta name="a" content="b &amp; c">"#,
            "<META content = 'b &amp; c' name=a />",
            "<meta hidden =x name=a content='b &amp; c'>",
        ] {
            assert_eq!(
                attribute_value(tag, "content").as_deref(),
                Some("b & c"),
                "{tag}"
            );
            assert_eq!(attribute_value(tag, "name").as_deref(), Some("a"), "{tag}");
        }
        for tag in ["<meta>", "<meta ===>", "<meta content", "</meta content=x>"] {
            assert_eq!(attribute_value(tag, "name"), None, "{tag}");
        }
    }

    #[test]
    fn what_is_hidden_says_so_itself() {
        assert!(parse_hidden("<p hidden>"));
        assert!(parse_hidden("<div class=a HIDDEN=until-found>"));
        assert!(parse_hidden("<span style=\"color:red; display : none\">"));
        assert!(parse_hidden("<p style='opacity:0 !important'>"));
        assert!(parse_hidden("<p style=font-size:0px>"));
        assert!(!parse_hidden(
            "<p style=\"font-size:0.9em; opacity:0.5\" title=\"display:none\">"
        ));
        assert!(!parse_hidden("<p class=\"overflow-hidden\">"));
        assert!(!parse_hidden("<p title='none is hidden=here'>"));
        assert!(!parse_hidden("<a href=none>"));
    }
}

//! The tags of a web page and the text between them, by the tokenizer of the HTML standard. Knows
//! which elements hold no markup, and what hides an element.

use std::collections::BTreeMap;

use html5gum::{HtmlString, Spanned, State, StringReader, Token, Tokenizer};

/// Elements that never have content.
const VOID_ELEMENTS: [&str; 13] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track",
    "wbr",
];

pub(crate) struct HtmlTag {
    /// The name in lower case.
    pub(crate) name: String,
    attributes: BTreeMap<HtmlString, Spanned<HtmlString, ()>>,
    pub(crate) is_closing: bool,
    /// Whether it never has content, or closes itself as in XML.
    pub(crate) is_void: bool,
}

pub(crate) enum HtmlToken {
    Text(String),
    Tag(HtmlTag),
}

/// Iterates over the tags and texts of a page.
pub(crate) struct HtmlTokenizer<'t> {
    text: &'t str,
    tokens: Tokenizer<StringReader<'t>>,
    /// The tokens that were read.
    count: usize,
}

impl<'t> HtmlTokenizer<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            text,
            tokens: Tokenizer::new(text),
            count: 0,
        }
    }

    /// The number of the tokens that were read.
    pub(crate) const fn position(&self) -> usize {
        self.count
    }

    /// Goes back to a position.
    pub(crate) fn rewind(&mut self, position: usize) {
        *self = Self::new(self.text);
        for _ in 0..position {
            self.next();
        }
    }
}

impl Iterator for HtmlTokenizer<'_> {
    type Item = HtmlToken;

    fn next(&mut self) -> Option<HtmlToken> {
        loop {
            let Ok(token) = self.tokens.next()?;
            let token = match token {
                Token::String(text) => {
                    HtmlToken::Text(String::from_utf8_lossy(&text.value).into_owned())
                }
                Token::StartTag(tag) => {
                    let name = String::from_utf8_lossy(&tag.name).into_owned();
                    if !tag.self_closing
                        && let Some(state) = content_state(&name)
                    {
                        self.tokens.set_state(state);
                    }
                    HtmlToken::Tag(HtmlTag {
                        is_void: tag.self_closing || VOID_ELEMENTS.contains(&name.as_str()),
                        is_closing: false,
                        attributes: tag.attributes,
                        name,
                    })
                }
                Token::EndTag(tag) => HtmlToken::Tag(HtmlTag {
                    name: String::from_utf8_lossy(&tag.name).into_owned(),
                    attributes: BTreeMap::new(),
                    is_closing: true,
                    is_void: false,
                }),
                Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => continue,
            };
            self.count += 1;
            return Some(token);
        }
    }
}

/// How the content of elements that hold no tags is read.
fn content_state(name: &str) -> Option<State> {
    match name {
        "script" => Some(State::ScriptData),
        "style" | "iframe" => Some(State::RawText),
        "title" | "textarea" => Some(State::RcData),
        _ => None,
    }
}

impl HtmlTag {
    /// The value of an attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        let value = self.attributes.get(name.as_bytes())?;
        Some(String::from_utf8_lossy(&value.value).into_owned())
    }

    /// Whether the element hides itself.
    pub(crate) fn is_hidden(&self) -> bool {
        self.attributes.contains_key(&b"hidden"[..])
            || self
                .attribute("style")
                .is_some_and(|style| style_hides(&style.to_ascii_lowercase()))
    }
}

/// Whether inline styles hide the element.
fn style_hides(style: &str) -> bool {
    let none = |value: &str| {
        let number = value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
        number.parse::<f64>() == Ok(0.0)
    };
    style.split(';').any(|declaration| {
        let Some((name, value)) = declaration.split_once(':') else {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn first_tag(page: &str) -> Option<HtmlTag> {
        match HtmlTokenizer::new(page).next() {
            Some(HtmlToken::Tag(tag)) => Some(tag),
            _ => None,
        }
    }

    fn parse_hidden(tag: &str) -> bool {
        first_tag(tag).is_some_and(|tag| tag.is_hidden())
    }

    fn attribute_value(tag: &str, attribute: &str) -> Option<String> {
        first_tag(tag)?.attribute(attribute)
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

    #[test]
    fn the_tokens_after_a_position_are_read_again() {
        let page = "<p>a<title>x <b> y</title><script>'<p>'</script>b<br>c";
        let names = |tokens: HtmlTokenizer<'_>| -> Vec<String> {
            tokens
                .map(|token| match token {
                    HtmlToken::Text(text) => text,
                    HtmlToken::Tag(tag) => tag.name,
                })
                .collect()
        };
        let all = names(HtmlTokenizer::new(page));
        assert_eq!(
            all,
            [
                "p", "a", "title", "x <b> y", "title", "script", "'<p>'", "script", "b", "br", "c"
            ]
        );
        for position in 0..=all.len() {
            let mut tokens = HtmlTokenizer::new(page);
            tokens.by_ref().take(5).for_each(drop);
            tokens.rewind(position);
            assert_eq!(tokens.position(), position);
            assert_eq!(names(tokens), all[position..]);
        }
    }
}

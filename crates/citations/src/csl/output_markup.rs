//! Writes the output of the citation processor as plain text, Markdown or HTML. Every character
//! that comes from a record is escaped for the output format.

use citationberg::{Display, FontStyle, FontWeight, VerticalAlign};
use hayagriva::{ElemChild, ElemChildren, Formatted};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The markup of formatted citations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputFormat {
    /// Text without markup.
    #[default]
    Plain,
    Markdown,
    Html,
}

pub(crate) fn render_elements(children: &ElemChildren, output: OutputFormat) -> String {
    let mut out = String::new();
    write_all(children, output, &mut out);
    collapse_spaces(&out)
}

pub(crate) fn render_element(child: &ElemChild, output: OutputFormat) -> String {
    let mut out = String::new();
    write(child, output, &mut out);
    collapse_spaces(&out)
}

fn collapse_spaces(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn write_all(children: &ElemChildren, output: OutputFormat, out: &mut String) {
    for child in &children.0 {
        write(child, output, out);
    }
}

fn write(child: &ElemChild, output: OutputFormat, out: &mut String) {
    match child {
        ElemChild::Text(formatted) => out.push_str(&apply_markup(formatted, output)),
        ElemChild::Elem(elem) => {
            // Blocks are separate lines in the style; in one line, a space separates them.
            if elem.display.is_some_and(|it| it != Display::LeftMargin) {
                out.push(' ');
            }
            write_all(&elem.children, output, out);
            if elem.display == Some(Display::LeftMargin) {
                out.push(' ');
            }
        }
        ElemChild::Markup(text) => out.push_str(&escape(text, output)),
        ElemChild::Link { text, url } => match output {
            OutputFormat::Html if is_web_url(url) => {
                out.push_str("<a href=\"");
                out.push_str(&escape(url, output));
                out.push_str("\">");
                out.push_str(&apply_markup(text, output));
                out.push_str("</a>");
            }
            // Markdown renderers turn a bare URL into a link.
            OutputFormat::Markdown if is_web_url(&text.text) => {
                out.push_str(&encode_url(&text.text));
            }
            _ => out.push_str(&apply_markup(text, output)),
        },
        ElemChild::Transparent { .. } => {}
    }
}

/// Only web URLs become links: `javascript:` is not one.
fn is_web_url(url: &str) -> bool {
    url.starts_with("https://") || url.starts_with("http://")
}

fn encode_url(url: &str) -> String {
    let encoded = |it: char| match it {
        '<' => "%3C".to_owned(),
        '>' => "%3E".to_owned(),
        '(' => "%28".to_owned(),
        ')' => "%29".to_owned(),
        '[' => "%5B".to_owned(),
        ']' => "%5D".to_owned(),
        '*' => "%2A".to_owned(),
        '`' => "%60".to_owned(),
        '\\' => "%5C".to_owned(),
        '|' => "%7C".to_owned(),
        _ => it.to_string(),
    };
    url.chars().map(encoded).collect()
}

fn apply_markup(formatted: &Formatted, output: OutputFormat) -> String {
    let text = escape(&formatted.text, output);
    let (open, close) = markup_tags(formatted, output);
    if open.is_empty() {
        return text;
    }
    // Markers must touch the text they mark, so the space goes outside.
    let inner = text.trim();
    if inner.is_empty() {
        return text;
    }
    let before = text.len() - text.trim_start().len();
    let after = text.len() - text.trim_end().len();
    format!(
        "{}{open}{inner}{close}{}",
        " ".repeat(before.min(1)),
        " ".repeat(after.min(1))
    )
}

fn markup_tags(formatted: &Formatted, output: OutputFormat) -> (String, String) {
    let style = formatted.formatting;
    let mut open = String::new();
    let mut close = String::new();
    let mut put = |html: &str, markdown: &str| {
        let (start, end) = match output {
            OutputFormat::Plain => return,
            OutputFormat::Html => (format!("<{html}>"), format!("</{html}>")),
            OutputFormat::Markdown if markdown.is_empty() => {
                (format!("<{html}>"), format!("</{html}>"))
            }
            OutputFormat::Markdown => (markdown.to_owned(), markdown.to_owned()),
        };
        open.push_str(&start);
        close.insert_str(0, &end);
    };
    if style.font_weight == FontWeight::Bold {
        put("b", "**");
    }
    if style.font_style == FontStyle::Italic {
        put("i", "*");
    }
    match style.vertical_align {
        VerticalAlign::Sup => put("sup", ""),
        VerticalAlign::Sub => put("sub", ""),
        VerticalAlign::None | VerticalAlign::Baseline => {}
    }
    (open, close)
}

fn escape(text: &str, output: OutputFormat) -> String {
    match output {
        OutputFormat::Plain => text.to_owned(),
        OutputFormat::Html => {
            text.chars()
                .fold(String::with_capacity(text.len()), |mut out, it| {
                    match it {
                        '&' => out.push_str("&amp;"),
                        '<' => out.push_str("&lt;"),
                        '>' => out.push_str("&gt;"),
                        '"' => out.push_str("&quot;"),
                        '\'' => out.push_str("&#39;"),
                        _ => out.push(it),
                    }
                    out
                })
        }
        OutputFormat::Markdown => {
            text.chars()
                .fold(String::with_capacity(text.len()), |mut out, it| {
                    if matches!(
                        it,
                        '\\' | '*' | '_' | '`' | '[' | ']' | '<' | '>' | '|' | '~'
                    ) {
                        out.push('\\');
                    }
                    out.push(it);
                    out
                })
        }
    }
}

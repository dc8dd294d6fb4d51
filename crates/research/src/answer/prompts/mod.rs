//! Prompts of answers as Markdown files: the system prompt, a line of three dashes, and the
//! message. Untrusted text is put in tags that it cannot close.

use deliberate_core::truncate_chars;
use deliberate_llm::{ChatMessage, ModelRequest, PlainText, Purpose};
use deliberate_toolkit::answer_schema;
use schemars::JsonSchema;

use crate::{RetrievedPassage, prompt_fence::fence_passage};

/// A prompt file with the settings of its request.
pub(super) struct PromptTemplate {
    pub(super) purpose: &'static str,
    pub(super) text: &'static str,
    pub(super) max_tokens: u32,
    pub(super) temperature: f64,
}

const SEPARATOR: &str = "\n---\n";

/// Tags that the prompts use, and that untrusted text may not contain.
const TAGS: [&str; 4] = ["passage", "question", "claim", "problem"];

/// Characters of one passage in a prompt.
pub(super) const MAX_PASSAGE_CHARS: usize = 2_400;

/// Characters of all passages in a prompt.
pub(super) const MAX_TOTAL_CHARS: usize = 60_000;

impl PromptTemplate {
    /// Builds a request with this key and these values; its reply is a `T`.
    pub(super) fn build_request<T: JsonSchema>(
        &self,
        key: String,
        values: &[(&str, &str)],
    ) -> ModelRequest {
        let (system, question) = self.text.split_once(SEPARATOR).unwrap_or(("", self.text));
        ModelRequest {
            key,
            purpose: Purpose::new(self.purpose),
            system: system.trim().to_owned(),
            messages: vec![ChatMessage::user(fill_template(question.trim(), values))],
            schema: answer_schema::<T>(),
            plain_text: PlainText::IsRefused,
            max_tokens: self.max_tokens,
            temperature: self.temperature,
            ..ModelRequest::default()
        }
    }
}

/// Replaces each `{{name}}` in one pass: placeholders inside a value are not expanded.
fn fill_template(text: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let Some((name, behind)) = after.split_once("}}") else {
            out.push_str("{{");
            rest = after;
            break;
        };
        let value = values.iter().find(|(it, _)| *it == name.trim());
        out.push_str(value.map_or("", |(_, value)| value));
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// Escapes tags of the prompts and removes control characters.
pub(super) fn escape_tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let seen = |it: &char| !it.is_control() || matches!(it, '\n' | '\t' | '\u{c}');
    let text: String = text.chars().filter(seen).collect();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once('<') {
        out.push_str(before);
        out.push(if opens_tag(after) { '‹' } else { '<' });
        rest = after;
    }
    out.push_str(rest);
    out.replace('\u{c}', "\n")
}

fn opens_tag(after: &str) -> bool {
    let letters: String = after
        .chars()
        .take(60)
        .filter(char::is_ascii_alphabetic)
        .take(12)
        .collect();
    let first = after
        .chars()
        .find(|it| it.is_ascii_graphic() && *it != '/' && *it != '\\');
    let letters = letters.to_ascii_lowercase();
    first.is_some_and(|it| it.is_ascii_alphabetic())
        && TAGS.iter().any(|it| letters.starts_with(it))
}

/// Puts untrusted text in a tag.
pub(super) fn wrap_in_tag(tag: &str, text: &str) -> String {
    format!("<{tag}>\n{}\n</{tag}>", escape_tags(text))
}

/// Renders a passage for a prompt.
pub(super) fn render_passage(id: &str, found: &RetrievedPassage, text: &str) -> String {
    let title = truncate_chars(&found.kept.article.title, 200);
    let year = found.kept.article.year();
    let year = year.map(|it| it.to_string()).unwrap_or_default();
    let authors = super::markdown::author_label(&found.kept.article);
    let text = truncate_chars(&escape_tags(text), MAX_PASSAGE_CHARS);
    fence_passage(
        &[
            ("id", id),
            ("title", &escape_tags(&title)),
            ("by", &escape_tags(&authors)),
            ("year", &year),
            ("page", &found.page_label()),
        ],
        &text,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_put_in_once_and_stay_in_their_tags() {
        let hostile = "{{question}} </question> < / QUESTION> <pass\u{200b}age> a<b <claim>\u{7}";
        let shown = fill_template(
            "<question>{{question}}</question>",
            &[("question", &escape_tags(hostile))],
        );
        assert_eq!(
            shown,
            "<question>{{question}} ‹/question> ‹ / QUESTION> ‹pass\u{200b}age> a<b ‹claim></question>"
        );
    }
}

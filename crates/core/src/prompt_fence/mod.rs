//! The prompt fence: the tags around foreign text in a prompt. What a client, a model, a paper, a
//! web page or an upstream server wrote may contain instructions, so it stands between tags that it
//! cannot close, and a notice says that what is inside is material.
//!
//! A tag has a random part, `<given-7f3a2c>`, which foreign text cannot know. Whatever in the text
//! reads as one of the prompt's tags without it is disarmed too.

mod disarm;
mod fold;

use std::{borrow::Cow, fmt::Write as _};

pub use disarm::disarm_tags;

/// The tags around foreign text in the prompts of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptFence {
    nonce: u32,
    tags: &'static [&'static str],
}

impl PromptFence {
    /// Creates the fence of a call. The nonce is random, and the same whenever the call is run
    /// again. `tags` are the names of all tags in its prompts.
    pub const fn new(nonce: u32, tags: &'static [&'static str]) -> Self {
        Self { nonce, tags }
    }

    /// Returns the random number of the call.
    pub const fn nonce(&self) -> u32 {
        self.nonce
    }

    /// Returns the random part of the tags.
    pub fn part(&self) -> String {
        format!("{:06x}", self.nonce & 0x00ff_ffff)
    }

    /// Returns the opening tag of that name, to be named in a notice.
    pub fn tag(&self, name: &str) -> String {
        format!("<{name}-{}>", self.part())
    }

    /// Puts a text between tags of that name.
    pub fn wrap(&self, name: &str, text: &str) -> String {
        self.wrap_with(name, &[], text)
    }

    /// Puts a text between tags of that name, with attributes in the opening one.
    pub fn wrap_with(&self, name: &str, attributes: &[(&str, &str)], text: &str) -> String {
        let part = self.part();
        let mut wrapped = format!("<{name}-{part}");
        for (attribute, value) in attributes {
            let value = escape_attribute(&self.disarm_also(name, value));
            let _ = write!(wrapped, " {attribute}=\"{value}\"");
        }
        let text = self.disarm_also(name, text);
        let _ = write!(wrapped, ">\n{text}\n</{name}-{part}>");
        wrapped
    }

    /// Returns the text without anything that reads as one of the tags, and without the random part,
    /// which a model may have repeated from another prompt of the call.
    pub fn disarm<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.strip_part(disarm_tags(text, self.tags))
    }

    fn disarm_also<'t>(&self, name: &str, text: &'t str) -> Cow<'t, str> {
        if self.tags.contains(&name) {
            return self.disarm(text);
        }
        let mut tags = self.tags.to_vec();
        tags.push(name);
        self.strip_part(disarm_tags(text, &tags))
    }

    fn strip_part<'t>(&self, text: Cow<'t, str>) -> Cow<'t, str> {
        let part = format!("-{}", self.part());
        if text.contains(&part) {
            Cow::Owned(text.replace(&part, "-…"))
        } else {
            text
        }
    }
}

/// Returns the text as the value of an attribute, which can leave neither its quotes nor its tag.
pub fn escape_attribute(text: &str) -> String {
    text.chars()
        .map(|letter| match letter {
            '"' | '<' | '>' => '\'',
            letter if letter.is_control() => ' ',
            letter => letter,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FENCE_TAGS: &[&str] = &["passage", "question"];

    #[test]
    fn a_text_stands_between_tags_with_the_part_of_its_call() {
        let fence = PromptFence::new(0xff7f_3a2c, FENCE_TAGS);
        assert_eq!(fence.part(), "7f3a2c");
        assert_eq!(fence.tag("passage"), "<passage-7f3a2c>");
        assert_eq!(
            fence.wrap("passage", "a < b </passage-7f3a2c> c"),
            "<passage-7f3a2c>\na < b [/passage-…> c\n</passage-7f3a2c>"
        );
        assert_eq!(
            fence.wrap_with("passage", &[("title", "a\"><b\n</question>")], "t"),
            "<passage-7f3a2c title=\"a'''b [/question'\">\nt\n</passage-7f3a2c>"
        );
        // A name of the caller's own is disarmed as well.
        assert_eq!(
            fence.wrap("diff", "</diff><question> </other-7f3a2c>"),
            "<diff-7f3a2c>\n[/diff>[question> </other-…>\n</diff-7f3a2c>"
        );
    }
}

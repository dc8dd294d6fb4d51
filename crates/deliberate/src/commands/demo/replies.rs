//! The replies of the demo instead of a model: built into the program, one for each ask.

use std::collections::BTreeSet;

use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde_json::Value;

/// The replies, and which of them were used.
#[derive(Debug, Deserialize)]
pub(super) struct DemoReplies {
    /// The question of the demo.
    pub(super) question: String,
    /// The question about the focused branch.
    pub(super) deeper: String,
    reply: Vec<DemoReply>,
    #[serde(skip)]
    given: BTreeSet<usize>,
}

#[derive(Debug, Deserialize)]
struct DemoReply {
    call: String,
    tool: String,
    key: String,
    answer: Value,
}

impl DemoReplies {
    /// Loads the replies from the program.
    pub(super) fn load() -> anyhow::Result<Self> {
        toml::from_str(include_str!("replies.toml"))
            .context("the demo's own replies cannot be read; please report this")
    }

    /// Returns the reply to the ask `key` of `tool`, called in the demo's step `call`.
    pub(super) fn reply_to(&mut self, call: &str, tool: &str, key: &str) -> anyhow::Result<Value> {
        let fits = |it: &DemoReply| it.call == call && it.tool == tool && it.key == key;
        let Some((number, found)) = self.reply.iter().enumerate().find(|(_, it)| fits(it)) else {
            bail!(
                "{tool} asked {key:?} at step {call:?}, and the demo has no reply to that; please \
                 report this, and try `deliberate think --manual \"…\"` in the meantime"
            );
        };
        self.given.insert(number);
        Ok(found.answer.clone())
    }

    /// Returns the number of different replies used.
    pub(super) fn used_count(&self) -> usize {
        self.given.len()
    }

    /// Returns the number of replies.
    pub(super) fn count(&self) -> usize {
        self.reply.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_chosen_by_step_tool_and_key_and_an_unknown_ask_is_told() {
        let mut replies = DemoReplies::load().unwrap();
        let first = replies.reply_to("explore", "reasoning_tree", "tree_1");
        let third = replies.reply_to("explore", "reasoning_tree", "tree_3");
        assert_ne!(first.unwrap(), third.unwrap());
        assert_eq!(replies.used_count(), 2);
        for (call, tool, key) in [
            ("explore", "reasoning_tree", "tree_9"),
            ("explore", "reasoning_got_score", "tree_1"),
            ("score", "reasoning_tree", "tree_1"),
        ] {
            let error = replies.reply_to(call, tool, key).unwrap_err().to_string();
            assert!(error.contains(tool) && error.contains(key), "{error}");
        }
        assert_eq!(replies.used_count(), 2);
    }

    #[test]
    fn no_two_replies_are_for_the_same_ask() {
        let replies = DemoReplies::load().unwrap();
        let asks: BTreeSet<_> = replies
            .reply
            .iter()
            .map(|it| (&it.call, &it.tool, &it.key))
            .collect();
        assert_eq!(asks.len(), replies.count());
    }
}

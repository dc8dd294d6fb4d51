//! Several prompts of one call without what most of them share: the system prompt, the problem and
//! the instruction how to reply.

use deliberate_llm::{ChatMessage, ChatRole};

use crate::ClientPrompt;

/// The blank line between two paragraphs.
const GAP: &str = "\n\n";

/// Prompts, with what the first of them share apart.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactPrompts {
    /// The system prompt of the prompts that share it, with the paragraphs that all of these begin and
    /// end with; `None` if the first two prompts share none.
    pub shared: Option<String>,
    /// The prompts. Those that share a system prompt have an empty one, and not these paragraphs.
    pub asks: Vec<ClientPrompt>,
}

impl CompactPrompts {
    pub(super) fn new(asks: &[ClientPrompt]) -> Self {
        let whole = || Self {
            shared: None,
            asks: asks.to_vec(),
        };
        let Some(first) = asks.first() else {
            return whole();
        };
        let alike = asks.iter().take_while(|ask| ask.system == first.system);
        let (alike, others) = asks.split_at(alike.count());
        if alike.len() < 2 {
            return whole();
        }
        let texts: Option<Vec<Vec<&str>>> = alike.iter().map(paragraphs).collect();
        let common = texts.as_deref().and_then(common_paragraphs);
        let (start, end) = common.unwrap_or_default();
        let parts = [
            first.system.trim_end().to_owned(),
            start.join(GAP),
            end.join(GAP),
        ];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        let shared = parts.collect::<Vec<String>>().join(GAP);
        let own = alike.iter().map(|ask| {
            let text = paragraphs(ask).unwrap_or_default();
            let own = text.get(start.len()..text.len() - end.len());
            let messages = match own {
                Some(own) if start.len() + end.len() > 0 => vec![ChatMessage::user(own.join(GAP))],
                _ => ask.messages.clone(),
            };
            ClientPrompt {
                messages,
                system: String::new(),
                ..ask.clone()
            }
        });
        Self {
            shared: Some(shared),
            asks: own.chain(others.iter().cloned()).collect(),
        }
    }
}

/// The paragraphs of a prompt that is one message of the user.
fn paragraphs(ask: &ClientPrompt) -> Option<Vec<&str>> {
    match ask.messages.as_slice() {
        [message] if message.role == ChatRole::User => Some(message.text.split(GAP).collect()),
        _ => None,
    }
}

/// The paragraphs that all texts begin with, and those that all end with. At least one paragraph of
/// each text stays its own, and no tag is opened in one part and closed in another.
fn common_paragraphs<'t>(texts: &[Vec<&'t str>]) -> Option<(Vec<&'t str>, Vec<&'t str>)> {
    let (first, others) = texts.split_first()?;
    let shortest = texts.iter().map(Vec::len).min()?;
    let is_common = |at: usize, from_end: bool| {
        let place = |text: &Vec<&'t str>| {
            let index = if from_end {
                text.len().checked_sub(at + 1)?
            } else {
                at
            };
            text.get(index).copied()
        };
        others.iter().all(|other| place(other) == place(first))
    };
    let most = shortest.saturating_sub(1);
    let mut start = (0..most).take_while(|at| is_common(*at, false)).count();
    let mut end = (0..most - start)
        .take_while(|at| is_common(*at, true))
        .count();
    while !first.get(..start).is_some_and(is_balanced) {
        start = start.checked_sub(1)?;
    }
    while !first.get(first.len() - end..).is_some_and(is_balanced) {
        end = end.checked_sub(1)?;
    }
    let start = first.get(..start)?.to_vec();
    let end = first.get(first.len() - end..)?.to_vec();
    (start.len() + end.len() > 0).then_some((start, end))
}

/// Tells whether every tag of the prompt fence that is opened is closed. Other tags are part of the
/// text.
fn is_balanced(paragraphs: &[&str]) -> bool {
    let mut open = 0_usize;
    for text in paragraphs {
        for (at, _) in text.match_indices('<') {
            let tag = text.get(at + 1..).unwrap_or_default();
            let name = tag.strip_prefix('/').unwrap_or(tag);
            if !is_fence_tag(name) {
                continue;
            }
            if name.len() == tag.len() {
                open += 1;
            } else if open == 0 {
                return false;
            } else {
                open -= 1;
            }
        }
    }
    open == 0
}

/// Tells whether a name with the random part of the prompt fence stands at the start.
fn is_fence_tag(text: &str) -> bool {
    let is_name = |it: char| it.is_ascii_lowercase() || it == '_';
    let rest = text.trim_start_matches(is_name);
    let part = rest.strip_prefix('-').and_then(|rest| rest.get(..6));
    rest.len() < text.len()
        && part.is_some_and(|part| part.bytes().all(|it| it.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::NeedsReply;

    use super::*;

    fn prompt(system: &str, text: &str) -> ClientPrompt {
        ClientPrompt {
            key: text.len().to_string(),
            system: system.to_owned(),
            messages: vec![ChatMessage::user(text)],
            schema: Value::Null,
            max_tokens: 1,
            temperature: 0.0,
        }
    }

    fn compact(texts: &[&str]) -> (Option<String>, Vec<String>) {
        let asks: Vec<ClientPrompt> = texts.iter().map(|text| prompt("Think.", text)).collect();
        let compact = CompactPrompts::new(&asks);
        let own = compact
            .asks
            .into_iter()
            .map(|mut ask| ask.messages.remove(0).text);
        (compact.shared, own.collect())
    }

    #[test]
    fn the_problem_and_the_instruction_are_sent_once() {
        let ask = |number: u32| {
            format!(
                "The problem:\n<given-7f3a2c>\na\n\nb\n</given-7f3a2c>\n\nApproach {number}\n\nReply in JSON."
            )
        };
        let (shared, own) = compact(&[&ask(1), &ask(2)]);
        assert_eq!(
            shared.unwrap(),
            "Think.\n\nThe problem:\n<given-7f3a2c>\na\n\nb\n</given-7f3a2c>\n\nReply in JSON."
        );
        assert_eq!(own, ["Approach 1", "Approach 2"]);
        let needs = NeedsReply {
            id: "i".to_owned(),
            asks: vec![prompt("Think.", &ask(1)), prompt("Think.", &ask(2))],
            next: "Go on.".to_owned(),
        };
        let sent = json!(needs).to_string();
        assert_eq!(sent.matches("The problem").count(), 1, "{sent}");
        assert_eq!(sent.matches("Reply in JSON").count(), 1, "{sent}");
    }

    #[test]
    fn a_prompt_with_instructions_of_its_own_stays_whole() {
        let problem = "The problem:\n<given-7f3a2c>\na\n</given-7f3a2c>";
        let ask = |system: &str, own: &str| prompt(system, &format!("{problem}\n\n{own}"));
        let last = ask("Merge.", "Merge them.");
        let asks = [ask("Look.", "Side 1"), ask("Look.", "Side 2"), last.clone()];
        let compact = CompactPrompts::new(&asks);
        assert_eq!(compact.shared.unwrap(), format!("Look.\n\n{problem}"));
        assert_eq!(compact.asks[1].messages, [ChatMessage::user("Side 2")]);
        assert_eq!(compact.asks[2], last);
        let needs = NeedsReply {
            id: "i".to_owned(),
            asks: asks.to_vec(),
            next: "Go on.".to_owned(),
        };
        let sent = json!(needs);
        assert_eq!(sent["asks"][0].get("system"), None);
        assert_eq!(sent["asks"][2]["system"], "Merge.");
        assert_eq!(CompactPrompts::new(&asks[1..]).shared, None);
    }

    #[test]
    fn a_tag_is_never_torn_and_every_prompt_has_a_text_of_its_own() {
        let torn = |last: &str| {
            format!("Read:\n\n<given-7f3a2c>\nsame\n\n{last}\n</given-7f3a2c>\n\nEnd.")
        };
        let (shared, own) = compact(&[&torn("x"), &torn("y")]);
        assert_eq!(shared.unwrap(), "Think.\n\nRead:\n\nEnd.");
        assert_eq!(own[0], "<given-7f3a2c>\nsame\n\nx\n</given-7f3a2c>");
        let (_, own) = compact(&["Same.", "Same."]);
        assert_eq!(own, ["Same.", "Same."]);
        let (shared, own) = compact(&["Alone.\n\nEnd."]);
        assert_eq!((shared, own), (None, vec!["Alone.\n\nEnd.".to_owned()]));
    }
}

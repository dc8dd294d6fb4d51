//! The fields that a message asks for in free text: an example object at its end, with descriptions
//! in the place of values.

use serde_json::{Map, Value, json};

use super::PERCENT;
use crate::without_fence_parts;

/// The beginning of the instruction that asks for a text and its fields.
const INSTRUCTION: &str = "First work it out in plain text.";

/// The marks around each thing that a list is to have an item for.
const NUMBERED: &str = "<node number=";

/// What stands between the words that a field may have.
const OR: &str = " or \"";

/// The fields that a message asks for.
pub(super) struct RequestedFields<'a> {
    /// The message without the instruction.
    pub(super) before: &'a str,
    example: &'a str,
}

impl<'a> RequestedFields<'a> {
    /// Finds the instruction in a message.
    pub(super) fn find(message: &'a str) -> Option<Self> {
        let at = message.rfind(INSTRUCTION)?;
        let (before, instruction) = message.split_at(at);
        let start = instruction.find('{')?;
        Some(Self {
            before,
            example: instruction.get(start..).unwrap_or_default(),
        })
    }

    /// Returns an object with a value for each field. Lists of objects have an item for each
    /// numbered node of the message.
    pub(super) fn values(&self, subject: &str) -> Value {
        let mut reader = ExampleReader {
            rest: self.example,
            subject,
            items: without_fence_parts(self.before)
                .matches(NUMBERED)
                .count()
                .max(1),
        };
        reader.value(None)
    }
}

/// Reads an example from its start and writes values in the place of descriptions.
struct ExampleReader<'a> {
    rest: &'a str,
    subject: &'a str,
    items: usize,
}

impl ExampleReader<'_> {
    /// Reads a value; `item` is the number of the list item around it.
    fn value(&mut self, item: Option<usize>) -> Value {
        match self.rest.chars().next() {
            Some('{') => self.object(item),
            Some('[') => self.array(),
            Some('"') => {
                let first = self.string();
                if !self.rest.starts_with(OR) {
                    return json!(self.sentence(item));
                }
                while self.rest.starts_with(OR) {
                    self.skip(OR.trim_end_matches('"'));
                    self.string();
                }
                json!(first)
            }
            _ => self.bare(item),
        }
    }

    fn object(&mut self, item: Option<usize>) -> Value {
        let mut fields = Map::new();
        self.skip("{");
        while self.rest.starts_with('"') {
            let name = self.string();
            self.skip(": ");
            fields.insert(name, self.value(item));
            self.skip(", ");
        }
        self.skip("}");
        Value::Object(fields)
    }

    fn array(&mut self) -> Value {
        self.skip("[");
        let items = if self.rest.starts_with('{') {
            self.items
        } else {
            1
        };
        let (start, mut values) = (self.rest, Vec::new());
        for number in 1..=items {
            self.rest = start;
            values.push(self.value(Some(number)));
        }
        self.skip(", …]");
        Value::Array(values)
    }

    fn string(&mut self) -> String {
        let mut stream = serde_json::Deserializer::from_str(self.rest).into_iter::<String>();
        let text = stream.next().and_then(Result::ok).unwrap_or_default();
        self.rest = self
            .rest
            .get(stream.byte_offset().max(1)..)
            .unwrap_or_default();
        text
    }

    /// Reads a value without quotes, such as `0 to 100 (how sure you are)`.
    fn bare(&mut self, item: Option<usize>) -> Value {
        let start = self.rest.find('(').unwrap_or(self.rest.len());
        let (kind, description) = self.rest.split_at(start);
        let mut depth = 0;
        let end = description.find(|letter| {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            depth == 0
        });
        self.rest = end
            .and_then(|end| description.get(end + 1..))
            .unwrap_or_default();
        match kind.trim().split_once(" to ") {
            Some((least, most)) => {
                let limit = |text: &str, or| text.parse::<i64>().unwrap_or(or);
                json!(PERCENT.min(limit(most, PERCENT)).max(limit(least, 0)))
            }
            None if kind.trim() == "true or false" => json!(true),
            // A number without a range is the number of something.
            None => json!(item.unwrap_or(1)),
        }
    }

    fn sentence(&self, item: Option<usize>) -> String {
        match item {
            Some(number) => format!("Item {number} of thought {}", self.subject),
            None => format!("Thought {}", self.subject),
        }
    }

    fn skip(&mut self, text: &str) {
        self.rest = self.rest.strip_prefix(text).unwrap_or(self.rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = "First work it out in plain text. Then write one JSON object with these \
                         fields, and nothing after it: ";

    fn values(before: &str, example: &str) -> Value {
        let message = format!("{before}\n\n{START}{example}");
        let requested = RequestedFields::find(&message).unwrap();
        assert_eq!(requested.before.trim(), before);
        requested.values("3")
    }

    #[test]
    fn every_kind_of_field_has_a_value() {
        let example = r#"{"answer": "the result; null if there is none (yet)", "kind": "a" or "b" or "c", "sure": 0 to 100 (how sure, 0 to 100 (at most), in percent), "rank": 1 to 10 (the rank), "done": true or false (whether), "best": a number (of the best), "list": ["a sentence", …]}"#;
        let wanted = json!({
            "answer": "Thought 3", "kind": "a", "sure": 85, "rank": 10, "done": true, "best": 1,
            "list": ["Item 1 of thought 3"],
        });
        assert_eq!(values("Why?", example), wanted);
    }

    #[test]
    fn a_list_of_objects_has_an_item_for_each_numbered_node() {
        let nodes = "<node number=\"1\">a</node>\n<node number=\"2\">b</node>";
        let example = r#"{"scores": [{"node": a number (which), "why": "because"}, …], "sure": 0 to 100 (how)}"#;
        let wanted = json!({ "sure": 85, "scores": [
            { "node": 1, "why": "Item 1 of thought 3" },
            { "node": 2, "why": "Item 2 of thought 3" },
        ] });
        assert_eq!(values(nodes, example), wanted);
    }

    #[test]
    fn a_message_without_the_instruction_asks_for_nothing() {
        assert!(RequestedFields::find("Answer with {\"a\": \"b\"}").is_none());
        assert!(RequestedFields::find(START).is_none());
    }
}

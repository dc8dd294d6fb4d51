//! Which tools a model is given: by their names, ours and guests' alike.

use deliberate_core::nearest;
use serde_json::Value;

use crate::{Call, Hand, Issue, ToolError, fits, guests::Guest, registry::Action};

/// The most tools that are put into a model's hands at once: more than that confuses it.
const MOST: usize = 32;

impl Call {
    /// The tools of these names; a `*` at the end of a name stands for any ending. A name that
    /// nothing has, or that the caller may not use, is an issue of `field`.
    pub async fn hands(&self, field: &str, names: &[String]) -> Result<Vec<Hand>, ToolError> {
        if !self.prefix.is_empty() {
            return Err(ToolError::Told {
                code: "NotWithin".to_owned(),
                message: format!("{field}: a tool that is run by another can't use tools itself"),
                hint: Some("Leave them out, or call the tool by itself.".to_owned()),
            });
        }
        let mut hands: Vec<Hand> = Vec::new();
        let mut issues = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let mut found = self.own_hands(name);
            if let Some(guests) = &self.whole.scene.tools.guests {
                let guests = guests.find(name).await;
                found.extend(guests.iter().map(hand_of));
            }
            found.retain(|hand| self.can_run(&hand.name));
            if found.is_empty() {
                let rule = "is no tool that can be used here";
                let issue = Issue::new(format!("{field}.{at}"), rule);
                issues.push(issue.given(&name.as_str().into()).meant(self.like(name)));
            }
            for hand in found {
                if !hands.iter().any(|known| known.name == hand.name) {
                    hands.push(hand);
                }
            }
        }
        if hands.len() > MOST {
            let rule = format!(
                "stands for {} tools; at most {MOST} can be used",
                hands.len()
            );
            issues.push(Issue::new(field, rule));
        }
        if issues.is_empty() {
            return Ok(hands);
        }
        Err(ToolError::Invalid(issues))
    }

    fn own_hands(&self, pattern: &str) -> Vec<Hand> {
        let entries = self.whole.scene.tools.own.iter();
        let fitting = entries.filter(|entry| {
            fits(pattern, entry.about.name) && matches!(entry.action, Action::Run(_))
        });
        fitting
            .map(|entry| Hand {
                name: entry.about.name.to_owned(),
                description: entry.about.description.to_owned(),
                schema: entry.input_schema().clone(),
            })
            .collect()
    }

    fn like(&self, name: &str) -> Option<String> {
        let guests = self
            .whole
            .scene
            .tools
            .guests
            .as_ref()
            .map(|guests| guests.list());
        let guests = guests.as_deref().unwrap_or_default();
        let own = self
            .whole
            .scene
            .tools
            .own
            .iter()
            .map(|entry| entry.about.name);
        let all = own.chain(guests.iter().map(|guest| &*guest.name));
        nearest(name, all.filter(|name| self.can_run(name)))
    }
}

fn hand_of(guest: &Guest) -> Hand {
    let text = |field: &str| guest.definition.get(field).and_then(Value::as_str);
    Hand {
        name: guest.name.to_string(),
        description: text("description")
            .or(text("title"))
            .unwrap_or_default()
            .to_owned(),
        schema: guest
            .definition
            .get("inputSchema")
            .cloned()
            .unwrap_or_default(),
    }
}

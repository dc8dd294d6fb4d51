//! Looks for what a definition hides or smuggles in: characters nobody sees, and sentences that
//! are meant for the model and not for the job.
//!
//! Definitions are read by a model, so they are input like any other. What is found is either
//! *refused*, and the tool is kept back until someone approves it, or *noted*, and shown to who
//! looks. Signs that are weak alone are noted; two different ones together are refused.
//!
//! Knows nothing of servers, pins or calls.

mod characters;
mod normal;
mod phrases;
mod shape;
mod walk;

use serde::Serialize;
use serde_json::Value;

pub use characters::{one_line, strip, stripped, visible};

/// A definition that is longer than this is refused unread.
const MAX_BYTES: usize = 256 * 1024;
/// A schema that is longer than this is refused.
const MAX_SCHEMA_BYTES: usize = 64 * 1024;
/// What is shown of a finding.
const MAX_SHOWN_CHARS: usize = 120;
/// Findings that are kept of one definition.
const MAX_FINDINGS: usize = 40;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Noted,
    /// The tool is kept back until it is approved.
    Refused,
}

/// Something a definition should not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// A short stable word for it.
    pub kind: &'static str,
    /// Where: `inputSchema.properties.path.description`.
    pub place: String,
    /// What was found, made visible.
    pub what: String,
}

/// How much one sign says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// Nothing by itself, with whatever else.
    Note,
    /// Something, together with a weak sign of another kind.
    Weak,
    /// Enough.
    Strong,
}

/// A sign, before its place is known.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sign {
    weight: Weight,
    kind: &'static str,
    what: String,
}

impl Sign {
    fn new(weight: Weight, kind: &'static str, what: impl AsRef<str>) -> Self {
        Self {
            weight,
            kind,
            what: deliberate_core::cut_to_chars(
                &characters::visible(what.as_ref()),
                MAX_SHOWN_CHARS,
            ),
        }
    }
}

/// What a definition was found to hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scanned {
    signs: Vec<(String, Sign)>,
    /// Words that look like names of tools and stand beside an order.
    mentions: Vec<(String, String)>,
}

impl Scanned {
    /// What that comes to. `owner` says of a word which other server has a tool of that name: a
    /// definition that gives orders about another server's tool tries to change what that does.
    pub fn findings(&self, owner: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
        let mut signs = self.signs.clone();
        for (place, word) in &self.mentions {
            if let Some(server) = owner(word) {
                let what = format!("gives orders about {word:?}, a tool of {server:?}");
                signs.push((place.clone(), Sign::new(Weight::Weak, "shadowing", what)));
            }
        }
        let mut weak: Vec<&str> = signs
            .iter()
            .filter(|(_, sign)| sign.weight == Weight::Weak)
            .map(|(_, sign)| sign.kind)
            .collect();
        weak.sort_unstable();
        weak.dedup();
        let together = weak.len() > 1;
        let mut findings: Vec<Finding> = signs
            .into_iter()
            .map(|(place, sign)| Finding {
                severity: match sign.weight {
                    Weight::Strong => Severity::Refused,
                    Weight::Weak if together => Severity::Refused,
                    Weight::Weak | Weight::Note => Severity::Noted,
                },
                kind: sign.kind,
                place,
                what: sign.what,
            })
            .collect();
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        findings.truncate(MAX_FINDINGS);
        findings
    }
}

/// Reads a tool's definition.
pub fn definition(raw: &Value) -> Scanned {
    let mut scanned = Scanned::default();
    let bytes = walk::size(raw);
    if bytes > MAX_BYTES {
        let what = format!("the definition has about {bytes} bytes, more than {MAX_BYTES}");
        scanned.add("", vec![Sign::new(Weight::Strong, "length", what)]);
        return scanned;
    }
    for field in ["inputSchema", "outputSchema"] {
        let bytes = raw.get(field).map_or(0, walk::size);
        if bytes > MAX_SCHEMA_BYTES {
            let what = format!("about {bytes} bytes, more than {MAX_SCHEMA_BYTES}");
            scanned.add(field, vec![Sign::new(Weight::Strong, "length", what)]);
        }
    }
    // What is refused for its length alone is not worth the work of reading it.
    if !scanned.signs.is_empty() {
        return scanned;
    }
    for text in walk::texts(raw) {
        scanned.read(&text.place, text.says, text.role);
    }
    scanned
}

/// Reads a text that a server gives beside its tools, such as its instructions.
pub fn text(place: &str, text: &str) -> Scanned {
    let mut scanned = Scanned::default();
    scanned.read(place, text, walk::Role::Prose);
    scanned
}

impl Scanned {
    fn read(&mut self, place: &str, text: &str, role: walk::Role) {
        let mut signs = characters::signs(text);
        match role {
            walk::Role::Name => signs.extend(characters::name_signs(text)),
            // A pattern is for a machine and full of what looks strange.
            walk::Role::Pattern => {}
            walk::Role::Prose => {
                signs.extend(shape::signs(text));
                signs.extend(phrases::signs(text));
                let found = phrases::mentions(text).into_iter();
                self.mentions
                    .extend(found.map(|word| (place.to_owned(), word)));
            }
        }
        self.add(place, signs);
    }

    fn add(&mut self, place: &str, signs: Vec<Sign>) {
        for sign in signs {
            let known = |(_, it): &(String, Sign)| it.kind == sign.kind && it.what == sign.what;
            if !self.signs.iter().any(known) {
                self.signs.push((place.to_owned(), sign));
            }
        }
    }
}

#[cfg(test)]
mod tests;

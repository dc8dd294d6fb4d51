//! Scans tool definitions for prompt injection: hidden characters, and sentences that address the
//! model and do not describe the tool.
//!
//! A model reads definitions, so they are untrusted input. A finding is either *refused*, which
//! quarantines the tool until someone approves it, or *noted*, which is shown on inspection. Weak
//! signs are noted; two different ones together are refused.
//!
//! The scan knows nothing about servers, pins or calls.

mod definition_texts;
mod foreign_rules;
mod hidden_characters;
mod hidden_text;
mod normalization;
mod phrase_rules;
mod result_mark;

use deliberate_toolkit::{ComputeError, compute};
use serde::Serialize;
use serde_json::Value;

pub(crate) use result_mark::{UNTRUSTED, mark_untrusted};

pub use hidden_characters::{escape_hidden, strip_definition, strip_hidden, to_one_line};

/// A larger definition is refused without being read.
const MAX_BYTES: usize = 256 * 1024;
/// A larger schema is refused.
const MAX_SCHEMA_BYTES: usize = 64 * 1024;
/// The bytes of a result, or of a server's instructions, that are scanned on the async thread.
const INLINE_MAX_BYTES: usize = 4 * 1024;
/// The maximum number of characters that are shown of a finding.
const MAX_SHOWN_CHARS: usize = 120;
/// The maximum number of findings per definition.
const MAX_FINDINGS: usize = 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ScanSeverity {
    /// Shown on inspection.
    Noted,
    /// The tool is quarantined until it is approved.
    Refused,
}

/// A suspicious place in a definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScanFinding {
    pub severity: ScanSeverity,
    /// A short, stable code.
    pub kind: &'static str,
    /// The place, such as `inputSchema.properties.path.description`.
    pub place: String,
    /// What was found, with hidden characters escaped.
    pub what: String,
}

/// The weight of a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SignWeight {
    /// Noted, whatever else is found.
    Note,
    /// Noted; refused together with a weak sign of another kind.
    Weak,
    /// Refused.
    Strong,
}

/// A sign whose place is not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ScanSign {
    weight: SignWeight,
    kind: &'static str,
    detail: String,
}

impl ScanSign {
    fn new(weight: SignWeight, kind: &'static str, what: impl AsRef<str>) -> Self {
        Self {
            weight,
            kind,
            detail: deliberate_core::truncate_chars(
                &hidden_characters::escape_hidden(what.as_ref()),
                MAX_SHOWN_CHARS,
            ),
        }
    }
}

/// The result of scanning a definition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScanResult {
    signs: Vec<(String, ScanSign)>,
    /// Words that look like tool names in sentences that give orders.
    mentions: Vec<(String, String)>,
}

impl ScanResult {
    /// Returns the findings. `owner` returns which other server has a tool of a name: a definition
    /// that gives orders about another server's tool tries to change what that tool does.
    pub fn findings(&self, owner: impl Fn(&str) -> Option<String>) -> Vec<ScanFinding> {
        let mut signs = self.signs.clone();
        for (place, word) in &self.mentions {
            if let Some(server) = owner(word) {
                let what = format!("gives orders about {word:?}, a tool of {server:?}");
                signs.push((
                    place.clone(),
                    ScanSign::new(SignWeight::Weak, "shadowing", what),
                ));
            }
        }
        let mut weak: Vec<&str> = signs
            .iter()
            .filter(|(_, sign)| sign.weight == SignWeight::Weak)
            .map(|(_, sign)| sign.kind)
            .collect();
        weak.sort_unstable();
        weak.dedup();
        let together = weak.len() > 1;
        let mut findings: Vec<ScanFinding> = signs
            .into_iter()
            .map(|(place, sign)| ScanFinding {
                severity: match sign.weight {
                    SignWeight::Strong => ScanSeverity::Refused,
                    SignWeight::Weak if together => ScanSeverity::Refused,
                    SignWeight::Weak | SignWeight::Note => ScanSeverity::Noted,
                },
                kind: sign.kind,
                place,
                what: sign.detail,
            })
            .collect();
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        findings.truncate(MAX_FINDINGS);
        findings
    }
}

/// Scans a tool definition.
pub fn scan_definition(raw: &Value) -> ScanResult {
    let mut scanned = ScanResult::default();
    let bytes = definition_texts::json_size(raw);
    if bytes > MAX_BYTES {
        let what =
            format!("the definition has about {bytes} bytes, more than the limit of {MAX_BYTES}");
        scanned.add("", vec![ScanSign::new(SignWeight::Strong, "length", what)]);
        return scanned;
    }
    for field in ["inputSchema", "outputSchema"] {
        let bytes = raw.get(field).map_or(0, definition_texts::json_size);
        if bytes > MAX_SCHEMA_BYTES {
            let what = format!("about {bytes} bytes, more than the limit of {MAX_SCHEMA_BYTES}");
            scanned.add(
                field,
                vec![ScanSign::new(SignWeight::Strong, "length", what)],
            );
        }
    }
    // A definition that is refused for its size need not be read.
    if !scanned.signs.is_empty() {
        return scanned;
    }
    for text in definition_texts::collect_texts(raw) {
        scanned.scan(&text.path, text.text, text.role);
    }
    scanned
}

/// Scans a text that a server provides beside its tools, such as its instructions.
pub fn scan_text(place: &str, text: &str) -> ScanResult {
    let mut scanned = ScanResult::default();
    scanned.scan(place, text, definition_texts::TextRole::Prose);
    scanned
}

/// Scans a server's instructions, whose length the client limits. The scan of long ones takes
/// noticeable time, so it has a thread of its own.
pub(crate) async fn scan_instructions(text: &str) -> Result<Vec<ScanFinding>, ComputeError> {
    let scan = |text: &str| scan_text("instructions", text).findings(|_| None);
    if text.len() <= INLINE_MAX_BYTES {
        return Ok(scan(text));
    }
    let text = text.to_owned();
    compute(move || scan(&text)).await
}

impl ScanResult {
    fn scan(&mut self, place: &str, text: &str, role: definition_texts::TextRole) {
        let mut signs = hidden_characters::find_signs(text);
        match role {
            definition_texts::TextRole::Name => {
                signs.extend(hidden_characters::find_name_signs(text));
            }
            // A pattern is for machines and full of unusual characters.
            definition_texts::TextRole::Pattern => {}
            definition_texts::TextRole::Prose => {
                signs.extend(hidden_text::find_signs(text));
                signs.extend(phrase_rules::find_signs(text));
                signs.extend(foreign_rules::find_signs(text));
                let found = phrase_rules::find_tool_mentions(text).into_iter();
                self.mentions
                    .extend(found.map(|word| (place.to_owned(), word)));
            }
        }
        self.add(place, signs);
    }

    fn add(&mut self, place: &str, signs: Vec<ScanSign>) {
        for sign in signs {
            let known =
                |(_, it): &(String, ScanSign)| it.kind == sign.kind && it.detail == sign.detail;
            if !self.signs.iter().any(known) {
                self.signs.push((place.to_owned(), sign));
            }
        }
    }
}

#[cfg(test)]
mod tests;

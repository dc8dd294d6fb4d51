//! Merges the reports of a bibliography that was checked in parts.

use std::{collections::BTreeMap, fmt::Write as _};

use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

use crate::commands::table::one_line;

/// The merged report so far.
#[derive(Default, Deserialize)]
pub(super) struct PapersCheckReport {
    said: String,
    counts: BTreeMap<String, usize>,
    retracted: Vec<String>,
    retraction_unknown: Vec<String>,
    duplicates: Vec<Vec<String>>,
    repeated_keys: Vec<String>,
    unreadable: Vec<String>,
    left_out: usize,
    entries: Vec<IgnoredAny>,
}

impl PapersCheckReport {
    /// Adds the output of one more call.
    pub(super) fn add(&mut self, output: &Value) -> anyhow::Result<()> {
        let part = Self::deserialize(output)?;
        for (status, many) in part.counts {
            *self.counts.entry(status).or_default() += many;
        }
        self.retracted.extend(part.retracted);
        self.retraction_unknown.extend(part.retraction_unknown);
        self.duplicates.extend(part.duplicates);
        // A key that occurs in two parts is reported with both entries.
        for key in part.repeated_keys {
            if !self.repeated_keys.contains(&key) {
                self.repeated_keys.push(key);
            }
        }
        self.unreadable.extend(part.unreadable);
        self.entries.extend(part.entries);
        self.left_out = part.left_out;
        self.said.push_str(entry_details(&part.said));
        Ok(())
    }

    /// Returns one heading and one summary, then the entries with findings; `None` if no part
    /// finished.
    pub(super) fn into_text(self) -> Option<String> {
        let mut text = match self.entries.len() {
            0 => return None,
            1 => "# 1 entry\n\n".to_owned(),
            many => format!("# {many} entries\n\n"),
        };
        let mut line = |it: String| {
            let _ = writeln!(text, "- {it}");
        };
        for (status, many) in &self.counts {
            line(format!("{many} {status}"));
        }
        if !self.retracted.is_empty() {
            line(format!("**retracted**: {}", join_names(&self.retracted)));
        }
        if !self.retraction_unknown.is_empty() {
            let keys = join_names(&self.retraction_unknown);
            line(format!("not known whether retracted: {keys}"));
        }
        for group in &self.duplicates {
            line(format!("the same work: {}", join_names(group)));
        }
        if !self.repeated_keys.is_empty() {
            let keys = join_names(&self.repeated_keys);
            line(format!("more than one entry has the key: {keys}"));
        }
        for problem in &self.unreadable {
            line(one_line(problem, 300));
        }
        if self.left_out > 0 {
            line(format!("{} more were not checked", self.left_out));
        }
        Some(text + &self.said)
    }
}

/// Returns the text about single entries, after the part's summary.
fn entry_details(text: &str) -> &str {
    let begins = text.find("\n## ");
    begins.and_then(|at| text.get(at..)).unwrap_or_default()
}

fn join_names(keys: &[String]) -> String {
    let keys: Vec<String> = keys.iter().map(|it| one_line(it, 300)).collect();
    keys.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn partial_output(keys: &[&str], left_out: usize) -> Value {
        let said: Vec<String> = keys
            .iter()
            .map(|it| format!("\n## {it}\n\n**not found**\n"))
            .collect();
        json!({
            "said": format!("# {} entries\n\n- {} not found\n{}", keys.len(), keys.len(), said.concat()),
            "counts": { "not found": keys.len() },
            "retracted": [keys[0]],
            "retraction_unknown": [],
            "duplicates": [],
            "repeated_keys": [],
            "unreadable": [],
            "left_out": left_out,
            "next_offset": 2,
            "entries": keys.iter().map(|it| json!({ "key": it })).collect::<Vec<_>>(),
        })
    }

    #[test]
    fn parts_have_one_heading_and_one_summary() {
        let mut report = PapersCheckReport::default();
        report.add(&partial_output(&["a", "b"], 1)).unwrap();
        report.add(&partial_output(&["c"], 0)).unwrap();
        assert_eq!(
            report.into_text().unwrap(),
            "# 3 entries\n\n- 3 not found\n- **retracted**: a, c\n\n## a\n\n**not found**\n\n## b\n\n\
             **not found**\n\n## c\n\n**not found**\n"
        );
    }

    #[test]
    fn a_key_that_parts_share_is_told_once() {
        let mut report = PapersCheckReport::default();
        for key in ["a", "b"] {
            let mut part = partial_output(&[key], 0);
            part["repeated_keys"] = json!(["same"]);
            report.add(&part).unwrap();
        }
        let text = report.into_text().unwrap();
        let keys = "- more than one entry has the key: same\n";
        assert_eq!(text.matches(keys).count(), 1, "{text}");
    }

    #[test]
    fn what_is_left_is_told_when_a_part_fails() {
        assert!(PapersCheckReport::default().into_text().is_none());
        let mut report = PapersCheckReport::default();
        report.add(&partial_output(&["a"], 7)).unwrap();
        assert!(
            report
                .into_text()
                .unwrap()
                .contains("- 7 more were not checked\n")
        );
    }
}

//! Tests that the generated documents are correct.

use std::collections::BTreeSet;

use super::*;
use crate::config::{definitions::SETTINGS, reference_markdown, sample_toml};

#[test]
fn keys_and_variables_are_unique() {
    let keys: BTreeSet<&str> = SETTINGS.iter().map(|setting| setting.key).collect();
    assert_eq!(keys.len(), SETTINGS.len());
    let variables: Vec<&str> = SETTINGS
        .iter()
        .flat_map(|setting| setting.env)
        .copied()
        .collect();
    let unique: BTreeSet<&str> = variables.iter().copied().collect();
    assert_eq!(unique.len(), variables.len());
}

#[test]
fn the_reference_has_a_line_for_every_setting() {
    let page = reference_markdown();
    for setting in SETTINGS {
        let start = format!("| `{}` | `{}`", setting.key, setting.env[0]);
        assert!(page.contains(&start), "{start}");
    }
    for line in page.lines().filter(|line| line.starts_with('|')) {
        assert_eq!(line.matches('|').count(), 5, "{line}");
    }
}

#[test]
fn the_sample_changes_nothing_as_it_is() {
    let plain = TestUser::new();
    let sampled = TestUser::new().file(&sample_toml());
    let values = |user: &TestUser| -> Vec<String> {
        let loaded = user.load_valid();
        let directory = user.directory.path().display().to_string();
        let shown = loaded
            .entries
            .iter()
            .map(|entry| entry.display_value.replace(&directory, ""));
        shown.collect()
    };
    assert_eq!(values(&plain), values(&sampled));
}

#[test]
fn every_line_of_the_sample_is_accepted() {
    // `#key` is a setting, `# words` a comment.
    let lines = sample_toml()
        .lines()
        .map(|line| match line.strip_prefix('#') {
            Some(setting) if !setting.starts_with(' ') => setting.to_owned(),
            _ => line.to_owned(),
        })
        .collect::<Vec<_>>();
    let loaded = TestUser::new().file(&lines.join("\n")).load_valid();
    for entry in &loaded.entries {
        assert!(
            matches!(entry.origin, SettingOrigin::File { .. }),
            "{}",
            entry.key
        );
    }
}

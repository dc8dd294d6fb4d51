//! Finds the known name most similar to an unknown one, for "did you mean".

use deliberate_core::did_you_mean;

use super::definitions::{OTHER_VARIABLES, SETTINGS, SettingDefinition, VARIABLE_PREFIX};

/// Returns the known key most similar to `key`. Also recognizes a variable's name written as a key,
/// a key without its section and a section written as a key, which people copy from elsewhere.
pub(super) fn nearest_key(key: &str) -> Option<String> {
    let by_variable = SETTINGS.iter().find(|setting| {
        setting
            .env
            .iter()
            .any(|name| name.eq_ignore_ascii_case(key))
    });
    let by_section = || {
        let inside = |setting: &&SettingDefinition| {
            let rest = setting.key.strip_prefix(key);
            rest.is_some_and(|rest| rest.starts_with('.'))
        };
        SETTINGS.iter().find(inside)
    };
    let by_last_part = || {
        let mut same = SETTINGS
            .iter()
            .filter(|setting| setting.key.rsplit('.').next() == key.rsplit('.').next());
        // If two sections have the same key (`openai.api_key`, `anthropic.api_key`), neither is
        // suggested.
        same.next().filter(|_| same.next().is_none())
    };
    by_variable
        .map(|setting| setting.key.to_owned())
        .or_else(|| did_you_mean(key, SETTINGS.iter().map(|setting| setting.key)))
        .or_else(|| {
            let setting = by_last_part().or_else(by_section)?;
            Some(setting.key.to_owned())
        })
}

/// Returns the known variable most similar to `name`.
pub(super) fn nearest_variable(name: &str) -> Option<String> {
    let known = SETTINGS.iter().flat_map(|setting| setting.env);
    // Compared without the prefix, which all have in common and which would make all of them
    // similar.
    let tails = known
        .chain(OTHER_VARIABLES)
        .filter_map(|name| name.strip_prefix(VARIABLE_PREFIX));
    let tail = did_you_mean(name.strip_prefix(VARIABLE_PREFIX)?, tails)?;
    Some(format!("{VARIABLE_PREFIX}{tail}"))
}

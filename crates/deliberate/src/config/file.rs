//! Parses the settings file. Every key is checked against the table and keeps its line number for
//! errors and origins.

use std::ops::Range;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::{
    definitions::{self, SettingDefinition},
    environment::Environment,
    error::SettingError,
    origin::SettingOrigin,
    servers::{self, ServerTable, SettingsFileServer},
    suggest,
};

/// A line that sets something. It contains secrets as text and therefore has no `Debug`.
pub(super) struct FileValue {
    pub(super) setting: &'static SettingDefinition,
    pub(super) text: String,
    pub(super) origin: SettingOrigin,
}

/// Values and errors of a settings file.
#[derive(Default)]
pub(super) struct ConfigFileContents {
    pub(super) values: Vec<FileValue>,
    servers: Vec<ServerTable>,
    /// With line numbers, to report them in the order of the file.
    errors: Vec<(usize, SettingError)>,
}

impl ConfigFileContents {
    /// Parses `text`, the content of the file at `path`.
    pub(super) fn parse(path: &Path, text: &str) -> Self {
        let (table, errors) = DeTable::parse_recoverable(text);
        let source = ConfigFileText { path, text };
        let mut contents = Self::default();
        for error in errors {
            // Only the message: the parser's full report quotes the line, which may contain a key.
            let origin = source.origin(&error.span().unwrap_or(0..0));
            contents.push_error(SettingError::Syntax {
                message: error.message().to_owned(),
                place: origin,
            });
        }
        let broken: Vec<usize> = contents.errors.iter().map(|(line, _)| *line).collect();
        contents.read_table(&source, "", table.get_ref());
        contents.drop_recovered_values(&source, &broken);
        contents
    }

    /// Drops values that the parser recovered from a broken line or below a broken section header:
    /// they are not what the author meant, and one error is enough.
    fn drop_recovered_values(&mut self, source: &ConfigFileText<'_>, broken: &[usize]) {
        let header = broken.iter().copied().filter(|line| {
            let text = source.text.lines().nth(line.saturating_sub(1));
            text.is_some_and(|text| text.trim_start().starts_with('['))
        });
        let section = header.min().unwrap_or(usize::MAX);
        let is_guess = |line: usize| broken.contains(&line) || line >= section;
        self.values
            .retain(|value| !is_guess(origin_line(&value.origin)));
        self.servers
            .retain(|server| !is_guess(origin_line(&server.origin)));
        self.errors.retain(|(line, error)| {
            matches!(error, SettingError::Syntax { .. }) || !is_guess(*line)
        });
    }

    /// Returns the servers in the order of the file. Their errors are added to the others.
    pub(super) fn take_servers(&mut self, environment: &Environment) -> Vec<SettingsFileServer> {
        let mut tables = std::mem::take(&mut self.servers);
        tables.sort_by_key(|table| origin_line(&table.origin));
        let (servers, errors) = servers::load_servers(tables, environment);
        for error in errors {
            self.push_error(error);
        }
        servers
    }

    /// Returns the errors in the order of the file.
    pub(super) fn take_errors(&mut self) -> Vec<SettingError> {
        self.errors.sort_by_key(|(line, _)| *line);
        let errors = std::mem::take(&mut self.errors);
        errors.into_iter().map(|(_, error)| error).collect()
    }

    fn read_table(&mut self, source: &ConfigFileText<'_>, prefix: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let key = format!("{prefix}{}", name.get_ref());
            let origin = source.origin(&name.span());
            match (definitions::find_setting(&key), value.get_ref()) {
                (Some(setting), value) => self.read_value(setting, value, origin),
                (None, DeValue::Table(inner)) if key == "servers" => {
                    let (servers, errors) =
                        servers::read_tables(inner, &|span| source.origin(span));
                    self.servers = servers;
                    for error in errors {
                        self.push_error(error);
                    }
                }
                (None, DeValue::Table(inner)) if !inner.is_empty() || is_section(&key) => {
                    self.read_table(source, &format!("{key}."), inner);
                }
                (None, _) => self.push_error(SettingError::UnknownKey {
                    nearest: suggest::nearest_key(&key),
                    key,
                    place: origin,
                }),
            }
        }
    }

    fn read_value(
        &mut self,
        setting: &'static SettingDefinition,
        value: &DeValue<'_>,
        origin: SettingOrigin,
    ) {
        let text = match value {
            DeValue::String(text) => text.clone().into_owned(),
            DeValue::Integer(number) => {
                // TOML allows other radixes, such as hexadecimal; the table knows decimals only.
                i128::from_str_radix(number.as_str(), number.radix())
                    .map_or_else(|_| number.as_str().to_owned(), |number| number.to_string())
            }
            DeValue::Float(number) => number.as_str().to_owned(),
            DeValue::Boolean(flag) => flag.to_string(),
            DeValue::Array(items) if setting.kind.is_list() => match join_texts(items) {
                Some(text) => text,
                None => {
                    return self.push_error(SettingError::NotSingle {
                        key: setting.key,
                        place: origin,
                        found: "a list of anything but strings without commas",
                    });
                }
            },
            DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
                return self.push_error(SettingError::NotSingle {
                    key: setting.key,
                    place: origin,
                    found: value_type_name(value),
                });
            }
        };
        self.values.push(FileValue {
            setting,
            text,
            origin,
        });
    }

    fn push_error(&mut self, error: SettingError) {
        let line = match &error {
            SettingError::UnknownKey { place: origin, .. }
            | SettingError::NotSingle { place: origin, .. }
            | SettingError::Server { place: origin, .. }
            | SettingError::Syntax { place: origin, .. } => origin_line(origin),
            _ => 0,
        };
        self.errors.push((line, error));
    }
}

fn origin_line(origin: &SettingOrigin) -> usize {
    match origin {
        SettingOrigin::File { line, .. } => *line,
        SettingOrigin::Flag(_) | SettingOrigin::Variable(_) | SettingOrigin::Default => 0,
    }
}

fn is_section(key: &str) -> bool {
    definitions::SETTINGS.iter().any(|setting| {
        setting
            .key
            .split_once('.')
            .is_some_and(|(section, _)| section == key)
    })
}

/// Joins a list with commas, as flags and variables write it.
fn join_texts(items: &toml::de::DeArray<'_>) -> Option<String> {
    let texts: Option<Vec<&str>> = items
        .iter()
        .map(|item| match item.get_ref() {
            DeValue::String(text) if !text.contains(',') => Some(text.as_ref()),
            _ => None,
        })
        .collect();
    texts.map(|texts| texts.join(","))
}

fn value_type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
        _ => "a date",
    }
}

struct ConfigFileText<'a> {
    path: &'a Path,
    text: &'a str,
}

impl ConfigFileText<'_> {
    fn origin(&self, span: &Range<usize>) -> SettingOrigin {
        let before = self.text.as_bytes().iter().take(span.start);
        SettingOrigin::File {
            path: self.path.to_owned(),
            line: 1 + before.filter(|byte| **byte == b'\n').count(),
        }
    }
}

//! The settings file. Every key is checked against the table and keeps its line, so that mistakes
//! and origins can point at it.

use std::ops::Range;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::environment::Environment;
use super::error::ConfigError;
use super::nearest;
use super::origin::Origin;
use super::servers::{self, InFile, TableServer};
use super::table::{self, Setting};

/// A line that sets something. Holds secrets as text, hence no `Debug`.
pub(super) struct FileValue {
    pub(super) setting: &'static Setting,
    pub(super) text: String,
    pub(super) origin: Origin,
}

/// What a file says, and what is wrong with how it says it.
#[derive(Default)]
pub(super) struct Contents {
    pub(super) values: Vec<FileValue>,
    servers: Vec<InFile>,
    /// With the line, to be reported in the order of the file.
    errors: Vec<(usize, ConfigError)>,
}

impl Contents {
    /// Reads `text`, the content of the file at `path`.
    pub(super) fn parse(path: &Path, text: &str) -> Self {
        let (table, errors) = DeTable::parse_recoverable(text);
        let source = Source { path, text };
        let mut contents = Self::default();
        for error in errors {
            // The message only: the parser's full report quotes the line, which may hold a key.
            let place = source.place(&error.span().unwrap_or(0..0));
            contents.refuse(ConfigError::Syntax {
                message: error.message().to_owned(),
                place,
            });
        }
        let broken: Vec<usize> = contents.errors.iter().map(|(line, _)| *line).collect();
        contents.take_table(&source, "", table.get_ref());
        contents.forget_guesses(&source, &broken);
        contents
    }

    /// What the parser made of a broken line, or of the keys below a broken section header, is not
    /// what the author meant: one complaint about it is enough.
    fn forget_guesses(&mut self, source: &Source<'_>, broken: &[usize]) {
        let header = broken.iter().copied().filter(|line| {
            let text = source.text.lines().nth(line.saturating_sub(1));
            text.is_some_and(|text| text.trim_start().starts_with('['))
        });
        let section = header.min().unwrap_or(usize::MAX);
        let is_guess = |line: usize| broken.contains(&line) || line >= section;
        self.values
            .retain(|value| !is_guess(line_of(&value.origin)));
        self.servers
            .retain(|server| !is_guess(line_of(&server.origin)));
        self.errors.retain(|(line, error)| {
            matches!(error, ConfigError::Syntax { .. }) || !is_guess(*line)
        });
    }

    /// The servers, in the order of the file. What is wrong with them is told with the rest.
    pub(super) fn take_servers(&mut self, environment: &Environment) -> Vec<TableServer> {
        let mut tables = std::mem::take(&mut self.servers);
        tables.sort_by_key(|table| line_of(&table.origin));
        let (servers, errors) = servers::read(tables, environment);
        for error in errors {
            self.refuse(error);
        }
        servers
    }

    /// The mistakes, in the order of the file.
    pub(super) fn take_errors(&mut self) -> Vec<ConfigError> {
        self.errors.sort_by_key(|(line, _)| *line);
        let errors = std::mem::take(&mut self.errors);
        errors.into_iter().map(|(_, error)| error).collect()
    }

    fn take_table(&mut self, source: &Source<'_>, prefix: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let key = format!("{prefix}{}", name.get_ref());
            let origin = source.place(&name.span());
            match (table::find(&key), value.get_ref()) {
                (Some(setting), value) => self.take_value(setting, value, origin),
                (None, DeValue::Table(inner)) if key == "servers" => {
                    let (servers, errors) = servers::take(inner, &|span| source.place(span));
                    self.servers = servers;
                    for error in errors {
                        self.refuse(error);
                    }
                }
                (None, DeValue::Table(inner)) if !inner.is_empty() || is_section(&key) => {
                    self.take_table(source, &format!("{key}."), inner);
                }
                (None, _) => self.refuse(ConfigError::UnknownKey {
                    nearest: nearest::key(&key),
                    key,
                    place: origin,
                }),
            }
        }
    }

    fn take_value(&mut self, setting: &'static Setting, value: &DeValue<'_>, origin: Origin) {
        let text = match value {
            DeValue::String(text) => text.clone().into_owned(),
            DeValue::Integer(number) => {
                // Hexadecimal and the like are TOML's business; the table knows decimals.
                i128::from_str_radix(number.as_str(), number.radix())
                    .map_or_else(|_| number.as_str().to_owned(), |number| number.to_string())
            }
            DeValue::Float(number) => number.as_str().to_owned(),
            DeValue::Boolean(flag) => flag.to_string(),
            DeValue::Array(items) if setting.kind.is_list() => match texts(items) {
                Some(text) => text,
                None => {
                    return self.refuse(ConfigError::NotSingle {
                        key: setting.key,
                        place: origin,
                        found: "a list of something else than texts without commas",
                    });
                }
            },
            DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
                return self.refuse(ConfigError::NotSingle {
                    key: setting.key,
                    place: origin,
                    found: found(value),
                });
            }
        };
        self.values.push(FileValue {
            setting,
            text,
            origin,
        });
    }

    fn refuse(&mut self, error: ConfigError) {
        let line = match &error {
            ConfigError::UnknownKey { place, .. }
            | ConfigError::NotSingle { place, .. }
            | ConfigError::Server { place, .. }
            | ConfigError::Syntax { place, .. } => line_of(place),
            _ => 0,
        };
        self.errors.push((line, error));
    }
}

fn line_of(origin: &Origin) -> usize {
    match origin {
        Origin::File { line, .. } => *line,
        Origin::Flag(_) | Origin::Variable(_) | Origin::Default => 0,
    }
}

fn is_section(key: &str) -> bool {
    table::SETTINGS.iter().any(|setting| {
        setting
            .key
            .split_once('.')
            .is_some_and(|(section, _)| section == key)
    })
}

/// A list as it is written elsewhere.
fn texts(items: &toml::de::DeArray<'_>) -> Option<String> {
    let texts: Option<Vec<&str>> = items
        .iter()
        .map(|item| match item.get_ref() {
            DeValue::String(text) if !text.contains(',') => Some(text.as_ref()),
            _ => None,
        })
        .collect();
    texts.map(|texts| texts.join(","))
}

fn found(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
        _ => "a date",
    }
}

struct Source<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Source<'_> {
    fn place(&self, span: &Range<usize>) -> Origin {
        let before = self.text.as_bytes().iter().take(span.start);
        Origin::File {
            path: self.path.to_owned(),
            line: 1 + before.filter(|byte| **byte == b'\n').count(),
        }
    }
}

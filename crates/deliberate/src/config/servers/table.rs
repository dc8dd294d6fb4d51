//! Parses the `[servers.NAME]` tables of the settings file, with the line of every field, to
//! servers or errors.

use std::collections::BTreeMap;
use std::ops::Range;

use deliberate_gateway::GatewayServer;
use deliberate_mcp_client::config::{ConfigProblem, expand, read_servers};
use serde_json::{Map, Number, Value};
use toml::de::{DeTable, DeValue};

use super::{
    SettingsFileServer,
    fields::{FieldError, find_invalid_fields},
    self_reference,
};
use crate::config::{environment::Environment, error::SettingError, origin::SettingOrigin, parse};

/// A table as written in the file. It contains keys as text and therefore has no `Debug`.
pub(in crate::config) struct ServerTable {
    name: String,
    /// Position of its name.
    pub(in crate::config) origin: SettingOrigin,
    fields: Map<String, Value>,
    /// Position of each field.
    field_origins: BTreeMap<String, SettingOrigin>,
}

/// Extracts the tables from the file.
pub(in crate::config) fn read_tables(
    servers: &DeTable<'_>,
    place: &dyn Fn(&Range<usize>) -> SettingOrigin,
) -> (Vec<ServerTable>, Vec<SettingError>) {
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for (name, value) in servers {
        let mut server = ServerTable {
            name: name.get_ref().clone().into_owned(),
            origin: place(&name.span()),
            fields: Map::new(),
            field_origins: BTreeMap::new(),
        };
        let DeValue::Table(fields) = value.get_ref() else {
            let what = "must be a table with `command` or `url`";
            errors.push(server.setting_error("", what));
            continue;
        };
        for (field, value) in fields {
            let at = place(&field.span());
            let field = field.get_ref().clone().into_owned();
            match as_json(value.get_ref()) {
                Some(value) => {
                    server.fields.insert(field.clone(), value);
                }
                None => errors.push(SettingError::Server {
                    key: format!("servers.{}.{field}", server.name),
                    place: at.clone(),
                    what: "must not contain a date or a number that is not finite".to_owned(),
                }),
            }
            server.field_origins.insert(field, at);
        }
        found.push(server);
    }
    (found, errors)
}

/// Validates all tables and substitutes variables.
pub(in crate::config) fn load_servers(
    tables: Vec<ServerTable>,
    environment: &Environment,
) -> (Vec<SettingsFileServer>, Vec<SettingError>) {
    let (mut servers, mut errors) = (Vec::new(), Vec::new());
    for table in tables {
        match table.load(environment) {
            Ok(server) => servers.push(server),
            Err(found) => errors.extend(found),
        }
    }
    (servers, errors)
}

impl ServerTable {
    fn load(mut self, environment: &Environment) -> Result<SettingsFileServer, Vec<SettingError>> {
        let wrong: Vec<SettingError> = find_invalid_fields(&self.fields)
            .into_iter()
            .map(|wrong| match wrong.error {
                FieldError::Unknown(nearest) => SettingError::UnknownKey {
                    key: format!("servers.{}.{}", self.name, wrong.field),
                    place: self.field_origin(&wrong.field),
                    nearest: nearest.map(|it| format!("servers.{}.{it}", self.name)),
                },
                FieldError::WrongType(what) => self.setting_error(&wrong.field, &what),
            })
            .collect();
        if !wrong.is_empty() {
            return Err(wrong);
        }
        if self_reference::starts_this_program(&self.fields, environment)
            && !self_reference::has_own_settings(&self.fields)
        {
            return Err(vec![
                self.setting_error("", self_reference::SELF_REFERENCE_ERROR),
            ]);
        }
        let variables = |name: &str| environment.get(name).map(str::to_owned);
        if let Some(Value::String(folder)) = self.fields.get_mut("cwd") {
            let place = format!("servers.{}.cwd", self.name);
            let mut mistakes = Vec::new();
            let text = expand(folder, &place, &variables, &mut mistakes);
            if !mistakes.is_empty() {
                return Err(self.to_setting_errors(mistakes));
            }
            let full = parse::expand_path(&text, &self.origin, environment);
            *folder = full.to_string_lossy().into_owned();
        }
        let one = Map::from_iter([(self.name.clone(), Value::Object(self.fields.clone()))]);
        let configured_server =
            read_servers(&one, &variables).and_then(|mut configured_servers| {
                let configured_server = configured_servers.pop();
                if let Some(configured_server) = &configured_server {
                    GatewayServer::from_configured(configured_server.clone())?;
                }
                Ok(configured_server)
            });
        match configured_server {
            Ok(Some(configured_server)) => Ok(SettingsFileServer {
                server: configured_server,
                fields: self.fields,
                origin: self.origin,
            }),
            Ok(None) => Err(Vec::new()),
            Err(error) => Err(self.to_setting_errors(error.problems)),
        }
    }

    fn to_setting_errors(&self, mistakes: Vec<ConfigProblem>) -> Vec<SettingError> {
        let start = format!("servers.{}.", self.name);
        let mistakes = mistakes.into_iter().map(|mistake| {
            let field = mistake.path.strip_prefix(&start);
            SettingError::Server {
                place: self.field_origin(field.unwrap_or_default()),
                key: mistake.path,
                what: mistake.message,
            }
        });
        mistakes.collect()
    }

    fn setting_error(&self, field: &str, what: &str) -> SettingError {
        let dot = if field.is_empty() { "" } else { "." };
        SettingError::Server {
            key: format!("servers.{}{dot}{field}", self.name),
            place: self.field_origin(field),
            what: what.to_owned(),
        }
    }

    fn field_origin(&self, field: &str) -> SettingOrigin {
        self.field_origins
            .get(field)
            .unwrap_or(&self.origin)
            .clone()
    }
}

/// Converts to JSON; returns `None` for types that JSON does not have.
fn as_json(value: &DeValue<'_>) -> Option<Value> {
    Some(match value {
        DeValue::String(text) => Value::String(text.clone().into_owned()),
        DeValue::Integer(number) => {
            let number = i64::from_str_radix(number.as_str(), number.radix()).ok()?;
            Value::Number(number.into())
        }
        DeValue::Float(number) => Value::Number(Number::from_f64(number.as_str().parse().ok()?)?),
        DeValue::Boolean(flag) => Value::Bool(*flag),
        DeValue::Datetime(_) => return None,
        DeValue::Array(items) => {
            let items = items.iter().map(|item| as_json(item.get_ref()));
            Value::Array(items.collect::<Option<_>>()?)
        }
        DeValue::Table(table) => {
            let members = table.iter().map(|(name, value)| {
                let name = name.get_ref().clone().into_owned();
                Some((name, as_json(value.get_ref())?))
            });
            Value::Object(members.collect::<Option<_>>()?)
        }
    })
}

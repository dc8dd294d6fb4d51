//! Edits a client's JSON file, which may have comments and trailing commas. Everything else keeps
//! its order, spelling and spacing.

use jsonc_parser::cst::CstObject;
use secrecy::ExposeSecret as _;
use serde_json::{Map, Value, json};

use super::server_entry::{ClientConfigEdit, ServerEntry};
use crate::jsonc::{self, JsoncFile};

/// Adds `entry` under `key`. An existing entry of that name keeps its other fields, such as
/// variables added by hand.
pub(super) fn edit(text: &str, key: &str, typed: bool, entry: &ServerEntry) -> ClientConfigEdit {
    match edit_text(text, key, typed, entry) {
        Ok(new) if new == text => ClientConfigEdit::Unchanged,
        Ok(new) => ClientConfigEdit::Changed(new),
        Err(reason) => ClientConfigEdit::ManualEditNeeded(reason.to_string()),
    }
}

fn edit_text(text: &str, key: &str, typed: bool, entry: &ServerEntry) -> anyhow::Result<String> {
    let (file, root) = JsoncFile::parse(text)?;
    let Some(servers) = jsonc::member_object(&root, key) else {
        anyhow::bail!("`{key}` in it is not an object");
    };
    match jsonc::find_member(&servers, &entry.name) {
        Some(server) => fill_entry(&server.object_value_or_set(), typed, entry),
        None => jsonc::set_member(&servers, &entry.name, &new_entry(typed, entry)),
    }
    file.render()
}

/// Returns the block to paste into an empty file.
pub(super) fn render_block(key: &str, typed: bool, entry: &ServerEntry) -> String {
    edit_text("", key, typed, entry).unwrap_or_default()
}

/// Returns the commands of all servers under `key`, or `None` if the text is not JSON.
pub(super) fn server_commands(text: &str, key: &str) -> Option<Vec<String>> {
    let root = jsonc::parse(text).ok()?;
    let servers = root.get(key).and_then(Value::as_object);
    let commands = servers
        .into_iter()
        .flat_map(Map::values)
        .filter_map(|server| {
            let command = server.get("command")?.as_str()?;
            Some(command.to_owned())
        });
    Some(commands.collect())
}

fn new_entry(typed: bool, entry: &ServerEntry) -> Value {
    let env = entry.env.iter();
    let env: Map<_, _> = env
        .map(|(name, value)| (name.clone(), value.expose_secret().into()))
        .collect();
    let mut fields = Map::from_iter(entry_fields(typed, entry));
    if !env.is_empty() {
        fields.insert("env".to_owned(), Value::Object(env));
    }
    Value::Object(fields)
}

fn fill_entry(server: &CstObject, typed: bool, entry: &ServerEntry) {
    for (name, value) in entry_fields(typed, entry) {
        update_member(server, &name, &value);
    }
    if entry.env.is_empty() {
        return;
    }
    if jsonc::member_object(server, "env").is_none() {
        jsonc::set_member(server, "env", &json!({}));
    }
    if let Some(env) = jsonc::member_object(server, "env") {
        for (name, value) in &entry.env {
            update_member(&env, name, &value.expose_secret().into());
        }
    }
}

/// The fields beside the environment.
fn entry_fields(typed: bool, entry: &ServerEntry) -> Vec<(String, Value)> {
    let kind = typed.then(|| ("type".to_owned(), "stdio".into()));
    let rest = [
        ("command".to_owned(), entry.command.as_str().into()),
        ("args".to_owned(), entry.args.clone().into()),
    ];
    kind.into_iter().chain(rest).collect()
}

/// Sets a member. A correct value is not touched: it may be written in another way, with comments.
fn update_member(object: &CstObject, name: &str, value: &Value) {
    let written = jsonc::find_member(object, name).and_then(|member| member.value());
    let is_correct = written
        .is_some_and(|written| jsonc::parse(&written.to_string()).is_ok_and(|it| it == *value));
    if !is_correct {
        jsonc::set_member(object, name, value);
    }
}

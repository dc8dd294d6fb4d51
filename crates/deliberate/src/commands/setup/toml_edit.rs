//! Edits a client's TOML file. Everything else keeps its comments, order and spacing.

use secrecy::ExposeSecret as _;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::server_entry::{ClientConfigEdit, ServerEntry};

/// Adds `entry` to `[section.NAME]`. An existing entry of that name keeps its other fields, such as
/// variables added by hand.
pub(super) fn edit(text: &str, section: &str, entry: &ServerEntry) -> ClientConfigEdit {
    let mut document: DocumentMut = match text.parse() {
        Ok(document) => document,
        Err(_) => return ClientConfigEdit::ManualEditNeeded("it is not valid TOML".to_owned()),
    };
    let is_new_file = text.trim().is_empty();
    let servers = document.entry(section).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let Some(servers) = servers.as_table_mut() else {
        return ClientConfigEdit::ManualEditNeeded(format!(
            "`{section}` in it is not a standard table"
        ));
    };
    let server = servers.entry(&entry.name).or_insert_with(|| {
        let mut table = Table::new();
        table
            .decor_mut()
            .set_prefix(if is_new_file { "" } else { "\n" });
        Item::Table(table)
    });
    let Some(server) = server.as_table_like_mut() else {
        return ClientConfigEdit::ManualEditNeeded(format!(
            "`{section}.{}` in it is not a table",
            entry.name
        ));
    };
    fill_entry(server, entry);
    let new = document.to_string();
    if new == text {
        ClientConfigEdit::Unchanged
    } else {
        ClientConfigEdit::Changed(new)
    }
}

/// Returns the block to paste.
pub(super) fn render_block(section: &str, entry: &ServerEntry) -> String {
    match edit("", section, entry) {
        ClientConfigEdit::Changed(text) => text,
        ClientConfigEdit::Unchanged | ClientConfigEdit::ManualEditNeeded(_) => String::new(),
    }
}

/// Returns the commands of all servers in `section`, or `None` if the text is not TOML.
pub(super) fn server_commands(text: &str, section: &str) -> Option<Vec<String>> {
    let document: DocumentMut = text.parse().ok()?;
    let servers = document.get(section).and_then(Item::as_table_like);
    let commands = servers
        .into_iter()
        .flat_map(TableLike::iter)
        .filter_map(|(_, server)| {
            let command = server.get("command")?.as_str()?;
            Some(command.to_owned())
        });
    Some(commands.collect())
}

fn fill_entry(server: &mut dyn TableLike, entry: &ServerEntry) {
    // A correct value is not touched: a comment may follow it.
    if server.get("command").and_then(Item::as_str) != Some(&entry.command) {
        server.insert("command", toml_edit::value(entry.command.clone()));
    }
    if !has_args(server, &entry.args) {
        let args: Array = entry.args.iter().collect();
        server.insert("args", toml_edit::value(args));
    }
    if entry.env.is_empty() {
        return;
    }
    let env = server
        .entry("env")
        .or_insert(Item::Value(Value::InlineTable(InlineTable::new())));
    if !env.is_table_like() {
        *env = Item::Value(Value::InlineTable(InlineTable::new()));
    }
    let Some(env) = env.as_table_like_mut() else {
        return;
    };
    for (name, value) in &entry.env {
        let value = value.expose_secret();
        if env.get(name).and_then(Item::as_str) != Some(value) {
            env.insert(name, toml_edit::value(value));
        }
    }
}

fn has_args(server: &dyn TableLike, args: &[String]) -> bool {
    let Some(existing) = server.get("args").and_then(Item::as_array) else {
        return false;
    };
    existing
        .iter()
        .map(Value::as_str)
        .eq(args.iter().map(|arg| Some(arg.as_str())))
}

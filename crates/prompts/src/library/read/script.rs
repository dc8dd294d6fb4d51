//! `scripts/<id>/tool.yaml`, and `tools/<id>/tool.yaml` of a prompt.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use super::first_of;
use crate::{
    library::{
        Weight,
        sheet::{Desk, Sheet, join},
        tree::{What, is_inner},
        unit::{Item, Unit},
    },
    model::{Execution, Kind, Runtime, ScriptTool},
};

/// The longest that a script may take.
const LONGEST_MS: u64 = 300_000;

/// What the file may say.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ToolFile {
    id: String,
    name: String,
    description: String,
    description_file: Option<String>,
    script: String,
    runtime: Runtime,
    schema: Option<Value>,
    schema_file: Option<String>,
    timeout: Option<u64>,
    env: BTreeMap<String, String>,
    working_dir: Option<String>,
    enabled: Option<bool>,
    execution: Execution,
}

/// Reads the tool in a folder, and returns its id if it can be used.
pub(super) fn read(
    desk: Desk<'_>,
    folder: &str,
    owner: Option<&str>,
    unit: &mut Unit,
) -> Option<String> {
    let file = first_of(desk, folder, &["tool.yaml", "tool.yml"])?;
    let last = folder.rsplit('/').next().unwrap_or(folder);
    let key = owner.map_or_else(|| last.to_owned(), |owner| format!("{owner}:{last}"));
    let mut sheet = Sheet::open(desk, Kind::Script, &key, folder, file);
    let tool = sheet
        .is_good()
        .then(|| sheet.typed::<ToolFile>())
        .flatten()
        .and_then(|said| tool(&mut sheet, said, last, owner));
    let id = tool.as_ref().map(|tool| tool.id.clone());
    unit.take(sheet, tool.map(|tool| Item::Script(Arc::new(tool))));
    id
}

fn tool(
    sheet: &mut Sheet<'_>,
    said: ToolFile,
    last: &str,
    owner: Option<&str>,
) -> Option<ScriptTool> {
    let id = sheet.same_id(&said.id, last)?;
    sheet.needs("name", &said.name);
    sheet.needs("script", &said.script);
    place(sheet, "script", &said.script, What::File);
    if let Some(folder) = said.working_dir.as_deref().filter(|it| *it != ".") {
        place(sheet, "workingDir", folder, What::Folder);
    }
    if let Ok(source) = sheet.beside(&said.script) {
        // Only its hash matters: a changed script is a changed tool.
        drop(source);
    }
    let mut description = said.description;
    if let Some(name) = said.description_file
        && let Some(text) = sheet.beside_or_problem(&name, "descriptionFile", Weight::Warning)
    {
        description = text;
    }
    let schema = said
        .schema
        .or_else(|| schema(sheet, said.schema_file.as_deref()));
    if said.timeout.is_some_and(|given| given > LONGEST_MS) {
        let at = sheet.node.get("timeout").map(|node| node.at);
        sheet.warn(
            at,
            format!("A script may take {LONGEST_MS} ms at most; that is used."),
            None,
        );
    }
    sheet.is_good().then(|| ScriptTool {
        id,
        name: said.name,
        description,
        owner: owner.map(str::to_owned),
        script: said.script,
        runtime: said.runtime,
        schema,
        timeout_ms: said.timeout.map(|given| given.min(LONGEST_MS)),
        env: said.env,
        working_dir: said.working_dir,
        enabled: said.enabled.unwrap_or(true),
        execution: said.execution,
        folder: sheet.desk.root.tree.real(&sheet.folder),
        origin: sheet.origin(),
    })
}

/// Checks that a field names something of a kind in the tool's folder.
fn place(sheet: &mut Sheet<'_>, field: &str, name: &str, wanted: What) {
    if name.is_empty() {
        return;
    }
    let found = is_inner(name)
        .then(|| sheet.desk.root.tree.look(&join(&sheet.folder, name)))
        .flatten();
    if found != Some(wanted) {
        let at = sheet.node.get(field).map(|node| node.at);
        let thing = if wanted == What::File {
            "file"
        } else {
            "folder"
        };
        sheet.error(
            at,
            format!("`{field}` names no {thing} in the tool's folder."),
            Some("Use a relative name without `..`; links are not followed.".to_owned()),
        );
    }
}

fn schema(sheet: &mut Sheet<'_>, named: Option<&str>) -> Option<Value> {
    let file = named.unwrap_or("schema.json");
    if named.is_none() && !sheet.has_file(file) {
        return None;
    }
    let source = sheet.beside_or_problem(file, "schemaFile", Weight::Error)?;
    let shown = sheet.shown(file);
    match serde_json::from_str::<Value>(&source) {
        Ok(schema) => {
            if let Err(error) = jsonschema::validator_for(&schema) {
                let message = format!("The schema can't be used: {error}.");
                sheet.put(Weight::Error, shown, None, message, None);
            }
            Some(schema)
        }
        Err(error) => {
            let at = super::json_place(&error);
            let message = "The JSON can't be read.".to_owned();
            sheet.put(Weight::Error, shown, Some(at), message, None);
            None
        }
    }
}

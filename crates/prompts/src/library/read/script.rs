//! Reads `scripts/<id>/tool.yaml`, and `tools/<id>/tool.yaml` of a prompt.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use super::{
    first_existing,
    source_file::{LibrarySourceFile, ReadContext, join},
};
use crate::{
    library::{
        ProblemSeverity,
        file_tree::{TreeEntryKind, is_inside_path},
        part::{LibraryItem, LibraryPart},
    },
    model::{LibraryItemKind, ScriptExecution, ScriptRuntime, ScriptTool},
};

/// The maximum timeout of a script.
const MAX_TIMEOUT_MS: u64 = 300_000;

/// The fields of the file.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ScriptToolFile {
    id: String,
    name: String,
    description: String,
    description_file: Option<String>,
    script: String,
    runtime: ScriptRuntime,
    schema: Option<Value>,
    schema_file: Option<String>,
    timeout: Option<u64>,
    env: BTreeMap<String, String>,
    working_dir: Option<String>,
    enabled: Option<bool>,
    execution: ScriptExecution,
}

/// Reads the tool in a folder, and returns its id if it is valid.
pub(super) fn read(
    desk: ReadContext<'_>,
    folder: &str,
    owner: Option<&str>,
    unit: &mut LibraryPart,
) -> Option<String> {
    let file = first_existing(desk, folder, &["tool.yaml", "tool.yml"])?;
    let last = folder.rsplit('/').next().unwrap_or(folder);
    let key = owner.map_or_else(|| last.to_owned(), |owner| format!("{owner}:{last}"));
    let mut sheet = LibrarySourceFile::open(desk, LibraryItemKind::Script, &key, folder, file);
    let tool = sheet
        .is_usable()
        .then(|| sheet.deserialize::<ScriptToolFile>())
        .flatten()
        .and_then(|said| build_tool(&mut sheet, said, last, owner));
    let id = tool.as_ref().map(|tool| tool.id.clone());
    unit.add_source(sheet, tool.map(|tool| LibraryItem::Script(Arc::new(tool))));
    id
}

fn build_tool(
    sheet: &mut LibrarySourceFile<'_>,
    said: ScriptToolFile,
    last: &str,
    owner: Option<&str>,
) -> Option<ScriptTool> {
    let id = sheet.check_id(&said.id, last)?;
    sheet.require_non_empty("name", &said.name);
    sheet.require_non_empty("script", &said.script);
    check_path(sheet, "script", &said.script, TreeEntryKind::File);
    if let Some(folder) = said.working_dir.as_deref().filter(|it| *it != ".") {
        check_path(sheet, "workingDir", folder, TreeEntryKind::Folder);
    }
    if let Ok(source) = sheet.read_sibling(&said.script) {
        // Only the hash of the source is needed: a changed script is a changed tool.
        drop(source);
    }
    let mut description = said.description;
    if let Some(name) = said.description_file
        && let Some(text) =
            sheet.read_sibling_or_report(&name, "descriptionFile", ProblemSeverity::Warning)
    {
        description = text;
    }
    let schema = said
        .schema
        .or_else(|| read_schema(sheet, said.schema_file.as_deref()));
    if said.timeout.is_some_and(|given| given > MAX_TIMEOUT_MS) {
        let at = sheet.node.get("timeout").map(|node| node.position);
        sheet.warn(
            at,
            format!("The timeout exceeds the maximum of {MAX_TIMEOUT_MS} ms; the maximum is used."),
            None,
        );
    }
    sheet.is_usable().then(|| ScriptTool {
        id,
        name: said.name,
        description,
        owner: owner.map(str::to_owned),
        script: said.script,
        runtime: said.runtime,
        schema,
        timeout_ms: said.timeout.map(|given| given.min(MAX_TIMEOUT_MS)),
        env: said.env,
        working_dir: said.working_dir,
        enabled: said.enabled.unwrap_or(true),
        execution: said.execution,
        folder: sheet.context.root.tree.real_path(&sheet.folder),
        origin: sheet.origin(),
    })
}

/// Checks that a field names a file or folder in the tool's folder.
fn check_path(sheet: &mut LibrarySourceFile<'_>, field: &str, name: &str, wanted: TreeEntryKind) {
    if name.is_empty() {
        return;
    }
    let found = is_inside_path(name)
        .then(|| {
            sheet
                .context
                .root
                .tree
                .entry_kind(&join(&sheet.folder, name))
        })
        .flatten();
    if found != Some(wanted) {
        let at = sheet.node.get(field).map(|node| node.position);
        let thing = if wanted == TreeEntryKind::File {
            "file"
        } else {
            "folder"
        };
        sheet.error(
            at,
            format!("`{field}` is not a {thing} in the tool's folder."),
            Some("Use a relative path without `..`; links are not followed.".to_owned()),
        );
    }
}

fn read_schema(sheet: &mut LibrarySourceFile<'_>, named: Option<&str>) -> Option<Value> {
    let file = named.unwrap_or("schema.json");
    if named.is_none() && !sheet.has_file(file) {
        return None;
    }
    let source = sheet.read_sibling_or_report(file, "schemaFile", ProblemSeverity::Error)?;
    let shown = sheet.display_path(file);
    match serde_json::from_str::<Value>(&source) {
        Ok(schema) => {
            if let Err(error) = jsonschema::validator_for(&schema) {
                let message = format!("The schema is invalid: {error}.");
                sheet.add_problem(ProblemSeverity::Error, shown, None, message, None);
            }
            Some(schema)
        }
        Err(error) => {
            let at = super::json_position(&error);
            let message = "The JSON is invalid.".to_owned();
            sheet.add_problem(ProblemSeverity::Error, shown, Some(at), message, None);
            None
        }
    }
}

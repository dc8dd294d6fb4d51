//! Reads `scripts/<id>/tool.yaml`, and `tools/<id>/tool.yaml` of a prompt.

use std::{collections::BTreeMap, sync::Arc};

use deliberate_json_schema::JsonSchemaValidator;
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
    context: ReadContext<'_>,
    folder: &str,
    owner: Option<&str>,
    unit: &mut LibraryPart,
) -> Option<String> {
    let file = first_existing(context, folder, &["tool.yaml", "tool.yml"])?;
    let last = folder.rsplit('/').next().unwrap_or(folder);
    let key = owner.map_or_else(|| last.to_owned(), |owner| format!("{owner}:{last}"));
    let mut source_file =
        LibrarySourceFile::open(context, LibraryItemKind::Script, &key, folder, file);
    let tool = source_file
        .is_usable()
        .then(|| source_file.deserialize::<ScriptToolFile>())
        .flatten()
        .and_then(|tool_file| build_tool(&mut source_file, tool_file, last, owner));
    let id = tool.as_ref().map(|tool| tool.id.clone());
    unit.add_source(
        source_file,
        tool.map(|tool| LibraryItem::Script(Arc::new(tool))),
    );
    id
}

fn build_tool(
    file: &mut LibrarySourceFile<'_>,
    tool_file: ScriptToolFile,
    last: &str,
    owner: Option<&str>,
) -> Option<ScriptTool> {
    let id = file.check_id(&tool_file.id, last)?;
    file.require_non_empty("name", &tool_file.name);
    file.require_non_empty("script", &tool_file.script);
    check_path(file, "script", &tool_file.script, TreeEntryKind::File);
    if let Some(folder) = tool_file.working_dir.as_deref().filter(|it| *it != ".") {
        check_path(file, "workingDir", folder, TreeEntryKind::Folder);
    }
    if let Ok(source) = file.read_sibling(&tool_file.script) {
        // Only the hash of the source is needed: a changed script is a changed tool.
        drop(source);
    }
    let mut description = tool_file.description;
    if let Some(name) = tool_file.description_file
        && let Some(text) =
            file.read_sibling_or_report(&name, "descriptionFile", ProblemSeverity::Warning)
    {
        description = text;
    }
    let schema = tool_file
        .schema
        .or_else(|| read_schema(file, tool_file.schema_file.as_deref()));
    if tool_file
        .timeout
        .is_some_and(|given| given > MAX_TIMEOUT_MS)
    {
        let at = file.node.get("timeout").map(|node| node.position);
        file.warn(
            at,
            format!("The timeout exceeds the maximum of {MAX_TIMEOUT_MS} ms; the maximum is used."),
            None,
        );
    }
    file.is_usable().then(|| ScriptTool {
        id,
        name: tool_file.name,
        description,
        owner: owner.map(str::to_owned),
        script: tool_file.script,
        runtime: tool_file.runtime,
        schema,
        timeout_ms: tool_file.timeout.map(|given| given.min(MAX_TIMEOUT_MS)),
        env: tool_file.env,
        working_dir: tool_file.working_dir,
        enabled: tool_file.enabled.unwrap_or(true),
        execution: tool_file.execution,
        folder: file.context.root.tree.real_path(&file.folder),
        origin: file.origin(),
    })
}

/// Checks that a field names a file or folder in the tool's folder.
fn check_path(
    source_file: &mut LibrarySourceFile<'_>,
    field: &str,
    name: &str,
    kind: TreeEntryKind,
) {
    if name.is_empty() {
        return;
    }
    let found = is_inside_path(name)
        .then(|| {
            source_file
                .context
                .root
                .tree
                .entry_kind(&join(&source_file.folder, name))
        })
        .flatten();
    if found != Some(kind) {
        let at = source_file.node.get(field).map(|node| node.position);
        let thing = if kind == TreeEntryKind::File {
            "file"
        } else {
            "folder"
        };
        source_file.error(
            at,
            format!("`{field}` is not a {thing} in the tool's folder."),
            Some("Use a relative path without `..`; links are not followed.".to_owned()),
        );
    }
}

fn read_schema(source_file: &mut LibrarySourceFile<'_>, named: Option<&str>) -> Option<Value> {
    let file = named.unwrap_or("schema.json");
    if named.is_none() && !source_file.has_file(file) {
        return None;
    }
    let source = source_file.read_sibling_or_report(file, "schemaFile", ProblemSeverity::Error)?;
    let text = source_file.display_path(file);
    match serde_json::from_str::<Value>(&source) {
        Ok(schema) => {
            if let Err(error) = JsonSchemaValidator::new(&schema) {
                let message = format!("The schema is invalid: {error}.");
                source_file.add_problem(ProblemSeverity::Error, text, None, message, None);
            }
            Some(schema)
        }
        Err(error) => {
            let at = super::json_position(&error);
            let message = "The JSON is invalid.".to_owned();
            source_file.add_problem(ProblemSeverity::Error, text, Some(at), message, None);
            None
        }
    }
}

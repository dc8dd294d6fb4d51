//! Protects what the operator allowed to run. A caller must not write, change or restore a script,
//! which an allowed command could run, unless the operator allows it; never one that is allowed by
//! name; nor choose the environment or folder of a command.

use std::collections::BTreeSet;

use deliberate_toolkit::{ErrorCode, ToolError};

use serde_json::Value;

use crate::{
    gate::OPERATOR_FIELDS,
    model::LibraryItemKind,
    resource_manager::{
        ManageContext,
        disk::{atomic_files::FileTexts, resource_path::ResourceFiles},
        edit::yaml_edit::parse_yaml,
        errors::manage_error,
    },
};

/// The folder of a prompt that contains its tools.
const TOOLS_FOLDER: &str = "tools";

/// The endings of files that are read and never run.
const DEFINITION_ENDINGS: [&str; 4] = ["yaml", "yml", "json", "md"];

impl ManageContext {
    /// Fails if a changed file belongs to a script that the operator allowed.
    pub(crate) fn check_allowed_scripts_unchanged(
        &self,
        files: &ResourceFiles,
        before: &FileTexts,
    ) -> Result<(), ToolError> {
        let after = &files.files;
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for name in names {
            let (old, new) = (before.get(name), after.get(name));
            if old != new {
                let folder = files.folder_path.iter().map(String::as_str);
                let path: Vec<&str> = folder.chain(name.split('/')).collect();
                self.check_not_allowed_script(files.kind, &path)?;
                if let Some(new) = new {
                    self.check_no_new_script(files.kind, &path)?;
                    check_command_settings(new, old)?;
                }
            }
        }
        Ok(())
    }

    /// Fails if a path below the root of a kind is a script, unless the operator lets callers write
    /// some. A command such as `node --test` runs in the workspace and would run what a caller has
    /// written there, even if the operator allows that command much later.
    pub(crate) fn check_no_new_script(
        &self,
        kind: LibraryItemKind,
        path: &[&str],
    ) -> Result<(), ToolError> {
        let is_definition = path.last().is_some_and(|name| {
            let ending = std::path::Path::new(name).extension();
            ending.is_some_and(|ending| DEFINITION_ENDINGS.iter().any(|it| ending == *it))
        });
        let is_script = !is_definition
            && (kind == LibraryItemKind::Script
                || path.iter().any(|it| it.eq_ignore_ascii_case(TOOLS_FOLDER)));
        if !is_script || self.engine.options.caller_scripts {
            return Ok(());
        }
        Err(manage_error(
            ErrorCode::OperatorsOwn,
            format!(
                "A call can't write the script `{}`, because a command of the operator could run \
                 it. Nothing was written.",
                path.join("/")
            ),
            Some(
                "Put the script into the workspace on disk, and name it here by its id; or ask the \
                 operator to set `prompts.caller_scripts`."
                    .to_owned(),
            ),
        ))
    }

    /// Fails if a path below the root of a kind belongs to a script that the operator allowed.
    pub(crate) fn check_not_allowed_script(
        &self,
        kind: LibraryItemKind,
        path: &[&str],
    ) -> Result<(), ToolError> {
        let runner = &self.engine.runner;
        match possible_script_names(kind, path)
            .into_iter()
            .find(|name| runner.is_script_listed(name))
        {
            None => Ok(()),
            Some(name) => Err(manage_error(
                ErrorCode::OperatorsOwn,
                format!(
                    "The operator allowed the script `{name}` by name, so it can't be changed \
                     here. Nothing was written."
                ),
                Some("Change it on disk, or use another name.".to_owned()),
            )),
        }
    }
}

/// Fails if a definition sets the environment or the folder of a command otherwise than before: they
/// could turn an allowed command into another.
fn check_command_settings(new: &str, old: Option<&String>) -> Result<(), ToolError> {
    if !OPERATOR_FIELDS.iter().any(|field| new.contains(field)) {
        return Ok(());
    }
    let settings = |text: &str| {
        let mut found = Vec::new();
        if let Ok(value) = parse_yaml(text) {
            collect_command_settings(&value, &mut found);
        }
        found
    };
    let known = old.map(|text| settings(text)).unwrap_or_default();
    match settings(new).into_iter().find(|it| !known.contains(it)) {
        None => Ok(()),
        Some((field, _)) => Err(manage_error(
            ErrorCode::OperatorsOwn,
            format!("`{field}` of a command is set by the operator. Nothing was written."),
            Some("Set it in the file of the gate on disk.".to_owned()),
        )),
    }
}

/// Collects the fields of commands that the operator sets, at any depth.
fn collect_command_settings(value: &Value, found: &mut Vec<(&'static str, Value)>) {
    match value {
        Value::Array(items) => {
            for item in items {
                collect_command_settings(item, found);
            }
        }
        Value::Object(fields) => {
            for (name, inner) in fields {
                let field = OPERATOR_FIELDS.into_iter().find(|field| field == name);
                found.extend(field.map(|field| (field, inner.clone())));
                collect_command_settings(inner, found);
            }
        }
        _ => {}
    }
}

/// Returns the possible names of the script that a path belongs to. A prompt may be in a category
/// or outside of them, so there may be two.
fn possible_script_names(kind: LibraryItemKind, path: &[&str]) -> Vec<String> {
    if kind == LibraryItemKind::Script {
        return path
            .first()
            .map(|id| (*id).to_owned())
            .into_iter()
            .collect();
    }
    let mut names = Vec::new();
    for (at, pair) in path.windows(2).enumerate() {
        if let [folder, id] = pair
            && folder.eq_ignore_ascii_case(TOOLS_FOLDER)
        {
            let outer: Vec<&str> = path.iter().take(at).copied().collect();
            for skipped in 0..outer.len().min(2) {
                let owner: Vec<&str> = outer.iter().skip(skipped).copied().collect();
                names.push(format!("{}:{id}", owner.join("/")));
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_the_scripts_it_may_belong_to() {
        let prompt = |path: &str| {
            possible_script_names(
                LibraryItemKind::Prompt,
                &path.split('/').collect::<Vec<_>>(),
            )
        };
        assert_eq!(prompt("cat/a/tools/b/tool.yaml"), ["cat/a:b", "a:b"]);
        assert_eq!(prompt("a/tools/b/x/y.py"), ["a:b"]);
        assert_eq!(prompt("cat/a/c/tools/b/x"), ["cat/a/c:b", "a/c:b"]);
        assert!(prompt("cat/a/prompt.yaml").is_empty());
        assert_eq!(
            possible_script_names(LibraryItemKind::Script, &["b", "tool.yaml"]),
            ["b"]
        );
    }
}

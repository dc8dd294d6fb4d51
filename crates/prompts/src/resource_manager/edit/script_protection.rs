//! Protects scripts that the operator allowed by name. A caller must not write, change or restore
//! any of their files, or it could run arbitrary code.

use std::collections::BTreeSet;

use deliberate_toolkit::{ErrorCode, ToolError};

use crate::{
    model::LibraryItemKind,
    resource_manager::{
        ManageContext,
        disk::{atomic_files::FileTexts, resource_path::ResourceFiles},
        errors::manage_error,
    },
};

/// The folder of a prompt that contains its tools.
const TOOLS_FOLDER: &str = "tools";

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
            if before.get(name) != after.get(name) {
                if after.contains_key(name) {
                    self.check_no_new_script(name)?;
                }
                let way = files.folder_path.iter().map(String::as_str);
                self.check_not_allowed_script(
                    files.kind,
                    &way.chain(name.split('/')).collect::<Vec<_>>(),
                )?;
            }
        }
        Ok(())
    }

    /// Fails if a file is a script and commands are allowed. A command such as `node --test` runs in
    /// the workspace and would run what a caller has written there.
    fn check_no_new_script(&self, name: &str) -> Result<(), ToolError> {
        let is_definition = std::path::Path::new(name)
            .extension()
            .is_some_and(|ending| ending == "yaml" || ending == "json");
        let is_script = name.starts_with(TOOLS_FOLDER) && !is_definition;
        if !is_script || !self.engine.runner.allows_commands() {
            return Ok(());
        }
        Err(manage_error(
            ErrorCode::OperatorsOwn,
            "The operator allows commands, which could run a script that is written here. Nothing \
             was written."
                .to_owned(),
            Some(
                "Put the script into the workspace on disk, and name it here by its id.".to_owned(),
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

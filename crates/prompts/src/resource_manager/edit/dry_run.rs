//! Validates files before they are written. They are placed in a hidden staging folder and read by
//! the library's own reader, so that every file that is written can be loaded.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use deliberate_toolkit::{ErrorCode, ToolError};
use serde_json::{Value, json};

use super::{dependents, yaml_edit::parse_yaml};
use crate::{
    EngineOptions, LibraryPaths,
    library::{self, LibraryFinding, ProblemSeverity, PromptLibrary},
    model::{CriterionKind, LibraryItemKind, LibraryLayer, TemplateSource},
    resource_manager::{
        ManageContext,
        disk::{
            atomic_files::create_folders,
            resource_path::{FileLayout, ResourceFiles, find_origin, resource_ids},
        },
        errors::{io_error, manage_error, unknown_name},
    },
};

/// The prefix of a staging folder.
const STAGING_PREFIX: &str = ".deliberate-try-";

/// The most problems that are reported.
const MAX_PROBLEMS: usize = 8;

/// The result of a dry run.
#[derive(Debug)]
pub(crate) struct DryRunResult {
    /// The hash of the new resource.
    pub(crate) hash: String,
    /// Warnings for the caller.
    pub(crate) notes: Vec<String>,
    /// Names that a template uses but nothing provides, each with a hint.
    undeclared: Vec<(String, String)>,
}

impl DryRunResult {
    /// Rejects names that nothing provides to a prompt. A prompt that others use may get them from
    /// there.
    pub(crate) fn check_undeclared_names(
        &self,
        library: &PromptLibrary,
        files: &ResourceFiles,
    ) -> Result<(), ToolError> {
        if self.undeclared.is_empty()
            || !dependents::find_dependents(library, files.kind, &files.id).is_empty()
        {
            return Ok(());
        }
        let told = self.undeclared.iter();
        Err(invalid_resource(
            told.map(|(name, help)| {
                format!("The template uses `{name}`, which nothing provides. {help}")
            })
            .collect(),
        ))
    }
}

/// A folder that is removed when this is dropped.
struct StagingFolder(PathBuf);

impl Drop for StagingFolder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, "a staging folder could not be removed");
        }
    }
}

impl ManageContext {
    /// Reads the files as the library would. Every problem that prevents their use is an error.
    pub(crate) fn dry_run(
        &self,
        library: &PromptLibrary,
        files: &ResourceFiles,
    ) -> Result<DryRunResult, ToolError> {
        self.check_file_sizes(files)?;
        let stage = self.create_staging_folder()?;
        let root = stage.0.join("own");
        write_resource(&root, &files.folder_path, files)?;
        if files.kind == LibraryItemKind::Prompt {
            write_placeholders(library, files, &root)?;
        }
        let options = self.staging_options(&stage.0, &root, files.kind);
        let (prompt_library, findings) = library::check_workspace(&options, &|_| None);
        let own = |finding: &&LibraryFinding| finding.problem.id.eq_ignore_ascii_case(&files.id);
        let errors: Vec<String> = findings
            .iter()
            .filter(own)
            .filter(|finding| finding.problem.weight == ProblemSeverity::Error)
            .map(finding_line)
            .collect();
        let loaded = find_origin(&prompt_library, files.kind, &files.id)
            .filter(|(_, origin)| origin.layer == LibraryLayer::Workspace);
        let Some((_, origin)) = loaded.filter(|_| errors.is_empty()) else {
            return Err(invalid_resource(errors));
        };
        self.check_templates(&prompt_library, files)?;
        check_references_exist(&prompt_library, library, files)?;
        let notes = findings
            .iter()
            .filter(own)
            .map(finding_line)
            .take(MAX_PROBLEMS)
            .collect();
        Ok(DryRunResult {
            hash: origin.hash,
            notes,
            undeclared: self.undeclared_names(&prompt_library, files),
        })
    }

    fn check_file_sizes(&self, files: &ResourceFiles) -> Result<(), ToolError> {
        let most = self.engine.options.limits.file_bytes;
        match files
            .files
            .iter()
            .find(|(_, text)| text.len() as u64 > most)
        {
            Some((name, text)) => Err(manage_error(
                ErrorCode::LimitReached,
                format!(
                    "`{name}` would have {} bytes; {most} are allowed. Nothing was written.",
                    text.len()
                ),
                Some("Shorten it, or split it into several prompts.".to_owned()),
            )),
            None => Ok(()),
        }
    }

    /// Creates a staging folder. Folders that a crash left behind are removed, because a dry run
    /// holds the lock.
    fn create_staging_folder(&self) -> Result<StagingFolder, ToolError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let workspace = &self.library_paths().workspace;
        for entry in fs::read_dir(workspace).into_iter().flatten().flatten() {
            if entry
                .file_name()
                .to_string_lossy()
                .starts_with(STAGING_PREFIX)
                && entry.file_type().is_ok_and(|kind| kind.is_dir())
            {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = workspace.join(format!("{STAGING_PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&folder).map_err(|error| io_error("write in", workspace, &error))?;
        Ok(StagingFolder(folder))
    }

    /// Returns options that read the resource's own kind from the staging folder, and everything it
    /// may refer to from the real folders.
    fn staging_options(&self, stage: &Path, own: &Path, kind: LibraryItemKind) -> EngineOptions {
        let real = |other: LibraryItemKind| Some(self.engine.live_library.folder(other));
        let own = |item_kind: LibraryItemKind, otherwise: Option<PathBuf>| {
            if item_kind == kind {
                Some(own.to_path_buf())
            } else {
                otherwise.or_else(|| Some(stage.join("none")))
            }
        };
        EngineOptions {
            paths: LibraryPaths {
                workspace: stage.to_path_buf(),
                prompts: own(LibraryItemKind::Prompt, None),
                gates: own(LibraryItemKind::Gate, real(LibraryItemKind::Gate)),
                methodologies: own(LibraryItemKind::Methodology, None),
                styles: own(LibraryItemKind::Style, None),
                scripts: real(LibraryItemKind::Script),
            },
            limits: self.engine.options.limits.clone(),
            ..EngineOptions::default()
        }
    }

    /// Rejects templates that cannot be parsed, before they are used.
    fn check_templates(
        &self,
        library: &PromptLibrary,
        files: &ResourceFiles,
    ) -> Result<(), ToolError> {
        let Some(prompt) = library
            .prompts
            .get(&files.id)
            .filter(|_| files.kind == LibraryItemKind::Prompt)
        else {
            return Ok(());
        };
        for text in [&prompt.template, &prompt.system].into_iter().flatten() {
            let file = text.file.rsplit('/').next().unwrap_or_default();
            let text = TemplateSource {
                file: file.to_owned(),
                ..text.clone()
            };
            if let Some(error) = self.engine.renderer.compile_check(&text, &files.id) {
                return Err(invalid_resource(vec![error.to_string()]));
            }
        }
        Ok(())
    }
}

impl ManageContext {
    fn undeclared_names(
        &self,
        prompt_library: &PromptLibrary,
        files: &ResourceFiles,
    ) -> Vec<(String, String)> {
        let prompt = prompt_library.prompts.get(&files.id);
        let Some(prompt) = prompt.filter(|_| files.kind == LibraryItemKind::Prompt) else {
            return Vec::new();
        };
        library::undeclared_names(&self.engine.renderer, prompt)
            .into_iter()
            .map(|(name, ..)| {
                let help = library::name_help(prompt, &name);
                (name, help)
            })
            .collect()
    }
}

fn write_resource(root: &Path, way: &[String], files: &ResourceFiles) -> Result<(), ToolError> {
    fs::create_dir_all(root).map_err(|error| io_error("create", root, &error))?;
    let folder = create_folders(root, way.iter().map(String::as_str))?;
    for (name, text) in &files.files {
        if let Some((inner, _)) = name.rsplit_once('/') {
            create_folders(&folder, inner.split('/'))?;
        }
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| io_error("write", &path, &error))?;
    }
    Ok(())
}

/// Writes placeholders for the prompts that the new one refers to, with only their own references:
/// enough to detect missing prompts and cycles.
fn write_placeholders(
    library: &PromptLibrary,
    files: &ResourceFiles,
    root: &Path,
) -> Result<(), ToolError> {
    let mut waiting = referenced_prompts(files);
    let mut seen: BTreeSet<String> = BTreeSet::from([files.id.to_ascii_lowercase()]);
    while let Some(name) = waiting.pop() {
        let Some(prompt) = library.prompt(&name) else {
            continue;
        };
        if !seen.insert(prompt.id.to_ascii_lowercase()) {
            continue;
        }
        let (steps, taken_in) = (
            dependents::step_prompts(prompt),
            dependents::included_prompts(prompt),
        );
        waiting.extend(steps.iter().chain(&taken_in).cloned());
        if prompt.origin.layer != LibraryLayer::Workspace {
            continue;
        }
        let steps: Vec<Value> = steps.iter().map(|id| json!({ "promptId": id })).collect();
        let template: Vec<String> = taken_in
            .iter()
            .map(|id| format!("{{{{ref:{id}}}}}"))
            .collect();
        let file = json!({
            "id": prompt.id.rsplit('/').next(),
            "name": "x",
            "description": "x",
            "userMessageTemplate": format!("x{}", template.concat()),
            "chainSteps": steps,
        });
        let way = std::iter::once("others").chain(prompt.id.split('/'));
        let path = create_folders(root, way)?.join("prompt.yaml");
        fs::write(&path, file.to_string()).map_err(|error| io_error("write", &path, &error))?;
    }
    Ok(())
}

/// Returns the prompts that the raw files name.
fn referenced_prompts(files: &ResourceFiles) -> Vec<String> {
    fn collect_prompt_ids(value: &Value, names: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                if let Some(id) = fields.get("promptId").and_then(Value::as_str) {
                    names.push(id.to_owned());
                }
                fields
                    .values()
                    .for_each(|inner| collect_prompt_ids(inner, names));
            }
            Value::Array(items) => items
                .iter()
                .for_each(|inner| collect_prompt_ids(inner, names)),
            _ => {}
        }
    }
    let mut names = Vec::new();
    for text in files.files.values() {
        names.extend(dependents::template_includes(text));
    }
    if files.layout != FileLayout::Markdown
        && let Some(text) = files.files.get(&files.main_file)
        && let Ok(value) = parse_yaml(text)
    {
        collect_prompt_ids(&value, &mut names);
        for field in ["userMessageTemplate", "systemMessage"] {
            if let Some(text) = value.get(field).and_then(Value::as_str) {
                names.extend(dependents::template_includes(text));
            }
        }
    }
    names
}

/// Rejects references to missing gates and tools. The library only warns of them, because a prompt
/// works without; but a new reference must exist.
fn check_references_exist(
    library: &PromptLibrary,
    now: &PromptLibrary,
    files: &ResourceFiles,
) -> Result<(), ToolError> {
    let gate = |name: &String| {
        if library.gate(name).is_some() {
            Ok(())
        } else {
            Err(unknown_name(
                "gate",
                name,
                resource_ids(library, LibraryItemKind::Gate),
            ))
        }
    };
    match files.kind {
        LibraryItemKind::Prompt => {
            let Some(prompt) = library.prompts.get(&files.id) else {
                return Ok(());
            };
            let own = |name: &String| {
                let defined = &prompt.gates.inline_gate_definitions;
                defined.iter().any(|gate| gate.id.as_ref() == Some(name))
            };
            prompt
                .gates
                .include
                .iter()
                .filter(|name| !own(name))
                .try_for_each(gate)?;
            prompt.tools.iter().try_for_each(|name| {
                if library.script(&prompt.id, name).is_some() {
                    Ok(())
                } else {
                    let shared = library.scripts.keys().map(String::as_str);
                    Err(unknown_name(
                        "script tool",
                        name,
                        shared.filter(|it| !it.contains(':')),
                    ))
                }
            })
        }
        LibraryItemKind::Methodology => library
            .methodologies
            .values()
            .filter(|it| it.id.eq_ignore_ascii_case(&files.id))
            .flat_map(|it| &it.gates.include)
            .try_for_each(gate),
        LibraryItemKind::Gate => {
            let criteria = library.gate(&files.id).map(|it| it.criteria.as_slice());
            criteria
                .unwrap_or_default()
                .iter()
                .try_for_each(|criterion| match &criterion.kind {
                    CriterionKind::ScriptTool { tool } if !now.scripts.contains_key(tool) => Err(
                        unknown_name("script tool", tool, now.scripts.keys().map(String::as_str)),
                    ),
                    CriterionKind::MethodologyCompliance {
                        methodology: Some(name),
                        ..
                    } if now.methodology(name).is_none() => Err(unknown_name(
                        "methodology",
                        name,
                        resource_ids(now, LibraryItemKind::Methodology),
                    )),
                    _ => Ok(()),
                })
        }
        LibraryItemKind::Style | LibraryItemKind::Script => Ok(()),
    }
}

/// Formats a problem as one line.
fn finding_line(finding: &LibraryFinding) -> String {
    let problem = &finding.problem;
    let file = problem.file.rsplit('/').next().unwrap_or_default();
    let place = problem
        .line
        .map_or_else(|| file.to_owned(), |line| format!("{file}, line {line}"));
    let help = problem.help.as_deref().unwrap_or_default();
    format!("{place}: {} {help}", problem.message)
        .trim_end()
        .to_owned()
}

fn invalid_resource(mut errors: Vec<String>) -> ToolError {
    errors.truncate(MAX_PROBLEMS);
    if errors.is_empty() {
        errors.push("The library rejects it.".to_owned());
    }
    manage_error(
        ErrorCode::InvalidResource,
        format!(
            "It is not valid, so nothing was written:\n{}",
            errors.join("\n")
        ),
        None,
    )
}

//! Tries files out before they are written: they are put into a hidden folder of their own and read
//! by the library's own reader, so that what is written always loads.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use deliberate_toolkit::ToolError;
use serde_json::{Value, json};

use super::{
    Desk,
    document::parse,
    failure::{failed, on_disk, unknown},
    files::make_folders,
    place::{Form, Thing, ids, spelled},
    users,
};
use crate::{
    Options, Places,
    library::{self, Finding, Library, Weight},
    model::{CriterionKind, Kind, Layer, Text},
};

/// What the name of a folder for trying out begins with.
const PREFIX: &str = ".deliberate-try-";

/// The most problems that are told.
const MOST: usize = 8;

/// What trying out came to.
#[derive(Debug)]
pub(super) struct Tried {
    /// What the thing is known by from now on.
    pub(super) hash: String,
    /// What is doubtful.
    pub(super) notes: Vec<String>,
    /// Names that a template uses and nothing gives, each with what to do.
    undeclared: Vec<(String, String)>,
}

impl Tried {
    /// Refuses names that nothing gives a prompt. One that others use may get them from there.
    pub(super) fn names_are_known(
        &self,
        library: &Library,
        thing: &Thing,
    ) -> Result<(), ToolError> {
        if self.undeclared.is_empty() || !users::users(library, thing.kind, &thing.id).is_empty() {
            return Ok(());
        }
        let told = self.undeclared.iter();
        Err(unusable(
            told.map(|(name, help)| {
                format!("The template uses `{name}`, which nothing gives it. {help}")
            })
            .collect(),
        ))
    }
}

/// A folder that is gone when this is dropped.
struct Stage(PathBuf);

impl Drop for Stage {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, "a folder for trying out could not be removed");
        }
    }
}

impl Desk {
    /// Reads the files as the library would. Whatever keeps them from being used is an error.
    pub(super) fn try_out(&self, library: &Library, thing: &Thing) -> Result<Tried, ToolError> {
        self.within_limits(thing)?;
        let stage = self.stage()?;
        let root = stage.0.join("own");
        put(&root, &thing.way, thing)?;
        if thing.kind == Kind::Prompt {
            stand_ins(library, thing, &root)?;
        }
        let options = self.options_for(&stage.0, &root, thing.kind);
        let (seen, findings) = library::check(&options, &|_| None);
        let own = |finding: &&Finding| finding.problem.id.eq_ignore_ascii_case(&thing.id);
        let errors: Vec<String> = findings
            .iter()
            .filter(own)
            .filter(|finding| finding.problem.weight == Weight::Error)
            .map(told)
            .collect();
        let loaded = spelled(&seen, thing.kind, &thing.id)
            .filter(|(_, origin)| origin.layer == Layer::Workspace);
        let Some((_, origin)) = loaded.filter(|_| errors.is_empty()) else {
            return Err(unusable(errors));
        };
        self.compile(&seen, thing)?;
        named_things_exist(&seen, library, thing)?;
        let notes = findings.iter().filter(own).map(told).take(MOST).collect();
        Ok(Tried {
            hash: origin.hash,
            notes,
            undeclared: self.undeclared(&seen, thing),
        })
    }

    fn within_limits(&self, thing: &Thing) -> Result<(), ToolError> {
        let most = self.engine.options.limits.file_bytes;
        match thing
            .files
            .iter()
            .find(|(_, text)| text.len() as u64 > most)
        {
            Some((name, text)) => Err(failed(
                "LimitReached",
                format!(
                    "`{name}` would have {} bytes; {most} are allowed. Nothing was written.",
                    text.len()
                ),
                Some("Shorten it, or split it into several prompts.".to_owned()),
            )),
            None => Ok(()),
        }
    }

    /// A fresh folder. Those that a crash left are removed: whoever tries out holds the lock.
    fn stage(&self) -> Result<Stage, ToolError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let workspace = &self.places().workspace;
        for entry in fs::read_dir(workspace).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(PREFIX)
                && entry.file_type().is_ok_and(|kind| kind.is_dir())
            {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = workspace.join(format!("{PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&folder).map_err(|error| on_disk("write in", workspace, &error))?;
        Ok(Stage(folder))
    }

    /// The thing's own kind is read from the stage, what it may name from where it is.
    fn options_for(&self, stage: &Path, own: &Path, kind: Kind) -> Options {
        let real = |other: Kind| Some(self.engine.shelf.folder(other));
        let own = |wanted: Kind, otherwise: Option<PathBuf>| {
            if wanted == kind {
                Some(own.to_path_buf())
            } else {
                otherwise.or_else(|| Some(stage.join("none")))
            }
        };
        Options {
            places: Places {
                workspace: stage.to_path_buf(),
                prompts: own(Kind::Prompt, None),
                gates: own(Kind::Gate, real(Kind::Gate)),
                methodologies: own(Kind::Methodology, None),
                styles: own(Kind::Style, None),
                scripts: real(Kind::Script),
            },
            limits: self.engine.options.limits.clone(),
            ..Options::default()
        }
    }

    /// Templates that can't be read are errors here, not only when they are used.
    fn compile(&self, seen: &Library, thing: &Thing) -> Result<(), ToolError> {
        let Some(prompt) = seen
            .prompts
            .get(&thing.id)
            .filter(|_| thing.kind == Kind::Prompt)
        else {
            return Ok(());
        };
        for text in [&prompt.template, &prompt.system].into_iter().flatten() {
            let file = text.file.rsplit('/').next().unwrap_or_default();
            let text = Text {
                file: file.to_owned(),
                ..text.clone()
            };
            if let Some(error) = self.engine.renderer.compile_check(&text, &thing.id) {
                return Err(unusable(vec![error.to_string()]));
            }
        }
        Ok(())
    }
}

impl Desk {
    fn undeclared(&self, seen: &Library, thing: &Thing) -> Vec<(String, String)> {
        let prompt = seen.prompts.get(&thing.id);
        let Some(prompt) = prompt.filter(|_| thing.kind == Kind::Prompt) else {
            return Vec::new();
        };
        library::undeclared(&self.engine.renderer, prompt)
            .into_iter()
            .map(|(name, ..)| {
                let help = library::name_help(prompt, &name);
                (name, help)
            })
            .collect()
    }
}

fn put(root: &Path, way: &[String], thing: &Thing) -> Result<(), ToolError> {
    fs::create_dir_all(root).map_err(|error| on_disk("make", root, &error))?;
    let folder = make_folders(root, way.iter().map(String::as_str))?;
    for (name, text) in &thing.files {
        if let Some((inner, _)) = name.rsplit_once('/') {
            make_folders(&folder, inner.split('/'))?;
        }
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| on_disk("write", &path, &error))?;
    }
    Ok(())
}

/// Prompts that the new one leads to, with nothing but what they lead to: enough to see that they
/// are there and that nothing goes in a circle.
fn stand_ins(library: &Library, thing: &Thing, root: &Path) -> Result<(), ToolError> {
    let mut waiting = mentioned(thing);
    let mut seen: BTreeSet<String> = BTreeSet::from([thing.id.to_ascii_lowercase()]);
    while let Some(name) = waiting.pop() {
        let Some(prompt) = library.prompt(&name) else {
            continue;
        };
        if !seen.insert(prompt.id.to_ascii_lowercase()) {
            continue;
        }
        let (steps, taken_in) = (users::steps_of(prompt), users::references_of(prompt));
        waiting.extend(steps.iter().chain(&taken_in).cloned());
        if prompt.origin.layer != Layer::Workspace {
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
        let path = make_folders(root, way)?.join("prompt.yaml");
        fs::write(&path, file.to_string()).map_err(|error| on_disk("write", &path, &error))?;
    }
    Ok(())
}

/// The prompts that the files name, before anyone read them.
fn mentioned(thing: &Thing) -> Vec<String> {
    fn steps(value: &Value, names: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                if let Some(id) = fields.get("promptId").and_then(Value::as_str) {
                    names.push(id.to_owned());
                }
                fields.values().for_each(|inner| steps(inner, names));
            }
            Value::Array(items) => items.iter().for_each(|inner| steps(inner, names)),
            _ => {}
        }
    }
    let mut names = Vec::new();
    for text in thing.files.values() {
        names.extend(users::taken_in(text));
    }
    if thing.form != Form::Markdown
        && let Some(text) = thing.files.get(&thing.main)
        && let Ok(value) = parse(text)
    {
        steps(&value, &mut names);
        for field in ["userMessageTemplate", "systemMessage"] {
            if let Some(text) = value.get(field).and_then(Value::as_str) {
                names.extend(users::taken_in(text));
            }
        }
    }
    names
}

/// The library only warns of gates and tools that are not there, because a prompt works without;
/// whoever writes one now means one that is there.
fn named_things_exist(seen: &Library, now: &Library, thing: &Thing) -> Result<(), ToolError> {
    let gate = |name: &String| {
        if seen.gate(name).is_some() {
            Ok(())
        } else {
            Err(unknown("gate", name, ids(seen, Kind::Gate)))
        }
    };
    match thing.kind {
        Kind::Prompt => {
            let Some(prompt) = seen.prompts.get(&thing.id) else {
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
                if seen.script(&prompt.id, name).is_some() {
                    Ok(())
                } else {
                    let shared = seen.scripts.keys().map(String::as_str);
                    Err(unknown(
                        "script tool",
                        name,
                        shared.filter(|it| !it.contains(':')),
                    ))
                }
            })
        }
        Kind::Methodology => seen
            .methodologies
            .values()
            .filter(|it| it.id.eq_ignore_ascii_case(&thing.id))
            .flat_map(|it| &it.gates.include)
            .try_for_each(gate),
        Kind::Gate => {
            let criteria = seen.gate(&thing.id).map(|it| it.criteria.as_slice());
            criteria
                .unwrap_or_default()
                .iter()
                .try_for_each(|criterion| match &criterion.kind {
                    CriterionKind::ScriptTool { tool } if !now.scripts.contains_key(tool) => Err(
                        unknown("script tool", tool, now.scripts.keys().map(String::as_str)),
                    ),
                    CriterionKind::MethodologyCompliance {
                        methodology: Some(name),
                        ..
                    } if now.methodology(name).is_none() => {
                        Err(unknown("methodology", name, ids(now, Kind::Methodology)))
                    }
                    _ => Ok(()),
                })
        }
        Kind::Style | Kind::Script => Ok(()),
    }
}

/// A problem in a line.
fn told(finding: &Finding) -> String {
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

fn unusable(mut errors: Vec<String>) -> ToolError {
    errors.truncate(MOST);
    if errors.is_empty() {
        errors.push("The library does not take it in.".to_owned());
    }
    failed(
        "InvalidResource",
        format!(
            "It could not be used, so nothing was written:\n{}",
            errors.join("\n")
        ),
        None,
    )
}

//! Merges the parts into one library: decides which of two items wins, which last good versions
//! stay in use, and checks the references between parts. Reads no files.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    InjectionConfig, LibraryProblem, ProblemSeverity, PromptLibrary,
    part::{LibraryItem, NameReference, PromptItem},
    part_cache::PartCache,
    validate::{
        cross_references::{self, CrossReferenceError, PromptsByKey},
        missing_references::KnownNames,
        templates,
    },
};
use crate::model::{
    Gate, ItemOrigin, LibraryItemKind, LibraryLayer, Methodology, PromptCategory, ResponseStyle,
    ScriptTool,
};

/// A library, and the data needed to build the next one from it.
#[derive(Debug, Default)]
pub(crate) struct MergedLibrary {
    pub(crate) library: Arc<PromptLibrary>,
    pub(crate) prompts: PromptsByKey,
    references: BTreeMap<String, Vec<NameReference>>,
}

/// Merges the parts. An item that became invalid keeps its last good version.
pub(crate) fn merge_layers(stock: &PartCache, before: Option<&MergedLibrary>) -> MergedLibrary {
    let mut draft = LibraryBuilder::default();
    draft.problems.extend(stock.problems.iter().cloned());
    for unit in stock.parts.values() {
        draft.problems.extend(unit.problems.iter().cloned());
        for item in &unit.items {
            draft.add(item);
        }
    }
    if let Some(before) = before {
        draft.keep_last_good(before);
    }
    draft.drop_foreign_tools();
    draft.cross_check(before, stock);
    draft.finish(before)
}

/// A library under construction. All keys ignore case.
#[derive(Default)]
struct LibraryBuilder {
    prompts: PromptsByKey,
    gates: BTreeMap<String, Arc<Gate>>,
    methodologies: BTreeMap<String, Arc<Methodology>>,
    references: BTreeMap<String, Vec<NameReference>>,
    styles: BTreeMap<String, Arc<ResponseStyle>>,
    scripts: BTreeMap<String, Arc<ScriptTool>>,
    categories: BTreeMap<String, Arc<PromptCategory>>,
    injection: InjectionConfig,
    problems: Vec<LibraryProblem>,
}

impl LibraryBuilder {
    fn add(&mut self, item: &LibraryItem) {
        match item {
            LibraryItem::Prompt(item) => self.add_prompt(item),
            LibraryItem::Gate(it) => {
                let problem = insert_or_report(
                    &mut self.gates,
                    &it.id,
                    it,
                    |it| &it.origin,
                    LibraryItemKind::Gate,
                );
                self.problems.extend(problem);
            }
            LibraryItem::Methodology(it, mentions) => {
                let problem = insert_or_report(
                    &mut self.methodologies,
                    &it.id,
                    it,
                    |it| &it.origin,
                    LibraryItemKind::Methodology,
                );
                if problem.is_none() {
                    self.references
                        .insert(normalized_key(&it.id), mentions.clone());
                }
                self.problems.extend(problem);
            }
            LibraryItem::Style(it) => {
                let problem = insert_or_report(
                    &mut self.styles,
                    &it.id,
                    it,
                    |it| &it.origin,
                    LibraryItemKind::Style,
                );
                self.problems.extend(problem);
            }
            LibraryItem::Script(it) => {
                let id = script_key(it);
                let problem = insert_or_report(
                    &mut self.scripts,
                    &id,
                    it,
                    |it| &it.origin,
                    LibraryItemKind::Script,
                );
                self.problems.extend(problem);
            }
            LibraryItem::Category(it) => {
                self.categories.insert(it.id.clone(), Arc::clone(it));
            }
            LibraryItem::Injection(it) => self.injection.merge(it),
        }
    }

    /// Adds a prompt: a folder wins over a file, the workspace over the shipped library, else the
    /// first one wins.
    fn add_prompt(&mut self, item: &PromptItem) {
        let id = normalized_key(&item.prompt.id);
        let Some(other) = self.prompts.get(&id) else {
            self.prompts.insert(id, item.clone());
            return;
        };
        if other.prompt.origin.layer != item.prompt.origin.layer {
            self.prompts.insert(id, item.clone());
            return;
        }
        let (winner, loser) = if other.is_single_file && !item.is_single_file {
            (item.clone(), other.clone())
        } else {
            (other.clone(), item.clone())
        };
        self.problems.push(duplicate_id_problem(
            LibraryItemKind::Prompt,
            &loser.prompt.id,
            &loser.prompt.origin,
            &winner.prompt.origin,
        ));
        self.prompts.insert(id, winner);
    }

    /// Keeps the last good version of every item that has an error.
    fn keep_last_good(&mut self, before: &MergedLibrary) {
        let old = &before.library;
        for problem in &mut self.problems {
            if problem.weight != ProblemSeverity::Error {
                continue;
            }
            let id = normalized_key(&problem.id);
            problem.last_good_kept |= match problem.kind {
                LibraryItemKind::Prompt => {
                    let kept = before
                        .prompts
                        .get(&id)
                        .map(|it| (&it.prompt.origin, it.clone()));
                    keep_previous(&mut self.prompts, id, kept, |it| &it.prompt.origin)
                }
                LibraryItemKind::Gate => {
                    let kept = old.gate(&problem.id).map(|it| (&it.origin, Arc::clone(it)));
                    keep_previous(&mut self.gates, id, kept, |it| &it.origin)
                }
                LibraryItemKind::Methodology => {
                    let kept = old
                        .methodologies
                        .values()
                        .find(|it| normalized_key(&it.id) == id)
                        .map(|it| (&it.origin, Arc::clone(it)));
                    if let Some(mentions) = before.references.get(&id) {
                        self.references
                            .entry(id.clone())
                            .or_insert_with(|| mentions.clone());
                    }
                    keep_previous(&mut self.methodologies, id, kept, |it| &it.origin)
                }
                LibraryItemKind::Style => {
                    let kept = old
                        .styles
                        .values()
                        .find(|it| normalized_key(&it.id) == id)
                        .map(|it| (&it.origin, Arc::clone(it)));
                    keep_previous(&mut self.styles, id, kept, |it| &it.origin)
                }
                LibraryItemKind::Script => {
                    let kept = old
                        .scripts
                        .get(&problem.id)
                        .map(|it| (&it.origin, Arc::clone(it)));
                    keep_previous(&mut self.scripts, id, kept, |it| &it.origin)
                }
            };
        }
    }

    /// Removes the tools of a shipped prompt that the workspace overrides.
    fn drop_foreign_tools(&mut self) {
        let prompts = &self.prompts;
        self.scripts.retain(|_, tool| {
            tool.owner.as_ref().is_none_or(|owner| {
                prompts
                    .get(&normalized_key(owner))
                    .is_some_and(|item| item.prompt.origin.layer == tool.origin.layer)
            })
        });
    }

    /// Removes prompts with broken references until none is left. The version before the last
    /// change is tried first.
    fn cross_check(&mut self, before: Option<&MergedLibrary>, stock: &PartCache) {
        let mut gone: BTreeSet<String> = self
            .problems
            .iter()
            .filter(|problem| {
                problem.kind == LibraryItemKind::Prompt && problem.weight == ProblemSeverity::Error
            })
            .map(|problem| normalized_key(&problem.id))
            .filter(|id| !self.prompts.contains_key(id))
            .collect();
        let mut tried: BTreeSet<String> = BTreeSet::new();
        loop {
            let errors =
                cross_references::cross_reference_errors(&self.prompts, &gone, &stock.limits);
            if errors.is_empty() {
                break;
            }
            let mut replaced = BTreeSet::new();
            for CrossReferenceError {
                key: id, problem, ..
            } in errors.iter().filter(|it| !it.downstream)
            {
                if replaced.contains(id) {
                    continue;
                }
                let earlier = before.and_then(|before| before.prompts.get(id));
                if let Some(earlier) = earlier
                    && let Some(current) = self.prompts.get(id)
                    && current.prompt.origin.layer == earlier.prompt.origin.layer
                    && current.prompt.origin.hash != earlier.prompt.origin.hash
                    && tried.insert(id.clone())
                {
                    let mut problem = problem.clone();
                    problem.last_good_kept = true;
                    self.problems.push(problem);
                    self.prompts.insert(id.clone(), earlier.clone());
                    replaced.insert(id.clone());
                }
            }
            if !replaced.is_empty() {
                continue;
            }
            for CrossReferenceError {
                key: id, problem, ..
            } in errors
            {
                self.prompts.remove(&id);
                // Problems of a version that is no longer on disk are not reported.
                let mut was_earlier = tried.contains(&id);
                for other in &mut self.problems {
                    if other.kind == LibraryItemKind::Prompt && normalized_key(&other.id) == id {
                        was_earlier |= other.last_good_kept;
                        other.last_good_kept = false;
                    }
                }
                if !was_earlier {
                    self.problems.push(problem);
                }
                gone.insert(id);
            }
        }
    }

    fn finish(mut self, before: Option<&MergedLibrary>) -> MergedLibrary {
        self.drop_foreign_tools();
        let gates = index_by(self.gates, |it| it.id.clone());
        let scripts = index_by(self.scripts, script_key);
        let mut present = KnownNames::new(&gates, &scripts);
        for item in self.prompts.values() {
            let id = &item.prompt.id;
            let absent = present.missing_references(LibraryItemKind::Prompt, id, &item.references);
            self.problems.extend(absent);
        }
        for (id, mentions) in &self.references {
            if let Some(it) = self.methodologies.get(id) {
                let absent =
                    present.missing_references(LibraryItemKind::Methodology, &it.id, mentions);
                self.problems.extend(absent);
            }
        }
        let loose = templates::unknown_name_problems(self.prompts.values());
        self.problems.extend(loose);
        let prompts: BTreeMap<_, _> = self
            .prompts
            .values()
            .map(|item| (item.prompt.id.clone(), Arc::clone(&item.prompt)))
            .collect();
        for prompt in prompts.values() {
            self.categories
                .entry(prompt.category.clone())
                .or_insert_with(|| Arc::new(default_category(&prompt.category)));
        }
        let mut problems = self.problems;
        problems.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)));
        problems.dedup();
        let library = PromptLibrary {
            prompts,
            gates,
            methodologies: index_by(self.methodologies, |it| it.id.clone()),
            styles: index_by(self.styles, |it| it.id.clone()),
            scripts,
            categories: self.categories,
            injection: Arc::new(self.injection),
            problems,
            generation: before.map_or(1, |before| before.library.generation + 1),
        };
        MergedLibrary {
            library: Arc::new(library),
            prompts: self.prompts,
            references: self.references,
        }
    }
}

fn sort_key(problem: &LibraryProblem) -> (&str, Option<u32>, Option<u32>, &str, &str) {
    (
        &problem.file,
        problem.line,
        problem.column,
        &problem.id,
        &problem.message,
    )
}

fn normalized_key(id: &str) -> String {
    id.to_ascii_lowercase()
}

fn script_key(tool: &Arc<ScriptTool>) -> String {
    tool.owner
        .as_ref()
        .map_or_else(|| tool.id.clone(), |owner| format!("{owner}:{}", tool.id))
}

fn index_by<T>(
    all: BTreeMap<String, Arc<T>>,
    id: impl Fn(&Arc<T>) -> String,
) -> BTreeMap<String, Arc<T>> {
    all.into_values().map(|it| (id(&it), it)).collect()
}

/// Inserts an item, or reports that the same layer already has one with this id.
fn insert_or_report<T>(
    all: &mut BTreeMap<String, Arc<T>>,
    id: &str,
    it: &Arc<T>,
    origin: impl Fn(&T) -> &ItemOrigin,
    kind: LibraryItemKind,
) -> Option<LibraryProblem> {
    if let Some(other) = all.get(&normalized_key(id))
        && origin(other).layer == origin(it).layer
    {
        return Some(duplicate_id_problem(kind, id, origin(it), origin(other)));
    }
    all.insert(normalized_key(id), Arc::clone(it));
    None
}

/// Keeps the previous version of a workspace item that has no current one.
fn keep_previous<T>(
    all: &mut BTreeMap<String, T>,
    id: String,
    kept: Option<(&ItemOrigin, T)>,
    origin: impl Fn(&T) -> &ItemOrigin,
) -> bool {
    match kept {
        Some((from, it))
            if from.layer == LibraryLayer::Workspace
                && all
                    .get(&id)
                    .is_none_or(|now| origin(now).layer == LibraryLayer::Shipped) =>
        {
            all.insert(id, it);
            true
        }
        _ => false,
    }
}

fn duplicate_id_problem(
    kind: LibraryItemKind,
    id: &str,
    loser: &ItemOrigin,
    winner: &ItemOrigin,
) -> LibraryProblem {
    LibraryProblem {
        weight: ProblemSeverity::Warning,
        file: loser.file.clone(),
        line: None,
        column: None,
        kind,
        id: id.to_owned(),
        message: format!(
            "The id `{id}` is already used by `{}`, so this file is ignored.",
            winner.file
        ),
        help: Some("Change the id of one of them, or remove it.".to_owned()),
        last_good_kept: false,
    }
}

fn default_category(id: &str) -> PromptCategory {
    PromptCategory {
        id: id.to_owned(),
        name: id.to_owned(),
        ..PromptCategory::default()
    }
}

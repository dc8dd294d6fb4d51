//! From the parts to one library: which of two wins, what stays in use although its file is
//! broken, what the parts say about each other. Reads no file.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    InjectionConfig, Library, Problem, Weight,
    absent::Present,
    cross::{self, Fault, Prompts},
    stock::Stock,
    templates,
    unit::{Item, Mention, PromptItem},
};
use crate::model::{Category, Gate, Kind, Layer, Methodology, Origin, ScriptTool, Style};

/// A library, and what is needed to make the next one from it.
#[derive(Debug, Default)]
pub(crate) struct Assembled {
    pub(crate) library: Arc<Library>,
    pub(crate) prompts: Prompts,
    mentions: BTreeMap<String, Vec<Mention>>,
}

/// Puts the parts together. What can't be used now and could before stays as it was.
pub(crate) fn assemble(stock: &Stock, before: Option<&Assembled>) -> Assembled {
    let mut draft = Draft::default();
    draft.problems.extend(stock.problems.iter().cloned());
    for unit in stock.units.values() {
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

/// A library in the making. All keys are without regard to case.
#[derive(Default)]
struct Draft {
    prompts: Prompts,
    gates: BTreeMap<String, Arc<Gate>>,
    methodologies: BTreeMap<String, Arc<Methodology>>,
    mentions: BTreeMap<String, Vec<Mention>>,
    styles: BTreeMap<String, Arc<Style>>,
    scripts: BTreeMap<String, Arc<ScriptTool>>,
    categories: BTreeMap<String, Arc<Category>>,
    injection: InjectionConfig,
    problems: Vec<Problem>,
}

impl Draft {
    fn add(&mut self, item: &Item) {
        match item {
            Item::Prompt(item) => self.add_prompt(item),
            Item::Gate(it) => {
                let problem = put(&mut self.gates, &it.id, it, |it| &it.origin, Kind::Gate);
                self.problems.extend(problem);
            }
            Item::Methodology(it, mentions) => {
                let problem = put(
                    &mut self.methodologies,
                    &it.id,
                    it,
                    |it| &it.origin,
                    Kind::Methodology,
                );
                if problem.is_none() {
                    self.mentions.insert(key(&it.id), mentions.clone());
                }
                self.problems.extend(problem);
            }
            Item::Style(it) => {
                let problem = put(&mut self.styles, &it.id, it, |it| &it.origin, Kind::Style);
                self.problems.extend(problem);
            }
            Item::Script(it) => {
                let id = script_key(it);
                let problem = put(&mut self.scripts, &id, it, |it| &it.origin, Kind::Script);
                self.problems.extend(problem);
            }
            Item::Category(it) => {
                self.categories.insert(it.id.clone(), Arc::clone(it));
            }
            Item::Injection(it) => self.injection.add(it),
        }
    }

    /// A folder wins over a file, the workspace over what is shipped, else the first.
    fn add_prompt(&mut self, item: &PromptItem) {
        let id = key(&item.prompt.id);
        let Some(other) = self.prompts.get(&id) else {
            self.prompts.insert(id, item.clone());
            return;
        };
        if other.prompt.origin.layer != item.prompt.origin.layer {
            self.prompts.insert(id, item.clone());
            return;
        }
        let (winner, loser) = if other.single && !item.single {
            (item.clone(), other.clone())
        } else {
            (other.clone(), item.clone())
        };
        self.problems.push(twice(
            Kind::Prompt,
            &loser.prompt.id,
            &loser.prompt.origin,
            &winner.prompt.origin,
        ));
        self.prompts.insert(id, winner);
    }

    /// What has an error and no good form keeps the form it had.
    fn keep_last_good(&mut self, before: &Assembled) {
        let old = &before.library;
        for problem in &mut self.problems {
            if problem.weight != Weight::Error {
                continue;
            }
            let id = key(&problem.id);
            problem.last_good_kept |= match problem.kind {
                Kind::Prompt => {
                    let kept = before
                        .prompts
                        .get(&id)
                        .map(|it| (&it.prompt.origin, it.clone()));
                    keep(&mut self.prompts, id, kept, |it| &it.prompt.origin)
                }
                Kind::Gate => {
                    let kept = old.gate(&problem.id).map(|it| (&it.origin, Arc::clone(it)));
                    keep(&mut self.gates, id, kept, |it| &it.origin)
                }
                Kind::Methodology => {
                    let kept = old
                        .methodologies
                        .values()
                        .find(|it| key(&it.id) == id)
                        .map(|it| (&it.origin, Arc::clone(it)));
                    if let Some(mentions) = before.mentions.get(&id) {
                        self.mentions
                            .entry(id.clone())
                            .or_insert_with(|| mentions.clone());
                    }
                    keep(&mut self.methodologies, id, kept, |it| &it.origin)
                }
                Kind::Style => {
                    let kept = old
                        .styles
                        .values()
                        .find(|it| key(&it.id) == id)
                        .map(|it| (&it.origin, Arc::clone(it)));
                    keep(&mut self.styles, id, kept, |it| &it.origin)
                }
                Kind::Script => {
                    let kept = old
                        .scripts
                        .get(&problem.id)
                        .map(|it| (&it.origin, Arc::clone(it)));
                    keep(&mut self.scripts, id, kept, |it| &it.origin)
                }
            };
        }
    }

    /// A prompt that replaces a shipped one does not get the shipped one's tools.
    fn drop_foreign_tools(&mut self) {
        let prompts = &self.prompts;
        self.scripts.retain(|_, tool| {
            tool.owner.as_ref().is_none_or(|owner| {
                prompts
                    .get(&key(owner))
                    .is_some_and(|item| item.prompt.origin.layer == tool.origin.layer)
            })
        });
    }

    /// Takes out what can't be used because of something elsewhere, until nothing is left to
    /// take out. First the form before the last change is tried.
    fn cross_check(&mut self, before: Option<&Assembled>, stock: &Stock) {
        let mut gone: BTreeSet<String> = self
            .problems
            .iter()
            .filter(|problem| problem.kind == Kind::Prompt && problem.weight == Weight::Error)
            .map(|problem| key(&problem.id))
            .filter(|id| !self.prompts.contains_key(id))
            .collect();
        let mut tried: BTreeSet<String> = BTreeSet::new();
        loop {
            let errors = cross::errors(&self.prompts, &gone, &stock.limits);
            if errors.is_empty() {
                break;
            }
            let mut replaced = BTreeSet::new();
            for Fault {
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
            for Fault {
                key: id, problem, ..
            } in errors
            {
                self.prompts.remove(&id);
                // What is wrong with a form that is no longer on disk is of no use to anyone.
                let mut was_earlier = tried.contains(&id);
                for other in &mut self.problems {
                    if other.kind == Kind::Prompt && key(&other.id) == id {
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

    fn finish(mut self, before: Option<&Assembled>) -> Assembled {
        self.drop_foreign_tools();
        let gates = by(self.gates, |it| it.id.clone());
        let scripts = by(self.scripts, script_key);
        let mut present = Present::new(&gates, &scripts);
        for item in self.prompts.values() {
            let id = &item.prompt.id;
            let absent = present.absent(Kind::Prompt, id, &item.mentions);
            self.problems.extend(absent);
        }
        for (id, mentions) in &self.mentions {
            if let Some(it) = self.methodologies.get(id) {
                let absent = present.absent(Kind::Methodology, &it.id, mentions);
                self.problems.extend(absent);
            }
        }
        let loose = templates::unknown_names(self.prompts.values());
        self.problems.extend(loose);
        let prompts: BTreeMap<_, _> = self
            .prompts
            .values()
            .map(|item| (item.prompt.id.clone(), Arc::clone(&item.prompt)))
            .collect();
        for prompt in prompts.values() {
            self.categories
                .entry(prompt.category.clone())
                .or_insert_with(|| Arc::new(undescribed(&prompt.category)));
        }
        let mut problems = self.problems;
        problems.sort_by(|a, b| order(a).cmp(&order(b)));
        problems.dedup();
        let library = Library {
            prompts,
            gates,
            methodologies: by(self.methodologies, |it| it.id.clone()),
            styles: by(self.styles, |it| it.id.clone()),
            scripts,
            categories: self.categories,
            injection: Arc::new(self.injection),
            problems,
            generation: before.map_or(1, |before| before.library.generation + 1),
        };
        Assembled {
            library: Arc::new(library),
            prompts: self.prompts,
            mentions: self.mentions,
        }
    }
}

fn order(problem: &Problem) -> (&str, Option<u32>, Option<u32>, &str, &str) {
    (
        &problem.file,
        problem.line,
        problem.column,
        &problem.id,
        &problem.message,
    )
}

fn key(id: &str) -> String {
    id.to_ascii_lowercase()
}

fn script_key(tool: &Arc<ScriptTool>) -> String {
    tool.owner
        .as_ref()
        .map_or_else(|| tool.id.clone(), |owner| format!("{owner}:{}", tool.id))
}

fn by<T>(
    all: BTreeMap<String, Arc<T>>,
    id: impl Fn(&Arc<T>) -> String,
) -> BTreeMap<String, Arc<T>> {
    all.into_values().map(|it| (id(&it), it)).collect()
}

/// Puts something in unless it is there already from the same layer.
fn put<T>(
    all: &mut BTreeMap<String, Arc<T>>,
    id: &str,
    it: &Arc<T>,
    origin: impl Fn(&T) -> &Origin,
    kind: Kind,
) -> Option<Problem> {
    if let Some(other) = all.get(&key(id))
        && origin(other).layer == origin(it).layer
    {
        return Some(twice(kind, id, origin(it), origin(other)));
    }
    all.insert(key(id), Arc::clone(it));
    None
}

/// Keeps the form that a thing of the workspace had, if it has no other.
fn keep<T>(
    all: &mut BTreeMap<String, T>,
    id: String,
    kept: Option<(&Origin, T)>,
    origin: impl Fn(&T) -> &Origin,
) -> bool {
    match kept {
        Some((from, it))
            if from.layer == Layer::Workspace
                && all
                    .get(&id)
                    .is_none_or(|now| origin(now).layer == Layer::Shipped) =>
        {
            all.insert(id, it);
            true
        }
        _ => false,
    }
}

fn twice(kind: Kind, id: &str, loser: &Origin, winner: &Origin) -> Problem {
    Problem {
        weight: Weight::Warning,
        file: loser.file.clone(),
        line: None,
        column: None,
        kind,
        id: id.to_owned(),
        message: format!(
            "The id `{id}` is taken by `{}`, which is used.",
            winner.file
        ),
        help: Some("Give one of them another id, or remove it.".to_owned()),
        last_good_kept: false,
    }
}

fn undescribed(id: &str) -> Category {
    Category {
        id: id.to_owned(),
        name: id.to_owned(),
        ..Category::default()
    }
}

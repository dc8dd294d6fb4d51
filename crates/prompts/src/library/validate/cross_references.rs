//! Checks that need the whole library: unknown names, chains that contain themselves, and chains
//! that are nested too deep.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{
    library::{
        LibraryProblem, ProblemSeverity, id_grammar,
        part::{NameReference, NameReferenceKind, PromptItem},
        read::source_file::truncate,
    },
    model::LibraryItemKind,
    options::EngineLimits,
};

/// Prompts by a key that ignores case.
pub(crate) type PromptsByKey = BTreeMap<String, PromptItem>;

/// The maximum number of names for which a similar one is searched: each search compares all names.
pub(crate) const MAX_SUGGESTIONS: usize = 50;

/// A prompt that cannot be used.
pub(crate) struct CrossReferenceError {
    pub(crate) key: String,
    pub(crate) problem: LibraryProblem,
    /// Whether the only reason is another prompt that cannot be used.
    pub(crate) downstream: bool,
}

impl CrossReferenceError {
    fn new(key: &str, problem: LibraryProblem) -> Self {
        Self {
            key: key.to_owned(),
            problem,
            downstream: false,
        }
    }
}

/// Returns the prompts with errors that only the whole library shows.
pub(crate) fn cross_reference_errors(
    prompts: &PromptsByKey,
    gone: &BTreeSet<String>,
    limits: &EngineLimits,
) -> Vec<CrossReferenceError> {
    let index: HashMap<String, &str> = prompts
        .keys()
        .map(|key| (id_grammar::normalize_name(key), key.as_str()))
        .collect();
    let mut found = unknown_reference_errors(prompts, &index, gone);
    for kind in [NameReferenceKind::Step, NameReferenceKind::Include] {
        found.extend(cycle_and_depth_errors(prompts, &index, kind, limits));
    }
    found
}

fn resolve<'p>(
    prompts: &'p PromptsByKey,
    index: &HashMap<String, &'p str>,
    name: &str,
) -> Option<&'p str> {
    prompts
        .get_key_value(&name.to_ascii_lowercase())
        .map(|(key, _)| key.as_str())
        .or_else(|| index.get(&id_grammar::normalize_name(name)).copied())
}

fn unknown_reference_errors(
    prompts: &PromptsByKey,
    index: &HashMap<String, &str>,
    gone: &BTreeSet<String>,
) -> Vec<CrossReferenceError> {
    let mut found = Vec::new();
    for (key, item) in prompts {
        for mention in item.references.iter() {
            if !matches!(
                mention.kind,
                NameReferenceKind::Step | NameReferenceKind::Include
            ) || resolve(prompts, index, &mention.name).is_some()
            {
                continue;
            }
            let name = truncate(&mention.name);
            let (message, help) = if gone.contains(&mention.name.to_ascii_lowercase()) {
                let (message, help) = unusable_prompt_message(&mention.name);
                (message, Some(help))
            } else {
                let near = (found.len() < MAX_SUGGESTIONS)
                    .then(|| {
                        let known = prompts.keys().map(String::as_str);
                        deliberate_core::did_you_mean(&mention.name, known)
                    })
                    .flatten();
                (
                    format!("There is no prompt `{name}`."),
                    Some(near.map_or_else(
                        || "Create it, or remove the reference.".to_owned(),
                        |near| format!("Did you mean `{near}`?"),
                    )),
                )
            };
            found.push(CrossReferenceError::new(
                key,
                reference_problem(
                    ProblemSeverity::Error,
                    LibraryItemKind::Prompt,
                    &item.prompt.id,
                    mention,
                    message,
                    help,
                ),
            ));
        }
    }
    found
}

/// Finds prompts that contain themselves through steps or includes, and prompts nested too deep.
fn cycle_and_depth_errors(
    prompts: &PromptsByKey,
    index: &HashMap<String, &str>,
    kind: NameReferenceKind,
    limits: &EngineLimits,
) -> Vec<CrossReferenceError> {
    let edges = edges(prompts, index, kind);
    let heights = heights(&edges);
    let mut found = Vec::new();
    for (key, height) in &heights {
        if *height > limits.depth
            && let Some(item) = prompts.get(*key)
            && let Some(mention) = item.references.iter().find(|it| it.kind == kind)
        {
            let message = format!(
                "Prompts are nested {height} levels deep from here; at most {} are allowed.",
                limits.depth
            );
            let problem = reference_problem(
                ProblemSeverity::Error,
                LibraryItemKind::Prompt,
                &item.prompt.id,
                mention,
                message,
                None,
            );
            found.push(CrossReferenceError::new(key, problem));
        }
    }
    let circles = find_cycles(&edges, &heights);
    let mut told: BTreeSet<&str> = BTreeSet::new();
    for circle in &circles {
        told.extend(circle);
        found.extend(cycle_errors(prompts, index, kind, circle));
    }
    let stuck = |key: &str| edges.contains_key(key) && !heights.contains_key(key);
    for key in edges
        .keys()
        .filter(|key| stuck(key) && !told.contains(*key))
    {
        found.extend(downstream_error(prompts, index, kind, key, &stuck));
    }
    found
}

/// Creates the error of a prompt that refers to a cycle without being part of it.
fn downstream_error(
    prompts: &PromptsByKey,
    index: &HashMap<String, &str>,
    kind: NameReferenceKind,
    key: &str,
    stuck: &dyn Fn(&str) -> bool,
) -> Option<CrossReferenceError> {
    let item = prompts.get(key)?;
    let mention = item.references.iter().find(|mention| {
        mention.kind == kind && resolve(prompts, index, &mention.name).is_some_and(stuck)
    })?;
    let (message, help) = unusable_prompt_message(&mention.name);
    let id = &item.prompt.id;
    let problem = reference_problem(
        ProblemSeverity::Error,
        LibraryItemKind::Prompt,
        id,
        mention,
        message,
        Some(help),
    );
    Some(CrossReferenceError {
        downstream: true,
        ..CrossReferenceError::new(key, problem)
    })
}

fn unusable_prompt_message(name: &str) -> (String, String) {
    (
        format!("The prompt `{}` cannot be used.", truncate(name)),
        "Fix the problem of that prompt first.".to_owned(),
    )
}

type PromptEdges<'p> = BTreeMap<&'p str, Vec<&'p str>>;

fn edges<'p>(
    prompts: &'p PromptsByKey,
    index: &HashMap<String, &'p str>,
    kind: NameReferenceKind,
) -> PromptEdges<'p> {
    prompts
        .iter()
        .map(|(key, item)| {
            let targets = item
                .references
                .iter()
                .filter(|mention| mention.kind == kind)
                .filter_map(|mention| resolve(prompts, index, &mention.name))
                .collect();
            (key.as_str(), targets)
        })
        .filter(|(_, targets): &(&str, Vec<&str>)| !targets.is_empty())
        .collect()
}

/// Returns the number of levels below each prompt. A prompt that leads to a cycle has no height.
fn heights<'p>(edges: &PromptEdges<'p>) -> BTreeMap<&'p str, usize> {
    let mut waiting: BTreeMap<&str, usize> = BTreeMap::new();
    let mut users: BTreeMap<&str, Vec<&'p str>> = BTreeMap::new();
    let mut ready: Vec<&'p str> = Vec::new();
    for (key, targets) in edges {
        let inner: BTreeSet<&str> = targets
            .iter()
            .copied()
            .filter(|target| edges.contains_key(target))
            .collect();
        if inner.is_empty() {
            ready.push(key);
        }
        waiting.insert(key, inner.len());
        for target in inner {
            users.entry(target).or_default().push(key);
        }
    }
    let mut heights: BTreeMap<&'p str, usize> = BTreeMap::new();
    while let Some(key) = ready.pop() {
        let below = edges
            .get(key)
            .into_iter()
            .flatten()
            .filter_map(|target| heights.get(target))
            .max()
            .copied()
            .unwrap_or(0);
        heights.insert(key, below + 1);
        for user in users.get(key).into_iter().flatten() {
            if let Some(left) = waiting.get_mut(user) {
                *left = left.saturating_sub(1);
                if *left == 0 {
                    ready.push(user);
                }
            }
        }
    }
    heights
}

/// Returns the cycles among the prompts without a height.
fn find_cycles<'p>(edges: &PromptEdges<'p>, heights: &BTreeMap<&str, usize>) -> Vec<Vec<&'p str>> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut found = Vec::new();
    for start in edges.keys() {
        let mut way: Vec<&'p str> = Vec::new();
        let mut here = Some(*start);
        while let Some(key) = here.filter(|key| !seen.contains(key) && !heights.contains_key(key)) {
            seen.insert(key);
            way.push(key);
            here = edges
                .get(key)
                .into_iter()
                .flatten()
                .copied()
                .find(|target| edges.contains_key(target) && !heights.contains_key(target));
        }
        if let Some(last) = here
            && let Some(begin) = way.iter().position(|key| *key == last)
        {
            found.push(way.split_off(begin));
        }
    }
    found
}

fn cycle_errors(
    prompts: &PromptsByKey,
    index: &HashMap<String, &str>,
    kind: NameReferenceKind,
    circle: &[&str],
) -> Vec<CrossReferenceError> {
    let mut found = Vec::new();
    for (at, key) in circle.iter().enumerate() {
        let next = circle.get(at + 1).or(circle.first());
        let Some(item) = prompts.get(*key) else {
            continue;
        };
        let Some(mention) = item.references.iter().find(|mention| {
            mention.kind == kind && resolve(prompts, index, &mention.name) == next.copied()
        }) else {
            continue;
        };
        let names: Vec<&str> = circle
            .iter()
            .cycle()
            .skip(at)
            .take(circle.len() + 1)
            .filter_map(|key| prompts.get(*key))
            .map(|item| item.prompt.id.as_str())
            .collect();
        let message = format!("The prompt contains itself: {}.", names.join(" → "));
        let help = Some("Remove one of these steps.".to_owned());
        let problem = reference_problem(
            ProblemSeverity::Error,
            LibraryItemKind::Prompt,
            &item.prompt.id,
            mention,
            message,
            help,
        );
        found.push(CrossReferenceError::new(key, problem));
    }
    found
}

pub(crate) fn reference_problem(
    weight: ProblemSeverity,
    kind: LibraryItemKind,
    id: &str,
    mention: &NameReference,
    message: String,
    help: Option<String>,
) -> LibraryProblem {
    LibraryProblem {
        weight,
        file: mention.file.clone(),
        line: mention.position.map(|at| at.line),
        column: mention.position.map(|at| at.column),
        kind,
        id: id.to_owned(),
        message,
        help,
        last_good_kept: false,
    }
}

//! What can only be seen with the whole library at hand: names that lead nowhere, chains that
//! contain themselves, chains too deep in chains.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{
    Problem, Weight, names,
    sheet::shorten,
    unit::{Mention, Mentioned, PromptItem},
};
use crate::{model::Kind, options::Limits};

/// Prompts by a key that does not regard case.
pub(crate) type Prompts = BTreeMap<String, PromptItem>;

/// For how many names the nearest is looked for: comparing each with all takes time.
pub(crate) const SUGGESTIONS: usize = 50;

/// A prompt that can't be used.
pub(crate) struct Fault {
    /// Its key.
    pub(crate) key: String,
    /// Why.
    pub(crate) problem: Problem,
    /// Whether only because of another one that can't.
    pub(crate) downstream: bool,
}

impl Fault {
    fn of(key: &str, problem: Problem) -> Self {
        Self {
            key: key.to_owned(),
            problem,
            downstream: false,
        }
    }
}

/// The prompts with errors that show only now.
pub(crate) fn errors(prompts: &Prompts, gone: &BTreeSet<String>, limits: &Limits) -> Vec<Fault> {
    let index: HashMap<String, &str> = prompts
        .keys()
        .map(|key| (names::plain(key), key.as_str()))
        .collect();
    let mut found = unknown(prompts, &index, gone);
    for what in [Mentioned::Step, Mentioned::Reference] {
        found.extend(loops(prompts, &index, what, limits));
    }
    found
}

fn resolve<'p>(
    prompts: &'p Prompts,
    index: &HashMap<String, &'p str>,
    name: &str,
) -> Option<&'p str> {
    prompts
        .get_key_value(&name.to_ascii_lowercase())
        .map(|(key, _)| key.as_str())
        .or_else(|| index.get(&names::plain(name)).copied())
}

fn unknown(
    prompts: &Prompts,
    index: &HashMap<String, &str>,
    gone: &BTreeSet<String>,
) -> Vec<Fault> {
    let mut found = Vec::new();
    for (key, item) in prompts {
        for mention in item.mentions.iter() {
            if !matches!(mention.what, Mentioned::Step | Mentioned::Reference)
                || resolve(prompts, index, &mention.name).is_some()
            {
                continue;
            }
            let name = shorten(&mention.name);
            let (message, help) = if gone.contains(&mention.name.to_ascii_lowercase()) {
                let (message, help) = unusable(&mention.name);
                (message, Some(help))
            } else {
                let near = (found.len() < SUGGESTIONS)
                    .then(|| {
                        let known = prompts.keys().map(String::as_str);
                        deliberate_core::nearest(&mention.name, known)
                    })
                    .flatten();
                (
                    format!("There is no prompt `{name}`."),
                    Some(near.map_or_else(
                        || "Create it, or remove what names it.".to_owned(),
                        |near| format!("Did you mean `{near}`?"),
                    )),
                )
            };
            found.push(Fault::of(
                key,
                problem(
                    Weight::Error,
                    Kind::Prompt,
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

/// Prompts that come back to themselves by steps or by references, and those nested too deep.
fn loops(
    prompts: &Prompts,
    index: &HashMap<String, &str>,
    what: Mentioned,
    limits: &Limits,
) -> Vec<Fault> {
    let edges = edges(prompts, index, what);
    let heights = heights(&edges);
    let mut found = Vec::new();
    for (key, height) in &heights {
        if *height > limits.depth
            && let Some(item) = prompts.get(*key)
            && let Some(mention) = item.mentions.iter().find(|it| it.what == what)
        {
            let message = format!(
                "Prompts are nested {height} deep from here; {} are allowed.",
                limits.depth
            );
            let made = problem(
                Weight::Error,
                Kind::Prompt,
                &item.prompt.id,
                mention,
                message,
                None,
            );
            found.push(Fault::of(key, made));
        }
    }
    let circles = circles(&edges, &heights);
    let mut told: BTreeSet<&str> = BTreeSet::new();
    for circle in &circles {
        told.extend(circle);
        found.extend(circle_problems(prompts, index, what, circle));
    }
    let stuck = |key: &str| edges.contains_key(key) && !heights.contains_key(key);
    for key in edges
        .keys()
        .filter(|key| stuck(key) && !told.contains(*key))
    {
        found.extend(downstream(prompts, index, what, key, &stuck));
    }
    found
}

/// A prompt that leads to a circle without being in it.
fn downstream(
    prompts: &Prompts,
    index: &HashMap<String, &str>,
    what: Mentioned,
    key: &str,
    stuck: &dyn Fn(&str) -> bool,
) -> Option<Fault> {
    let item = prompts.get(key)?;
    let mention = item.mentions.iter().find(|mention| {
        mention.what == what && resolve(prompts, index, &mention.name).is_some_and(stuck)
    })?;
    let (message, help) = unusable(&mention.name);
    let id = &item.prompt.id;
    let made = problem(
        Weight::Error,
        Kind::Prompt,
        id,
        mention,
        message,
        Some(help),
    );
    Some(Fault {
        downstream: true,
        ..Fault::of(key, made)
    })
}

fn unusable(name: &str) -> (String, String) {
    (
        format!("The prompt `{}` can't be used.", shorten(name)),
        "Its own problem comes first.".to_owned(),
    )
}

type Edges<'p> = BTreeMap<&'p str, Vec<&'p str>>;

fn edges<'p>(prompts: &'p Prompts, index: &HashMap<String, &'p str>, what: Mentioned) -> Edges<'p> {
    prompts
        .iter()
        .map(|(key, item)| {
            let targets = item
                .mentions
                .iter()
                .filter(|mention| mention.what == what)
                .filter_map(|mention| resolve(prompts, index, &mention.name))
                .collect();
            (key.as_str(), targets)
        })
        .filter(|(_, targets): &(&str, Vec<&str>)| !targets.is_empty())
        .collect()
}

/// How many levels stand below each prompt. One that comes to a circle has no height.
fn heights<'p>(edges: &Edges<'p>) -> BTreeMap<&'p str, usize> {
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

/// The circles among the prompts without a height.
fn circles<'p>(edges: &Edges<'p>, heights: &BTreeMap<&str, usize>) -> Vec<Vec<&'p str>> {
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

fn circle_problems(
    prompts: &Prompts,
    index: &HashMap<String, &str>,
    what: Mentioned,
    circle: &[&str],
) -> Vec<Fault> {
    let mut found = Vec::new();
    for (at, key) in circle.iter().enumerate() {
        let next = circle.get(at + 1).or(circle.first());
        let Some(item) = prompts.get(*key) else {
            continue;
        };
        let Some(mention) = item.mentions.iter().find(|mention| {
            mention.what == what && resolve(prompts, index, &mention.name) == next.copied()
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
        let help = Some("Take one of these steps out.".to_owned());
        let made = problem(
            Weight::Error,
            Kind::Prompt,
            &item.prompt.id,
            mention,
            message,
            help,
        );
        found.push(Fault::of(key, made));
    }
    found
}

pub(crate) fn problem(
    weight: Weight,
    kind: Kind,
    id: &str,
    mention: &Mention,
    message: String,
    help: Option<String>,
) -> Problem {
    Problem {
        weight,
        file: mention.file.clone(),
        line: mention.at.map(|at| at.line),
        column: mention.at.map(|at| at.column),
        kind,
        id: id.to_owned(),
        message,
        help,
        last_good_kept: false,
    }
}

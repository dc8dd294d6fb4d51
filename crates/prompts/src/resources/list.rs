//! What there is to pick from: the lists, then the library in the order of its ids, then runs, the
//! last changed first.

use deliberate_core::{Run, RunId, Timestamp, cut_to_chars};
use deliberate_store::Page;
use deliberate_toolkit::{Desk, Issue, Listed, Resource, ToolError};

use super::{
    address::{PROBLEMS, What},
    run,
};
use crate::library::Library;

/// Characters of a description.
const SHOWN: usize = 200;

/// What a mark says that stands at a list.
const LISTS: &str = "list";

/// Where a part of the list ended.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Mark {
    /// With a list, by its place among them.
    List(usize),
    /// With something of the library.
    Thing(What, String),
    /// With a run.
    Run(Timestamp, RunId),
}

pub(super) async fn list(
    library: &Library,
    after: Option<&str>,
    limit: usize,
    desk: Desk<'_>,
) -> Result<Listed, ToolError> {
    let mark = after.map(Mark::parse).transpose()?;
    let limit = limit.max(1);
    let mut found: Vec<(Resource, Mark)> = Vec::new();
    let seen = match mark {
        None => 0,
        Some(Mark::List(place)) => place.saturating_add(1),
        Some(_) => usize::MAX,
    };
    found.extend(lists().into_iter().skip(seen));
    if !matches!(mark, Some(Mark::Run(..))) {
        let things = things(library).filter(|(what, id, ..)| match &mark {
            Some(Mark::Thing(last, last_id)) => (*last, last_id.as_str()) < (*what, *id),
            _ => true,
        });
        let room = (limit + 1).saturating_sub(found.len());
        found.extend(things.take(room).map(resource));
    }
    if found.len() <= limit {
        let store = desk.registry.store();
        let runs = store
            .runs(&run::theirs(desk), Page::first(Page::MOST))
            .await?;
        let later = runs.into_iter().filter(|it| match &mark {
            Some(Mark::Run(changed, id)) => (it.updated_at, &it.id) < (*changed, id),
            _ => true,
        });
        found.extend(later.map(of_run));
    }
    let more = found.len() > limit;
    found.truncate(limit);
    let last = found
        .last()
        .filter(|_| more)
        .map(|(_, mark)| mark.to_string());
    Ok(Listed {
        resources: found.into_iter().map(|(resource, _)| resource).collect(),
        next: last,
    })
}

/// The lists themselves, which come first.
fn lists() -> Vec<(Resource, Mark)> {
    let list = |uri: String, name: &str, about: &str, mime: &str| Resource {
        uri,
        name: name.to_owned(),
        title: Some(name.to_owned()),
        description: Some(about.to_owned()),
        mime_type: Some(mime.to_owned()),
        size: None,
    };
    let prompts = list(
        What::Prompt.all(),
        "Prompts",
        "All prompts, a line each",
        "text/markdown",
    );
    let problems = list(
        PROBLEMS.to_owned(),
        "Problems",
        "What is wrong with the files of the library, with file and line",
        "application/json",
    );
    vec![(prompts, Mark::List(0)), (problems, Mark::List(1))]
}

type Thing<'a> = (What, &'a str, &'a str, &'a str);

/// What is in the library: kind, id, name, description.
fn things(library: &Library) -> impl Iterator<Item = Thing<'_>> {
    let prompts = library.prompts.iter();
    let prompts = prompts.map(|(id, it)| (What::Prompt, id, &it.name, &it.description));
    let gates = library.gates.iter();
    let gates = gates.map(|(id, it)| (What::Gate, id, &it.name, &it.description));
    let methods = library.methodologies.iter();
    let methods = methods.map(|(id, it)| (What::Methodology, id, &it.name, &it.description));
    let styles = library.styles.iter();
    let styles = styles.map(|(id, it)| (What::Style, id, &it.name, &it.description));
    let all = prompts.chain(gates).chain(methods).chain(styles);
    all.map(|(what, id, name, about)| (what, id.as_str(), name.as_str(), about.as_str()))
}

fn resource((what, id, name, about): Thing<'_>) -> (Resource, Mark) {
    let resource = Resource {
        uri: what.address(id),
        name: id.to_owned(),
        title: Some(name.to_owned()),
        description: Some(format!(
            "{}: {}",
            what.name(),
            cut_to_chars(about.trim(), SHOWN)
        )),
        mime_type: Some(what.mime_type().to_owned()),
        size: None,
    };
    (resource, Mark::Thing(what, id.to_owned()))
}

fn of_run(run: Run) -> (Resource, Mark) {
    let state = run.state.as_str();
    let command = cut_to_chars(&run.command, 80);
    let about = format!(
        "run: {state}, step {} of {}: {command}",
        run.at_step, run.steps
    );
    let resource = Resource {
        uri: What::Run.address(run.id.as_str()),
        name: run.id.to_string(),
        title: None,
        description: Some(about),
        mime_type: Some(What::Run.mime_type().to_owned()),
        size: None,
    };
    (resource, Mark::Run(run.updated_at, run.id))
}

impl Mark {
    fn parse(text: &str) -> Result<Self, ToolError> {
        let read = || {
            let (kind, rest) = text.split_once(' ')?;
            if kind == What::Run.name() {
                let (changed, id) = rest.split_once(' ')?;
                return Some(Self::Run(
                    Timestamp::parse(changed)?,
                    RunId::from(id.to_owned()),
                ));
            }
            if kind == LISTS {
                return Some(Self::List(rest.parse().ok()?));
            }
            let what = What::ALL.into_iter().find(|it| it.name() == kind)?;
            Some(Self::Thing(what, rest.to_owned()))
        };
        read().ok_or_else(|| {
            let issue = Issue::new("cursor", "is not one that this list gave; begin it again");
            ToolError::Invalid(vec![issue])
        })
    }
}

impl std::fmt::Display for Mark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::List(place) => write!(f, "{LISTS} {place}"),
            Self::Thing(what, id) => write!(f, "{} {id}", what.name()),
            Self::Run(changed, id) => write!(f, "{} {changed} {id}", What::Run.name()),
        }
    }
}

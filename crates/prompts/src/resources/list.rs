//! The list of resources: the lists first, then the library ordered by id, then chain runs, the
//! most recently updated first.

use deliberate_core::{ChainRun, RunId, Timestamp, truncate_chars};
use deliberate_store::Pagination;
use deliberate_toolkit::{ArgumentIssue, ResourceContext, ResourceInfo, ResourcePage, ToolError};

use super::{
    run_json,
    uri::{LibraryResourceKind, PROBLEMS_URI},
};
use crate::library::PromptLibrary;

/// The maximum number of characters of a description.
const MAX_DESCRIPTION_CHARS: usize = 200;

/// The prefix of a cursor that points to a list.
const LIST_CURSOR: &str = "list";

/// The last entry of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
enum LibraryCursor {
    /// A list, by its index among the lists.
    List(usize),
    /// A library item.
    Item(LibraryResourceKind, String),
    /// A chain run.
    Run(Timestamp, RunId),
}

pub(super) async fn list(
    library: &PromptLibrary,
    after: Option<&str>,
    limit: usize,
    context: ResourceContext<'_>,
) -> Result<ResourcePage, ToolError> {
    let cursor = after.map(LibraryCursor::parse).transpose()?;
    let limit = limit.max(1);
    let mut found: Vec<(ResourceInfo, LibraryCursor)> = Vec::new();
    let seen = match cursor {
        None => 0,
        Some(LibraryCursor::List(place)) => place.saturating_add(1),
        Some(_) => usize::MAX,
    };
    found.extend(list_resources().into_iter().skip(seen));
    if !matches!(cursor, Some(LibraryCursor::Run(..))) {
        let things = library_items(library).filter(|(kind, id, ..)| match &cursor {
            Some(LibraryCursor::Item(last, last_id)) => (*last, last_id.as_str()) < (*kind, *id),
            _ => true,
        });
        let room = (limit + 1).saturating_sub(found.len());
        found.extend(things.take(room).map(item_resource));
    }
    if found.len() <= limit {
        let store = context.registry.store();
        let runs = store
            .runs(
                &run_json::visible_runs(context),
                Pagination::limit(Pagination::MAX),
            )
            .await?;
        let later = runs.into_iter().filter(|it| match &cursor {
            Some(LibraryCursor::Run(changed, id)) => (it.updated_at, &it.id) < (*changed, id),
            _ => true,
        });
        found.extend(later.map(run_resource));
    }
    let more = found.len() > limit;
    found.truncate(limit);
    let last = found
        .last()
        .filter(|_| more)
        .map(|(_, cursor)| cursor.to_string());
    Ok(ResourcePage {
        resources: found.into_iter().map(|(resource, _)| resource).collect(),
        next: last,
    })
}

/// Returns the lists themselves, which come first.
fn list_resources() -> Vec<(ResourceInfo, LibraryCursor)> {
    let list = |uri: String, name: &str, about: &str, mime: &str| ResourceInfo {
        uri,
        name: name.to_owned(),
        title: Some(name.to_owned()),
        description: Some(about.to_owned()),
        mime_type: Some(mime.to_owned()),
        size: None,
    };
    let prompts = list(
        LibraryResourceKind::Prompt.list_uri(),
        "Prompts",
        "All prompts, one line each",
        "text/markdown",
    );
    let problems = list(
        PROBLEMS_URI.to_owned(),
        "Problems",
        "Problems in the library files, with file and line",
        "application/json",
    );
    vec![
        (prompts, LibraryCursor::List(0)),
        (problems, LibraryCursor::List(1)),
    ]
}

type LibraryItemSummary<'a> = (LibraryResourceKind, &'a str, &'a str, &'a str);

/// Iterates over the library: kind, id, name, description.
fn library_items(library: &PromptLibrary) -> impl Iterator<Item = LibraryItemSummary<'_>> {
    let prompts = library.prompts.iter();
    let prompts =
        prompts.map(|(id, it)| (LibraryResourceKind::Prompt, id, &it.name, &it.description));
    let gates = library.gates.iter();
    let gates = gates.map(|(id, it)| (LibraryResourceKind::Gate, id, &it.name, &it.description));
    let methods = library.methodologies.iter();
    let methods = methods.map(|(id, it)| {
        (
            LibraryResourceKind::Methodology,
            id,
            &it.name,
            &it.description,
        )
    });
    let styles = library.styles.iter();
    let styles = styles.map(|(id, it)| (LibraryResourceKind::Style, id, &it.name, &it.description));
    let all = prompts.chain(gates).chain(methods).chain(styles);
    all.map(|(kind, id, name, about)| (kind, id.as_str(), name.as_str(), about.as_str()))
}

fn item_resource((kind, id, name, about): LibraryItemSummary<'_>) -> (ResourceInfo, LibraryCursor) {
    let resource = ResourceInfo {
        uri: kind.uri(id),
        name: id.to_owned(),
        title: Some(name.to_owned()),
        description: Some(format!(
            "{}: {}",
            kind.name(),
            truncate_chars(about.trim(), MAX_DESCRIPTION_CHARS)
        )),
        mime_type: Some(kind.mime_type().to_owned()),
        size: None,
    };
    (resource, LibraryCursor::Item(kind, id.to_owned()))
}

fn run_resource(run: ChainRun) -> (ResourceInfo, LibraryCursor) {
    let state = run.state.as_str();
    let command = truncate_chars(&run.command, 80);
    let about = format!(
        "run: {state}, step {} of {}: {command}",
        run.at_step, run.steps
    );
    let resource = ResourceInfo {
        uri: LibraryResourceKind::Run.uri(run.id.as_str()),
        name: run.id.to_string(),
        title: None,
        description: Some(about),
        mime_type: Some(LibraryResourceKind::Run.mime_type().to_owned()),
        size: None,
    };
    (resource, LibraryCursor::Run(run.updated_at, run.id))
}

impl LibraryCursor {
    fn parse(text: &str) -> Result<Self, ToolError> {
        let read = || {
            let (kind, rest) = text.split_once(' ')?;
            if kind == LibraryResourceKind::Run.name() {
                let (changed, id) = rest.split_once(' ')?;
                return Some(Self::Run(
                    Timestamp::parse(changed)?,
                    RunId::from(id.to_owned()),
                ));
            }
            if kind == LIST_CURSOR {
                return Some(Self::List(rest.parse().ok()?));
            }
            let resource_kind = LibraryResourceKind::ALL
                .into_iter()
                .find(|it| it.name() == kind)?;
            Some(Self::Item(resource_kind, rest.to_owned()))
        };
        read().ok_or_else(|| {
            let issue = ArgumentIssue::new(
                "cursor",
                "is not a cursor of this list; start again without one",
            );
            ToolError::Invalid(vec![issue])
        })
    }
}

impl std::fmt::Display for LibraryCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::List(place) => write!(f, "{LIST_CURSOR} {place}"),
            Self::Item(kind, id) => write!(f, "{} {id}", kind.name()),
            Self::Run(changed, id) => {
                write!(f, "{} {changed} {id}", LibraryResourceKind::Run.name())
            }
        }
    }
}

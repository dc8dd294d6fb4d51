//! Completes an id in a URI: ids with the given prefix first, then items whose names match.

use deliberate_store::Pagination;
use deliberate_toolkit::{CompletionRequest, CompletionValues, ResourceContext, ToolError};

use super::{run_json, uri::LibraryResourceKind};
use crate::library::PromptLibrary;

/// The maximum number of values in one response.
const MAX_VALUES: usize = 100;

/// The maximum number of runs that are searched.
const MAX_RUNS: u32 = 500;

pub(super) async fn complete_id(
    kind: LibraryResourceKind,
    library: &PromptLibrary,
    typed: CompletionRequest<'_>,
    context: ResourceContext<'_>,
) -> Result<CompletionValues, ToolError> {
    if typed.argument != "id" {
        return Ok(CompletionValues::default());
    }
    let (known, unseen): (Vec<(String, String)>, bool) = match kind {
        LibraryResourceKind::Prompt => (
            to_owned_pairs(library.prompts.iter().map(|(id, it)| (id, &it.name))),
            false,
        ),
        LibraryResourceKind::Gate => (
            to_owned_pairs(library.gates.iter().map(|(id, it)| (id, &it.name))),
            false,
        ),
        LibraryResourceKind::Methodology => {
            let all = library.methodologies.iter();
            (to_owned_pairs(all.map(|(id, it)| (id, &it.name))), false)
        }
        LibraryResourceKind::Style => (
            to_owned_pairs(library.styles.iter().map(|(id, it)| (id, &it.name))),
            false,
        ),
        LibraryResourceKind::Run => {
            let store = context.registry.store();
            let runs = store
                .runs(
                    &run_json::visible_runs(context),
                    Pagination::limit(MAX_RUNS),
                )
                .await?;
            let unseen = runs.len() >= MAX_RUNS as usize;
            let named = runs
                .into_iter()
                .map(|run| (run.id.to_string(), run.command));
            (named.collect(), unseen)
        }
    };
    Ok(matching_ids(known, typed.text, unseen))
}

fn to_owned_pairs<'a>(
    all: impl Iterator<Item = (&'a String, &'a String)>,
) -> Vec<(String, String)> {
    all.map(|(id, name)| (id.clone(), name.clone())).collect()
}

fn matching_ids(known: Vec<(String, String)>, text: &str, unseen: bool) -> CompletionValues {
    let wanted = text.to_lowercase();
    let words: Vec<&str> = wanted.split_whitespace().collect();
    let (mut values, mut by_words) = (Vec::new(), Vec::new());
    for (id, name) in known {
        if id.to_lowercase().starts_with(&wanted) {
            values.push(id);
        } else {
            let name = name.to_lowercase();
            if !words.is_empty() && words.iter().all(|word| name.contains(word)) {
                by_words.push(id);
            }
        }
    }
    values.extend(by_words);
    let more = unseen || values.len() > MAX_VALUES;
    values.truncate(MAX_VALUES);
    CompletionValues {
        values,
        has_more: more,
    }
}

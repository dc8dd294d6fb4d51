//! Ids that a person may mean: those that begin so, then those whose names have the words.

use deliberate_store::Page;
use deliberate_toolkit::{Choices, Desk, ToolError, Typed};

use super::{address::What, run};
use crate::library::Library;

/// Values in one answer.
const MOST: usize = 100;

/// Runs that are looked at.
const RUNS: u32 = 500;

pub(super) async fn ids(
    what: What,
    library: &Library,
    typed: Typed<'_>,
    desk: Desk<'_>,
) -> Result<Choices, ToolError> {
    if typed.argument != "id" {
        return Ok(Choices::default());
    }
    let (known, unseen): (Vec<(String, String)>, bool) = match what {
        What::Prompt => (
            named(library.prompts.iter().map(|(id, it)| (id, &it.name))),
            false,
        ),
        What::Gate => (
            named(library.gates.iter().map(|(id, it)| (id, &it.name))),
            false,
        ),
        What::Methodology => {
            let all = library.methodologies.iter();
            (named(all.map(|(id, it)| (id, &it.name))), false)
        }
        What::Style => (
            named(library.styles.iter().map(|(id, it)| (id, &it.name))),
            false,
        ),
        What::Run => {
            let store = desk.registry.store();
            let runs = store.runs(&run::theirs(desk), Page::first(RUNS)).await?;
            let unseen = runs.len() >= RUNS as usize;
            let named = runs
                .into_iter()
                .map(|run| (run.id.to_string(), run.command));
            (named.collect(), unseen)
        }
    };
    Ok(fitting(known, typed.text, unseen))
}

fn named<'a>(all: impl Iterator<Item = (&'a String, &'a String)>) -> Vec<(String, String)> {
    all.map(|(id, name)| (id.clone(), name.clone())).collect()
}

fn fitting(known: Vec<(String, String)>, text: &str, unseen: bool) -> Choices {
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
    let more = unseen || values.len() > MOST;
    values.truncate(MOST);
    Choices { values, more }
}

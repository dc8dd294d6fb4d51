//! The problems of the library, as people read them.

use crate::library::{Library, Problem, WATCHING, Weight};

/// One problem on a line.
pub(super) fn line(problem: &Problem) -> String {
    let weight = match problem.weight {
        Weight::Error => "error",
        Weight::Warning => "warning",
    };
    let place = match (problem.line, problem.column) {
        (Some(line), Some(column)) => format!("{}:{line}:{column}", problem.file),
        (Some(line), None) => format!("{}:{line}", problem.file),
        _ => problem.file.clone(),
    };
    let kept = if problem.last_good_kept {
        " The last good version is still in use."
    } else {
        ""
    };
    let help = problem.help.as_deref().map(|it| format!(" {it}"));
    format!(
        "- {weight} {place}: {}{kept}{}",
        problem.message,
        help.unwrap_or_default()
    )
}

/// How many errors and warnings there are.
pub(super) fn weighed(library: &Library) -> (usize, usize) {
    let errors = library
        .problems
        .iter()
        .filter(|it| it.weight == Weight::Error)
        .count();
    (errors, library.problems.len() - errors)
}

/// Why changed files are not noticed by themselves, if they are not.
pub(super) fn blind(library: &Library) -> Option<&Problem> {
    library.problems.iter().find(|it| it.file == WATCHING)
}

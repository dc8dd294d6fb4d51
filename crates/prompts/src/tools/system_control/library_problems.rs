//! The problems of the library as text.

use crate::library::{LibraryProblem, ProblemSeverity, PromptLibrary, WATCHING};

/// Formats a problem as one line.
pub(super) fn problem_line(problem: &LibraryProblem) -> String {
    let weight = match problem.weight {
        ProblemSeverity::Error => "error",
        ProblemSeverity::Warning => "warning",
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

/// Counts the errors and warnings.
pub(super) fn count_by_severity(library: &PromptLibrary) -> (usize, usize) {
    let errors = library
        .problems
        .iter()
        .filter(|it| it.weight == ProblemSeverity::Error)
        .count();
    (errors, library.problems.len() - errors)
}

/// Returns the problem that keeps the library from watching its files, if there is one.
pub(super) fn watcher_problem(library: &PromptLibrary) -> Option<&LibraryProblem> {
    library.problems.iter().find(|it| it.file == WATCHING)
}

//! Looks at a workspace as a whole and lists what is wrong, each with the text it is about.

use super::{Library, Problem, Weight, assemble::assemble, stock::Stock, unit::Root};
use crate::{
    model::{Kind, Text},
    options::{Limits, Options},
};

/// A problem, with the file it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong.
    pub problem: Problem,
    /// The text of the file, if it can be read.
    pub source: Option<String>,
}

/// What is wrong with a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// How bad it is.
    pub weight: Weight,
    /// The line of the template's file, from 1.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
    /// In a sentence.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

/// Reads everything and lists what is wrong, with the templates of the workspace. The given
/// function may know more of any template.
pub fn check(
    options: &Options,
    texts: &dyn Fn(&Text) -> Option<Remark>,
) -> (Library, Vec<Finding>) {
    let mut stock = Stock::load(options);
    stock.check_templates();
    let made = assemble(&stock, None);
    let library = Library::clone(&made.library);
    drop(made);
    let mut problems = library.problems.clone();
    for prompt in library.prompts.values() {
        for text in [&prompt.template, &prompt.system].into_iter().flatten() {
            let told = |line: Option<u32>| {
                library
                    .problems
                    .iter()
                    .any(|it| it.weight == Weight::Error && it.file == text.file && it.line == line)
            };
            let remark = texts(text).filter(|remark| !told(remark.line));
            problems.extend(remark.map(|remark| Problem {
                weight: remark.weight,
                file: text.file.clone(),
                line: remark.line,
                column: remark.column,
                kind: Kind::Prompt,
                id: prompt.id.clone(),
                message: remark.message,
                help: remark.help,
                last_good_kept: false,
            }));
        }
    }
    problems.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    let findings = problems
        .into_iter()
        .map(|problem| Finding {
            source: source(&stock.roots, &problem.file, &stock.limits),
            problem,
        })
        .collect();
    (library, findings)
}

/// The text of a file by its name for people.
fn source(roots: &[Root], file: &str, limits: &Limits) -> Option<String> {
    roots.iter().find_map(|root| {
        let inner = if root.shown.is_empty() {
            file
        } else {
            file.strip_prefix(&root.shown)?.strip_prefix('/')?
        };
        root.tree.read("", inner, limits.file_bytes).ok()
    })
}

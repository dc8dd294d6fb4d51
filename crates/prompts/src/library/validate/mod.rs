//! Looks at a workspace as a whole and lists what is wrong, each with the text it is about.

pub(crate) mod cross_references;
pub(crate) mod message_text;
pub(crate) mod missing_references;
pub(crate) mod templates;

use super::{
    LibraryProblem, ProblemSeverity, PromptLibrary, merge_layers::merge_layers, part::LibraryRoot,
    part_cache::PartCache,
};
use crate::{
    model::{LibraryItemKind, TemplateSource},
    options::{EngineLimits, EngineOptions},
};

/// A problem, with the file it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LibraryFinding {
    /// What is wrong.
    pub problem: LibraryProblem,
    /// The text of the file, if it can be read.
    pub source: Option<String>,
}

/// What is wrong with a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateProblem {
    /// How bad it is.
    pub severity: ProblemSeverity,
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
pub fn check_workspace(
    options: &EngineOptions,
    texts: &dyn Fn(&TemplateSource) -> Option<TemplateProblem>,
) -> (PromptLibrary, Vec<LibraryFinding>) {
    let mut stock = PartCache::load(options);
    stock.check_templates();
    let made = merge_layers(&stock, None);
    let library = PromptLibrary::clone(&made.library);
    drop(made);
    let mut problems = library.problems.clone();
    for prompt in library.prompts.values() {
        for text in [&prompt.template, &prompt.system].into_iter().flatten() {
            let told = |line: Option<u32>| {
                library.problems.iter().any(|it| {
                    it.weight == ProblemSeverity::Error && it.file == text.file && it.line == line
                })
            };
            let remark = texts(text).filter(|remark| !told(remark.line));
            problems.extend(remark.map(|remark| LibraryProblem {
                weight: remark.severity,
                file: text.file.clone(),
                line: remark.line,
                column: remark.column,
                kind: LibraryItemKind::Prompt,
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
        .map(|problem| LibraryFinding {
            source: read_source(&stock.roots, &problem.file, &stock.limits),
            problem,
        })
        .collect();
    (library, findings)
}

/// The text of a file by its name for people.
fn read_source(roots: &[LibraryRoot], file: &str, limits: &EngineLimits) -> Option<String> {
    roots.iter().find_map(|root| {
        let inner = if root.display_name.is_empty() {
            file
        } else {
            file.strip_prefix(&root.display_name)?.strip_prefix('/')?
        };
        root.tree.read("", inner, limits.file_bytes).ok()
    })
}

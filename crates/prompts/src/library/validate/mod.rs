//! Validates a whole workspace and lists its problems, each with the source text.

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

/// A problem with the source text of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LibraryFinding {
    pub problem: LibraryProblem,
    /// The text of the file, if it can be read.
    pub source: Option<String>,
}

/// A problem in a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateProblem {
    pub severity: ProblemSeverity,
    /// The line of the template's file, from 1.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
    /// The problem in one sentence.
    pub message: String,
    /// The suggested fix.
    pub help: Option<String>,
}

/// Reads all files and lists their problems, including those of the workspace's templates. The
/// given function may report a further problem of each template.
pub fn check_workspace(
    options: &EngineOptions,
    texts: &dyn Fn(&TemplateSource) -> Option<TemplateProblem>,
) -> (PromptLibrary, Vec<LibraryFinding>) {
    let mut stock = PartCache::load(options);
    stock.check_templates();
    let merged_library = merge_layers(&stock, None);
    let library = PromptLibrary::clone(&merged_library.library);
    drop(merged_library);
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

/// Reads a file by its displayed path.
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

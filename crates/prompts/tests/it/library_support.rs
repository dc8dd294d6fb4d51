//! A harness that writes and loads a workspace.

use std::{fs, path::PathBuf, sync::Arc};

use deliberate_prompts::{
    EngineOptions, LibraryPaths,
    library::{LibraryProblem, LiveLibrary, ProblemSeverity, PromptLibrary, check_workspace},
};
use tempfile::TempDir;

pub(crate) struct LibraryWorkspace {
    pub(crate) folder: TempDir,
}

impl LibraryWorkspace {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("a file");
        self
    }

    /// Writes a prompt whose template is its own id.
    pub(crate) fn prompt(&self, id: &str) -> &Self {
        let last = id.rsplit('/').next().unwrap_or(id);
        self.write(
            &format!("resources/prompts/general/{id}/prompt.yaml"),
            &format!(
                "id: {last}\nname: {last}\ndescription: says {last}\nuserMessageTemplate: {last}\n"
            ),
        )
    }

    /// Writes a chain of prompts.
    pub(crate) fn chain(&self, id: &str, steps: &[&str]) -> &Self {
        let mut text = format!("id: {id}\nname: {id}\ndescription: a chain\nchainSteps:\n");
        for step in steps {
            text = format!("{text}  - {{promptId: {step}, stepName: {step}}}\n");
        }
        self.write(
            &format!("resources/prompts/general/{id}/prompt.yaml"),
            &text,
        )
    }

    pub(crate) fn options(&self) -> EngineOptions {
        EngineOptions {
            paths: LibraryPaths {
                workspace: self.folder.path().to_path_buf(),
                ..LibraryPaths::default()
            },
            ..EngineOptions::default()
        }
    }

    pub(crate) fn load(&self) -> PromptLibrary {
        check_workspace(&self.options(), &|_| None).0
    }

    pub(crate) fn live_library(&self) -> Arc<LiveLibrary> {
        LiveLibrary::new(&self.options())
    }
}

/// Returns the problems of files in the workspace.
pub(crate) fn problems(library: &PromptLibrary) -> Vec<&LibraryProblem> {
    library
        .problems
        .iter()
        .filter(|problem| !problem.file.starts_with("shipped/"))
        .collect()
}

/// Returns the only problem.
pub(crate) fn only_problem(library: &PromptLibrary) -> &LibraryProblem {
    let all = problems(library);
    assert_eq!(all.len(), 1, "{all:#?}");
    all[0]
}

pub(crate) fn assert_clean(library: &PromptLibrary) {
    let all = problems(library);
    assert!(all.is_empty(), "{all:#?}");
}

pub(crate) fn errors(library: &PromptLibrary) -> Vec<&LibraryProblem> {
    problems(library)
        .into_iter()
        .filter(|problem| problem.weight == ProblemSeverity::Error)
        .collect()
}

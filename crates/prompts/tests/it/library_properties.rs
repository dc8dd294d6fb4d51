//! Property: after any edits, the incrementally loaded library equals a fresh load. Also measures
//! the load time of a large library.

use std::{fs, path::PathBuf};

use deliberate_prompts::library::{LibraryDiff, PromptLibrary};
use proptest::prelude::*;

use super::library_support::LibraryWorkspace;

const FOLDERS: [&str; 4] = ["general/a", "general/b", "general/a/c", "other/d"];

#[derive(Debug, Clone)]
enum LibraryEdit {
    Prompt(usize, u8),
    Broken(usize),
    Text(usize, u8),
    Remove(usize),
    RemoveCategory,
    SingleFile(u8),
    RemoveSingleFile,
    Category(u8),
    Chain(usize),
    Gate(u8),
    RemoveGates,
    Engine(bool),
    Group(u8),
}

fn edit() -> impl Strategy<Value = LibraryEdit> {
    let which = 0..FOLDERS.len();
    prop_oneof![
        4 => (which.clone(), 0..4_u8).prop_map(|(at, what)| LibraryEdit::Prompt(at, what)),
        1 => which.clone().prop_map(LibraryEdit::Broken),
        2 => (which.clone(), 0..4_u8).prop_map(|(at, what)| LibraryEdit::Text(at, what)),
        2 => which.clone().prop_map(LibraryEdit::Remove),
        1 => Just(LibraryEdit::RemoveCategory),
        1 => (0..4_u8).prop_map(LibraryEdit::SingleFile),
        1 => Just(LibraryEdit::RemoveSingleFile),
        1 => (0..4_u8).prop_map(LibraryEdit::Category),
        2 => which.prop_map(LibraryEdit::Chain),
        2 => (0..4_u8).prop_map(LibraryEdit::Gate),
        1 => Just(LibraryEdit::RemoveGates),
        1 => any::<bool>().prop_map(LibraryEdit::Engine),
        1 => (0..4_u8).prop_map(LibraryEdit::Group),
    ]
}

/// Applies an edit and returns the path that changed.
fn apply(workspace: &LibraryWorkspace, edit: &LibraryEdit) -> PathBuf {
    let place = |at: &usize| format!("resources/prompts/{}", FOLDERS[*at]);
    let id = |at: &usize| FOLDERS[*at].rsplit('/').next().expect("a name");
    let write = |path: String, text: String| {
        workspace.write(&path, &text);
        workspace.path(&path)
    };
    let remove = |path: &str| {
        let path = workspace.path(path);
        if path.is_dir() {
            fs::remove_dir_all(&path).expect("a removal");
        } else if path.exists() {
            fs::remove_file(&path).expect("a removal");
        }
        path
    };
    let body = |id: &str, what: u8| {
        format!(
            "id: {id}\nname: {id}\ndescription: v{what}\nuserMessageTemplate: v{what}\ngateConfiguration: {{include: [g]}}\n"
        )
    };
    match edit {
        LibraryEdit::Prompt(at, what) => {
            write(format!("{}/prompt.yaml", place(at)), body(id(at), *what))
        }
        LibraryEdit::Broken(at) => write(format!("{}/prompt.yaml", place(at)), "id: [".to_owned()),
        LibraryEdit::Text(at, what) => {
            let text = format!(
                "id: {0}\nname: {0}\ndescription: x\nuserMessageTemplateFile: t.md\n",
                id(at)
            );
            write(format!("{}/prompt.yaml", place(at)), text);
            write(format!("{}/t.md", place(at)), format!("text {what}"))
        }
        LibraryEdit::Remove(at) => remove(&place(at)),
        LibraryEdit::RemoveCategory => remove("resources/prompts/general"),
        LibraryEdit::SingleFile(what) => write(
            "resources/prompts/other/a.yaml".to_owned(),
            body("a", *what),
        ),
        LibraryEdit::RemoveSingleFile => remove("resources/prompts/other/a.yaml"),
        LibraryEdit::Category(what) => write(
            "resources/prompts/general/category.yaml".to_owned(),
            format!("name: v{what}\n"),
        ),
        LibraryEdit::Chain(at) => write(
            format!("{}/prompt.yaml", place(at)),
            format!(
                "id: {0}\nname: {0}\ndescription: x\nchainSteps: [{{promptId: a, stepName: s}}, {{promptId: d, stepName: s}}]\n",
                id(at)
            ),
        ),
        LibraryEdit::Gate(what) => write(
            "resources/gates/g/gate.yaml".to_owned(),
            format!("id: g\nname: G\ntype: guidance\ndescription: v{what}\nguidance: g\n"),
        ),
        LibraryEdit::RemoveGates => remove("resources/gates"),
        LibraryEdit::Engine(on) => write(
            "engine.yaml".to_owned(),
            format!("injection: {{global: {{system-prompt: {{enabled: {on}}}}}}}\n"),
        ),
        LibraryEdit::Group(what) => write(
            "resources/prompts/general/group/x.yaml".to_owned(),
            body("x", *what),
        ),
    }
}

/// Returns the library, or `None` if it contains items only because a last good version was kept.
fn comparable(library: &PromptLibrary) -> Option<PromptLibrary> {
    let kept = library
        .problems
        .iter()
        .any(|problem| problem.last_good_kept);
    (!kept).then(|| library.clone())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reading_piece_by_piece_is_reading_all(edits in prop::collection::vec(edit(), 200)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let workspace = LibraryWorkspace::new();
        let shelf = workspace.live_library();
        runtime.block_on(shelf.reload_all());
        for (number, edit) in edits.iter().enumerate() {
            let path = apply(&workspace, edit);
            let mut paths = vec![path];
            if let LibraryEdit::Text(..) = edit {
                paths.push(paths[0].with_file_name("prompt.yaml"));
            }
            let pieces = runtime.block_on(shelf.refresh(paths));
            if number % 8 != 0 {
                continue;
            }
            if let Some(pieces) = comparable(&pieces) {
                let whole = workspace.load();
                let changed = LibraryDiff::compute(&pieces, &whole);
                let (one, other) = (&pieces.problems, &whole.problems);
                prop_assert!(!changed.has_changes(), "after {edit:?}: {changed:?}\n{one:#?}\n{other:#?}");
            }
        }
        // Once no file is broken, no last good version is in use.
        for at in 0..FOLDERS.len() {
            let path = apply(&workspace, &LibraryEdit::Prompt(at, 0));
            runtime.block_on(shelf.refresh(vec![path]));
        }
        let pieces = shelf.current().expect("a library");
        let whole = workspace.load();
        let changed = LibraryDiff::compute(&pieces, &whole);
        let (one, other) = (&pieces.problems, &whole.problems);
        prop_assert!(!changed.has_changes(), "{changed:?}\n{one:#?}\n{other:#?}");
    }
}

//! The live library while its files change.

use std::{
    fs,
    sync::{Arc, Mutex},
};

use deliberate_prompts::{
    library::{LibraryDiff, LiveLibrary, PromptLibrary},
    model::LibraryItemKind,
};
use deliberate_testkit::wait_for;

use super::library_support::{LibraryWorkspace, assert_clean, only_problem, problems};

/// Waits until the watcher has made the condition true.
async fn wait_until(
    live_library: &Arc<LiveLibrary>,
    holds: impl Fn(&PromptLibrary) -> bool,
) -> Arc<PromptLibrary> {
    let found = wait_for(async || {
        let library = live_library.library().await;
        holds(&library).then_some(library)
    });
    found.await
}

fn text(library: &PromptLibrary, id: &str) -> String {
    library
        .prompt(id)
        .and_then(|prompt| prompt.template.as_ref())
        .map(|text| text.body.clone())
        .unwrap_or_default()
}

const PROMPT: &str = "resources/prompts/general/p/prompt.yaml";

fn prompt(body: &str) -> String {
    format!("id: p\nname: P\ndescription: says\nuserMessageTemplate: {body}\n")
}

#[tokio::test]
async fn nothing_is_read_before_it_is_asked_for() {
    let workspace = LibraryWorkspace::new();
    let shelf = workspace.live_library();
    assert!(shelf.current().is_none());
    workspace.prompt("late");
    assert!(shelf.library().await.prompt("late").is_some());
    assert!(shelf.current().is_some());
}

#[tokio::test]
async fn edits_new_files_and_removals_are_seen() {
    let workspace = LibraryWorkspace::new();
    workspace.write(PROMPT, &prompt("one"));
    let shelf = workspace.live_library();
    shelf.start();
    let first = shelf.library().await;
    assert_eq!(text(&first, "p"), "one");

    workspace.write(PROMPT, &prompt("two"));
    wait_until(&shelf, |library| text(library, "p") == "two").await;
    assert_eq!(text(&first, "p"), "one", "an old snapshot stays as it was");

    workspace.prompt("new").write(
        "resources/prompts/fresh/q.yaml",
        "id: q\nname: Q\ndescription: x\nuserMessageTemplate: x\n",
    );
    wait_until(&shelf, |library| {
        library.prompt("new").is_some() && library.prompt("q").is_some()
    })
    .await;

    fs::rename(
        workspace.path("resources/prompts/fresh/q.yaml"),
        workspace.path("resources/prompts/fresh/r.yaml"),
    )
    .expect("a rename");
    workspace.write(
        "resources/prompts/fresh/r.yaml",
        "id: r\nname: R\ndescription: x\nuserMessageTemplate: x\n",
    );
    fs::remove_dir_all(workspace.path("resources/prompts/general/new")).expect("a removal");
    let last = wait_until(&shelf, |library| {
        library.prompt("new").is_none()
            && library.prompt("q").is_none()
            && library.prompt("r").is_some()
    })
    .await;
    assert_clean(&last);
    shelf.stop();
}

#[tokio::test]
async fn folders_that_appear_later_are_seen() {
    let workspace = LibraryWorkspace::new();
    let shelf = workspace.live_library();
    shelf.start();
    shelf.library().await;
    workspace.prompt("first");
    wait_until(&shelf, |library| library.prompt("first").is_some()).await;
    workspace.write(
        "resources/gates/g/gate.yaml",
        "id: g\nname: G\ntype: guidance\ndescription: g\nguidance: g\n",
    );
    wait_until(&shelf, |library| library.gate("g").is_some()).await;
    workspace.write(
        "engine.yaml",
        "injection: {global: {system-prompt: {enabled: false}}}\n",
    );
    wait_until(&shelf, |library| {
        library.injection.global.system_prompt.is_some()
    })
    .await;
}

#[tokio::test]
async fn what_breaks_stays_in_use_until_it_is_repaired() {
    let workspace = LibraryWorkspace::new();
    workspace.write(PROMPT, &prompt("one"));
    let shelf = workspace.live_library();
    shelf.start();
    assert_eq!(text(&*shelf.library().await, "p"), "one");
    workspace.write(PROMPT, "id: p\nname: [broken\n");
    let library = wait_until(&shelf, |library| !problems(library).is_empty()).await;
    assert_eq!(text(&library, "p"), "one");
    assert!(only_problem(&library).last_good_kept);
    // The last good version stays when another file changes.
    workspace.prompt("other");
    let library = wait_until(&shelf, |library| library.prompt("other").is_some()).await;
    assert_eq!(text(&library, "p"), "one");
    workspace.write(PROMPT, &prompt("repaired"));
    let library = wait_until(&shelf, |library| text(library, "p") == "repaired").await;
    assert_clean(&library);
    fs::remove_dir_all(workspace.path("resources/prompts/general/p")).expect("a removal");
    wait_until(&shelf, |library| library.prompt("p").is_none()).await;
}

#[tokio::test]
async fn readers_never_see_a_prompt_missing_while_it_is_edited() {
    let workspace = LibraryWorkspace::new();
    workspace.write(PROMPT, &prompt("good"));
    let shelf = workspace.live_library();
    shelf.library().await;
    let reader = {
        let shelf = Arc::clone(&shelf);
        tokio::spawn(async move {
            for _ in 0..300 {
                assert!(shelf.library().await.prompt("p").is_some());
                tokio::task::yield_now().await;
            }
        })
    };
    for round in 0..20 {
        let body = if round % 2 == 0 {
            "id: ["
        } else {
            &prompt("good")
        };
        workspace.write(PROMPT, body);
        shelf.refresh(vec![workspace.path(PROMPT)]).await;
    }
    reader.await.expect("the reader saw it always");
}

#[tokio::test]
async fn an_edit_that_closes_a_circle_keeps_the_chain_before_it() {
    let workspace = LibraryWorkspace::new();
    workspace
        .prompt("leaf")
        .chain("a", &["b"])
        .chain("b", &["leaf"]);
    let shelf = workspace.live_library();
    shelf.library().await;
    workspace.chain("b", &["a"]);
    let library = shelf
        .refresh(vec![
            workspace.path("resources/prompts/general/b/prompt.yaml"),
        ])
        .await;
    let problem = only_problem(&library);
    assert!(problem.message.contains("b → a → b"), "{problem:#?}");
    assert!(problem.last_good_kept);
    assert!(library.prompt("a").is_some() && library.prompt("b").is_some());
}

#[tokio::test]
async fn a_write_is_seen_by_whoever_wrote_it() {
    let workspace = LibraryWorkspace::new();
    let shelf = workspace.live_library();
    shelf.library().await;
    let path = shelf
        .folder(LibraryItemKind::Prompt)
        .join("general/mine.yaml");
    assert_eq!(path, workspace.path("resources/prompts/general/mine.yaml"));
    for round in 0..20 {
        workspace.write(
            "resources/prompts/general/mine.yaml",
            &format!("id: mine\nname: M\ndescription: x\nuserMessageTemplate: round {round}\n"),
        );
        let library = shelf.refresh(vec![path.clone()]).await;
        assert_eq!(text(&library, "mine"), format!("round {round}"));
        assert_eq!(
            text(&*shelf.library().await, "mine"),
            format!("round {round}")
        );
    }
    fs::remove_file(&path).expect("a removal");
    assert!(shelf.refresh(vec![path]).await.prompt("mine").is_none());
}

/// Returns the next reported change.
async fn next_change(told: &Mutex<Vec<LibraryDiff>>) -> LibraryDiff {
    wait_for(async || told.lock().expect("the list").pop()).await
}

#[tokio::test]
async fn only_real_changes_are_told() {
    let workspace = LibraryWorkspace::new();
    workspace.write(PROMPT, &prompt("one"));
    let shelf = workspace.live_library();
    // Loaded without a watcher, which would see partially written files.
    let before = shelf.reload_all().await;
    let told: Arc<Mutex<Vec<LibraryDiff>>> = Arc::default();
    let hears = Arc::clone(&told);
    shelf.on_change(Box::new(move |changed| {
        hears.lock().expect("the list").push(changed.clone());
    }));
    let path = vec![workspace.path(PROMPT)];

    workspace.write(PROMPT, &prompt("one"));
    let same = shelf.refresh(path.clone()).await;
    assert_eq!(same.generation, before.generation);
    shelf.reload_all().await;
    assert!(told.lock().expect("the list").is_empty());

    workspace.write(PROMPT, &prompt("two"));
    shelf.refresh(path.clone()).await;
    let changed = next_change(&told).await;
    assert!(changed.prompts && !changed.prompt_list && !changed.problems && !changed.gates);
    assert_eq!(changed.ids, [(LibraryItemKind::Prompt, "p".to_owned())]);

    workspace.write(PROMPT, &prompt("two").replace("says", "whispers"));
    shelf.refresh(path.clone()).await;
    assert!(next_change(&told).await.prompt_list);

    workspace.write(PROMPT, "id: [");
    shelf.refresh(path).await;
    let changed = next_change(&told).await;
    assert!(changed.problems && !changed.prompts);
}

#[tokio::test]
async fn a_template_that_broke_does_not_replace_one_that_worked() {
    let workspace = LibraryWorkspace::new();
    workspace.write(PROMPT, &prompt("\"one\""));
    let shelf = workspace.live_library();
    shelf.library().await;
    let path = workspace.path(PROMPT);
    for _ in 0..2 {
        workspace.write(PROMPT, &prompt("\"two {{a\""));
        let library = shelf.refresh(vec![path.clone()]).await;
        assert_eq!(text(&library, "p"), "one");
        let problem = only_problem(&library);
        assert_eq!(problem.line, Some(4));
        assert!(problem.last_good_kept, "{problem:?}");
        assert!(problem.message.starts_with("The template is invalid: "));
    }
    workspace.write(PROMPT, &prompt("\"three\""));
    let library = shelf.refresh(vec![path.clone()]).await;
    assert_eq!(text(&library, "p"), "three");
    assert_clean(&library);
    workspace.write(PROMPT, &prompt("\"{% if x %}\""));
    let library = shelf.reload_all().await;
    assert_eq!(text(&library, "p"), "three");
}

#[tokio::test]
async fn templates_that_were_broken_at_the_start_are_told_of() {
    let workspace = LibraryWorkspace::new();
    workspace.write(PROMPT, &prompt("\"{{a\""));
    let shelf = workspace.live_library();
    shelf.start();
    let library = wait_until(&shelf, |library| !problems(library).is_empty()).await;
    assert!(!only_problem(&library).last_good_kept);
    // The prompt was never valid, so there is no last good version.
    workspace.write(PROMPT, &prompt("\"{{b\""));
    let library = shelf.refresh(vec![workspace.path(PROMPT)]).await;
    assert_eq!(text(&library, "p"), "{{b");
    assert!(!only_problem(&library).last_good_kept);
    shelf.stop();
}

#[tokio::test]
async fn names_that_nobody_gives_are_told_of() {
    let workspace = LibraryWorkspace::new();
    let body = "\"{{ topik }} {{ steps }} {{ maybe | default('x') }} {{ step2_result }}\"\n\
                arguments: [{name: topic}]";
    workspace.write(PROMPT, &prompt(body));
    let library = workspace.load();
    let problem = only_problem(&library);
    assert!(problem.message.contains("`topik`"), "{problem:?}");
    assert_eq!(problem.help.as_deref(), Some("Did you mean `topic`?"));
    assert_eq!(problem.line, Some(4));
    // A chain may pass any value to a step.
    workspace.chain("c", &["p"]);
    assert_clean(&workspace.load());
}

#[test]
fn texts_given_to_tools_are_templates_too() {
    let workspace = LibraryWorkspace::new();
    let tool = |text: &str| {
        format!(
            "id: p\nname: P\ndescription: d\nchainSteps:\n  - tool: think\n    arguments:\n      \
             text: \"{text}\"\n"
        )
    };
    workspace.write(PROMPT, &tool("a {{ steps.x }}"));
    assert_clean(&workspace.load());
    workspace.write(PROMPT, &tool("a {{ steps"));
    let library = workspace.load();
    assert_eq!(only_problem(&library).line, Some(7));
}

#[test]
fn the_words_of_the_yaml_reader_stay_inside() {
    let workspace = LibraryWorkspace::new();
    workspace.write(PROMPT, "id: p\nname: P\nname: Q\n");
    let library = workspace.load();
    let message = &only_problem(&library).message;
    assert_eq!(message, "The YAML is invalid: the key `name` occurs twice.");
    let deep = format!("id: p\nname: {}\n", "[".repeat(100));
    workspace.write(PROMPT, &deep);
    let library = workspace.load();
    assert!(
        !only_problem(&library).message.contains("breach"),
        "{:?}",
        only_problem(&library)
    );
    let pattern = "id: p\nname: P\ndescription: d\nuserMessageTemplate: x\narguments:\n  \
                   - {name: a, validation: {pattern: \"(a{1000}){1000}\"}}\n";
    workspace.write(PROMPT, pattern);
    let library = workspace.load();
    assert!(
        !only_problem(&library).message.ends_with(".."),
        "{:?}",
        only_problem(&library)
    );
}

//! References between files.

use deliberate_prompts::library::ProblemSeverity;

use super::library_support::{LibraryWorkspace, assert_clean, errors, only_problem, problems};

#[test]
fn a_chain_with_an_unknown_step_names_the_nearest() {
    let workspace = LibraryWorkspace::new();
    workspace
        .prompt("summary")
        .chain("flow", &["summary", "sumary"]);
    let library = workspace.load();
    let problem = only_problem(&library);
    assert_eq!(problem.message, "There is no prompt `sumary`.");
    assert_eq!(problem.help.as_deref(), Some("Did you mean `summary`?"));
    assert_eq!(problem.line, Some(6));
    assert!(library.prompt("flow").is_none());
}

#[test]
fn chains_that_contain_themselves_are_named() {
    let workspace = LibraryWorkspace::new();
    workspace
        .prompt("leaf")
        .chain("a", &["leaf", "b"])
        .chain("b", &["a"])
        .chain("user", &["a"])
        .chain("own", &["own"])
        .chain("fine", &["leaf", "leaf"]);
    let library = workspace.load();
    let messages: Vec<&str> = errors(&library)
        .iter()
        .map(|it| it.message.as_str())
        .collect();
    assert_eq!(
        messages,
        [
            "The prompt contains itself: a → b → a.",
            "The prompt contains itself: b → a → b.",
            "The prompt contains itself: own → own.",
            "The prompt `a` cannot be used.",
        ]
    );
    assert!(library.prompt("fine").is_some());
    assert!(library.prompt("a").is_none());
}

#[test]
fn templates_that_take_each_other_in_are_checked() {
    let workspace = LibraryWorkspace::new();
    let write = |id: &str, text: &str| {
        workspace.write(
            &format!("resources/prompts/general/{id}.yaml"),
            &format!(
                "id: {id}\nname: {id}\ndescription: x\nuserMessageTemplate: |\n  one\n  {text}\n"
            ),
        );
    };
    write("a", "{{ref:b}}");
    write("b", "{{ref:a}}");
    write("c", "{{ref:nothing}}");
    write(
        "d",
        "{% raw %}{{ref:nothing}}{% endraw %}{# {{ref:nothing}} #}{{ref:e}}",
    );
    write("e", "x");
    let library = workspace.load();
    let found = errors(&library);
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(found.iter().all(|it| it.line == Some(6)), "{found:#?}");
    assert!(library.prompt("d").is_some());
}

#[test]
fn chains_nested_too_deep_are_refused() {
    let workspace = LibraryWorkspace::new();
    workspace.prompt("c0");
    for level in 1..13 {
        workspace.chain(&format!("c{level}"), &[&format!("c{}", level - 1)]);
    }
    let library = workspace.load();
    assert!(library.prompt("c10").is_some());
    assert!(library.prompt("c11").is_none());
    assert!(
        errors(&library)
            .iter()
            .any(|it| it.message.contains("11 levels deep")),
        "{:#?}",
        library.problems
    );
}

#[test]
fn a_gate_that_does_not_exist_is_told_with_the_nearest() {
    let workspace = LibraryWorkspace::new();
    workspace
        .write(
            "resources/gates/cites-sources/gate.yaml",
            "id: cites-sources\nname: C\ntype: guidance\ndescription: c\nguidance: cite\n",
        )
        .write(
            "resources/prompts/general/p.yaml",
            "id: p\nname: P\ndescription: x\nuserMessageTemplate: x\ngateConfiguration:\n  include:\n    - cites-sourcs\n    - cites_sources\ntools: [nothing]\n",
        );
    let library = workspace.load();
    let found = problems(&library);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert_eq!(found[0].weight, ProblemSeverity::Warning);
    assert_eq!(found[0].line, Some(7));
    assert_eq!(
        found[0].help.as_deref(),
        Some("Did you mean `cites-sources`?")
    );
    assert!(found[1].message.contains("script tool `nothing`"));
    assert!(library.prompt("p").is_some());
}

#[test]
fn of_two_with_one_id_the_folder_wins_and_the_loser_is_told() {
    let workspace = LibraryWorkspace::new();
    workspace.prompt("twin").write(
        "resources/prompts/general/twin.yaml",
        "id: twin\nname: file\ndescription: x\nuserMessageTemplate: x\n",
    );
    let library = workspace.load();
    assert_eq!(library.prompt("twin").expect("one").name, "twin");
    let problem = only_problem(&library);
    assert_eq!(problem.file, "resources/prompts/general/twin.yaml");
    assert!(
        problem
            .message
            .contains("resources/prompts/general/twin/prompt.yaml")
    );
}

#[test]
fn nested_prompts_can_be_steps_by_their_whole_id() {
    let workspace = LibraryWorkspace::new();
    workspace
        .prompt("parent")
        .prompt("parent/child")
        .chain("flow", &["parent/child", "Parent"]);
    let library = workspace.load();
    assert_clean(&library);
    assert!(library.prompt("flow").is_some());
}

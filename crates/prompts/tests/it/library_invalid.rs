//! Broken or hostile files: one clear problem at its location, and all other files work.

use std::{fs, process::Command};

use deliberate_prompts::library::{ProblemSeverity, PromptLibrary};

use super::library_support::{LibraryWorkspace, assert_clean, errors, only_problem, problems};

/// Loads one prompt from one file, next to a valid one.
fn load_one(yaml: &str) -> (LibraryWorkspace, PromptLibrary) {
    let workspace = LibraryWorkspace::new();
    workspace
        .prompt("good")
        .write("resources/prompts/general/bad/prompt.yaml", yaml);
    let library = workspace.load();
    assert!(
        library.prompt("good").is_some(),
        "the good prompt is unaffected"
    );
    (workspace, library)
}

fn assert_rejected(yaml: &str, line: Option<u32>, words: &str) {
    let (_workspace, library) = load_one(yaml);
    let problem = only_problem(&library);
    assert_eq!(problem.weight, ProblemSeverity::Error, "{problem:#?}");
    assert_eq!(problem.id, "bad");
    assert_eq!(problem.file, "resources/prompts/general/bad/prompt.yaml");
    assert!(problem.message.contains(words), "{problem:#?}");
    assert_eq!(problem.line, line, "{problem:#?}");
    assert!(library.prompt("bad").is_none());
}

const HEAD: &str = "id: bad\nname: Bad\ndescription: is bad\n";

#[test]
fn broken_yaml_is_told_with_its_line() {
    let (_workspace, library) = load_one("id: bad\nname: [open\ndescription: x\n");
    let problem = only_problem(&library);
    assert!(
        problem.message.starts_with("The YAML is invalid"),
        "{problem:#?}"
    );
    assert!(
        problem.line.is_some() && problem.column.is_some(),
        "{problem:#?}"
    );
    assert!(problem.help.is_some());
}

#[test]
fn an_id_that_differs_from_its_folder_is_told() {
    assert_rejected(
        "id: other\nname: x\ndescription: x\nuserMessageTemplate: x\n",
        Some(1),
        "`other`",
    );
}

#[test]
fn what_is_missing_is_told() {
    assert_rejected(
        "id: bad\nname: x\nuserMessageTemplate: x\n",
        None,
        "`description`",
    );
    assert_rejected(HEAD, None, "no template");
    assert_rejected(
        &format!("{HEAD}userMessageTemplateFile: gone.md\n"),
        Some(4),
        "gone.md",
    );
    assert_rejected("", None, "a mapping of fields to values");
    assert_rejected("- a\n- b\n", None, "a mapping of fields to values");
}

#[test]
fn what_does_not_fit_is_told_at_its_place() {
    assert_rejected(
        &format!("{HEAD}userMessageTemplate: x\narguments:\n  - name: a\n    type: colour\n"),
        Some(7),
        "colour",
    );
    assert_rejected(
        &format!("{HEAD}userMessageTemplate: x\narguments:\n  - {{name: a}}\n  - {{name: a}}\n"),
        Some(7),
        "twice",
    );
    assert_rejected(
        &format!("{HEAD}chainSteps:\n  - {{stepName: nothing}}\n"),
        Some(5),
        "exactly one",
    );
    assert_rejected(
        &format!("{HEAD}name: again\nuserMessageTemplate: x\n"),
        Some(4),
        "occurs twice",
    );
}

#[test]
fn a_misspelt_name_is_a_warning_with_the_right_one() {
    let (_workspace, library) = load_one(&format!("{HEAD}userMessageTemplate: x\nargumnets: []\n"));
    let problem = only_problem(&library);
    assert_eq!(problem.weight, ProblemSeverity::Warning);
    assert_eq!((problem.line, problem.column), (Some(5), Some(1)));
    assert_eq!(problem.help.as_deref(), Some("Did you mean `arguments`?"));
    assert!(library.prompt("bad").is_some());
}

#[test]
fn patterns_that_could_hang_or_are_broken_are_refused_at_their_line() {
    for pattern in ["(?=ahead)x", "(a)\\1", "(open", "(?:a{1000}){1000}"] {
        assert_rejected(
            &format!(
                "{HEAD}userMessageTemplate: x\narguments:\n  - name: a\n    validation:\n      pattern: '{pattern}'\n"
            ),
            Some(8),
            "pattern",
        );
    }
    let workspace = LibraryWorkspace::new();
    workspace.write(
        "resources/gates/g/gate.yaml",
        "id: g\nname: G\ntype: validation\ndescription: g\npass_criteria:\n  - type: content_check\n    max_lenght: 3\n    required_patterns:\n      - fine\n      - '(?<!x)y'\n",
    );
    let library = workspace.load();
    let found = problems(&library);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert_eq!(found[0].help.as_deref(), Some("Did you mean `max_length`?"));
    assert_eq!(found[1].line, Some(10));
    assert!(library.gate("g").is_none());
}

#[test]
fn a_gate_without_a_type_of_criterion_is_told() {
    let workspace = LibraryWorkspace::new();
    workspace.write(
        "resources/gates/g/gate.yaml",
        "id: g\nname: G\ntype: validation\ndescription: g\npass_criteria:\n  - {max_length: 3}\n",
    );
    let library = workspace.load();
    let problem = only_problem(&library);
    assert_eq!(problem.line, Some(6), "{problem:#?}");
    assert!(problem.message.contains("type"), "{problem:#?}");
}

#[test]
fn an_alias_bomb_is_refused() {
    let mut bomb = format!("{HEAD}a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let inner = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb = format!("{bomb}a{level}: &a{level} [{inner}]\n");
    }
    while bomb.len() < 10_000 {
        bomb.push_str("# padding\n");
    }
    let (_workspace, library) = load_one(&bomb);
    assert_eq!(errors(&library).len(), 1, "{:#?}", library.problems);
    let deep = format!("{HEAD}x: {}{}\n", "[".repeat(5_000), "]".repeat(5_000));
    let (_workspace, library) = load_one(&deep);
    assert_eq!(errors(&library).len(), 1, "{:#?}", library.problems);
}

#[test]
fn a_file_that_is_too_long_or_no_text_is_refused() {
    let workspace = LibraryWorkspace::new();
    let long = format!("{HEAD}userMessageTemplate: {}\n", "x".repeat(2 << 20));
    workspace.write("resources/prompts/general/bad/prompt.yaml", &long);
    assert!(
        only_problem(&workspace.load())
            .message
            .contains("longer than")
    );
    fs::write(
        workspace.path("resources/prompts/general/bad/prompt.yaml"),
        [0xff, 0xfe, 0x00],
    )
    .expect("bytes");
    assert!(only_problem(&workspace.load()).message.contains("UTF-8"));
}

#[test]
fn file_fields_can_not_leave_their_folder() {
    let workspace = LibraryWorkspace::new();
    workspace.write("secret.md", "secret");
    workspace.write("resources/prompts/general/other/user-message.md", "secret");
    let absolute = workspace.path("secret.md");
    let names = [
        "../../../../secret.md",
        "../other/user-message.md",
        "/etc/hostname",
        "a/../../other/user-message.md",
        absolute.to_str().expect("a path"),
    ];
    for field in ["userMessageTemplateFile", "systemMessageFile"] {
        for name in names {
            workspace.write(
                "resources/prompts/general/bad/prompt.yaml",
                &format!("{HEAD}userMessageTemplate: x\n{field}: {name}\n"),
            );
            let library = workspace.load();
            let problem = only_problem(&library);
            assert_eq!(problem.weight, ProblemSeverity::Error);
            assert!(
                problem.message.contains("is outside its folder"),
                "{problem:#?}"
            );
            assert_eq!(problem.line, Some(5));
            assert!(library.prompt("bad").is_none());
        }
    }
}

#[test]
fn ids_are_plain() {
    for id in ["../bad", "a b", "-bad", "bad.", "bä", ""] {
        let (_workspace, library) = load_one(&format!(
            "id: '{id}'\nname: x\ndescription: x\nuserMessageTemplate: x\n"
        ));
        assert_eq!(errors(&library).len(), 1, "{id}");
    }
    let workspace = LibraryWorkspace::new();
    workspace.write("resources/prompts/general/a b/prompt.yaml", "id: a b\n");
    workspace.write("resources/prompts/general/.hidden/prompt.yaml", "broken: [");
    workspace.write("resources/prompts/_drafts/x/prompt.yaml", "broken: [");
    assert_eq!(
        only_problem(&workspace.load()).file,
        "resources/prompts/general/a b"
    );
    assert!(!deliberate_prompts::library::is_id("a//b"));
    assert!(deliberate_prompts::library::is_id("a/b-c/_d"));
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_out_of_the_folder_are_refused() {
        let outside = LibraryWorkspace::new();
        outside.write("text.md", "secret").prompt("stolen");
        let workspace = LibraryWorkspace::new();
        workspace.prompt("good").write(
            "resources/prompts/general/bad/prompt.yaml",
            &format!("{HEAD}userMessageTemplateFile: user-message.md\n"),
        );
        symlink(
            outside.path("text.md"),
            workspace.path("resources/prompts/general/bad/user-message.md"),
        )
        .expect("a link");
        symlink(
            outside.path("resources/prompts/general/stolen"),
            workspace.path("resources/prompts/general/stolen"),
        )
        .expect("a link");
        symlink(
            outside.path("resources/prompts/general"),
            workspace.path("resources/prompts/good2"),
        )
        .expect("a link");
        let library = workspace.load();
        assert_eq!(errors(&library).len(), 3, "{:#?}", library.problems);
        assert!(library.prompt("good").is_some());
        assert!(library.prompt("bad").is_none());
        assert!(library.prompt("stolen").is_none());
    }

    #[test]
    fn a_root_that_leads_out_is_refused_and_a_loop_ends() {
        let outside = LibraryWorkspace::new();
        outside.prompt("stolen");
        let workspace = LibraryWorkspace::new();
        fs::create_dir(workspace.path("resources")).expect("a folder");
        symlink(
            outside.path("resources/prompts"),
            workspace.path("resources/prompts"),
        )
        .expect("a link");
        let library = workspace.load();
        assert!(only_problem(&library).message.contains("leads out"));
        assert!(library.prompt("stolen").is_none());

        let workspace = LibraryWorkspace::new();
        workspace.prompt("good");
        symlink(
            workspace.path("resources/prompts"),
            workspace.path("resources/prompts/general/good/again"),
        )
        .expect("a link");
        let library = workspace.load();
        assert_eq!(errors(&library).len(), 1);
        assert!(library.prompt("good").is_some());
    }

    #[test]
    fn a_link_inside_the_folder_is_read() {
        let workspace = LibraryWorkspace::new();
        workspace
            .write(
                "resources/prompts/general/bad/prompt.yaml",
                &format!("{HEAD}userMessageTemplateFile: user-message.md\n"),
            )
            .write("resources/prompts/general/bad/real.md", "text");
        symlink(
            "real.md",
            workspace.path("resources/prompts/general/bad/user-message.md"),
        )
        .expect("a link");
        let library = workspace.load();
        assert_clean(&library);
        let prompt = library.prompt("bad").expect("the prompt");
        assert_eq!(prompt.template.as_ref().expect("a text").body, "text");
    }

    #[test]
    fn a_pipe_is_never_opened() {
        let workspace = LibraryWorkspace::new();
        workspace.prompt("good").write(
            "resources/prompts/general/bad/prompt.yaml",
            &format!("{HEAD}userMessageTemplateFile: user-message.md\n"),
        );
        for pipe in ["bad/user-message.md", "pipe.yaml"] {
            let made = Command::new("mkfifo")
                .arg(workspace.path("resources/prompts/general").join(pipe))
                .status()
                .expect("mkfifo");
            assert!(made.success());
        }
        let library = workspace.load();
        let found = errors(&library);
        assert_eq!(found.len(), 2, "{found:#?}");
        assert!(
            found
                .iter()
                .all(|it| it.message.contains("not a regular file"))
        );
        assert!(library.prompt("good").is_some());
    }
}

#[test]
fn nesting_has_an_end() {
    let workspace = LibraryWorkspace::new();
    let mut path = String::from("p0");
    workspace.prompt(&path);
    for level in 1..14 {
        path = format!("{path}/p{level}");
        workspace.prompt(&path);
    }
    let library = workspace.load();
    assert!(
        only_problem(&library).message.contains("deep"),
        "{:#?}",
        library.problems
    );
    assert!(library.prompt("p0/p1/p2").is_some());
}

#[test]
fn a_broken_config_is_a_problem_and_no_more() {
    let workspace = LibraryWorkspace::new();
    workspace
        .prompt("good")
        .write("config.json", "{\n  \"injection\": {,\n}")
        .write("resources/engine.yaml", "injection: {glboal: {}}\n");
    let library = workspace.load();
    let found = problems(&library);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert_eq!(
        (found[0].file.as_str(), found[0].line),
        ("config.json", Some(2))
    );
    assert_eq!(found[1].help.as_deref(), Some("Did you mean `global`?"));
    assert!(library.prompt("good").is_some());
}

#[test]
fn a_script_outside_its_folder_is_refused() {
    let workspace = LibraryWorkspace::new();
    workspace.write("evil.sh", "echo");
    for script in ["../../../evil.sh", "/bin/sh", "gone.sh"] {
        workspace.write(
            "resources/scripts/s/tool.yaml",
            &format!("id: s\nname: S\ndescription: s\nscript: {script}\n"),
        );
        let library = workspace.load();
        assert_eq!(errors(&library).len(), 1, "{:#?}", library.problems);
        assert!(library.scripts.is_empty());
    }
}

#[test]
fn too_many_things_are_told() {
    let workspace = LibraryWorkspace::new();
    for number in 0..8 {
        workspace.prompt(&format!("p{number}"));
    }
    let mut options = workspace.options();
    options.limits.files = 5;
    let (library, _) = deliberate_prompts::library::check_workspace(&options, &|_| None);
    assert!(
        library
            .problems
            .iter()
            .any(|it| it.message.contains("more than 5")),
        "{:#?}",
        library.problems
    );
}

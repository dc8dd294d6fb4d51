//! Tests of `deliberate prompt`: listing, checking and creating prompts.

use std::path::{Path, PathBuf};

use deliberate_testkit::{wait_for, wait_until_async};
use serde_json::{Value, json};

use crate::support::{TestHome, run_command};

/// Returns the default folder of prompts.
fn prompt_workspace(home: &TestHome) -> PathBuf {
    home.path("data/deliberate/prompts")
}

/// Writes a file and creates its folders.
pub(super) fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn ids(list: &Value) -> Vec<&str> {
    let list = list.as_array().unwrap().iter();
    list.map(|it| it["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_library_is_listed_and_searched() {
    let home = TestHome::new();
    let all = home.run_json(&["prompt", "list", "--json"]).await;
    assert!(ids(&all).contains(&"code_review"), "{all}");
    assert!(
        ids(&all).iter().all(|id| !id.contains('/')),
        "parts are left out"
    );
    let some = home
        .run_json(&["prompt", "list", "DECISION", "--json"])
        .await;
    let some = ids(&some);
    assert!(some.contains(&"decision_memo") && !some.contains(&"code_review"));
    let table = home.run(&["prompt"]).await;
    assert_eq!((table.code, table.stderr.as_str()), (Some(0), ""));
    assert!(
        table.stdout.contains("decision_memo (chain)"),
        "{}",
        table.stdout
    );
    let none = home.run(&["prompt", "list", "zzzz"]).await;
    assert_eq!(none.code, Some(0));
    assert!(
        none.stdout.contains("No prompt contains \"zzzz\""),
        "{}",
        none.stdout
    );
    assert!(!home.database().exists(), "looking opens no database");
    assert!(!prompt_workspace(&home).exists(), "and makes no folder");
}

#[tokio::test]
async fn one_prompt_is_shown_with_all_it_takes() {
    let home = TestHome::new();
    let output = home.run(&["prompt", "show", "decision_memo"]).await;
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    for part in [
        "question (required)",
        "2. Explore (tool reasoning_tree)",
        "{{ question }}",
    ] {
        assert!(output.stdout.contains(part), "{part}: {}", output.stdout);
    }
    let whole = home
        .run_json(&["prompt", "show", ">>decision-memo", "--json"])
        .await;
    assert_eq!(whole["id"], "decision_memo");
    assert_eq!(whole["steps"].as_array().unwrap().len(), 4);
    let wrong = home.run(&["prompt", "show", "code_reviw"]).await;
    assert_eq!((wrong.code, wrong.stdout.as_str()), (Some(2), ""));
    assert!(
        wrong.stderr.contains("did you mean `code_review`?"),
        "{}",
        wrong.stderr
    );
}

#[tokio::test]
async fn what_is_new_passes_its_check_and_is_never_written_over() {
    let home = TestHome::new();
    let made: [&[&str]; 4] = [
        &["prompt", "new", "weekly_report", "--category", "writing"],
        &["prompt", "new", "two-steps", "--chain"],
        &["prompt", "new", "two-steps/third"],
        &["prompt", "new", "true"],
    ];
    for arguments in made {
        let output = home.run(arguments).await;
        assert_eq!(
            (output.code, output.stderr.as_str()),
            (Some(0), ""),
            "{arguments:?}"
        );
    }
    let checked = home.run(&["prompt", "check"]).await;
    assert_eq!(checked.code, Some(0), "{}", checked.stdout);
    assert!(
        checked.stdout.starts_with("6 items checked in "),
        "{}",
        checked.stdout
    );

    let file = prompt_workspace(&home).join("resources/prompts/writing/weekly_report/prompt.yaml");
    let before = std::fs::read_to_string(&file).unwrap();
    for category in ["writing", "other"] {
        let again = ["prompt", "new", "weekly_report", "--category", category];
        let output = home.run(&again).await;
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (Some(2), ""),
            "{category}"
        );
        assert!(output.stderr.contains("already"), "{}", output.stderr);
    }
    // A folder without a prompt belongs to the user, too.
    let folder = prompt_workspace(&home).join("resources/prompts/general/mine");
    std::fs::create_dir_all(&folder).unwrap();
    let output = home.run(&["prompt", "new", "mine"]).await;
    assert_eq!(output.code, Some(2));
    assert!(
        output.stderr.contains("was not changed"),
        "{}",
        output.stderr
    );
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
}

#[tokio::test]
async fn ids_that_would_leave_the_workspace_are_refused() {
    let home = TestHome::new();
    for arguments in [
        ["prompt", "new", "../out"].as_slice(),
        &["prompt", "new", "a/../../out"],
        &["prompt", "new", "/tmp/out"],
        &["prompt", "new", "ok", "--category", ".."],
        &["prompt", "new", ""],
    ] {
        let output = home.run(arguments).await;
        assert_eq!(output.code, Some(2), "{arguments:?}");
        assert!(
            output.stderr.contains("is not a valid"),
            "{arguments:?}: {}",
            output.stderr
        );
    }
    assert!(!prompt_workspace(&home).exists());
}

/// Writes a workspace with one error of every kind.
fn write_broken_workspace(folder: &Path) {
    let prompt = |id: &str, text: &str| {
        write(
            &folder.join(format!("prompts/general/{id}/prompt.yaml")),
            text,
        );
    };
    prompt("no_yaml", "id: no_yaml\nname: [unclosed\n");
    prompt(
        "no_gate",
        "id: no_gate\nname: No gate\ndescription: d\nuserMessageTemplate: Hello\n\
         gateConfiguration:\n  include: [code-qualty]\n",
    );
    prompt(
        "no_end",
        "id: no_end\nname: No end\ndescription: d\nuserMessageTemplateFile: user-message.md\n",
    );
    write(
        &folder.join("prompts/general/no_end/user-message.md"),
        "Hello\n{% if name %}{{ name }}\n",
    );
    prompt(
        "round",
        "id: round\nname: Round\ndescription: d\nchainSteps:\n  - promptId: round\n",
    );
    prompt(
        "fine",
        "id: fine\nname: Fine\ndescription: d\nuserMessageTemplate: Fine.\n",
    );
}

#[tokio::test]
async fn mistakes_are_drawn_at_their_places() {
    let home = TestHome::new();
    write_broken_workspace(&home.path("work/mine"));
    let output = home.run(&["prompt", "check", "mine"]).await;
    assert_eq!((output.code, output.stderr.as_str()), (Some(1), ""));
    insta::assert_snapshot!("prompt_check", output.stdout);

    let json = home.run(&["prompt", "check", "mine", "--json"]).await;
    assert_eq!(json.code, Some(1));
    let found: Value = serde_json::from_str(&json.stdout).unwrap();
    let problems = found["problems"].as_array().unwrap();
    let errors = problems.iter().filter(|it| it["weight"] == "error").count();
    assert_eq!(found["errors"], errors);
    assert_eq!(found["workspace"], "mine");
    let template = problems.iter().find(|it| it["id"] == "no_end").unwrap();
    assert_eq!(template["file"], "prompts/general/no_end/user-message.md");

    // Valid prompts work despite the invalid ones.
    let cli_output = home
        .run(&["prompt", "--workspace", "mine", "run", "fine"])
        .await;
    assert_eq!(
        (cli_output.code, cli_output.stdout.as_str()),
        (Some(0), "Fine.\n")
    );
    let listed = home.run(&["prompt", "list", "--workspace", "mine"]).await;
    assert!(
        listed
            .stderr
            .contains("`deliberate prompt check` shows why"),
        "{}",
        listed.stderr
    );
}

#[tokio::test]
async fn a_check_of_nothing_is_no_comfort() {
    let home = TestHome::new();
    let output = home.run(&["prompt", "check"]).await;
    assert_eq!(output.code, Some(0));
    assert!(
        output
            .stdout
            .contains("Create a prompt with: deliberate prompt new"),
        "{}",
        output.stdout
    );
    let output = home.run(&["prompt", "check", "."]).await;
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""));
    assert!(
        output.stderr.contains("nothing to check"),
        "{}",
        output.stderr
    );
    let output = home.run(&["prompt", "check", "nowhere"]).await;
    assert_eq!(output.code, Some(2));
    assert!(
        output.stderr.contains("there is no folder nowhere"),
        "{}",
        output.stderr
    );
}

#[tokio::test]
async fn the_doctor_looks_at_the_prompts() {
    let home = TestHome::new();
    let line = |findings: &Value| {
        let mut all = findings.as_array().unwrap().iter();
        let found = all.find(|it| it["what"] == "prompts").unwrap();
        let text = |field: &str| found[field].as_str().unwrap().to_owned();
        (text("verdict"), text("text"))
    };
    let (verdict, text) = line(&home.run_json(&["doctor", "--json"]).await);
    assert_eq!(verdict, "ok");
    assert!(
        text.contains(&prompt_workspace(&home).display().to_string()),
        "{text}"
    );
    let listed = home.run_json(&["prompt", "list", "--json"]).await;
    let many = format!(": {} prompts ", listed.as_array().unwrap().len());
    assert!(text.contains(&many), "{text}");
    write_broken_workspace(&prompt_workspace(&home));
    let (verdict, text) = line(&home.run_json(&["doctor", "--json"]).await);
    assert_eq!(verdict, "note");
    assert!(
        text.contains("`deliberate prompt check` shows them"),
        "{text}"
    );
    let off = ["--set", "tools.sets=reasoning", "doctor", "--json"];
    let (verdict, text) = line(&home.run_json(&off).await);
    assert_eq!(
        (verdict.as_str(), text.contains("tools.sets")),
        ("note", true)
    );
}

fn tool_names(tools: &Value) -> Vec<&str> {
    let tools = tools.as_array().unwrap().iter();
    tools.map(|it| it["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_set_of_tools_can_be_left_out() {
    let home = TestHome::new();
    let tools = |sets: &'static str| {
        let home = &home;
        async move { home.run_json(&["--set", sets, "tools", "--json"]).await }
    };
    let reasoning = tools("tools.sets=reasoning").await;
    assert!(tool_names(&reasoning).contains(&"reasoning_linear"));
    assert!(!tool_names(&reasoning).contains(&"prompt_engine"));
    let prompts = tools("tools.sets=prompts").await;
    assert!(tool_names(&prompts).contains(&"prompt_engine"));
    assert!(!tool_names(&prompts).contains(&"reasoning_linear"));
    let both = tools("tools.sets=prompts, Reasoning").await;
    assert!(tool_names(&both).contains(&"prompt_engine"));
    assert!(tool_names(&both).contains(&"reasoning_linear"));
    // In the shell a prompt works whatever is offered to clients.
    let output = home
        .run(&[
            "--set",
            "tools.sets=reasoning",
            "prompt",
            "run",
            "no_such_prompt",
        ])
        .await;
    assert!(
        output.stderr.contains("there is no prompt"),
        "{}",
        output.stderr
    );
}

#[tokio::test]
async fn folders_of_the_original_are_read_where_its_variables_say() {
    let home = TestHome::new();
    let says = |id: &str| {
        format!("id: {id}\nname: {id}\ndescription: d\nuserMessageTemplate: This is {id}.\n")
    };
    let all = home.path("work/all");
    write(&all.join("prompts/general/one/prompt.yaml"), &says("one"));
    let own = home.path("work/own");
    write(&own.join("general/two/prompt.yaml"), &says("two"));
    let ask = |id: &'static str| {
        let mut command = home.command();
        command
            .env("MCP_RESOURCES_PATH", &all)
            .args(["prompt", "run", id]);
        command
    };
    assert_eq!(run_command(&mut ask("one")).await.stdout, "This is one.\n");
    let mut command = ask("two");
    assert_eq!(
        run_command(command.env("MCP_PROMPTS_PATH", &own))
            .await
            .stdout,
        "This is two.\n"
    );
    let mut command = ask("one");
    let output = run_command(command.env("MCP_PROMPTS_PATH", &own)).await;
    assert_eq!(output.code, Some(2), "the variable for prompts wins");
}

#[tokio::test]
async fn a_client_hears_of_a_prompt_that_is_written_while_it_is_served() {
    let home = TestHome::new();
    let folder = home.path("work/mine");
    let mut command = home.command();
    command.args(["serve", "--workspace", "mine"]);
    let mut client = crate::support::serve(&mut command).await;
    let call = json!({ "command": ">>hello world" });
    let before = client.call("prompt_engine", call.clone()).await.unwrap();
    assert_eq!(crate::support::tool_failure(&before).code, "UnknownName");
    write(
        &folder.join("prompts/general/hello/prompt.yaml"),
        "id: hello\nname: Hello\ndescription: d\nuserMessageTemplate: Hello {{ who }}\n\
         arguments:\n  - {name: who, required: true}\n",
    );
    let mut heard = Vec::new();
    let answer = wait_for(async || {
        let answer = client.call("prompt_engine", call.clone()).await.unwrap();
        heard.extend(client.take_buffered());
        (answer["result"]["isError"] != true).then_some(answer)
    });
    assert_eq!(crate::support::text(&answer.await, "said"), "Hello world");
    let told = |heard: &[Value]| {
        let mut methods = heard.iter().map(|it| &it["method"]);
        methods.any(|method| method == "notifications/prompts/list_changed")
    };
    // A written prompt can be used shortly before clients are notified.
    wait_until_async(async || {
        client.request("ping", json!({})).await.unwrap();
        heard.extend(client.take_buffered());
        told(&heard)
    })
    .await;
    crate::support::shut_down(client).await;
}

#[tokio::test]
async fn a_shipped_prompt_is_replaced_only_by_who_says_so() {
    let home = TestHome::new();
    let refused = home.run(&["prompt", "new", "code_review"]).await;
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""));
    assert!(refused.stderr.contains("--replace"), "{}", refused.stderr);
    assert!(!prompt_workspace(&home).exists());
    let output = home
        .run(&["prompt", "new", "code_review", "--replace"])
        .await;
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
}

#[tokio::test]
async fn a_workspace_that_is_named_has_to_be_a_folder() {
    let home = TestHome::new();
    let missing = home.path("missing");
    let file = home.path("a-file");
    write(&file, "x");
    let commands: [&[&str]; 4] = [
        &["list"],
        &["show", "code_review"],
        &["check"],
        &["run", "code_review", "x"],
    ];
    for command in commands {
        for folder in [&missing, &file] {
            let at = ["prompt", "--workspace", folder.to_str().unwrap()];
            let output = home.run(&[&at[..], command].concat()).await;
            assert_eq!(
                (output.code, output.stdout.as_str()),
                (Some(2), ""),
                "{command:?}"
            );
        }
    }
    let at = [
        "prompt",
        "--workspace",
        missing.to_str().unwrap(),
        "new",
        "mine",
    ];
    let cli_output = home.run(&at).await;
    assert_eq!(cli_output.code, Some(0), "{}", cli_output.stderr);
    assert!(
        cli_output.stdout.contains("check --workspace '"),
        "{}",
        cli_output.stdout
    );
}

#[tokio::test]
async fn a_prompt_that_is_broken_says_why() {
    let home = TestHome::new();
    let file = prompt_workspace(&home).join("prompts/general/p/prompt.yaml");
    write(&file, "id: p\nname: P\n");
    let output = home.run(&["prompt", "show", "p"]).await;
    assert_eq!(output.code, Some(2));
    assert!(
        output.stderr.contains("`description` is missing"),
        "{}",
        output.stderr
    );
    write(
        &file,
        "id: p\nname: P\ndescription: d\nuserMessageTemplate: \"{{a\"\n",
    );
    let output = home.run(&["prompt", "show", "p"]).await;
    assert!(
        output
            .stderr
            .contains("prompt.yaml:4: The template is invalid"),
        "{}",
        output.stderr
    );
}

//! Tests of `deliberate prompt run`.

use std::process::Stdio;

use deliberate_testkit::{MockFault, MockProvider};
use serde_json::Value;

use super::prompt::write;
use crate::support::{TestHome, run_command, run_with_input, terminate, wait_until};

const GREET: &str = "id: greet\nname: Greet\ndescription: d\nuserMessageTemplate: |\n  Hello {{ who }}\narguments:\n  - {name: who, required: true}\n  - {name: times, type: number}\n";

const CHAIN: &str = "id: relay\nname: Relay\ndescription: d\narguments:\n  - {name: who, required: true}\nchainSteps:\n  - stepName: Begin\n    promptId: greet\n  - stepName: Finish\n    promptId: finish\n";

const FINISH: &str = "id: finish\nname: Finish\ndescription: d\nuserMessageTemplate: \"Finish: {{ previous_step_result }}\"\n";

/// Creates a home with a prompt and a chain of two steps.
fn home_with_prompts() -> TestHome {
    let home = TestHome::new();
    for (id, text) in [("greet", GREET), ("relay", CHAIN), ("finish", FINISH)] {
        let file = format!("data/deliberate/prompts/prompts/general/{id}/prompt.yaml");
        write(&home.path(&file), text);
    }
    home
}

fn model_reply(text: &str) -> MockFault {
    MockFault::Text(serde_json::json!({ "answer": text }).to_string())
}

#[tokio::test]
async fn without_a_model_a_plain_prompt_is_its_text_and_nothing_else() {
    let home = home_with_prompts();
    let hostile = "x --> >>finish * 3 {{ who }} \"quoted\" 'single' :: y";
    let output = home.run(&["prompt", "run", "greet", hostile]).await;
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    assert_eq!(output.stdout, format!("Hello {hostile}\n"));
    for words in [
        ["prompt", "run", ">>greet world"].as_slice(),
        &["prompt", "run", "greet world"],
        &["prompt", "run", "greet", "--arg", "who=world"],
    ] {
        let output = home.run(words).await;
        assert_eq!(
            (output.stderr.as_str(), output.stdout.as_str()),
            ("", "Hello world\n"),
            "{words:?}"
        );
    }
    let piped = run_with_input(
        home.command().args(["prompt", "run", "greet", "-"]),
        "a\u{1b}[1mb",
    )
    .await;
    assert_eq!(
        piped.stdout, "Hello a\u{1b}[1mb\n",
        "another program gets every byte"
    );
}

#[tokio::test]
async fn without_a_model_a_chain_is_answered_by_hand() {
    let home = home_with_prompts();
    let first = home.run(&["prompt", "run", "relay", "Ann"]).await;
    assert_eq!(
        (first.code, first.stdout.as_str()),
        (Some(0), "Hello Ann\n")
    );
    let go_on = "deliberate prompt run --resume 'chain-relay#1' --answer";
    assert!(first.stderr.contains(go_on), "{}", first.stderr);
    let resume = ["prompt", "run", "--resume", "chain-relay#1"];
    let second = home
        .run(&[&resume[..], &["--answer", "Hi."]].concat())
        .await;
    assert_eq!(
        (second.code, second.stdout.as_str()),
        (Some(0), "Finish: Hi.\n")
    );
    let last = home
        .run(&[&resume[..], &["--answer", "Bye.", "--json"]].concat())
        .await;
    let last: Value = serde_json::from_str(&last.stdout).unwrap();
    assert_eq!(
        (&last["status"], &last["results"]["Finish"]),
        (&"done".into(), &"Bye.".into())
    );
}

#[tokio::test]
async fn with_a_model_a_chain_runs_to_its_end() {
    let (home, standin) = (home_with_prompts(), MockProvider::start().await.unwrap());
    standin.push_fault(model_reply("Good day, Ann."));
    standin.push_fault(model_reply("All done.\n\n---\nReally."));
    let output = run_command(
        home.command_with_provider(&standin)
            .args(["prompt", "run", "relay", "Ann"]),
    )
    .await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(output.stdout, "All done.\n\n---\nReally.\n");
    assert_eq!(output.stderr, "step 1 of 2: Begin\nstep 2 of 2: Finish\n");
    let records = standin.model_requests();
    assert_eq!(records.len(), 2);
    assert!(format!("{:?}", records[1]).contains("Finish: Good day, Ann."));

    standin.push_fault(model_reply("Hello yourself."));
    let output = run_command(
        home.command_with_provider(&standin)
            .args(["prompt", "run", "greet", "Bob", "--json"]),
    )
    .await;
    let answer: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(
        (&answer["answer"], &answer["status"]),
        (&"Hello yourself.".into(), &"done".into())
    );

    let before = standin.model_requests().len();
    let output = run_command(
        home.command_with_provider(&standin)
            .args(["prompt", "run", "--render", "greet", "Bob"]),
    )
    .await;
    assert_eq!(
        (output.stdout.as_str(), standin.model_requests().len()),
        ("Hello Bob\n", before)
    );
}

#[tokio::test]
async fn a_run_that_fails_or_is_stopped_is_kept_and_goes_on() {
    let (home, standin) = (home_with_prompts(), MockProvider::start().await.unwrap());
    standin.push_fault(model_reply("One."));
    standin.push_fault(MockFault::status(403));
    let output = run_command(
        home.command_with_provider(&standin)
            .args(["prompt", "run", "relay", "Ann"]),
    )
    .await;
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""));
    assert!(
        output.stderr.contains("--resume 'chain-relay#1'"),
        "{}",
        output.stderr
    );

    standin.push_fault(MockFault::Hang);
    let resume = ["prompt", "run", "--resume", "chain-relay#1"];
    let child = home
        .command_with_provider(&standin)
        .args(resume)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    wait_until(|| standin.in_flight() > 0).await;
    terminate(child.id().unwrap()).await;
    let stopped = child.wait_with_output().await.unwrap();
    let text = String::from_utf8(stopped.stderr).unwrap();
    assert_eq!(stopped.status.code(), Some(130), "{text}");
    assert!(
        text.contains("deliberate prompt run --resume 'chain-relay#1'"),
        "{text}"
    );

    standin.push_fault(model_reply("Two."));
    let output = run_command(home.command_with_provider(&standin).args(resume)).await;
    assert_eq!(
        (output.code, output.stdout.as_str()),
        (Some(0), "Two.\n"),
        "{}",
        output.stderr
    );
}

#[tokio::test]
async fn an_answer_that_no_attempt_makes_good_is_held_and_a_person_decides() {
    let (home, standin) = (home_with_prompts(), MockProvider::start().await.unwrap());
    write(
        &home.path("data/deliberate/prompts/gates/long/gate.yaml"),
        "id: long\nname: Long\ndescription: At least 100 characters\ntype: validation\n\
         enforcementMode: blocking\nguidance: Write at least 100 characters.\n\
         pass_criteria:\n  - {type: content_check, min_length: 100}\n",
    );
    standin.set_default_fault(model_reply("Too short."));
    let command = ["prompt", "run", ">>greet Ann :: long"];
    let output = run_command(home.command_with_provider(&standin).args(command)).await;
    assert_eq!(output.code, Some(1), "{output:?}");
    let go_on = "deliberate prompt run --resume 'chain-greet#1'";
    assert!(output.stderr.contains(go_on), "{}", output.stderr);
    assert!(standin.model_requests().len() < 10, "attempts are counted");
    let skip = [
        "prompt",
        "run",
        "--resume",
        "chain-greet#1",
        "--action",
        "skip",
    ];
    let output = run_command(home.command_with_provider(&standin).args(skip)).await;
    assert_eq!(output.code, Some(0), "{output:?}");
}

#[tokio::test]
async fn what_cannot_be_run_is_told_with_its_place() {
    let home = home_with_prompts();
    let cases: [(&[&str], &str); 6] = [
        (&["gret", "x"], "error: there is no prompt `gret`"),
        (&["greet"], "who"),
        (&["greet", "x", "--arg", "times=many"], "times"),
        (&["greet", "--arg", "who"], "expected --arg NAME=VALUE"),
        (&["--resume", "chain-none#1"], "chain-none#1"),
        (&[], "<COMMAND>"),
    ];
    for (arguments, named) in cases {
        let output = home.run(&[&["prompt", "run"], arguments].concat()).await;
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (Some(2), ""),
            "{arguments:?}"
        );
        assert!(
            output.stderr.contains(named),
            "{arguments:?}: {}",
            output.stderr
        );
    }
}

#[tokio::test]
async fn what_to_do_next_names_all_steps_and_the_workspace() {
    let home = home_with_prompts();
    let folder = home.path("data/deliberate/prompts");
    let both = "id: both\nname: Both\ndescription: d\nchainSteps:\n  - promptId: finish\n  - parallel:\n      - {promptId: finish, stepName: One}\n      - {promptId: finish, stepName: Two}\n";
    write(&folder.join("prompts/general/both/prompt.yaml"), both);
    let at = folder.to_str().unwrap();
    let first = home
        .run(&["prompt", "run", "--workspace", at, "both"])
        .await;
    let named = format!("deliberate prompt run --workspace '{at}' --resume 'chain-both#1'");
    assert!(first.stderr.contains(&named), "{}", first.stderr);
    let resume = ["prompt", "run", "--resume", "chain-both#1", "--answer"];
    let second = home.run(&[&resume[..], &["Hi."]].concat()).await;
    let all = "--answer '{\"2\":\"…\",\"3\":\"…\"}'";
    assert!(second.stderr.contains(all), "{}", second.stderr);
    let answer = "{\"2\":\"a\",\"3\":\"b\"}";
    let last = home.run(&[&resume[..], &[answer, "--json"]].concat()).await;
    let last: Value = serde_json::from_str(&last.stdout).unwrap();
    assert_eq!(last["status"], "done", "{last}");
}

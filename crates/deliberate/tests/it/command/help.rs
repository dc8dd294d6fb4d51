//! Tests of `--help` and `--version`.

use crate::support::TestHome;

#[tokio::test]
async fn every_command_explains_itself() {
    let home = TestHome::new();
    let commands: [&[&str]; 42] = [
        &[],
        &["serve"],
        &["think"],
        &["sessions"],
        &["sessions", "list"],
        &["sessions", "show"],
        &["usage"],
        &["prompt"],
        &["prompt", "list"],
        &["prompt", "show"],
        &["prompt", "run"],
        &["prompt", "check"],
        &["prompt", "new"],
        &["papers"],
        &["papers", "search"],
        &["papers", "add"],
        &["papers", "list"],
        &["papers", "show"],
        &["papers", "find"],
        &["papers", "ask"],
        &["papers", "cite"],
        &["papers", "export"],
        &["papers", "check"],
        &["papers", "stats"],
        &["papers", "call"],
        &["servers"],
        &["servers", "list"],
        &["servers", "add"],
        &["servers", "remove"],
        &["servers", "test"],
        &["servers", "tools"],
        &["servers", "call"],
        &["servers", "approve"],
        &["servers", "login"],
        &["servers", "logout"],
        &["tools"],
        &["config"],
        &["doctor"],
        &["setup"],
        &["backup"],
        &["import"],
        &["completions"],
    ];
    for command in commands {
        let output = home.run(&[command, &["--help"]].concat()).await;
        assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
        let name = format!("help_{}", command.join("_"));
        insta::assert_snapshot!(name.trim_end_matches('_'), output.stdout);
    }
}

#[tokio::test]
async fn the_version_is_printed() {
    let output = TestHome::new().run(&["--version"]).await;
    assert_eq!(
        output.stdout,
        format!("deliberate {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[tokio::test]
async fn wrong_usage_ends_with_two_and_says_what_was_meant() {
    let cases: [(&[&str], &str); 6] = [
        (&["frobnicate"], "unrecognized subcommand"),
        (&["sesions"], "sessions"),
        (&["think"], "<QUESTION>"),
        (&["tools", "--jsn"], "--json"),
        (&["setup", "notepad"], "cursor"),
        (&["sessions", "list", "--limit", "0"], "1..=1000"),
    ];
    let home = TestHome::new();
    for (arguments, named) in cases {
        let output = home.run(arguments).await;
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
async fn completions_are_printed_for_every_shell_even_when_the_settings_are_wrong() {
    let home = TestHome::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let mut command = home.command();
        command
            .env("DATABASE_MAX_CONNECTIONS", "0")
            .args(["completions", shell]);
        let output = crate::support::run_command(&mut command).await;
        assert_eq!(
            (output.code, output.stderr.as_str()),
            (Some(0), ""),
            "{shell}"
        );
        assert!(
            output.stdout.contains("doctor") && output.stdout.contains("markdown"),
            "{shell}"
        );
    }
}

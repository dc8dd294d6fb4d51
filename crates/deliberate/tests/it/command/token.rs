//! Tests of `deliberate token`.

use deliberate_server::http::auth::Tokens;

use crate::support::TestHome;

#[tokio::test]
async fn a_new_token_comes_with_lines_that_the_server_reads() {
    let home = TestHome::new();
    let output = home
        .run(&[
            "token",
            "new",
            "alice",
            "--tools",
            "reasoning_*,session_get",
        ])
        .await;
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    let token = output
        .stdout
        .lines()
        .find(|line| line.starts_with("dlb_"))
        .unwrap();
    assert_eq!(output.stdout.matches(token).count(), 1);
    let (_, lines) = output.stdout.split_once("tokens file:\n\n").unwrap();
    assert!(lines.contains("tools = [\"reasoning_*\", \"session_get\"]"));
    home.write_private("work/tokens.toml", lines);
    let tokens = Tokens::from_file(&home.path("work/tokens.toml")).unwrap();
    assert_eq!(tokens.names().collect::<Vec<_>>(), ["alice"]);
    let again = home.run(&["token", "new", "alice"]).await;
    assert!(!again.stdout.contains(token) && !again.stdout.contains("tools ="));
}

#[tokio::test]
async fn names_and_tools_that_can_not_be_written_are_refused() {
    let home = TestHome::new();
    for (arguments, named) in [
        (&["token", "new", "al ice"][..], "name"),
        (&["token", "new", "alice", "--tools", "a*b"][..], "`tools`"),
        (&["token", "new"][..], "<NAME>"),
    ] {
        let output = home.run(arguments).await;
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""));
        assert!(output.stderr.contains(named), "{}", output.stderr);
    }
}

//! Tests of `deliberate token`.

use deliberate_server::http::auth::Tokens;

use crate::support::TestHome;

#[tokio::test]
async fn a_new_token_comes_with_lines_that_the_server_reads() {
    let place = TestHome::new();
    let ran = place
        .run(&[
            "token",
            "new",
            "alice",
            "--tools",
            "reasoning_*,session_get",
        ])
        .await;
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let token = ran
        .stdout
        .lines()
        .find(|line| line.starts_with("dlb_"))
        .unwrap();
    assert_eq!(ran.stdout.matches(token).count(), 1);
    let (_, lines) = ran.stdout.split_once("tokens file:\n\n").unwrap();
    assert!(lines.contains("tools = [\"reasoning_*\", \"session_get\"]"));
    let file = place.path("work/tokens.toml");
    std::fs::write(&file, lines).unwrap();
    let tokens = Tokens::from_file(&file).unwrap();
    assert_eq!(tokens.names().collect::<Vec<_>>(), ["alice"]);
    let again = place.run(&["token", "new", "alice"]).await;
    assert!(!again.stdout.contains(token) && !again.stdout.contains("tools ="));
}

#[tokio::test]
async fn names_and_tools_that_can_not_be_written_are_refused() {
    let place = TestHome::new();
    for (arguments, named) in [
        (&["token", "new", "al ice"][..], "name"),
        (&["token", "new", "alice", "--tools", "a*b"][..], "`tools`"),
        (&["token", "new"][..], "<NAME>"),
    ] {
        let ran = place.run(arguments).await;
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
        assert!(ran.stderr.contains(named), "{}", ran.stderr);
    }
}

//! `deliberate sessions`.

use deliberate_testkit::{Fault, Standin};

use crate::support::{Place, end, run_with, serve, text, think, think_on};

/// Two sessions, the first with two steps; the ids of both.
async fn two(place: &Place) -> (String, String) {
    let standin = Standin::start().await.unwrap();
    let mut client = serve(&mut place.asking(&standin)).await;
    let first = text(
        &think(&mut client, "What is\n a   tide?").await,
        "session_id",
    )
    .to_owned();
    let second = text(&think(&mut client, "Who named it?").await, "session_id").to_owned();
    standin.push(Fault::Text("Line one.\nLine two.".to_owned()));
    think_on(&mut client, &first, "Go\non.").await;
    end(client).await;
    (first, second)
}

#[tokio::test]
async fn the_list_shows_the_last_changed_first() {
    let place = Place::new();
    assert_eq!(
        place.run(&["sessions"]).await.stdout,
        "No sessions yet. Try: deliberate think \"…\"\n"
    );
    let (first, second) = two(&place).await;
    let list = place.json(&["sessions", "list", "--json"]).await;
    let ids: Vec<&str> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["session"]["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, [first.as_str(), second.as_str()]);
    assert_eq!(list[0]["thoughts"], 2);
    assert_eq!(list[0]["session"]["title"], "What is a tide?");
    let table = place.run(&["sessions"]).await.stdout;
    assert_eq!(table, place.run(&["sessions", "list"]).await.stdout);
    assert!(
        table.lines().nth(1).unwrap().contains("What is a tide?"),
        "{table}"
    );
    assert_eq!(table.lines().count(), 3);

    let one = place
        .json(&[
            "sessions", "list", "--json", "--limit", "1", "--offset", "1",
        ])
        .await;
    assert_eq!(one.as_array().unwrap().len(), 1);
    assert_eq!(one[0]["session"]["id"], second);
    let beyond = place
        .json(&["sessions", "list", "--json", "--offset", "9"])
        .await;
    assert_eq!(beyond.as_array().unwrap().len(), 0);
}

#[tokio::test]
async fn a_session_is_shown_step_by_step() {
    let place = Place::new();
    let (first, _) = two(&place).await;
    let shown = place.run(&["sessions", "show", &first]).await;
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""));
    let begun = shown
        .stdout
        .lines()
        .find(|line| line.contains("begun"))
        .unwrap();
    let steady = shown.stdout.replace(begun, "linear session ID, begun TIME");
    insta::assert_snapshot!("sessions_show", steady);
}

#[tokio::test]
async fn the_beginning_of_an_id_is_enough_if_it_fits_one() {
    let place = Place::new();
    let (first, second) = two(&place).await;
    let shared = first
        .bytes()
        .zip(second.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let whole = place.json(&["sessions", "show", &first, "--json"]).await;
    let part = place
        .json(&["sessions", "show", &first[..=shared], "--json"])
        .await;
    assert_eq!(part, whole);
    let both = place.run(&["sessions", "show", &first[..shared]]).await;
    assert_eq!(both.code, Some(2));
    assert!(
        both.stderr.contains("several sessions begin with"),
        "{}",
        both.stderr
    );
    for unknown in ["zzz", "", "%", "'; --"] {
        let ran = place.run(&["sessions", "show", unknown]).await;
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(2), ""),
            "{unknown:?}"
        );
        assert!(!ran.stderr.contains("sqlite"), "{}", ran.stderr);
    }
    let ran = place.run(&["sessions", "show", "zzz"]).await;
    assert_eq!(
        ran.stderr,
        "error: there is no session \"zzz\"; `deliberate sessions` lists them\n"
    );
}

#[tokio::test]
async fn thoughts_are_found_by_their_words_and_can_not_command_the_terminal() {
    let place = Place::new();
    let mut command = place.command();
    command.args([
        "think",
        "--manual",
        "Where do \u{1b}]0;pwned\u{7}the swallows go?",
    ]);
    let ran = run_with(&mut command, "South, \u{1b}[2Jover the desert.\n").await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let found = place
        .run(&["sessions", "search", "desert", "swallow"])
        .await;
    assert!(found.stdout.contains("[swallows]"), "{found:?}");
    let listed = place.run(&["sessions"]).await;
    let id = listed
        .stdout
        .lines()
        .nth(1)
        .unwrap()
        .split_whitespace()
        .next()
        .unwrap();
    let shown = place.run(&["sessions", "show", id]).await;
    assert!(shown.stdout.contains("over the desert"), "{shown:?}");
    for output in [&ran, &found, &listed, &shown] {
        assert!(!output.stdout.contains(['\u{1b}', '\u{7}']), "{output:?}");
    }
    let none = place.run(&["sessions", "search", "penguin"]).await;
    assert_eq!(none.stdout, "Nothing has all these words.\n");
}

//! Finding thoughts by their words.

use deliberate_core::{Change, Mode, Thought};
use deliberate_store::{Finding, Found, Search, Store};

use super::{Fixture, commit};
use crate::samples::{ODD_TEXT, saying, session, thought};

pub(super) fn words(words: &str) -> Search {
    Search {
        words: words.to_owned(),
        limit: 50,
        ..Search::default()
    }
}

pub(super) async fn find(store: &dyn Store, search: Search) -> Vec<Found> {
    store
        .search(&search)
        .await
        .expect("any words may be looked for")
}

/// The id of what was found.
pub(super) fn id(found: &Found) -> &str {
    match &found.what {
        Finding::Thought(thought) => thought.id.as_str(),
        Finding::Node(node) => node.id.as_str(),
    }
}

/// The ids that are found, sorted.
pub(super) async fn found(store: &dyn Store, search: Search) -> Vec<String> {
    let found = find(store, search).await;
    let mut ids: Vec<_> = found.iter().map(|it| id(it).to_owned()).collect();
    ids.sort();
    ids
}

/// Puts these thoughts into session `s`.
pub(super) async fn think(store: &dyn Store, thoughts: Vec<Thought>) {
    let mut changes = vec![Change::AddSession(session("s"))];
    changes.extend(thoughts.into_iter().map(Change::AddThought));
    commit(store, changes).await;
}

pub(crate) async fn all_words_must_occur(it: Fixture) {
    think(
        &*it.store,
        vec![
            saying("both", "s", "the cache is cold and the disk is slow"),
            saying("one", "s", "the cache is warm"),
            saying("none", "s", "nothing of the kind"),
        ],
    )
    .await;
    assert_eq!(found(&*it.store, words("cache")).await, ["both", "one"]);
    assert_eq!(found(&*it.store, words("slow cache")).await, ["both"]);
    assert_eq!(found(&*it.store, words("slow cache hot")).await, [""; 0]);
    assert_eq!(
        found(&*it.store, words("cac")).await,
        [""; 0],
        "whole words only"
    );
}

pub(crate) async fn case_accents_and_endings_do_not_matter(it: Fixture) {
    think(
        &*it.store,
        vec![
            saying("a", "s", "Crème BRÛLÉE was Considered"),
            saying("b", "s", "e\u{301}tude: connections, connecting"),
        ],
    )
    .await;
    for query in [
        "creme",
        "CRÈME",
        "brulee",
        "Brûlée",
        "considering",
        "consider",
    ] {
        assert_eq!(found(&*it.store, words(query)).await, ["a"], "{query}");
    }
    for query in [
        "etude",
        "étude",
        "e\u{301}tude",
        "connect",
        "connected",
        "Connection",
    ] {
        assert_eq!(found(&*it.store, words(query)).await, ["b"], "{query}");
    }
}

pub(crate) async fn input_and_content_are_both_searched(it: Fixture) {
    let asked = Thought {
        input: Some("why is the harbour closed".to_owned()),
        ..saying("t", "s", "because of the storm")
    };
    think(
        &*it.store,
        vec![asked, saying("bare", "s", "no input at all")],
    )
    .await;
    assert_eq!(found(&*it.store, words("harbour")).await, ["t"]);
    assert_eq!(found(&*it.store, words("storm")).await, ["t"]);
}

pub(crate) async fn words_may_be_spread_over_input_and_content(it: Fixture) {
    let asked = Thought {
        input: Some("why is the harbour closed".to_owned()),
        ..saying("t", "s", "because of the storm")
    };
    think(&*it.store, vec![asked]).await;
    assert_eq!(found(&*it.store, words("storm harbour")).await, ["t"]);
}

pub(crate) async fn a_search_keeps_to_its_session_and_mode(it: Fixture) {
    let other = |id: &str, session: &str, mode| Thought {
        mode,
        ..saying(id, session, "the same word")
    };
    think(
        &*it.store,
        vec![other("a", "s", Mode::Linear), other("b", "s", Mode::Tree)],
    )
    .await;
    commit(
        &*it.store,
        vec![
            Change::AddSession(session("other")),
            Change::AddThought(other("c", "other", Mode::Linear)),
        ],
    )
    .await;
    let search = |session: Option<&str>, mode| Search {
        session: session.map(Into::into),
        mode,
        ..words("word")
    };
    let store = &*it.store;
    assert_eq!(found(store, search(None, None)).await, ["a", "b", "c"]);
    assert_eq!(found(store, search(Some("s"), None)).await, ["a", "b"]);
    assert_eq!(
        found(store, search(None, Some(Mode::Linear))).await,
        ["a", "c"]
    );
    assert_eq!(
        found(store, search(Some("s"), Some(Mode::Tree))).await,
        ["b"]
    );
    assert_eq!(
        found(store, search(Some("other"), Some(Mode::Tree))).await,
        [""; 0]
    );
    assert_eq!(found(store, search(Some("missing"), None)).await, [""; 0]);
}

pub(crate) async fn no_more_are_found_than_asked_for(it: Fixture) {
    let many = (0..30)
        .map(|number| saying(&format!("t{number}"), "s", "a word"))
        .collect();
    think(&*it.store, many).await;
    for (limit, wanted) in [(0, 0), (1, 1), (7, 7), (30, 30), (u32::MAX, 30)] {
        let search = Search {
            limit,
            ..words("word")
        };
        assert_eq!(find(&*it.store, search).await.len(), wanted);
    }
}

pub(crate) async fn the_best_match_comes_first(it: Fixture) {
    let padding = "something quite different that goes on for a while ".repeat(20);
    think(
        &*it.store,
        vec![
            saying("passing", "s", &format!("{padding} gravity {padding}")),
            saying(
                "about",
                "s",
                "gravity: how gravity bends light, and gravity again",
            ),
            saying("unrelated", "s", &padding),
        ],
    )
    .await;
    let found = find(&*it.store, words("gravity")).await;
    let ids: Vec<_> = found.iter().map(id).collect();
    assert_eq!(ids, ["about", "passing"]);
}

pub(crate) async fn the_passage_is_marked(it: Fixture) {
    let padding = "lorem ipsum dolor sit amet ".repeat(200);
    let long = Thought {
        input: Some("short".to_owned()),
        ..saying(
            "t",
            "s",
            &format!("{padding} the needle lies here {padding}"),
        )
    };
    think(&*it.store, vec![long.clone()]).await;
    let found = find(&*it.store, words("Needles")).await;
    let [only] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert!(only.what == Finding::Thought(long));
    assert!(
        only.excerpt.contains("the [needle] lies here"),
        "{}",
        only.excerpt
    );
    assert!(only.excerpt.chars().count() < 500, "{}", only.excerpt);
}

pub(crate) async fn hostile_words_are_only_words(it: Fixture) {
    let hostile = [
        "\" OR 1=1 --",
        "NEAR(",
        "NEAR(near, 2)",
        "near AND NOT missing",
        "^near",
        "near*",
        "content:near",
        "{input content} : near",
        "- near",
        "near + near",
        "\"near",
        "near\"\"",
        "'; DROP TABLE thoughts; --",
        "near\0",
        "$1 ?1 :near",
        "near\\",
        "(((((near",
        ODD_TEXT,
    ];
    let literal = hostile.join(" ");
    think(
        &*it.store,
        vec![
            saying("literal", "s", &literal.replace('\0', " ")),
            saying("calm", "s", "calm"),
        ],
    )
    .await;
    for query in hostile {
        assert_eq!(
            found(&*it.store, words(query)).await,
            ["literal"],
            "{query:?}"
        );
    }
    // "OR" and "NOT" are words like any other, so these ask for more than there is.
    for query in ["calm OR literal", "calm NOT storm", "calm AND near"] {
        assert_eq!(found(&*it.store, words(query)).await, [""; 0], "{query:?}");
    }
    assert_eq!(it.store.state().await.unwrap().thoughts, 2);
}

pub(crate) async fn punctuation_alone_finds_nothing(it: Fixture) {
    think(
        &*it.store,
        vec![thought("t", "s"), saying("marks", "s", "* \" ( ) -- ?!")],
    )
    .await;
    for query in [
        "", " ", "*", "\"", "\"\"", "()", "--", "* * *", "?!", "\t\n", "\0", "🧠",
    ] {
        assert_eq!(found(&*it.store, words(query)).await, [""; 0], "{query:?}");
    }
}

pub(crate) async fn very_many_words_are_no_problem(it: Fixture) {
    let many: Vec<String> = (0..5_000).map(|number| format!("word{number}")).collect();
    let text = many.join(" ");
    think(
        &*it.store,
        vec![saying("all", "s", &text), saying("few", "s", "word1 word2")],
    )
    .await;
    assert_eq!(found(&*it.store, words(&text)).await, ["all"]);
    let more = format!("{text} missing");
    assert_eq!(found(&*it.store, words(&more)).await, [""; 0]);
    let same = "word1 ".repeat(5_000);
    assert_eq!(found(&*it.store, words(&same)).await, ["all", "few"]);
}

pub(crate) async fn words_of_other_scripts_are_found(it: Fixture) {
    think(
        &*it.store,
        vec![
            saying("russian", "s", "Мысль о пределах роста"),
            saying("greek", "s", "η ΣΚΈΨΗ συνεχίζεται"),
            saying("chinese", "s", "思考 需要 时间"),
            saying("arabic", "s", "فكرة جديدة"),
            saying("hindi", "s", "नया विचार हिन्दी में"),
        ],
    )
    .await;
    for (query, wanted) in [
        ("мысль", "russian"),
        ("ПРЕДЕЛАХ", "russian"),
        ("συνεχίζεται", "greek"),
        ("思考", "chinese"),
        ("جديدة", "arabic"),
        ("हिन्दी", "hindi"),
    ] {
        assert_eq!(found(&*it.store, words(query)).await, [wanted], "{query}");
    }
}

pub(crate) async fn the_thoughts_of_a_deleted_session_are_not_found(it: Fixture) {
    think(&*it.store, vec![saying("gone", "s", "a rare pelican")]).await;
    commit(
        &*it.store,
        vec![
            Change::AddSession(session("other")),
            Change::AddThought(saying("kept", "other", "another pelican")),
        ],
    )
    .await;
    assert_eq!(found(&*it.store, words("pelican")).await, ["gone", "kept"]);
    commit(&*it.store, vec![Change::DeleteSession("s".into())]).await;
    assert_eq!(found(&*it.store, words("pelican")).await, ["kept"]);
    assert_eq!(found(&*it.store, words("rare")).await, [""; 0]);
}

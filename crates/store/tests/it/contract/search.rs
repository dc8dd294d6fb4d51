//! Full-text search of thoughts.

use deliberate_core::{Change, Mode, Thought};
use deliberate_store::{SearchEntity, SearchHit, SearchQuery, Store};

use super::{Fixture, commit};
use crate::samples::{ODD_TEXT, session, thought, thought_with_text};

pub(super) fn search_query(words: &str) -> SearchQuery {
    SearchQuery {
        text: words.to_owned(),
        limit: 50,
        ..SearchQuery::default()
    }
}

pub(super) async fn run_search(store: &dyn Store, search: SearchQuery) -> Vec<SearchHit> {
    store
        .search(&search)
        .await
        .expect("any words may be looked for")
}

/// Returns the id of the hit.
pub(super) fn hit_id(found: &SearchHit) -> &str {
    match &found.entity {
        SearchEntity::Thought(thought) => thought.id.as_str(),
        SearchEntity::Node(node) => node.id.as_str(),
    }
}

/// Returns the ids of the hits, sorted.
pub(super) async fn found_ids(store: &dyn Store, search: SearchQuery) -> Vec<String> {
    let found = run_search(store, search).await;
    let mut ids: Vec<_> = found.iter().map(|it| hit_id(it).to_owned()).collect();
    ids.sort();
    ids
}

/// Adds these thoughts to session `s`.
pub(super) async fn add_thoughts(store: &dyn Store, thoughts: Vec<Thought>) {
    let mut changes = vec![Change::AddSession(session("s"))];
    changes.extend(thoughts.into_iter().map(Change::AddThought));
    commit(store, changes).await;
}

pub(crate) async fn all_words_must_occur(it: Fixture) {
    add_thoughts(
        &*it.store,
        vec![
            thought_with_text("both", "s", "the cache is cold and the disk is slow"),
            thought_with_text("one", "s", "the cache is warm"),
            thought_with_text("none", "s", "nothing of the kind"),
        ],
    )
    .await;
    assert_eq!(
        found_ids(&*it.store, search_query("cache")).await,
        ["both", "one"]
    );
    assert_eq!(
        found_ids(&*it.store, search_query("slow cache")).await,
        ["both"]
    );
    assert_eq!(
        found_ids(&*it.store, search_query("slow cache hot")).await,
        [""; 0]
    );
    assert_eq!(
        found_ids(&*it.store, search_query("cac")).await,
        [""; 0],
        "whole words only"
    );
}

pub(crate) async fn case_accents_and_endings_do_not_matter(it: Fixture) {
    add_thoughts(
        &*it.store,
        vec![
            thought_with_text("a", "s", "Crème BRÛLÉE was Considered"),
            thought_with_text("b", "s", "e\u{301}tude: connections, connecting"),
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
        assert_eq!(
            found_ids(&*it.store, search_query(query)).await,
            ["a"],
            "{query}"
        );
    }
    for query in [
        "etude",
        "étude",
        "e\u{301}tude",
        "connect",
        "connected",
        "Connection",
    ] {
        assert_eq!(
            found_ids(&*it.store, search_query(query)).await,
            ["b"],
            "{query}"
        );
    }
}

pub(crate) async fn input_and_content_are_both_searched(it: Fixture) {
    let asked = Thought {
        input: Some("why is the harbour closed".to_owned()),
        ..thought_with_text("t", "s", "because of the storm")
    };
    add_thoughts(
        &*it.store,
        vec![asked, thought_with_text("bare", "s", "no input at all")],
    )
    .await;
    assert_eq!(found_ids(&*it.store, search_query("harbour")).await, ["t"]);
    assert_eq!(found_ids(&*it.store, search_query("storm")).await, ["t"]);
}

pub(crate) async fn words_may_be_spread_over_input_and_content(it: Fixture) {
    let asked = Thought {
        input: Some("why is the harbour closed".to_owned()),
        ..thought_with_text("t", "s", "because of the storm")
    };
    add_thoughts(&*it.store, vec![asked]).await;
    assert_eq!(
        found_ids(&*it.store, search_query("storm harbour")).await,
        ["t"]
    );
}

pub(crate) async fn a_search_keeps_to_its_session_and_mode(it: Fixture) {
    let other = |id: &str, session: &str, mode| Thought {
        mode,
        ..thought_with_text(id, session, "the same word")
    };
    add_thoughts(
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
    let search = |session: Option<&str>, mode| SearchQuery {
        session: session.map(Into::into),
        mode,
        ..search_query("word")
    };
    let store = &*it.store;
    assert_eq!(found_ids(store, search(None, None)).await, ["a", "b", "c"]);
    assert_eq!(found_ids(store, search(Some("s"), None)).await, ["a", "b"]);
    assert_eq!(
        found_ids(store, search(None, Some(Mode::Linear))).await,
        ["a", "c"]
    );
    assert_eq!(
        found_ids(store, search(Some("s"), Some(Mode::Tree))).await,
        ["b"]
    );
    assert_eq!(
        found_ids(store, search(Some("other"), Some(Mode::Tree))).await,
        [""; 0]
    );
    assert_eq!(
        found_ids(store, search(Some("missing"), None)).await,
        [""; 0]
    );
}

pub(crate) async fn no_more_are_found_than_asked_for(it: Fixture) {
    let many = (0..30)
        .map(|number| thought_with_text(&format!("t{number}"), "s", "a word"))
        .collect();
    add_thoughts(&*it.store, many).await;
    for (limit, wanted) in [(0, 0), (1, 1), (7, 7), (30, 30), (u32::MAX, 30)] {
        let search = SearchQuery {
            limit,
            ..search_query("word")
        };
        assert_eq!(run_search(&*it.store, search).await.len(), wanted);
    }
}

pub(crate) async fn the_best_match_comes_first(it: Fixture) {
    let padding = "something quite different that goes on for a while ".repeat(20);
    add_thoughts(
        &*it.store,
        vec![
            thought_with_text("passing", "s", &format!("{padding} gravity {padding}")),
            thought_with_text(
                "about",
                "s",
                "gravity: how gravity bends light, and gravity again",
            ),
            thought_with_text("unrelated", "s", &padding),
        ],
    )
    .await;
    let found = run_search(&*it.store, search_query("gravity")).await;
    let ids: Vec<_> = found.iter().map(hit_id).collect();
    assert_eq!(ids, ["about", "passing"]);
}

pub(crate) async fn the_passage_is_marked(it: Fixture) {
    let padding = "lorem ipsum dolor sit amet ".repeat(200);
    let long = Thought {
        input: Some("short".to_owned()),
        ..thought_with_text(
            "t",
            "s",
            &format!("{padding} the needle lies here {padding}"),
        )
    };
    add_thoughts(&*it.store, vec![long.clone()]).await;
    let found = run_search(&*it.store, search_query("Needles")).await;
    let [only] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert!(only.entity == SearchEntity::Thought(long));
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
    add_thoughts(
        &*it.store,
        vec![
            thought_with_text("literal", "s", &literal.replace('\0', " ")),
            thought_with_text("calm", "s", "calm"),
        ],
    )
    .await;
    for query in hostile {
        assert_eq!(
            found_ids(&*it.store, search_query(query)).await,
            ["literal"],
            "{query:?}"
        );
    }
    // "OR" and "NOT" are ordinary words, so these queries match nothing.
    for query in ["calm OR literal", "calm NOT storm", "calm AND near"] {
        assert_eq!(
            found_ids(&*it.store, search_query(query)).await,
            [""; 0],
            "{query:?}"
        );
    }
    assert_eq!(it.store.info().await.unwrap().thoughts, 2);
}

pub(crate) async fn punctuation_alone_finds_nothing(it: Fixture) {
    add_thoughts(
        &*it.store,
        vec![
            thought("t", "s"),
            thought_with_text("marks", "s", "* \" ( ) -- ?!"),
        ],
    )
    .await;
    for query in [
        "", " ", "*", "\"", "\"\"", "()", "--", "* * *", "?!", "\t\n", "\0", "🧠",
    ] {
        assert_eq!(
            found_ids(&*it.store, search_query(query)).await,
            [""; 0],
            "{query:?}"
        );
    }
}

pub(crate) async fn very_many_words_are_no_problem(it: Fixture) {
    let many: Vec<String> = (0..5_000).map(|number| format!("word{number}")).collect();
    let text = many.join(" ");
    add_thoughts(
        &*it.store,
        vec![
            thought_with_text("all", "s", &text),
            thought_with_text("few", "s", "word1 word2"),
        ],
    )
    .await;
    assert_eq!(found_ids(&*it.store, search_query(&text)).await, ["all"]);
    let more = format!("{text} missing");
    assert_eq!(found_ids(&*it.store, search_query(&more)).await, [""; 0]);
    let same = "word1 ".repeat(5_000);
    assert_eq!(
        found_ids(&*it.store, search_query(&same)).await,
        ["all", "few"]
    );
}

pub(crate) async fn words_of_other_scripts_are_found(it: Fixture) {
    add_thoughts(
        &*it.store,
        vec![
            thought_with_text("russian", "s", "Мысль о пределах роста"),
            thought_with_text("greek", "s", "η ΣΚΈΨΗ συνεχίζεται"),
            thought_with_text("chinese", "s", "思考 需要 时间"),
            thought_with_text("arabic", "s", "فكرة جديدة"),
            thought_with_text("hindi", "s", "नया विचार हिन्दी में"),
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
        assert_eq!(
            found_ids(&*it.store, search_query(query)).await,
            [wanted],
            "{query}"
        );
    }
}

pub(crate) async fn the_thoughts_of_a_deleted_session_are_not_found(it: Fixture) {
    add_thoughts(
        &*it.store,
        vec![thought_with_text("gone", "s", "a rare pelican")],
    )
    .await;
    commit(
        &*it.store,
        vec![
            Change::AddSession(session("other")),
            Change::AddThought(thought_with_text("kept", "other", "another pelican")),
        ],
    )
    .await;
    assert_eq!(
        found_ids(&*it.store, search_query("pelican")).await,
        ["gone", "kept"]
    );
    commit(&*it.store, vec![Change::DeleteSession("s".into())]).await;
    assert_eq!(
        found_ids(&*it.store, search_query("pelican")).await,
        ["kept"]
    );
    assert_eq!(found_ids(&*it.store, search_query("rare")).await, [""; 0]);
}

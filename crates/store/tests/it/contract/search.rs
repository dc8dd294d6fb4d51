//! Full-text search of thoughts: words, phrases and their ranking.

use deliberate_core::{Change, Mode, Thought};
use deliberate_store::{SearchEntity, SearchHit, SearchQuery, SearchResults, Store, WordMatch};

use super::{Fixture, commit};
use crate::samples::{ODD_TEXT, session, thought, thought_with_text};

pub(super) fn search_query(words: &str) -> SearchQuery {
    SearchQuery {
        text: words.to_owned(),
        limit: 50,
        ..SearchQuery::default()
    }
}

pub(super) async fn search_results(store: &dyn Store, search: SearchQuery) -> SearchResults {
    store
        .search(&search)
        .await
        .expect("any words may be looked for")
}

pub(super) async fn run_search(store: &dyn Store, search: SearchQuery) -> Vec<SearchHit> {
    search_results(store, search).await.hits
}

/// Returns the ids of the hits in their order, each with the words that it has.
pub(super) async fn found_words(store: &dyn Store, query: &str) -> Vec<String> {
    let found = run_search(store, search_query(query)).await;
    let described = found.iter().map(|hit| match &hit.words {
        WordMatch::All => format!("{}: all", hit_id(hit)),
        WordMatch::Some(words) => format!("{}: {}", hit_id(hit), words.join(" ")),
    });
    described.collect()
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

pub(crate) async fn any_word_is_enough_and_all_words_come_first(it: Fixture) {
    add_thoughts(
        &*it.store,
        vec![
            thought_with_text("both", "s", "the cache is cold and the disk is slow"),
            thought_with_text("one", "s", "cache, cache, cache"),
            thought_with_text("none", "s", "nothing of the kind"),
        ],
    )
    .await;
    let found = async |query: &str| found_words(&*it.store, query).await;
    assert_eq!(found("cache").await, ["one: all", "both: all"]);
    assert_eq!(found("slow cache").await, ["both: all", "one: cache"]);
    assert_eq!(
        found("slow cache hot").await,
        ["both: slow cache", "one: cache"]
    );
    assert_eq!(found("hot").await, [""; 0]);
    assert_eq!(found("cac").await, [""; 0], "whole words only");
}

pub(crate) async fn rare_words_count_more_than_common_ones(it: Fixture) {
    let mut thoughts: Vec<Thought> = (0..20)
        .map(|number| thought_with_text(&format!("t{number}"), "s", "the server is slow today"))
        .collect();
    thoughts.push(thought_with_text("rare", "s", "a pelican landed there"));
    add_thoughts(&*it.store, thoughts).await;
    let found = found_words(&*it.store, "slow pelican server").await;
    assert_eq!(found.len(), 21);
    assert_eq!(found[0], "rare: pelican");
    assert_eq!(found[1], "t19: slow server", "the newest of equals");
}

pub(crate) async fn every_hit_is_found_once_however_few_are_wanted(it: Fixture) {
    let mut thoughts = Vec::new();
    for number in 0..6 {
        thoughts.push(thought_with_text(
            &format!("all{number}"),
            "s",
            "pelican harbour",
        ));
        thoughts.push(thought_with_text(&format!("some{number}"), "s", "pelican"));
    }
    add_thoughts(&*it.store, thoughts).await;
    for limit in 0..14 {
        let search = SearchQuery {
            limit,
            ..search_query("harbour pelican")
        };
        let found = run_search(&*it.store, search).await;
        let most = usize::try_from(limit).unwrap();
        let ids: std::collections::HashSet<_> = found.iter().map(hit_id).collect();
        assert_eq!((found.len(), ids.len()), (most.min(12), most.min(12)));
        for (place, hit) in found.iter().enumerate() {
            assert_eq!(hit.words == WordMatch::All, place < 6, "{limit}: {hit:?}");
        }
    }
}

pub(crate) async fn a_quoted_phrase_must_occur(it: Fixture) {
    add_thoughts(
        &*it.store,
        vec![
            thought_with_text("near", "s", "a cold cache makes the disk busy"),
            thought_with_text("plain", "s", "cold caches everywhere"),
            thought_with_text("apart", "s", "cold is the disk, warm is the cache"),
            thought_with_text("japanese", "s", "私はRust言語を学ぶ"),
        ],
    )
    .await;
    let found = async |query: &str| found_words(&*it.store, query).await;
    assert_eq!(
        found("\"cold cache\"").await,
        ["plain: all", "near: all"],
        "endings do not matter"
    );
    assert_eq!(
        found("busy \"Cold, cache\" fan").await,
        ["near: cold cache busy", "plain: cold cache"].map(|it| it.replace("cold", "Cold"))
    );
    assert_eq!(
        found("\"disk\" \"warm is\" cold").await,
        ["apart: all"],
        "all phrases"
    );
    assert_eq!(found("\"cache cold\" disk").await, [""; 0]);
    assert_eq!(found("\"rust言語を\"").await, ["japanese: all"]);
    assert_eq!(found("\"言語 学ぶ\" 私").await, [""; 0]);
    assert_eq!(
        found("disk \"warm").await,
        ["apart: all", "near: disk"],
        "a quote that is not closed is no phrase"
    );
    let results = search_results(&*it.store, search_query("the \"Cold, cache\" DISK")).await;
    assert_eq!(
        (results.phrases, results.words),
        (vec!["Cold cache".to_owned()], vec!["DISK".to_owned()])
    );
}

pub(crate) async fn stop_words_are_searched_only_if_there_are_no_others(it: Fixture) {
    add_thoughts(
        &*it.store,
        vec![
            thought_with_text("subject", "s", "decided: a shorter cache"),
            thought_with_text("other", "s", "what we do about the rest of it"),
        ],
    )
    .await;
    let found = async |query: &str| found_words(&*it.store, query).await;
    assert_eq!(
        found("What did we decide about the cache?").await,
        ["subject: all"]
    );
    assert_eq!(found("what about it").await, ["other: all"]);
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
    // "NOT" and "NEAR" are ordinary words, not operators.
    let found = async |query: &str| found_words(&*it.store, query).await;
    assert_eq!(found("calm NOT calm").await, ["calm: all"]);
    assert_eq!(
        found("calm NEAR absent").await,
        ["literal: NEAR", "calm: calm"]
    );
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
    let found = run_search(&*it.store, search_query(&text)).await;
    let ids: Vec<_> = found.iter().map(hit_id).collect();
    assert_eq!(ids, ["all", "few"]);
    assert_eq!(found[0].words, WordMatch::All);
    let found = run_search(&*it.store, search_query(&format!("{text} missing"))).await;
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|hit| hit.words != WordMatch::All));
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

//! Search of thoughts and nodes: filters, data that is set aside, and scripts without spaces.

use deliberate_core::{Change, GraphNode, Mode, Thought, Timestamp};
use deliberate_store::{SearchEntity, SearchKey, SearchQuery, Store, WordMatch};

use super::{
    Fixture, commit,
    search::{add_thoughts, found_ids, hit_id, run_search, search_query},
    session_view::{backtrack_to, checkpoint_at},
};
use crate::samples::{at_second, full_node, graph, node, session, thought, thought_with_text};

/// A node of graph `g` in session `s` whose text is `content`.
fn node_with_text(id: &str, content: &str) -> GraphNode {
    GraphNode {
        content: content.to_owned(),
        ..node(id, "g", "s")
    }
}

/// Adds session `s` with these texts, each as a thought `t-…` and as a node `n-…` of graph `g`.
async fn add_texts(store: &dyn Store, texts: &[(&str, &str)]) {
    add_thoughts(store, Vec::new()).await;
    let mut changes = vec![Change::AddGraph(graph("g", "s"))];
    for (name, text) in texts {
        changes.push(Change::AddThought(thought_with_text(
            &format!("t-{name}"),
            "s",
            text,
        )));
        changes.push(Change::AddNode(node_with_text(&format!("n-{name}"), text)));
    }
    commit(store, changes).await;
}

pub(crate) async fn nodes_are_found_whole_with_their_passage(it: Fixture) {
    let padding = "lorem ipsum dolor sit amet ".repeat(200);
    let long = GraphNode {
        content: format!("{padding} the needle lies here {padding}"),
        ..full_node("n", "g", "s")
    };
    add_thoughts(&*it.store, Vec::new()).await;
    commit(
        &*it.store,
        vec![
            Change::AddGraph(graph("g", "s")),
            Change::AddNode(long.clone()),
            Change::AddNode(node_with_text("other", "a haystack")),
        ],
    )
    .await;
    let found = run_search(&*it.store, search_query("Needles")).await;
    let [only] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert!(only.entity == SearchEntity::Node(long));
    assert!(
        only.excerpt.contains("the [needle] lies here"),
        "{}",
        only.excerpt
    );
    assert!(only.excerpt.chars().count() < 500, "{}", only.excerpt);
}

pub(crate) async fn the_best_match_comes_first_whatever_its_kind(it: Fixture) {
    let padding = "something quite different that goes on for a while ".repeat(20);
    let passing = format!("{padding} gravity {padding}");
    let about = "gravity: how gravity bends light, and gravity again";
    add_texts(
        &*it.store,
        &[("passing", &passing), ("about", about), ("not", &padding)],
    )
    .await;
    let found = run_search(&*it.store, search_query("gravity")).await;
    let mut ids: Vec<_> = found.iter().map(hit_id).collect();
    ids[..2].sort_unstable();
    ids[2..].sort_unstable();
    assert_eq!(ids, ["n-about", "t-about", "n-passing", "t-passing"]);
    for limit in 0..5 {
        let search = SearchQuery {
            limit,
            ..search_query("gravity")
        };
        let first = run_search(&*it.store, search).await;
        assert_eq!(first, found[..limit as usize]);
    }
}

/// A word that the index has, and one that is searched in the text itself.
const INDEXED_AND_UNINDEXED: [&str; 2] = ["word", "言葉"];

pub(crate) async fn session_and_mode_hold_for_both_kinds(it: Fixture) {
    let text = INDEXED_AND_UNINDEXED.join(" ");
    let step = |id: &str, session: &str, mode| {
        Change::AddThought(Thought {
            mode,
            ..thought_with_text(id, session, &text)
        })
    };
    add_texts(&*it.store, &[("own", &text)]).await;
    commit(
        &*it.store,
        vec![
            step("got", "s", Mode::Got),
            Change::AddSession(session("other")),
            Change::AddGraph(graph("h", "other")),
            step("t-other", "other", Mode::Tree),
            Change::AddNode(GraphNode {
                content: text.clone(),
                ..node("n-other", "h", "other")
            }),
        ],
    )
    .await;
    for word in INDEXED_AND_UNINDEXED {
        let search = async |session: Option<&str>, mode| {
            let search = SearchQuery {
                session: session.map(Into::into),
                mode,
                ..search_query(word)
            };
            found_ids(&*it.store, search).await
        };
        assert_eq!(
            search(None, None).await,
            ["got", "n-other", "n-own", "t-other", "t-own"]
        );
        assert_eq!(search(Some("s"), None).await, ["got", "n-own", "t-own"]);
        assert_eq!(
            search(None, Some(Mode::Got)).await,
            ["got", "n-other", "n-own"]
        );
        assert_eq!(
            search(Some("other"), Some(Mode::Got)).await,
            ["n-other"],
            "{word}"
        );
        assert_eq!(search(None, Some(Mode::Linear)).await, ["t-own"]);
        assert_eq!(search(Some("s"), Some(Mode::Tree)).await, [""; 0]);
        assert_eq!(search(Some("missing"), None).await, [""; 0]);
    }
}

pub(crate) async fn times_hold_for_both_kinds_and_count_themselves(it: Fixture) {
    let text = INDEXED_AND_UNINDEXED.join(" ");
    add_thoughts(&*it.store, Vec::new()).await;
    let mut changes = vec![Change::AddGraph(graph("g", "s"))];
    for second in 1..=3 {
        changes.push(Change::AddThought(Thought {
            created_at: at_second(second),
            ..thought_with_text(&format!("t{second}"), "s", &text)
        }));
        changes.push(Change::AddNode(GraphNode {
            created_at: at_second(second),
            ..node_with_text(&format!("n{second}"), &text)
        }));
    }
    commit(&*it.store, changes).await;
    let just_after = |second| Some(Timestamp::plus_micros(at_second(second), 1));
    for word in INDEXED_AND_UNINDEXED {
        let search = async |since, until| {
            let search = SearchQuery {
                since,
                until,
                ..search_query(word)
            };
            found_ids(&*it.store, search).await.join(" ")
        };
        assert_eq!(search(None, None).await, "n1 n2 n3 t1 t2 t3");
        assert_eq!(search(Some(at_second(2)), None).await, "n2 n3 t2 t3");
        assert_eq!(search(just_after(2), None).await, "n3 t3");
        assert_eq!(search(None, Some(at_second(2))).await, "n1 n2 t1 t2");
        assert_eq!(
            search(Some(at_second(2)), Some(at_second(2))).await,
            "n2 t2"
        );
        assert_eq!(search(just_after(2), Some(at_second(2))).await, "");
        assert_eq!(search(just_after(3), None).await, "");
    }
}

pub(crate) async fn what_was_set_aside_is_found_and_says_so(it: Fixture) {
    let text = INDEXED_AND_UNINDEXED.join(" ");
    add_texts(&*it.store, &[("kept", &text)]).await;
    commit(
        &*it.store,
        vec![
            checkpoint_at("c", None),
            Change::AddThought(thought_with_text("t-gone", "s", &text)),
            Change::AddNode(node_with_text("n-gone", &text)),
            backtrack_to("c", "left", None),
        ],
    )
    .await;
    for word in INDEXED_AND_UNINDEXED {
        let found = run_search(&*it.store, search_query(word)).await;
        let mut seen: Vec<_> = found
            .iter()
            .map(|it| match &it.entity {
                SearchEntity::Thought(thought) => (hit_id(it), thought.set_aside),
                SearchEntity::Node(node) => (hit_id(it), node.set_aside),
            })
            .collect();
        seen.sort_unstable();
        assert_eq!(
            seen,
            [
                ("n-gone", true),
                ("n-kept", false),
                ("t-gone", true),
                ("t-kept", false),
            ]
        );
    }
}

pub(crate) async fn the_nodes_of_a_deleted_session_are_not_found(it: Fixture) {
    add_texts(&*it.store, &[("gone", "a rare pelican 鹈鹕")]).await;
    commit(&*it.store, vec![Change::DeleteSession("s".into())]).await;
    for word in ["pelican", "鹈鹕"] {
        assert_eq!(found_ids(&*it.store, search_query(word)).await, [""; 0]);
    }
}

/// Sentences in scripts without spaces between words, and terms from their middles.
const SENTENCES: [(&str, &str, &[&str]); 5] = [
    (
        "chinese",
        "我们需要更多的时间来思考这个问题，然后再决定。",
        &["时间", "思考", "这个问题"],
    ),
    (
        "japanese",
        "新しいデータベースの設計について深く考える。",
        &["データベース", "設計", "考える"],
    ),
    (
        "thai",
        "ฉันกำลังคิดเรื่องการออกแบบเก้าอี้ตัวใหม่",
        &["ออกแบบ", "เรื่อง", "เก้าอี้"],
    ),
    ("khmer", "ខ្ញុំកំពុងគិតអំពីការរចនាប្រព័ន្ធថ្មី", &["ប្រព័ន្ធ"]),
    ("burmese", "ကျွန်တော်စနစ်အသစ်ကိုစဉ်းစားနေတယ်။", &["စနစ်", "စဉ်းစား"]),
];

pub(crate) async fn terms_are_found_in_the_middle_of_a_sentence_without_blanks(it: Fixture) {
    let texts = SENTENCES.map(|(name, sentence, _)| (name, sentence));
    add_texts(&*it.store, &texts).await;
    for (name, sentence, terms) in SENTENCES {
        for term in terms {
            let found = run_search(&*it.store, search_query(term)).await;
            let mut ids: Vec<_> = found.iter().map(hit_id).collect();
            ids.sort_unstable();
            assert_eq!(ids, [format!("n-{name}"), format!("t-{name}")], "{term}");
            let marked = sentence.replacen(term, &format!("[{term}]"), 1);
            for it in &found {
                assert_eq!(it.excerpt, marked);
            }
        }
    }
    for term in ["时间考", "設計図", "ไม่มี"] {
        assert_eq!(
            found_ids(&*it.store, search_query(term)).await,
            [""; 0],
            "{term}"
        );
    }
}

pub(crate) async fn texts_with_all_terms_without_blanks_come_first_and_all_are_marked(it: Fixture) {
    let (_, sentence, _) = SENTENCES[0];
    add_texts(&*it.store, &[("both", sentence), ("one", "只有时间")]).await;
    let found = run_search(&*it.store, search_query("思考、时间")).await;
    assert_eq!(found.len(), 4, "{found:?}");
    for it in &found[..2] {
        assert_eq!(it.words, WordMatch::All);
        assert_eq!(
            it.excerpt,
            "我们需要更多的[时间]来[思考]这个问题，然后再决定。"
        );
    }
    for it in &found[2..] {
        assert_eq!(it.words, WordMatch::Some(vec!["时间".to_owned()]));
        assert_eq!(it.excerpt, "只有[时间]");
    }
}

pub(crate) async fn the_passage_around_a_term_is_short(it: Fixture) {
    let padding = "天地玄黄宇宙洪荒".repeat(2_000);
    let asked = Thought {
        input: Some(padding.clone()),
        ..thought_with_text("t", "s", &format!("{padding}思考{padding}"))
    };
    add_thoughts(&*it.store, vec![asked]).await;
    let found = run_search(&*it.store, search_query("思考")).await;
    let excerpt = &found[0].excerpt;
    assert!(excerpt.contains("洪荒[思考]天地"), "{excerpt}");
    assert!(excerpt.starts_with('…') && excerpt.ends_with('…'));
    assert!(excerpt.chars().count() < 100, "{excerpt}");
}

pub(crate) async fn texts_with_all_words_and_terms_come_first(it: Fixture) {
    add_texts(
        &*it.store,
        &[
            ("both", "caching 使我们有时间思考"),
            ("word", "the cache alone"),
            ("term", "只有时间思考"),
        ],
    )
    .await;
    for query in ["cache 思考", "思考 Cached"] {
        let found = run_search(&*it.store, search_query(query)).await;
        let mut ids: Vec<_> = found.iter().map(hit_id).collect();
        for part in ids.chunks_mut(2) {
            part.sort_unstable();
        }
        let order = ["n-both", "t-both", "n-term", "t-term", "n-word", "t-word"];
        assert_eq!(ids, order, "{query}");
        for it in &found[..2] {
            assert_eq!(it.excerpt, "[caching] 使我们有时间[思考]", "{query}");
        }
    }
    let found = run_search(&*it.store, search_query("missing 思考")).await;
    assert_eq!(found.len(), 4);
    for it in found {
        assert_eq!(it.words, WordMatch::Some(vec!["思考".to_owned()]));
    }
    assert_eq!(
        found_ids(&*it.store, search_query("missing 没有")).await,
        [""; 0]
    );
}

pub(crate) async fn the_passage_of_words_and_terms_is_short_too(it: Fixture) {
    let padding = "天地玄黄宇宙洪荒".repeat(2_000);
    let text = format!("{padding}思考 cache {padding}");
    add_thoughts(&*it.store, vec![thought_with_text("t", "s", &text)]).await;
    for query in ["cache", "cache 思考"] {
        let found = run_search(&*it.store, search_query(query)).await;
        let excerpt = &found[0].excerpt;
        assert!(excerpt.contains("[cache]"), "{excerpt}");
        assert!(excerpt.chars().count() < 500, "{query}");
    }
}

pub(crate) async fn the_case_of_letters_within_a_term_does_not_matter(it: Fixture) {
    add_texts(&*it.store, &[("rust", "私はRust言語を学ぶ")]).await;
    for query in ["Rust言語", "rust言語", "RUST言語を"] {
        let found = run_search(&*it.store, search_query(query)).await;
        assert_eq!(found.len(), 2, "{query}");
        assert!(found[0].excerpt.starts_with("私は[Rust言語"), "{query}");
    }
}

pub(crate) async fn the_newest_comes_first_where_nothing_tells_matches_apart(it: Fixture) {
    add_thoughts(&*it.store, Vec::new()).await;
    let mut changes = vec![Change::AddGraph(graph("g", "s"))];
    for number in 0..6 {
        let (name, text) = (format!("x{number}"), "时间");
        let created_at = at_second(number);
        changes.push(if number % 2 == 0 {
            Change::AddThought(Thought {
                content: text.to_owned(),
                created_at,
                ..thought(&name, "s")
            })
        } else {
            Change::AddNode(GraphNode {
                created_at,
                ..node_with_text(&name, text)
            })
        });
    }
    commit(&*it.store, changes).await;
    let search = SearchQuery {
        limit: 4,
        ..search_query("时间")
    };
    let found = run_search(&*it.store, search).await;
    let ids: Vec<_> = found.iter().map(hit_id).collect();
    assert_eq!(ids, ["x5", "x4", "x3", "x2"]);
}

fn thought_key(id: &str) -> SearchKey {
    SearchKey::Thought(id.into())
}

fn node_key(id: &str) -> SearchKey {
    SearchKey::Node(id.into())
}

pub(crate) async fn the_newest_are_listed_by_the_filters_alone(it: Fixture) {
    add_thoughts(&*it.store, Vec::new()).await;
    let mut changes = vec![Change::AddGraph(graph("g", "s"))];
    for second in 1..=3 {
        changes.push(Change::AddThought(Thought {
            created_at: at_second(2 * second),
            ..thought_with_text(&format!("t{second}"), "s", "text")
        }));
        changes.push(Change::AddNode(GraphNode {
            created_at: at_second(2 * second + 1),
            ..node_with_text(&format!("n{second}"), "text")
        }));
    }
    commit(&*it.store, changes).await;
    let list =
        async |search: SearchQuery, limit| it.store.newest_entities(&search, limit).await.unwrap();
    let (t, n) = (thought_key, node_key);
    let everything = search_query("no such word");
    assert_eq!(
        list(everything.clone(), 9).await,
        [n("n3"), t("t3"), n("n2"), t("t2"), n("n1"), t("t1")]
    );
    assert_eq!(
        list(everything.clone(), 3).await,
        [n("n3"), t("t3"), n("n2")]
    );
    let filtered = |session: Option<&str>, mode, since, until| SearchQuery {
        session: session.map(Into::into),
        mode,
        since,
        until,
        ..SearchQuery::default()
    };
    let times = filtered(Some("s"), None, Some(at_second(4)), Some(at_second(5)));
    assert_eq!(list(times, 9).await, [n("n2"), t("t2")]);
    let nodes = filtered(None, Some(Mode::Got), None, None);
    assert_eq!(list(nodes, 9).await, [n("n3"), n("n2"), n("n1")]);
    assert_eq!(list(filtered(Some("other"), None, None, None), 9).await, []);
}

pub(crate) async fn the_texts_of_entities_are_cut(it: Fixture) {
    let asked = Thought {
        input: Some("思考思考".to_owned()),
        ..thought_with_text("t", "s", "content")
    };
    add_thoughts(&*it.store, vec![asked]).await;
    let changes = vec![
        Change::AddGraph(graph("g", "s")),
        Change::AddNode(node_with_text("n", "a node")),
    ];
    commit(&*it.store, changes).await;
    let keys = [node_key("n"), thought_key("t"), thought_key("missing")];
    let texts = async |chars| {
        let mut texts = it.store.search_texts(&keys, chars).await.unwrap();
        texts.sort();
        texts
    };
    let both = |thought: &str, node: &str| {
        [
            (thought_key("t"), thought.to_owned()),
            (node_key("n"), node.to_owned()),
        ]
    };
    assert_eq!(texts(100).await, both("思考思考\ncontent", "a node"));
    assert_eq!(texts(2).await, both("思考co", "a "));
}

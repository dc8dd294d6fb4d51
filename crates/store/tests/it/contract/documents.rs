//! Documents that are stored whole.

use deliberate_core::{Change, IndexKey, StoredDocument};
use deliberate_store::{DocumentFilter, DocumentOrder, KeyMatch, Pagination, Store};
use serde_json::json;

use super::{ALL, Fixture, assert_conflict, commit};
use crate::samples::{ODD_TEXT, at_second, odd_json};

fn document(id: &str, version: i64, keys: &[(&str, &str)]) -> StoredDocument {
    StoredDocument {
        kind: "article".to_owned(),
        id: id.to_owned(),
        version,
        seq: 0,
        body: json!({ "id": id, "odd": odd_json() }),
        keys: keys
            .iter()
            .map(|(name, value)| IndexKey::shared(name, *value))
            .collect(),
        created_at: at_second(1),
        updated_at: at_second(1),
    }
}

fn put(item: StoredDocument) -> Change {
    Change::PutDocument { item, parts: None }
}

fn delete(id: &str) -> Change {
    Change::DeleteDocument {
        kind: "article".to_owned(),
        id: id.to_owned(),
        at: at_second(9),
    }
}

async fn ids(store: &dyn Store, filter: &DocumentFilter) -> Vec<String> {
    let items = store.documents(filter, ALL).await.unwrap();
    assert_eq!(
        store.count_documents(filter).await.unwrap(),
        items.len() as u64
    );
    items.into_iter().map(|item| item.id).collect()
}

pub(crate) async fn an_item_comes_back_as_it_was(it: Fixture) {
    let mut odd = document(
        ODD_TEXT,
        0,
        &[("tag", ODD_TEXT), ("tag", "b"), ("tag", "b")],
    );
    odd.keys.push(IndexKey::unique("doi", "10.1/x"));
    commit(&*it.store, vec![put(odd.clone())]).await;
    let kept = (it.reopen)()
        .document("article", ODD_TEXT)
        .await
        .unwrap()
        .unwrap();
    odd.keys.dedup();
    odd.keys.sort();
    assert_eq!(
        kept,
        StoredDocument {
            version: 1,
            seq: kept.seq,
            ..odd
        }
    );
    assert_eq!(it.store.document("question", ODD_TEXT).await.unwrap(), None);
}

pub(crate) async fn who_has_not_seen_the_last_version_is_refused(it: Fixture) {
    commit(&*it.store, vec![put(document("a", 0, &[]))]).await;
    assert_conflict(&*it.store, put(document("a", 0, &[]))).await;
    commit(&*it.store, vec![put(document("a", 1, &[]))]).await;
    assert_conflict(&*it.store, put(document("a", 1, &[]))).await;
    commit(&*it.store, vec![delete("a")]).await;
    assert_conflict(&*it.store, put(document("a", 3, &[]))).await;
    assert_conflict(&*it.store, delete("a")).await;
    commit(&*it.store, vec![put(document("a", 0, &[]))]).await;
    assert!(it.store.document("article", "a").await.unwrap().is_some());
}

pub(crate) async fn what_only_one_may_have_is_one_items(it: Fixture) {
    let only = |id: &str| StoredDocument {
        keys: vec![IndexKey::unique("doi", "10.1/x")],
        ..document(id, 0, &[])
    };
    commit(&*it.store, vec![put(only("a"))]).await;
    assert_conflict(&*it.store, put(only("b"))).await;
    assert_eq!(it.store.document("article", "b").await.unwrap(), None);
    commit(&*it.store, vec![delete("a"), put(only("b"))]).await;
    let found = ids(
        &*it.store,
        &DocumentFilter::with_key("article", "doi", "10.1/x"),
    )
    .await;
    assert_eq!(found, ["b"]);
}

pub(crate) async fn items_are_found_and_put_in_order_by_their_keys(it: Fixture) {
    commit(
        &*it.store,
        vec![
            put(document(
                "a",
                0,
                &[("tag", "x"), ("tag", "y"), ("year", "2020")],
            )),
            put(document(
                "b",
                0,
                &[("tag", "x"), ("year", "2022"), ("title", "deep sleep")],
            )),
            put(document("c", 0, &[("tag", "z")])),
        ],
    )
    .await;
    let any = |values: &[&str]| KeyMatch::OneOf {
        name: "tag".to_owned(),
        values: values.iter().map(|&it| it.to_owned()).collect(),
    };
    let between = |from: Option<&str>, to: Option<&str>| KeyMatch::Between {
        name: "year".to_owned(),
        from: from.map(str::to_owned),
        to: to.map(str::to_owned),
    };
    let by_year = |keys, descending| DocumentFilter {
        keys,
        order: DocumentOrder::Key {
            name: "year".to_owned(),
            descending,
        },
        ..DocumentFilter::of_kind("article")
    };
    let store = &*it.store;
    assert_eq!(ids(store, &by_year(vec![], true)).await, ["b", "a", "c"]);
    assert_eq!(ids(store, &by_year(vec![], false)).await, ["a", "b", "c"]);
    assert_eq!(
        ids(store, &by_year(vec![any(&["x"]), any(&["y", "z"])], true)).await,
        ["a"]
    );
    assert_eq!(
        ids(store, &by_year(vec![between(Some("2021"), None)], true)).await,
        ["b"]
    );
    assert_eq!(
        ids(store, &by_year(vec![between(None, Some("2021"))], true)).await,
        ["a"]
    );
    let holds = KeyMatch::Contains {
        name: "title".to_owned(),
        text: "sleep".to_owned(),
    };
    assert_eq!(ids(store, &by_year(vec![holds], true)).await, ["b"]);
    let holds_in = |names: &[&str]| KeyMatch::AnyContains {
        names: names.iter().map(|&it| it.to_owned()).collect(),
        text: "sleep".to_owned(),
    };
    for (names, found) in [
        (vec!["tag", "title"], vec!["b"]),
        (vec!["tag"], vec![]),
        (vec![], vec![]),
    ] {
        let filter = by_year(vec![holds_in(&names)], true);
        assert_eq!(ids(store, &filter).await, found, "{names:?}");
    }
    assert_eq!(
        ids(store, &by_year(vec![any(&[])], true)).await,
        Vec::<String>::new()
    );
    let tags = store.document_values("article", "tag", ALL).await.unwrap();
    let tag = |value: &str, many| (value.to_owned(), many);
    assert_eq!(tags, [tag("x", 2), tag("y", 1), tag("z", 1)]);
}

pub(crate) async fn long_texts_stay_until_they_are_replaced(it: Fixture) {
    let parts = |texts: &[&str]| Some(texts.iter().map(|&it| it.to_owned()).collect::<Vec<_>>());
    let with = |version, texts| Change::PutDocument {
        item: document("a", version, &[]),
        parts: texts,
    };
    let store = &*it.store;
    commit(store, vec![with(0, parts(&["one", ODD_TEXT, "three"]))]).await;
    commit(store, vec![with(1, None)]).await;
    let page = Pagination {
        offset: 1,
        limit: 2,
    };
    assert_eq!(
        store.document_parts("article", "a", page).await.unwrap(),
        [ODD_TEXT, "three"]
    );
    commit(store, vec![with(2, parts(&["new"]))]).await;
    assert_eq!(
        store.document_parts("article", "a", ALL).await.unwrap(),
        ["new"]
    );
    commit(store, vec![delete("a")]).await;
    let parts = store.document_parts("article", "a", ALL).await.unwrap();
    assert_eq!(parts, [""; 0]);
}

pub(crate) async fn who_reads_on_hears_of_every_change(it: Fixture) {
    let store = &*it.store;
    let seen = async |after| {
        let changes = store.changed_documents("article", after, 10).await.unwrap();
        let last = changes.last().map_or(after, |it| it.seq);
        let told: Vec<_> = changes.into_iter().map(|it| (it.id, it.deleted)).collect();
        (last, told)
    };
    let told = |id: &str, gone| (id.to_owned(), gone);
    commit(
        store,
        vec![put(document("a", 0, &[])), put(document("b", 0, &[]))],
    )
    .await;
    let (mark, changes) = seen(0).await;
    assert_eq!(changes, [told("a", false), told("b", false)]);
    commit(store, vec![put(document("a", 1, &[])), delete("b")]).await;
    let (mark, changes) = seen(mark).await;
    assert_eq!(changes, [told("a", false), told("b", true)]);
    assert_eq!(seen(mark).await, (mark, Vec::new()));
}

//! Settings of the prompt engine.

use deliberate_core::Change;
use deliberate_store::{Pagination, Store, StoreError};
use serde_json::{Value, json};

use super::{Fixture, commit};
use crate::samples::{ODD_TEXT, at_second, odd_json, session};

fn set(key: &str, value: Value) -> Change {
    Change::SetState {
        key: key.to_owned(),
        value: Some(value),
        at: at_second(0),
    }
}

fn unset(key: &str) -> Change {
    Change::SetState {
        key: key.to_owned(),
        value: None,
        at: at_second(0),
    }
}

async fn settings(store: &dyn Store) -> Vec<(String, Value)> {
    store.settings(&[]).await.unwrap().into_iter().collect()
}

pub(crate) async fn a_setting_is_made_replaced_and_removed(it: Fixture) {
    assert_eq!(settings(&*it.store).await, []);
    commit(&*it.store, vec![set("b", json!(1)), set("a", Value::Null)]).await;
    commit(&*it.store, vec![set(ODD_TEXT, odd_json())]).await;
    let kept = it.store.settings(&[]).await.unwrap();
    assert_eq!(
        (kept.len(), &kept["b"], &kept["a"], &kept[ODD_TEXT]),
        (3, &json!(1), &Value::Null, &odd_json())
    );
    let asked = [ODD_TEXT, "b", "nothing"];
    let some = it.store.settings(&asked).await.unwrap();
    assert_eq!(some.keys().collect::<Vec<_>>(), ["b", ODD_TEXT]);
    commit(&*it.store, vec![set("b", json!("two")), unset(ODD_TEXT)]).await;
    // Removing a value that does not exist is accepted.
    commit(&*it.store, vec![unset(ODD_TEXT), unset("a")]).await;
    assert_eq!(settings(&*it.store).await, [("b".to_owned(), json!("two"))]);
}

pub(crate) async fn settings_survive_closing(it: Fixture) {
    commit(&*it.store, vec![set("a", json!(1))]).await;
    it.store.close().await;
    assert_eq!(it.store.settings(&[]).await, Err(StoreError::Closed));
    let again = (it.reopen)();
    assert_eq!(settings(&*again).await, [("a".to_owned(), json!(1))]);
}

pub(crate) async fn no_more_settings_are_made_than_can_be_read(it: Fixture) {
    let name = |number: u32| format!("{number:04}");
    let changes = (0..Pagination::MAX).map(|number| set(&name(number), json!(number)));
    commit(&*it.store, changes.collect()).await;
    let over = vec![Change::AddSession(session("s")), set("more", json!(1))];
    let outcome = it.store.commit(over).await;
    assert!(
        matches!(&outcome, Err(StoreError::Conflict { reason }) if reason.contains("1,000")),
        "{outcome:?}"
    );
    assert_eq!(it.store.session(&"s".into()).await.unwrap(), None);
    commit(&*it.store, vec![set(&name(5), json!("replaced"))]).await;
    commit(&*it.store, vec![unset(&name(6)), set("more", json!(1))]).await;
    let kept = it.store.settings(&[]).await.unwrap();
    assert_eq!(
        (kept.len(), &kept[&name(5)], &kept["more"]),
        (1_000, &json!("replaced"), &json!(1))
    );
}

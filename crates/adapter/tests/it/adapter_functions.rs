//! Tools become functions: found, kept, chosen, named.

use std::{sync::Arc, time::Duration};

use deliberate_adapter::{
    Adapter, AdapterConfig, Error, ErrorKind, ServerConfig,
    adapter::{Failing, Filter, MAX_NAME, Prefix},
};
use serde_json::json;

use crate::{
    adapter_support::{adapter, names, saying},
    client_support::{Served, client, soon, stdio},
};

#[tokio::test]
async fn lists_are_kept_unless_that_is_not_wanted() {
    for (cache, lists) in [(true, 1), (false, 3)] {
        let puppet = saying("a", &["t"]);
        let adapter = adapter(
            &[("a", &puppet)],
            AdapterConfig {
                cache,
                ..AdapterConfig::default()
            },
        );
        for _ in 0..3 {
            assert_eq!(names(&adapter).await, ["a__t"]);
        }
        assert_eq!(puppet.heard("tools/list").len(), lists);
        soon(adapter.refresh_tools()).await.unwrap();
        assert_eq!(puppet.heard("tools/list").len(), lists + 1);
    }
}

#[test]
fn keeping_is_the_default() {
    let config = AdapterConfig::default();
    assert!(config.cache && config.validate);
    assert_eq!(
        (config.prefix, config.failing),
        (Prefix::Always, Failing::Open)
    );
}

#[tokio::test]
async fn filters_choose_in_their_order() {
    let (a, b) = (
        saying("a", &["read", "read_all", "write"]),
        saying("b", &["read"]),
    );
    let names_of = |filter: Filter| {
        let servers = [("a", &a), ("b", &b)];
        let adapter = adapter(
            &servers,
            AdapterConfig {
                filter,
                ..AdapterConfig::default()
            },
        );
        async move { names(&adapter).await.join(" ") }
    };
    let some = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
    };
    let only = |names: &[&str]| Some(some(names));
    for (only, except, expected) in [
        (None, some(&[]), "a__read a__read_all a__write b__read"),
        (only(&["read"]), some(&[]), "a__read b__read"),
        (only(&["read*"]), some(&["read_*"]), "a__read b__read"),
        (only(&["a__read"]), some(&[]), "a__read"),
        (only(&["a__*"]), some(&["write"]), "a__read a__read_all"),
        (only(&[]), some(&[]), ""),
        (None, some(&["*"]), ""),
        (None, some(&["b__*", "a__write"]), "a__read a__read_all"),
    ] {
        let shown = format!("{only:?} {except:?}");
        let filter = Filter {
            only,
            except,
            predicate: None,
        };
        assert_eq!(names_of(filter).await, expected, "{shown}");
    }
    // The predicate sees only what the names let through.
    let filter = Filter {
        only: only(&["a__*"]),
        except: some(&["write"]),
        predicate: Some(Arc::new(|server, tool| {
            assert!(server == "a" && tool.name != "write");
            tool.name != "read"
        })),
    };
    assert_eq!(names_of(filter).await, "a__read_all");
}

#[tokio::test]
async fn names_that_nothing_has_are_told() {
    let a = saying("a", &["read", "write"]);
    let wanted = ["read", "raed", "none*", "write"];
    let filter = Filter {
        only: Some(wanted.iter().map(|name| (*name).to_owned()).collect()),
        except: vec!["write".to_owned()],
        predicate: None,
    };
    let config = AdapterConfig {
        filter,
        ..AdapterConfig::default()
    };
    let adapter = adapter(&[("a", &a)], config);
    let functions = soon(adapter.to_functions()).await.unwrap();
    assert_eq!(
        functions.warnings,
        ["no tool is named \"raed\"", "no tool is named \"none*\""]
    );
    let missing = soon(adapter.missing(&["a__read", "read"])).await.unwrap();
    assert_eq!(missing, ["read"]);
}

#[tokio::test]
async fn names_are_each_functions_own_and_short_enough() {
    let long = "a-very-long-name-of-a-tool-that-says-all-that-it-does-and-more-than-that";
    let (a, b) = (
        saying("a", &["t", "dot.ted", long]),
        saying("b", &["t", "u"]),
    );
    for (prefix, expected) in [
        (Prefix::Always, &["a__t", "b__t", "b__u"][..]),
        (Prefix::OnConflict, &["a__t", "b__t", "u"]),
        (Prefix::Never, &["t", "u"]),
    ] {
        let config = AdapterConfig {
            prefix,
            ..AdapterConfig::default()
        };
        let adapter = adapter(&[("a", &a), ("b", &b)], config);
        let functions = soon(adapter.to_functions()).await.unwrap();
        for function in &functions.functions {
            let fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            assert!(function.name.len() <= MAX_NAME && function.name.chars().all(fine));
        }
        for name in expected {
            let function = functions.get(name).unwrap();
            let said = soon(function.call(json!({}))).await.unwrap();
            assert_eq!(said.text(), function.server);
        }
        let left_out = usize::from(prefix == Prefix::Never);
        assert_eq!(functions.functions.len(), 5 - left_out);
        assert_eq!(functions.warnings.len(), left_out);
    }
}

fn one_dead() -> [ServerConfig; 2] {
    let dead = ServerConfig::stdio("dead", "/no/such/program", [""; 0]);
    [dead, stdio("alive", &[])]
}

#[tokio::test]
async fn one_dead_of_two() {
    let adapter = Adapter::new(AdapterConfig::of(one_dead())).unwrap();
    let functions = soon(adapter.to_functions()).await.unwrap();
    assert_eq!(functions.functions.len(), 15);
    let failed: Vec<_> = functions.failed.iter().map(Error::code).collect();
    assert_eq!(failed, ["NotStarted"]);
    assert_eq!(&*functions.failed[0].server, "dead");
    let echo = functions.get("alive__echo").unwrap();
    let result = soon(echo.spawn(json!({ "text": "x" })))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(result.text(), "x");
    soon(adapter.close()).await;

    let closed = AdapterConfig {
        failing: Failing::Closed,
        ..AdapterConfig::of(one_dead())
    };
    let adapter = Adapter::new(closed).unwrap();
    let error = soon(adapter.to_functions()).await.unwrap_err();
    assert_eq!((&*error.server, error.code()), ("dead", "NotStarted"));
}

#[tokio::test]
async fn nobody_there_is_not_the_same_as_no_tools() {
    let dead = ServerConfig::stdio("dead", "/no/such/program", [""; 0]);
    let adapter = Adapter::new(AdapterConfig::of([dead])).unwrap();
    soon(adapter.to_functions()).await.unwrap_err();
    let puppet = saying("a", &[]);
    let adapter = crate::adapter_support::adapter(&[("a", &puppet)], AdapterConfig::default());
    assert!(names(&adapter).await.is_empty());
}

#[tokio::test]
async fn health_is_asked_and_told() {
    let adapter = Adapter::new(AdapterConfig::of(one_dead())).unwrap();
    let failed = adapter.ready(Duration::from_millis(300)).await.unwrap_err();
    assert_eq!(failed.len(), 1);
    soon(adapter.client("alive").unwrap().server())
        .await
        .unwrap();
    let health = soon(adapter.health()).await;
    let (alive, took) = &health[0];
    assert_eq!(alive.server, "alive");
    let took = took.as_ref().unwrap().as_secs_f64() * 1_000.0;
    assert!(took > 0.0 && alive.last_ping_ms.unwrap() <= took + 1.0);
    let (dead, error) = &health[1];
    assert!(
        error.is_err()
            && dead
                .last_error
                .as_ref()
                .unwrap()
                .contains("can't be started")
    );
    assert_eq!(dead.up_percent, Some(0.0));
    let shown = serde_json::to_value(adapter.status()).unwrap();
    assert_eq!(
        (&shown[0]["state"], &shown[1]["state"]),
        (&json!("ready"), &json!("resting"))
    );
}

#[tokio::test]
async fn it_is_ready_when_all_are() {
    let web = Served::http(&[]);
    let servers = [
        stdio("slow", &["--fault", "slow-start:200"]),
        web.config("web"),
    ];
    let adapter = Adapter::new(AdapterConfig::of(servers)).unwrap();
    adapter.ready(Duration::from_secs(50)).await.unwrap();
    drop(client(stdio("unused", &[])));
}

#[test]
fn every_mistake_of_a_configuration_is_named() {
    let config = AdapterConfig {
        servers: vec![
            ServerConfig::stdio("a", "", [""; 0]),
            ServerConfig::stdio("b", "x", [""; 0]),
            ServerConfig::stdio("b", "x", ["\0"]),
            ServerConfig::stdio("no name", "x", [""; 0]),
        ],
        fallbacks: [("a", "c"), ("b", "b"), ("d", "a")]
            .map(|(one, other)| (one.to_owned(), other.to_owned()))
            .into(),
        filter: Filter {
            only: Some(vec![String::new()]),
            ..Filter::default()
        },
        ..AdapterConfig::default()
    };
    let error = Adapter::new(config).unwrap_err();
    insta::assert_snapshot!(error.to_string().replace("; ", "\n"));
    let none = Adapter::new(AdapterConfig::default()).unwrap_err();
    assert_eq!(none.to_string(), "servers: there are none");
    let wrong = deliberate_adapter::Client::new(
        ServerConfig::stdio("", "x", [""; 0]),
        Arc::new(deliberate_adapter::client::NoHandler),
    );
    assert!(matches!(wrong.unwrap_err().kind, ErrorKind::Config(_)));
}

//! Tests of listing functions: caching, filters and names.

use std::{sync::Arc, time::Duration};

use deliberate_adapter::{
    Adapter, AdapterConfig, ClientError, ClientErrorKind, ServerConfig,
    adapter::{ListingFailure, MAX_NAME, NamePrefix, ToolFilter},
    config::TransportConfig,
};
use serde_json::json;

use crate::{
    adapter_support::{adapter, function_names, named_server},
    client_support::{SpawnedServer, client, stdio, with_deadline},
};

#[tokio::test]
async fn lists_are_kept_unless_that_is_not_wanted() {
    for (cache, lists) in [(true, 1), (false, 3)] {
        let puppet = named_server("a", &["t"]);
        let adapter = adapter(
            &[("a", &puppet)],
            AdapterConfig {
                cache,
                ..AdapterConfig::default()
            },
        );
        for _ in 0..3 {
            assert_eq!(function_names(&adapter).await, ["a__t"]);
        }
        assert_eq!(puppet.received_of("tools/list").len(), lists);
        with_deadline(adapter.refresh_tools()).await.unwrap();
        assert_eq!(puppet.received_of("tools/list").len(), lists + 1);
    }
}

#[test]
fn keeping_is_the_default() {
    let config = AdapterConfig::default();
    assert!(config.cache && config.validate);
    assert_eq!(
        (config.prefix, config.on_listing_failure),
        (NamePrefix::Always, ListingFailure::Open)
    );
}

#[tokio::test]
async fn filters_choose_in_their_order() {
    let (a, b) = (
        named_server("a", &["read", "read_all", "write"]),
        named_server("b", &["read"]),
    );
    let names_of = |filter: ToolFilter| {
        let servers = [("a", &a), ("b", &b)];
        let adapter = adapter(
            &servers,
            AdapterConfig {
                filter,
                ..AdapterConfig::default()
            },
        );
        async move { function_names(&adapter).await.join(" ") }
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
        let text = format!("{only:?} {except:?}");
        let filter = ToolFilter {
            only,
            except,
            predicate: None,
        };
        assert_eq!(names_of(filter).await, expected, "{text}");
    }
    // The predicate sees only tools that the names select.
    let filter = ToolFilter {
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
    let a = named_server("a", &["read", "write"]);
    let wanted = ["read", "raed", "none*", "write"];
    let filter = ToolFilter {
        only: Some(wanted.iter().map(|name| (*name).to_owned()).collect()),
        except: vec!["write".to_owned()],
        predicate: None,
    };
    let config = AdapterConfig {
        filter,
        ..AdapterConfig::default()
    };
    let adapter = adapter(&[("a", &a)], config);
    let functions = with_deadline(adapter.to_functions()).await.unwrap();
    assert_eq!(
        functions.warnings,
        ["no tool is named \"raed\"", "no tool is named \"none*\""]
    );
    let missing = with_deadline(adapter.missing_names(&["a__read", "read"]))
        .await
        .unwrap();
    assert_eq!(missing, ["read"]);
}

#[tokio::test]
async fn names_are_each_functions_own_and_short_enough() {
    let long = "a-very-long-name-of-a-tool-that-says-all-that-it-does-and-more-than-that";
    let (a, b) = (
        named_server("a", &["t", "dot.ted", long]),
        named_server("b", &["t", "u"]),
    );
    for (prefix, expected) in [
        (NamePrefix::Always, &["a__t", "b__t", "b__u"][..]),
        (NamePrefix::OnConflict, &["a__t", "b__t", "u"]),
        (NamePrefix::Never, &["t", "u"]),
    ] {
        let config = AdapterConfig {
            prefix,
            ..AdapterConfig::default()
        };
        let adapter = adapter(&[("a", &a), ("b", &b)], config);
        let functions = with_deadline(adapter.to_functions()).await.unwrap();
        for function in &functions.functions {
            let fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            assert!(function.name.len() <= MAX_NAME && function.name.chars().all(fine));
        }
        for name in expected {
            let function = functions.get(name).unwrap();
            let said = with_deadline(function.call(json!({}))).await.unwrap();
            assert_eq!(said.text(), function.server);
        }
        let left_out = usize::from(prefix == NamePrefix::Never);
        assert_eq!(functions.functions.len(), 5 - left_out);
        assert_eq!(functions.warnings.len(), left_out);
    }
}

fn with_dead_server() -> [ServerConfig; 2] {
    let dead = ServerConfig::stdio("dead", "/no/such/program", [""; 0]);
    [dead, stdio("alive", &[])]
}

#[tokio::test]
async fn one_dead_of_two() {
    let adapter = Adapter::new(AdapterConfig::from_servers(with_dead_server())).unwrap();
    let functions = with_deadline(adapter.to_functions()).await.unwrap();
    assert_eq!(functions.functions.len(), 15);
    let failed: Vec<_> = functions.errors.iter().map(ClientError::code).collect();
    assert_eq!(failed, ["NotStarted"]);
    assert_eq!(&*functions.errors[0].server, "dead");
    let echo = functions.get("alive__echo").unwrap();
    let result = with_deadline(echo.spawn(json!({ "text": "x" })))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(result.text(), "x");
    with_deadline(adapter.close()).await;

    let closed = AdapterConfig {
        on_listing_failure: ListingFailure::Closed,
        ..AdapterConfig::from_servers(with_dead_server())
    };
    let adapter = Adapter::new(closed).unwrap();
    let error = with_deadline(adapter.to_functions()).await.unwrap_err();
    assert_eq!((&*error.server, error.code()), ("dead", "NotStarted"));
}

#[tokio::test]
async fn nobody_there_is_not_the_same_as_no_tools() {
    let dead = ServerConfig::stdio("dead", "/no/such/program", [""; 0]);
    let adapter = Adapter::new(AdapterConfig::from_servers([dead])).unwrap();
    with_deadline(adapter.to_functions()).await.unwrap_err();
    let puppet = named_server("a", &[]);
    let adapter = crate::adapter_support::adapter(&[("a", &puppet)], AdapterConfig::default());
    assert!(function_names(&adapter).await.is_empty());
}

#[tokio::test]
async fn health_is_asked_and_told() {
    let adapter = Adapter::new(AdapterConfig::from_servers(with_dead_server())).unwrap();
    let failed = adapter
        .wait_ready(Duration::from_millis(300))
        .await
        .unwrap_err();
    assert_eq!(failed.len(), 1);
    with_deadline(adapter.client("alive").unwrap().server_info())
        .await
        .unwrap();
    let health = with_deadline(adapter.health()).await;
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
                .contains("could not be started")
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
    let web = SpawnedServer::http(&[]);
    let servers = [
        stdio("slow", &["--fault", "slow-start:200"]),
        web.config("web"),
    ];
    let adapter = Adapter::new(AdapterConfig::from_servers(servers)).unwrap();
    adapter.wait_ready(Duration::from_secs(50)).await.unwrap();
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
        filter: ToolFilter {
            only: Some(vec![String::new()]),
            ..ToolFilter::default()
        },
        ..AdapterConfig::default()
    };
    let error = Adapter::new(config).unwrap_err();
    insta::assert_snapshot!(error.to_string().replace("; ", "\n"));
    let none = Adapter::new(AdapterConfig::default()).unwrap_err();
    assert_eq!(none.to_string(), "servers: at least one server is required");
    let wrong = deliberate_adapter::McpClient::new(
        ServerConfig::stdio("", "x", [""; 0]),
        Arc::new(deliberate_adapter::client::NoClientHandler),
    );
    assert!(matches!(
        wrong.unwrap_err().kind,
        ClientErrorKind::Config(_)
    ));
}

#[test]
fn what_is_shown_of_an_adapter_holds_no_secret() {
    const SECRET: &str = "xyzzy-s3cr3t-0123456789";
    let mut config = ServerConfig::stdio("a", "/no/such/program", [""; 0]);
    let TransportConfig::Stdio(stdio) = &mut config.transport else {
        panic!("{config:?}")
    };
    stdio.env.insert("TOKEN".to_owned(), SECRET.into());
    let adapter = Adapter::new(AdapterConfig::from_servers([config])).unwrap();
    let text = format!("{adapter:?} {:?}", adapter.status());
    assert!(!text.contains(SECRET), "{text}");
}

//! A server with its provider for every tool that asks, what its store holds, and answers that are
//! made wrong.

use deliberate_testkit::{Client, Fault, Standin, standin::Rule};
use serde_json::{Map, Value, json};
use tokio::process::Command;

use super::super::asking::{ASKING, Asking};
use crate::support::{Place, Wire, failure, output, serve};

/// A server, its provider, and the tools that are there.
pub(super) struct Bench {
    pub(super) place: Place,
    pub(super) standin: Standin,
    pub(super) client: Client,
    wire: Wire,
    pub(super) tools: Vec<&'static Asking>,
}

impl Bench {
    pub(super) async fn new(wire: Wire) -> Self {
        let (place, standin) = (Place::new(), Standin::start().await.unwrap());
        let mut client = serve(&mut command(&place, wire, &standin)).await;
        let tools = asking_tools(&mut client).await;
        Self {
            place,
            standin,
            client,
            wire,
            tools,
        }
    }

    /// The arguments of a call, with all that they name.
    pub(super) async fn arguments(&mut self, asking: &Asking) -> Value {
        self.standin.reset();
        (asking.arguments)(&asking.needs.meet(&mut self.client).await)
    }

    /// Calls a tool while the provider has this fault, once or for good.
    pub(super) async fn meets(&mut self, asking: &Asking, fault: &Fault, lasts: Lasts) -> Ended {
        let arguments = self.arguments(asking).await;
        self.standin.reset();
        match lasts {
            Lasts::Once => self.standin.push(fault.clone()),
            Lasts::Always => self.standin.always(fault.clone()),
        }
        let what = format!("{fault:?} {lasts:?}");
        self.call(asking, arguments, &what).await
    }

    /// Calls a tool while the model says this to its ask, and the usual to others.
    pub(super) async fn hears(&mut self, asking: &Asking, said: &str) -> Ended {
        let arguments = self.arguments(asking).await;
        self.standin.reset();
        self.standin.rules(vec![Rule::new(asking.asked_by, said)]);
        self.call(asking, arguments, said).await
    }

    /// Calls a tool. Whatever comes of it, no half of it is kept, and of an error nothing.
    pub(super) async fn call(&mut self, asking: &Asking, arguments: Value, what: &str) -> Ended {
        let before = kept(&self.place).await;
        let response = self.client.call(asking.tool, arguments).await.unwrap();
        let ended = Ended::of(&response);
        let what = format!("{:?} {} {what}", self.wire, asking.tool);
        let after = kept(&self.place).await;
        match &ended {
            Ended::Answer(_) => assert_eq!(after != before, asking.keeps, "{what}"),
            Ended::Error(code) => {
                let failure = failure(&response);
                assert!(failure.text.len() > code.len() + 10, "{what}: {failure:?}");
                assert!(failure.hint.is_some(), "{what}: {failure:?}");
                assert_eq!(after, before, "{what}: {code} left something");
            }
        }
        assert_eq!(broken(&self.place).await, [] as [&str; 0], "{what}");
        ended
    }
}

pub(super) fn command(place: &Place, wire: Wire, standin: &Standin) -> Command {
    let mut command = place.command();
    wire.set(&mut command, standin);
    command.env("MAX_RETRIES", "1");
    command
}

/// The tools that ask, as far as they are there.
pub(super) async fn asking_tools(client: &mut Client) -> Vec<&'static Asking> {
    let list = client.request("tools/list", json!({})).await.unwrap();
    let list = list["result"]["tools"].as_array().unwrap();
    let there = |name: &str| list.iter().any(|tool| tool["name"] == name);
    for tool in list {
        let name = tool["name"].as_str().unwrap();
        let asks = tool["annotations"]["openWorldHint"] != false;
        // The front of research has no way of its own: what it stands for has.
        let known = name == "research" || ASKING.iter().any(|asking| asking.tool == name);
        assert_eq!(asks, known, "{name} is missing from the table, or too much");
    }
    let tools = ASKING.iter().filter(|asking| there(asking.tool));
    tools.collect()
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Lasts {
    Once,
    Always,
}

/// How a call ended.
#[derive(Debug, PartialEq)]
pub(super) enum Ended {
    Answer(Value),
    Error(String),
}

impl Ended {
    pub(super) fn of(response: &Value) -> Self {
        if response["result"]["isError"] == true {
            return Self::Error(failure(response).code.to_owned());
        }
        let answer = output(response);
        assert!(answer.is_object() && answer.get("needs_reply").is_none());
        Self::Answer(answer.clone())
    }

    pub(super) fn code(&self) -> Option<&str> {
        match self {
            Self::Answer(_) => None,
            Self::Error(code) => Some(code),
        }
    }
}

/// The tables that reasoning fills.
pub(super) const TABLES: [&str; 9] = [
    "sessions",
    "thoughts",
    "branches",
    "cross_refs",
    "checkpoints",
    "graphs",
    "graph_nodes",
    "graph_edges",
    "epochs",
];

/// All that is stored, as text.
pub(super) async fn kept(place: &Place) -> Vec<String> {
    if !place.database().exists() {
        return vec![String::new(); TABLES.len()];
    }
    let mut database = place.open().await;
    let mut all = Vec::new();
    for table in TABLES {
        let sql = format!(
            "SELECT group_concat('quote(' || name || ')', ' || ') FROM pragma_table_info('{table}')"
        );
        let columns: Option<String> = sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
            .fetch_one(&mut database)
            .await
            .unwrap();
        let Some(columns) = columns else {
            all.push(String::new());
            continue;
        };
        let sql = format!("SELECT coalesce(group_concat({columns}, '\n'), '') FROM {table}");
        let rows: String = sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
            .fetch_one(&mut database)
            .await
            .unwrap();
        all.push(rows);
    }
    all
}

/// What must never be: half a step.
pub(super) const HALVES: &[(&str, &str)] = &[
    (
        "a session without thought or graph",
        "SELECT count(*) FROM sessions WHERE id NOT IN (SELECT session_id FROM thoughts)
         AND id NOT IN (SELECT session_id FROM graphs)",
    ),
    (
        "a branch without a thought",
        "SELECT count(*) FROM branches
         WHERE id NOT IN (SELECT branch_id FROM thoughts WHERE branch_id IS NOT NULL)",
    ),
    (
        "a thought that says nothing",
        "SELECT count(*) FROM thoughts WHERE trim(content) = ''",
    ),
    (
        "a graph without a root",
        "SELECT count(*) FROM graphs
         WHERE id NOT IN (SELECT graph_id FROM graph_nodes WHERE node_type = 'root')",
    ),
    (
        "a node that nothing leads to",
        "SELECT count(*) FROM graph_nodes
         WHERE node_type <> 'root' AND id NOT IN (SELECT to_node FROM graph_edges)",
    ),
    (
        "a node that says nothing",
        "SELECT count(*) FROM graph_nodes WHERE trim(content) = ''",
    ),
    (
        "a session that follows a branch of another",
        "SELECT count(*) FROM sessions JOIN branches ON branches.id = sessions.active_branch_id
         WHERE branches.session_id <> sessions.id",
    ),
];

/// The halves there are.
pub(super) async fn broken(place: &Place) -> Vec<&'static str> {
    if !place.database().exists() {
        return Vec::new();
    }
    let mut database = place.open().await;
    let mut found = Vec::new();
    for (what, sql) in HALVES {
        let count: i64 = sqlx::query_scalar(*sql)
            .fetch_one(&mut database)
            .await
            .unwrap();
        if count > 0 {
            found.push(*what);
        }
    }
    found
}

/// A value with every number in it made into something else.
pub(super) fn with_numbers(value: &Value, make: fn(f64) -> Value) -> Value {
    match value {
        Value::Number(number) => make(number.as_f64().unwrap()),
        Value::Array(items) => items.iter().map(|item| with_numbers(item, make)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| (name.clone(), with_numbers(field, make)))
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

/// A value in which nothing has the type it should have.
pub(super) fn with_wrong_types(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| {
                let wrong = match field {
                    Value::String(_) => json!({ "a": 1 }),
                    Value::Number(_) => json!([true]),
                    _ => json!("none"),
                };
                (name.clone(), wrong)
            })
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

pub(super) fn with_nothing(value: &Value) -> Value {
    let fields = value.as_object().unwrap().keys();
    let none = fields.map(|name| (name.clone(), Value::Null));
    Value::Object(none.collect())
}

pub(super) fn said(text: impl Into<String>) -> Fault {
    Fault::Text(text.into())
}

//! A server with its provider for every tool that asks a model, the content of its store, and
//! invalid answers.

use deliberate_testkit::{MockFault, MockProvider, StdioClient, mock_provider::ScriptedAnswer};
use serde_json::{Map, Value, json};
use tokio::process::Command;

use crate::{
    provider::model_tool_cases::{MODEL_TOOL_CASES, ModelToolCase},
    support::{ProviderFormat, TestHome, output, serve, tool_failure},
};

/// A server, its provider, and the tools it has.
pub(super) struct ModeTestServer {
    pub(super) place: TestHome,
    pub(super) standin: MockProvider,
    pub(super) client: StdioClient,
    wire: ProviderFormat,
    pub(super) tools: Vec<&'static ModelToolCase>,
}

impl ModeTestServer {
    pub(super) async fn new(wire: ProviderFormat) -> Self {
        let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
        let mut client = serve(&mut provider_command(&home, wire, &standin)).await;
        let tools = model_tools(&mut client).await;
        Self {
            place: home,
            standin,
            client,
            wire,
            tools,
        }
    }

    /// Returns the arguments of a call, with all that they refer to.
    pub(super) async fn arguments(&mut self, asking: &ModelToolCase) -> Value {
        self.standin.reset();
        (asking.arguments)(&asking.precondition.set_up(&mut self.client).await)
    }

    /// Calls a tool while the provider has this fault, once or permanently.
    pub(super) async fn call_with_fault(
        &mut self,
        asking: &ModelToolCase,
        fault: &MockFault,
        lasts: FaultDuration,
    ) -> ModeCallEnd {
        let arguments = self.arguments(asking).await;
        self.standin.reset();
        match lasts {
            FaultDuration::Once => self.standin.push_fault(fault.clone()),
            FaultDuration::Always => self.standin.set_default_fault(fault.clone()),
        }
        let what = format!("{fault:?} {lasts:?}");
        self.call(asking, arguments, &what).await
    }

    /// Calls a tool while the model gives this reply to its prompt, and the usual one to others.
    pub(super) async fn call_with_reply(
        &mut self,
        asking: &ModelToolCase,
        text: &str,
    ) -> ModeCallEnd {
        let arguments = self.arguments(asking).await;
        self.standin.reset();
        self.standin
            .set_scripted_answers(vec![ScriptedAnswer::new(asking.prompt_markers, text)]);
        self.call(asking, arguments, text).await
    }

    /// Calls a tool and checks that no partial result is stored, and nothing after an error.
    pub(super) async fn call(
        &mut self,
        asking: &ModelToolCase,
        arguments: Value,
        what: &str,
    ) -> ModeCallEnd {
        let before = dump_tables(&self.place).await;
        let response = self.client.call(asking.tool, arguments).await.unwrap();
        let ended = ModeCallEnd::from_response(&response);
        let what = format!("{:?} {} {what}", self.wire, asking.tool);
        let after = dump_tables(&self.place).await;
        match &ended {
            ModeCallEnd::Answer(_) => assert_eq!(after != before, asking.stores_changes, "{what}"),
            ModeCallEnd::Error(code) => {
                let failure = tool_failure(&response);
                assert!(failure.text.len() > code.len() + 10, "{what}: {failure:?}");
                assert!(failure.hint.is_some(), "{what}: {failure:?}");
                assert_eq!(after, before, "{what}: {code} left something");
            }
        }
        assert_eq!(
            find_partial_writes(&self.place).await,
            [] as [&str; 0],
            "{what}"
        );
        ended
    }
}

pub(super) fn provider_command(
    home: &TestHome,
    wire: ProviderFormat,
    standin: &MockProvider,
) -> Command {
    let mut command = home.command();
    wire.configure(&mut command, standin);
    command.env("MAX_RETRIES", "1");
    command
}

/// Returns the tools that ask a model, as far as the server has them.
pub(super) async fn model_tools(client: &mut StdioClient) -> Vec<&'static ModelToolCase> {
    let list = client.request("tools/list", json!({})).await.unwrap();
    let list = list["result"]["tools"].as_array().unwrap();
    let there = |name: &str| list.iter().any(|tool| tool["name"] == name);
    for tool in list {
        let name = tool["name"].as_str().unwrap();
        let asks = tool["annotations"]["openWorldHint"] != false;
        // The compact research tool asks no model itself; the tools behind it do.
        let known = name == "research" || MODEL_TOOL_CASES.iter().any(|asking| asking.tool == name);
        assert_eq!(asks, known, "{name} is missing from the table, or too much");
    }
    let tools = MODEL_TOOL_CASES.iter().filter(|asking| there(asking.tool));
    tools.collect()
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum FaultDuration {
    Once,
    Always,
}

/// How a call ended.
#[derive(Debug, PartialEq)]
pub(super) enum ModeCallEnd {
    Answer(Value),
    Error(String),
}

impl ModeCallEnd {
    pub(super) fn from_response(response: &Value) -> Self {
        if response["result"]["isError"] == true {
            return Self::Error(tool_failure(response).code.to_owned());
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

/// The tables of reasoning.
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

/// Returns all stored rows as text.
pub(super) async fn dump_tables(place: &TestHome) -> Vec<String> {
    if !place.database().exists() {
        return vec![String::new(); TABLES.len()];
    }
    let mut database = place.open_database().await;
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

/// Queries for states that must never occur: partial steps.
pub(super) const PARTIAL_WRITE_CHECKS: &[(&str, &str)] = &[
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

/// Returns the partial steps found.
pub(super) async fn find_partial_writes(place: &TestHome) -> Vec<&'static str> {
    if !place.database().exists() {
        return Vec::new();
    }
    let mut database = place.open_database().await;
    let mut found = Vec::new();
    for (what, sql) in PARTIAL_WRITE_CHECKS {
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

/// Replaces every number in a value.
pub(super) fn replace_numbers(value: &Value, make: fn(f64) -> Value) -> Value {
    match value {
        Value::Number(number) => make(number.as_f64().unwrap()),
        Value::Array(items) => items
            .iter()
            .map(|item| replace_numbers(item, make))
            .collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| (name.clone(), replace_numbers(field, make)))
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

/// Replaces every value by one of another type.
pub(super) fn replace_types(value: &Value) -> Value {
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

pub(super) fn replace_with_null(value: &Value) -> Value {
    let fields = value.as_object().unwrap().keys();
    let none = fields.map(|name| (name.clone(), Value::Null));
    Value::Object(none.collect())
}

pub(super) fn model_reply(text: impl Into<String>) -> MockFault {
    MockFault::Text(text.into())
}

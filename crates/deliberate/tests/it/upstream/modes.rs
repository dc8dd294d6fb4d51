//! Every tool that asks, over every wire, with everything a provider or a model can get wrong: the
//! call ends in an answer or in a clear error, and the store holds whole steps only; after an error
//! it holds what it held before.

use deliberate_testkit::{Client, Fault, Standin, standin::Rule};
use serde_json::{Map, Value, json};
use tokio::process::Command;

use super::asking::{ASKING, Asking};
use crate::support::{Place, Wire, end, failure, output, serve};

/// A server, its provider, and the tools that are there.
struct Bench {
    place: Place,
    standin: Standin,
    client: Client,
    wire: Wire,
    tools: Vec<&'static Asking>,
}

impl Bench {
    async fn new(wire: Wire) -> Self {
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
    async fn arguments(&mut self, asking: &Asking) -> Value {
        self.standin.reset();
        (asking.arguments)(&asking.needs.meet(&mut self.client).await)
    }

    /// Calls a tool while the provider has this fault, once or for good.
    async fn meets(&mut self, asking: &Asking, fault: &Fault, lasts: Lasts) -> Ended {
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
    async fn hears(&mut self, asking: &Asking, said: &str) -> Ended {
        let arguments = self.arguments(asking).await;
        self.standin.reset();
        self.standin.rules(vec![Rule::new(asking.asked_by, said)]);
        self.call(asking, arguments, said).await
    }

    /// Calls a tool. Whatever comes of it, no half of it is kept, and of an error nothing.
    async fn call(&mut self, asking: &Asking, arguments: Value, what: &str) -> Ended {
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

fn command(place: &Place, wire: Wire, standin: &Standin) -> Command {
    let mut command = place.command();
    wire.set(&mut command, standin);
    command.env("MAX_RETRIES", "1");
    command
}

/// The tools that ask, as far as they are there.
async fn asking_tools(client: &mut Client) -> Vec<&'static Asking> {
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
enum Lasts {
    Once,
    Always,
}

/// How a call ended.
#[derive(Debug, PartialEq)]
enum Ended {
    Answer(Value),
    Error(String),
}

impl Ended {
    fn of(response: &Value) -> Self {
        if response["result"]["isError"] == true {
            return Self::Error(failure(response).code.to_owned());
        }
        let answer = output(response);
        assert!(answer.is_object() && answer.get("needs_reply").is_none());
        Self::Answer(answer.clone())
    }

    fn code(&self) -> Option<&str> {
        match self {
            Self::Answer(_) => None,
            Self::Error(code) => Some(code),
        }
    }
}

/// The tables that reasoning fills.
const TABLES: [&str; 9] = [
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
async fn kept(place: &Place) -> Vec<String> {
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
const HALVES: &[(&str, &str)] = &[
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
async fn broken(place: &Place) -> Vec<&'static str> {
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
fn with_numbers(value: &Value, make: fn(f64) -> Value) -> Value {
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
fn with_wrong_types(value: &Value) -> Value {
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

fn with_nothing(value: &Value) -> Value {
    let fields = value.as_object().unwrap().keys();
    let none = fields.map(|name| (name.clone(), Value::Null));
    Value::Object(none.collect())
}

fn said(text: impl Into<String>) -> Fault {
    Fault::Text(text.into())
}

async fn untidy_answers_are_used(wire: Wire) {
    let mut bench = Bench::new(wire).await;
    for asking in bench.tools.clone() {
        let good = (asking.good)();
        let mut chatty = good.clone();
        chatty["remark"] = json!("I hope that helps.");
        let numbers = |make: fn(f64) -> Value| with_numbers(&good, make).to_string();
        for said in [
            good.to_string(),
            format!("```json\n{good:#}\n```"),
            format!("Sure! Here it is: {good} Does that help?"),
            format!("<think>{{\"thought\": \"no\"}}</think>{good}"),
            chatty.to_string(),
            numbers(|number| json!(number.to_string())),
            numbers(|number| json!(format!("{number}%"))),
            numbers(|number| json!(number * 1e4)),
            numbers(|number| json!(-number)),
            numbers(|_| json!(1e300)),
        ] {
            let ended = bench.hears(asking, &said).await;
            let what = format!("{wire:?} {} {said}", asking.tool);
            assert_eq!(ended.code(), None, "{what}");
            assert!(!was_asked_again(&bench.standin), "{what}: asked again");
        }
    }
    end(bench.client).await;
}

fn was_asked_again(standin: &Standin) -> bool {
    let asks = standin.asks();
    let mut told = asks.iter().map(|ask| ask.body["messages"].to_string());
    told.any(|messages| messages.contains("can't be used"))
}

async fn useless_answers_are_asked_for_again(wire: Wire) {
    let mut bench = Bench::new(wire).await;
    for asking in bench.tools.clone() {
        let wrong = with_wrong_types(&(asking.good)()).to_string();
        let nothing = with_nothing(&(asking.good)()).to_string();
        for text in ["", " \n\t", "{}", "null", "[]", "{\"", &wrong, &nothing] {
            let ended = bench.meets(asking, &said(text), Lasts::Once).await;
            assert_eq!(ended.code(), None, "{wire:?} {} {text}", asking.tool);
        }
        for text in ["", "{}", "null", "{\"", &nothing] {
            let ended = bench.meets(asking, &said(text), Lasts::Always).await;
            let what = format!("{wire:?} {} {text}", asking.tool);
            assert_eq!(ended.code(), Some("InvalidResponse"), "{what}");
            // Once more each, and never for ever.
            let most = 2 * asking.at_once;
            assert!(bench.standin.asks().len() <= most, "{what}");
        }
        let ended = bench.meets(asking, &said(wrong), Lasts::Always).await;
        let code = ended.code();
        assert!(
            matches!(code, None | Some("InvalidResponse")),
            "{wire:?} {}: {code:?}",
            asking.tool
        );
        let ended = bench
            .meets(asking, &said("Just words."), Lasts::Always)
            .await;
        let wanted = (!asking.takes_words).then_some("InvalidResponse");
        assert_eq!(ended.code(), wanted, "{wire:?} {}: words", asking.tool);
        let refusal = Fault::Refusal("I would rather not.".to_owned());
        let ended = bench.meets(asking, &refusal, Lasts::Always).await;
        assert_eq!(ended.code(), Some("InvalidResponse"), "{}", asking.tool);
    }
    end(bench.client).await;
}

/// An answer may break off anywhere. What was said whole may be used; half a sentence never is.
async fn no_half_of_a_sentence_is_kept(wire: Wire) {
    let mut bench = Bench::new(wire).await;
    for asking in bench.tools.clone() {
        let good = (asking.good)();
        let mut whole = Vec::new();
        sentences(&good, &mut whole);
        let good = good.to_string();
        for length in (0..good.len()).step_by(STRIDE) {
            let cut = good.get(..length).unwrap();
            for fault in [said(cut), Fault::Truncated(cut.to_owned())] {
                let ended = bench.meets(asking, &fault, Lasts::Always).await;
                let what = format!("{wire:?} {} {fault:?}", asking.tool);
                let Ended::Answer(answer) = ended else {
                    assert_eq!(ended.code(), Some("InvalidResponse"), "{what}");
                    continue;
                };
                let mut told = Vec::new();
                sentences(&answer, &mut told);
                for sentence in told {
                    let half = whole
                        .iter()
                        .find(|it| it.starts_with(&sentence) && **it != sentence);
                    assert_eq!(half, None, "{what}: {sentence:?} is half of it");
                }
            }
        }
    }
    end(bench.client).await;
}

/// An answer is cut at every so many letters.
const STRIDE: usize = 23;

/// The texts in a value that could be half of another: ids and single words are not.
fn sentences(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) if text.contains(' ') => into.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| sentences(item, into)),
        Value::Object(fields) => fields.values().for_each(|field| sentences(field, into)),
        _ => {}
    }
}

async fn what_cannot_be_cured_is_told_at_once(wire: Wire) {
    let mut bench = Bench::new(wire).await;
    for asking in bench.tools.clone() {
        for (fault, code) in [
            (Fault::Html200, "InvalidResponse"),
            (Fault::Body("{}".to_owned()), "InvalidResponse"),
            (Fault::status(400), "ApiError"),
            (Fault::status(401), "ApiError"),
            (Fault::status(403), "ApiError"),
            (Fault::status(404), "ApiError"),
        ] {
            let ended = bench.meets(asking, &fault, Lasts::Always).await;
            let what = format!("{wire:?} {} {fault:?}", asking.tool);
            assert_eq!(ended.code(), Some(code), "{what}");
            // A pipe that is missing is made, and run again, once; a thread that is missing too.
            let times = match (wire, &fault) {
                (Wire::Langbase, Fault::Status { code: 404, .. }) => 3,
                _ => 1,
            };
            let asks = bench.standin.asks().len();
            assert!(asks <= times * asking.at_once, "{what}: {asks} asks");
        }
    }
    end(bench.client).await;
}

async fn what_may_pass_is_tried_again(wire: Wire) {
    let mut bench = Bench::new(wire).await;
    for asking in bench.tools.clone() {
        for fault in [
            Fault::status(500),
            Fault::status(503),
            Fault::status_with(429, "retry-after", "0"),
            Fault::CutConnection,
            Fault::CutBody,
        ] {
            let ended = bench.meets(asking, &fault, Lasts::Once).await;
            assert_eq!(ended.code(), None, "{wire:?} {} {fault:?}", asking.tool);
        }
        for fault in [Fault::status(500), Fault::CutConnection, Fault::CutBody] {
            let ended = bench.meets(asking, &fault, Lasts::Always).await;
            let what = format!("{wire:?} {} {fault:?}", asking.tool);
            assert_eq!(ended.code(), Some(wire.unavailable()), "{what}");
            let asks = bench.standin.asks().len();
            assert!(asks <= 2 * asking.at_once, "{what}: {asks} asks");
        }
    }
    end(bench.client).await;
}

/// Calls every tool while the provider has this fault for good, each in a server of its own with
/// these settings. What must be there is made before, by a server that has time.
async fn all_end_in(wire: Wire, fault: Fault, code: &str, settings: &[(&str, &str)]) {
    let mut bench = Bench::new(wire).await;
    for asking in bench.tools.clone() {
        let arguments = bench.arguments(asking).await;
        let mut command = command(&bench.place, wire, &bench.standin);
        command.envs(settings.iter().copied());
        let other = serve(&mut command).await;
        let patient = std::mem::replace(&mut bench.client, other);
        bench.standin.reset();
        bench.standin.always(fault.clone());
        let ended = bench.call(asking, arguments, code).await;
        assert_eq!(ended.code(), Some(code), "{wire:?} {}", asking.tool);
        let asks = bench.standin.asks().len();
        assert!(asks <= asking.at_once, "{wire:?} {}: {asks}", asking.tool);
        end(std::mem::replace(&mut bench.client, patient)).await;
    }
    end(bench.client).await;
}

async fn what_takes_too_long_is_given_up(wire: Wire) {
    let settings = [("REQUEST_TIMEOUT_MS", "150"), ("MAX_RETRIES", "0")];
    all_end_in(wire, Fault::Hang, "Timeout", &settings).await;
}

async fn a_wait_that_does_not_fit_is_told(wire: Wire) {
    let fault = Fault::status_with(429, "retry-after", "3600");
    let settings = [("DELIBERATE_LIMITS_CALL_TIMEOUT_MS", "20000")];
    all_end_in(wire, fault, "RateLimited", &settings).await;
}

/// One test for each wire, so that they run side by side.
macro_rules! on_every_wire {
    ($($what:ident),* $(,)?) => {
        mod langbase {
            $(#[tokio::test]
            async fn $what() {
                super::$what(super::Wire::Langbase).await;
            })*
        }
        mod openai {
            $(#[tokio::test]
            async fn $what() {
                super::$what(super::Wire::OpenAi).await;
            })*
        }
        mod anthropic {
            $(#[tokio::test]
            async fn $what() {
                super::$what(super::Wire::Anthropic).await;
            })*
        }
    };
}

on_every_wire!(
    untidy_answers_are_used,
    useless_answers_are_asked_for_again,
    no_half_of_a_sentence_is_kept,
    what_cannot_be_cured_is_told_at_once,
    what_may_pass_is_tried_again,
    what_takes_too_long_is_given_up,
    a_wait_that_does_not_fit_is_told,
);

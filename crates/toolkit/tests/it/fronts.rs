//! Tools that are in no list, the front they are called through, and what only a tool may say to
//! itself.

use std::sync::Arc;

use deliberate_toolkit::{
    About, Annotations, Answer, Call, Caller, LEG, Limits, Outcome, Principal, Registry, Scope,
    Tool, ToolError,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    house::{House, done, parts},
    tools::{Echo, Note},
};

/// Stands for `echo` and `note`; by itself it tells that.
struct Front;

/// Takes anything: its schema forbids nothing.
#[derive(Debug, Deserialize, JsonSchema)]
struct Anything {
    #[serde(flatten)]
    #[schemars(skip)]
    fields: Map<String, Value>,
}

fn about(name: &'static str) -> About {
    About {
        name,
        title: "A tool",
        description: "A tool.",
        annotations: Annotations::ADDS,
        thinks: false,
        limits: Limits::default(),
    }
}

fn says(output: Value) -> Outcome<Value> {
    Outcome {
        output,
        changes: Vec::new(),
        session: None,
    }
}

impl Tool for Front {
    type Input = Anything;
    type Output = Value;

    fn about(&self) -> About {
        about("front")
    }

    fn front_of(&self) -> Vec<&'static str> {
        vec!["echo", "note"]
    }

    fn stands_for(&self, arguments: &Value) -> Option<(String, Value)> {
        let name = arguments.get("tool")?.as_str()?;
        Some((name.to_owned(), arguments["arguments"].clone()))
    }

    async fn run(&self, _: Anything, _: &Call) -> Result<Outcome<Value>, ToolError> {
        Ok(says(json!({ "help": self.front_of() })))
    }
}

/// Shows what it was called with.
struct Open;

impl Tool for Open {
    type Input = Anything;
    type Output = Value;

    fn about(&self) -> About {
        about("open")
    }

    async fn run(&self, input: Anything, _: &Call) -> Result<Outcome<Value>, ToolError> {
        Ok(says(Value::Object(input.fields)))
    }
}

fn house() -> House {
    let mut house = House::without_model();
    let registry = Registry::new(parts(house.store.clone(), None))
        .with(Front)
        .with(Open)
        .with_unlisted(Echo)
        .with_unlisted(Note);
    house.registry = Arc::new(registry);
    house
}

fn principal(tools: &[&str]) -> Principal {
    Principal {
        name: Some("ann".into()),
        scope: Scope::Only(tools.iter().map(|name| (*name).to_owned()).collect()),
    }
}

async fn as_one_who_may(
    house: &House,
    tools: &[&str],
    arguments: Value,
) -> Result<Answer, ToolError> {
    let caller = Caller {
        principal: principal(tools),
        ..Caller::default()
    };
    house.registry.call("front", arguments, caller).await
}

fn through(tool: &str) -> Value {
    json!({ "tool": tool, "arguments": { "content": "hi" } })
}

#[test]
fn what_is_not_listed_is_there_all_the_same() {
    let house = house();
    let listed: Vec<_> = house.registry.list().map(|it| it.about.name).collect();
    assert_eq!(listed, ["front", "open", "reasoning_resume"]);
    let all: Vec<_> = house.registry.all().map(|it| it.about.name).collect();
    assert_eq!(all, ["front", "open", "echo", "note", "reasoning_resume"]);
    assert!(house.registry.get("echo").is_some());
}

#[tokio::test]
async fn who_may_call_one_tool_behind_a_front_is_shown_it_and_told_what_it_is() {
    let house = house();
    let ann = principal(&["echo"]);
    let shown = ["front", "echo", "note", "open", "nothing"];
    let shown = shown.map(|name| house.registry.shows(&ann, name));
    assert_eq!(shown, [true, true, false, false, false]);
    let help = done(as_one_who_may(&house, &["echo"], json!({})).await);
    assert_eq!(help["help"], json!(["echo", "note"]));
    done(as_one_who_may(&house, &["echo"], through("echo")).await);
    // The front lends nobody what they may not use, and neither does its own name.
    for may in [["echo"], ["front"]] {
        let error = as_one_who_may(&house, &may, through("note")).await;
        let what = "note".to_owned();
        assert_eq!(error, Err(ToolError::Forbidden { what }), "{may:?}");
    }
    let nothing = as_one_who_may(&house, &["open"], json!({})).await;
    assert_eq!(nothing.unwrap_err().code(), "Forbidden");
    assert!(!house.registry.shows(&principal(&["open"]), "front"));
}

#[tokio::test]
async fn a_call_through_a_front_is_recorded_as_that_of_the_tool() {
    let house = house();
    done(house.call("front", through("note")).await);
    assert_eq!(house.last_record().await.tool_name, "note");
    let wrong = json!({ "tool": "note", "arguments": { "contnt": "hi" } });
    let error = house.call("front", wrong).await.unwrap_err();
    assert!(error.to_string().contains("contnt"), "{error}");
    let error = house.call("front", through("nte")).await.unwrap_err();
    assert_eq!(error.hint().unwrap(), "Did you mean note?");
}

#[tokio::test]
async fn no_caller_can_say_what_a_tool_says_to_itself() {
    let house = house();
    assert_eq!(done(house.call("open", json!({ "x": 1 })).await)["x"], 1);
    for (tool, arguments) in [
        ("open", json!({ LEG: { "left": [] } })),
        ("front", json!({ "tool": "open", "arguments": { LEG: 1 } })),
    ] {
        let error = house.call(tool, arguments).await.unwrap_err();
        assert_eq!(error.code(), "Validation");
        assert!(error.to_string().contains(LEG), "{error}");
    }
}

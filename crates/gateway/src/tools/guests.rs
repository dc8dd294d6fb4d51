//! Tools of other servers that clients see beside ours: each is a call of `gateway_call`.

use std::sync::Arc;

use deliberate_toolkit::{Again, Guest, Guests, StandsFor};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::CALL;
use crate::{Gateway, asked::Waiting};

/// The tools of other servers that are shown beside ours.
pub struct GatewayGuests(pub Arc<Gateway>);

impl Guests for GatewayGuests {
    fn list(&self) -> Vec<Guest> {
        self.0.guests().to_vec()
    }

    fn stands_for(
        &self,
        name: &str,
        arguments: &Value,
        again: Option<&Again>,
    ) -> Option<StandsFor> {
        // Whether it belongs to this very call is looked at when the call is made.
        let again = match again {
            Some(again) if !Waiting::knows(&again.state) => return None,
            again => again.map(|it| json!({ "state": it.state, "responses": it.responses })),
        };
        let mut arguments = if self.0.may_be_tool(name) {
            json!({ "tool": name, "arguments": object(arguments) })
        } else if name == CALL && again.is_some() {
            object(arguments)
        } else {
            return None;
        };
        if let (Some(again), Some(fields)) = (again, arguments.as_object_mut()) {
            fields.insert("again".to_owned(), again);
        }
        Some(StandsFor {
            tool: CALL,
            arguments,
        })
    }

    fn find<'a>(&'a self, pattern: &'a str) -> BoxFuture<'a, Vec<Guest>> {
        Box::pin(self.0.matching(pattern))
    }

    fn stood_for(&self, tool: &str, arguments: &Value) -> Option<Arc<str>> {
        let called = arguments
            .get("tool")
            .and_then(Value::as_str)
            .filter(|_| tool == CALL)?;
        self.0.may_be_tool(called).then(|| called.into())
    }
}

/// Arguments that were left out are none.
fn object(arguments: &Value) -> Value {
    match arguments {
        Value::Null => json!({}),
        given => given.clone(),
    }
}

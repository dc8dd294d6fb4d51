//! Interceptors of tool calls: they may change, repeat, answer or reject a call.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::ClientError;

/// A tool call that is about to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolInvocation {
    /// The server.
    pub server: String,
    /// The tool's name at the server.
    pub tool: String,
    /// The arguments.
    pub arguments: Value,
    /// The fields of `_meta`.
    pub meta: Map<String, Value>,
}

/// Intercepts tool calls. The result is as the server wrote it.
pub trait Interceptor: Send + Sync {
    /// Makes the call with `next.run(…)`: once, several times, changed, or not at all.
    fn intercept<'a>(
        &'a self,
        invocation: ToolInvocation,
        next: Next<'a>,
    ) -> BoxFuture<'a, Result<Value, ClientError>>;
}

/// The remaining interceptors, and the call itself.
#[derive(Clone, Copy)]
pub struct Next<'a> {
    pub(super) remaining: &'a [Arc<dyn Interceptor>],
    pub(super) terminal:
        &'a (dyn Fn(ToolInvocation) -> BoxFuture<'a, Result<Value, ClientError>> + Send + Sync),
}

impl<'a> Next<'a> {
    /// Runs the remaining interceptors and the call.
    pub fn run(self, invocation: ToolInvocation) -> BoxFuture<'a, Result<Value, ClientError>> {
        match self.remaining.split_first() {
            Some((first, rest)) => first.intercept(
                invocation,
                Next {
                    remaining: rest,
                    ..self
                },
            ),
            None => (self.terminal)(invocation),
        }
    }
}

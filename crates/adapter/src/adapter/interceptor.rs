//! What stands around calls: it may change, repeat, answer or refuse them.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::ClientError;

/// A call that is about to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolInvocation {
    /// The server.
    pub server: String,
    /// The tool, by its name there.
    pub tool: String,
    /// With what.
    pub arguments: Value,
    /// What goes into `_meta`.
    pub meta: Map<String, Value>,
}

/// Stands around calls. The result is as the server wrote it.
pub trait Interceptor: Send + Sync {
    /// Makes the call by `next.run(…)`: once, several times, with something changed, or not at
    /// all.
    fn intercept<'a>(
        &'a self,
        invocation: ToolInvocation,
        next: Next<'a>,
    ) -> BoxFuture<'a, Result<Value, ClientError>>;
}

/// The rest of the way to the server.
#[derive(Clone, Copy)]
pub struct Next<'a> {
    pub(super) remaining: &'a [Arc<dyn Interceptor>],
    pub(super) terminal:
        &'a (dyn Fn(ToolInvocation) -> BoxFuture<'a, Result<Value, ClientError>> + Send + Sync),
}

impl<'a> Next<'a> {
    /// Goes on.
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

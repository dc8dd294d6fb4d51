//! What stands around calls: it may change, repeat, answer or refuse them.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::Error;

/// A call that is about to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct Invocation {
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
    fn around<'a>(
        &'a self,
        invocation: Invocation,
        next: Next<'a>,
    ) -> BoxFuture<'a, Result<Value, Error>>;
}

/// The rest of the way to the server.
#[derive(Clone, Copy)]
pub struct Next<'a> {
    pub(super) rest: &'a [Arc<dyn Interceptor>],
    pub(super) end: &'a (dyn Fn(Invocation) -> BoxFuture<'a, Result<Value, Error>> + Send + Sync),
}

impl<'a> Next<'a> {
    /// Goes on.
    pub fn run(self, invocation: Invocation) -> BoxFuture<'a, Result<Value, Error>> {
        match self.rest.split_first() {
            Some((first, rest)) => first.around(invocation, Next { rest, ..self }),
            None => (self.end)(invocation),
        }
    }
}

//! What a tool is.

use std::{future::Future, time::Duration};

use deliberate_core::{Change, SessionId};
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{ArgumentIssue, ToolContext, ToolError, schema::ArgumentChecker};

/// Something a client can call.
///
/// `run` reads what it needs, asks the model, and returns its answer with the changes it wants.
/// It must write nothing and cause nothing outside itself: the gate may drop it at any await,
/// and may run it again from its start with the same input. A tool whose very work is outside (it
/// changes files) asks no model, returns no changes, does its work in one go, and says that it may
/// not run again ([`Tool::is_replayable`]).
///
/// An answer that has a field [`TEXT_FIELD`] is meant to be read: a client is given that text as it is.
/// One that has a field [`RAW_RESULT`](crate::HANDED_ON) is another server's: a client is given what
/// that holds as it is.
pub trait Tool: Send + Sync + 'static {
    /// What it is called with.
    type Input: DeserializeOwned + JsonSchema + Send;
    /// What it answers.
    type Output: Serialize + JsonSchema + Send;

    /// Its name and all that a client should know before calling it.
    fn meta(&self) -> ToolMeta;

    /// Does it.
    fn run(
        &self,
        input: Self::Input,
        call: &ToolContext,
    ) -> impl Future<Output = Result<ToolOutput<Self::Output>, ToolError>> + Send;

    /// What to call it with next, if its work is not at its end: the gate keeps the changes so
    /// far, then runs it again, for the same caller. What it had to say until then is not told.
    /// What only it may say to itself is in the field [`STEP_STATE`].
    fn next_step(&self, _output: &Self::Output) -> Option<Value> {
        None
    }

    /// What was done so far, in words, if its work is not at its end: it is told if the rest can't be
    /// done. What it changed until then is kept.
    fn partial_summary(&self, _output: &Self::Output) -> Option<String> {
        None
    }

    /// The call of another of our tools that a call with these arguments is. For a front: one tool
    /// that many are called through, so that clients need not list them all. Who may call, what the
    /// arguments must be and what is recorded is the other tool's.
    fn resolve_alias(&self, _arguments: &Value) -> Option<(String, Value)> {
        None
    }

    /// Those it may stand for, if it is a front: whoever may call one of them is shown it.
    fn alias_targets(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Whether a caller may stop waiting while it runs, and ask for its answer later, although it
    /// asks no model: it waits for the net, or reads many files.
    fn may_run_in_background(&self) -> bool {
        false
    }

    /// Whether a call that was cut off (its process died) is run again from its start. False for a
    /// tool whose work is outside: its call is told as lost instead, because nobody knows whether
    /// it happened.
    fn is_replayable(&self) -> bool {
        true
    }

    /// How long a call with these arguments may take, if that is longer than the setting for all
    /// calls. Only for a tool that may not run again: its work is outside, where others say how
    /// long it may take.
    fn max_duration(&self, _arguments: &Value) -> Option<Duration> {
        None
    }
}

/// What a client should know of a tool before calling it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolMeta {
    /// Its name: lower case, words joined by `_`.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it does and when to choose it, written for a model.
    pub description: &'static str,
    /// What it does to the world.
    pub hints: ToolHints,
    /// Whether it asks a model, so that its answer may be a request for the client to think.
    pub asks_model: bool,
    /// What it may take.
    pub limits: ToolLimits,
}

/// What a tool does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolHints {
    /// It changes nothing.
    pub read_only: bool,
    /// It may destroy something.
    pub destructive: bool,
    /// Calling it again with the same arguments changes nothing more.
    pub idempotent: bool,
    /// It reaches beyond this server.
    pub open_world: bool,
}

impl ToolHints {
    /// It only reads.
    pub const READ_ONLY: Self = Self {
        read_only: true,
        destructive: false,
        idempotent: true,
        open_world: false,
    };

    /// It adds something here.
    pub const ADDITIVE: Self = Self {
        read_only: false,
        destructive: false,
        idempotent: false,
        open_world: false,
    };

    /// It marks something here; again is the same.
    pub const IDEMPOTENT: Self = Self {
        idempotent: true,
        ..Self::ADDITIVE
    };

    /// It asks a model, and adds what comes of it.
    pub const ASKS_MODEL: Self = Self {
        open_world: true,
        ..Self::ADDITIVE
    };
}

/// What a tool may take, within what the settings allow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToolLimits {
    /// The longest it may run, if shorter than the setting for all calls.
    pub time: Option<Duration>,
    /// How many of it may run at once, if fewer than the setting for all calls.
    pub max_concurrent: Option<usize>,
}

/// What a tool's run came to.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput<T> {
    /// The answer.
    pub output: T,
    /// What is to be remembered.
    pub changes: Vec<Change>,
    /// The session it was about, for the record.
    pub session: Option<SessionId>,
}

/// The field of its arguments in which a tool whose work goes on leaves itself what no caller may
/// say. Its schema must not have it (`#[schemars(skip)]`), so that callers are refused.
pub const STEP_STATE: &str = "_leg";

/// The field of an answer that is told as text, where other answers are told as JSON.
pub const TEXT_FIELD: &str = "said";

/// What a leg of a call came to.
pub(crate) struct StepOutput {
    pub(crate) outcome: ToolOutput<Value>,
    /// What the next leg is called with, if there is one.
    pub(crate) next: Option<Value>,
    /// What is told if there is one and it fails.
    pub(crate) partial_summary: Option<String>,
}

/// A tool whose types are forgotten, as the registry holds it.
pub(crate) trait AnyTool: Send + Sync {
    fn input_schema(&self) -> Value;
    fn output_schema(&self) -> Value;
    fn checker(&self) -> Result<ArgumentChecker, ToolError>;
    fn resolve_alias(&self, arguments: &Value) -> Option<(String, Value)>;
    fn alias_targets(&self) -> Vec<&'static str>;
    fn may_run_in_background(&self) -> bool;
    fn is_replayable(&self) -> bool;
    fn max_duration(&self, arguments: &Value) -> Option<Duration>;
    fn run<'a>(
        &'a self,
        arguments: Value,
        call: &'a ToolContext,
    ) -> BoxFuture<'a, Result<StepOutput, ToolError>>;
}

impl<T: Tool> AnyTool for T {
    fn input_schema(&self) -> Value {
        crate::schema::input_schema::<T::Input>()
    }

    fn output_schema(&self) -> Value {
        crate::schema::output_schema::<T::Output>(
            self.meta().asks_model || Tool::may_run_in_background(self),
        )
    }

    fn checker(&self) -> Result<ArgumentChecker, ToolError> {
        ArgumentChecker::new(&crate::schema::arguments_schema::<T::Input>())
    }

    fn resolve_alias(&self, arguments: &Value) -> Option<(String, Value)> {
        Tool::resolve_alias(self, arguments)
    }

    fn alias_targets(&self) -> Vec<&'static str> {
        Tool::alias_targets(self)
    }

    fn may_run_in_background(&self) -> bool {
        Tool::may_run_in_background(self)
    }

    fn is_replayable(&self) -> bool {
        Tool::is_replayable(self)
    }

    fn max_duration(&self, arguments: &Value) -> Option<Duration> {
        Tool::max_duration(self, arguments)
    }

    fn run<'a>(
        &'a self,
        arguments: Value,
        call: &'a ToolContext,
    ) -> BoxFuture<'a, Result<StepOutput, ToolError>> {
        Box::pin(async move {
            let input = serde_path_to_error::deserialize(arguments)
                .map_err(|error| ToolError::Invalid(vec![ArgumentIssue::unreadable(&error)]))?;
            let outcome = Tool::run(self, input, call).await?;
            let next = self.next_step(&outcome.output);
            let so_far = self
                .partial_summary(&outcome.output)
                .filter(|_| next.is_some());
            let output = serde_json::to_value(outcome.output).map_err(|error| {
                tracing::error!(%error, "a tool's answer can't be written as JSON");
                ToolError::Internal
            })?;
            let outcome = ToolOutput {
                output,
                changes: outcome.changes,
                session: outcome.session,
            };
            Ok(StepOutput {
                outcome,
                next,
                partial_summary: so_far,
            })
        })
    }
}

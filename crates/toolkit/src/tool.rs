//! The trait of a tool, its metadata and its output.

use std::{future::Future, time::Duration};

use deliberate_core::{Change, SessionId};
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    ArgumentIssue, REPLIES_RECORDED, REPLY_RECORDED, ToolContext, ToolError,
    schema::ArgumentChecker,
};

/// A tool that a client can call.
///
/// `run` reads the store, uses the model, and returns its answer with its changes. It must write
/// nothing and have no effects outside itself: the dispatcher may drop it at any await, and may run
/// it again from its start with the same input. A tool with effects outside this server (it changes
/// files) uses no model, returns no changes, does its work in one go, and declares that it may not
/// run again ([`Tool::is_replayable`]).
///
/// An answer with a field [`TEXT_FIELD`] is for reading: a client gets that text as it is. An
/// answer with a field [`RAW_RESULT`](crate::RAW_RESULT) is an upstream server's: a client gets the
/// content of that field as it is.
pub trait Tool: Send + Sync + 'static {
    /// The arguments.
    type Input: DeserializeOwned + JsonSchema + Send;
    /// The answer.
    type Output: Serialize + JsonSchema + Send;

    /// Returns the name, description and annotations of the tool.
    fn meta(&self) -> ToolMeta;

    /// Runs the tool.
    fn run(
        &self,
        input: Self::Input,
        call: &ToolContext,
    ) -> impl Future<Output = Result<ToolOutput<Self::Output>, ToolError>> + Send;

    /// Returns the arguments of the next step if there is more to do: the dispatcher commits the
    /// changes so far, then runs the tool again for the same caller. The output of this step is not
    /// returned to the client. The field [`STEP_STATE`] holds what only the tool itself may set.
    fn next_step(&self, _output: &Self::Output) -> Option<Value> {
        None
    }

    /// Describes the work done so far if there is more to do: the error of a later step includes
    /// the text. The changes of this step stay committed.
    fn partial_summary(&self, _output: &Self::Output) -> Option<String> {
        None
    }

    /// Returns the call of another of our tools that a call with these arguments stands for. It is
    /// for a front: one tool that many are called through, so that clients need not list them all.
    /// Scope, validation and the log record are the other tool's.
    fn resolve_alias(&self, _arguments: &Value) -> Option<(String, Value)> {
        None
    }

    /// Returns the tools that a front stands for: who may call one of them sees the front.
    fn alias_targets(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Tells whether a caller may bring the model's reply in the argument [`REPLY_FIELD`], so that
    /// no model is asked for it.
    fn takes_reply(&self) -> bool {
        false
    }

    /// Tells whether its calls may become background calls although it uses no model: it waits for
    /// the network, or reads many files.
    fn may_run_in_background(&self) -> bool {
        false
    }

    /// Tells whether a call with these arguments only reads what is stored here, although other calls
    /// of the tool change something. Such a call does not wait behind calls that work.
    fn is_read_call(&self, _arguments: &Value) -> bool {
        false
    }

    /// Tells whether the tool is listed now. False for a tool that has nothing to work on yet; it can
    /// be called all the same.
    fn is_offered(&self) -> bool {
        true
    }

    /// Tells whether an abandoned call (its process died) may be run again from its start. False
    /// for a tool with effects outside this server: its call is reported as lost instead, because
    /// it is unknown whether it took effect.
    fn is_replayable(&self) -> bool {
        true
    }

    /// Returns the time limit of a call with these arguments if it is longer than the limit of all
    /// calls. It is only for tools that may not run again: their work is outside this server, where
    /// other limits apply.
    fn max_duration(&self, _arguments: &Value) -> Option<Duration> {
        None
    }

    /// Returns how long a client waits for a call with these arguments before it continues in the
    /// background; `usual` is the time of all calls.
    fn foreground_wait(&self, _arguments: &Value, usual: Duration) -> ForegroundWait {
        ForegroundWait::new(usual)
    }
}

/// How long a client waits for a call before it continues in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForegroundWait {
    /// The time to wait.
    pub after: Duration,
    /// Whether progress restarts it, if the client asked for progress.
    pub progress_restarts: bool,
}

impl ForegroundWait {
    /// Creates a wait that nothing restarts.
    pub const fn new(after: Duration) -> Self {
        Self {
            after,
            progress_restarts: false,
        }
    }
}

/// The metadata of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolMeta {
    /// The name: lower case, words joined by `_`.
    pub name: &'static str,
    /// The title for people.
    pub title: &'static str,
    /// What the tool does and when to choose it, written for a model.
    pub description: &'static str,
    /// The tool's effects, as MCP annotations.
    pub hints: ToolHints,
    /// Whether it uses a model, so that its answer may be a prompt for the client's model.
    pub asks_model: bool,
    /// The limits of its calls.
    pub limits: ToolLimits,
}

impl ToolMeta {
    /// Tells whether the tool only reads what is stored here: it asks no model and waits for nothing
    /// outside this server.
    pub(crate) const fn is_local_read(&self) -> bool {
        self.hints.read_only && !self.asks_model && !self.hints.open_world
    }
}

/// The effects of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolHints {
    /// It changes nothing.
    pub read_only: bool,
    /// It may destroy data.
    pub destructive: bool,
    /// Calling it again with the same arguments has no further effect.
    pub idempotent: bool,
    /// It interacts with the world outside this server.
    pub open_world: bool,
}

impl ToolHints {
    /// The tool only reads.
    pub const READ_ONLY: Self = Self {
        read_only: true,
        destructive: false,
        idempotent: true,
        open_world: false,
    };

    /// The tool adds data to this server.
    pub const ADDITIVE: Self = Self {
        read_only: false,
        destructive: false,
        idempotent: false,
        open_world: false,
    };

    /// The tool sets data of this server; repeating the call has no further effect.
    pub const IDEMPOTENT: Self = Self {
        idempotent: true,
        ..Self::ADDITIVE
    };

    /// The tool uses a model and adds data to this server.
    pub const ASKS_MODEL: Self = Self {
        open_world: true,
        ..Self::ADDITIVE
    };
}

/// The limits of a tool, within those of all calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToolLimits {
    /// The longest run time, if shorter than the limit of all calls.
    pub time: Option<Duration>,
    /// The most concurrent calls, if fewer than the limit of all calls.
    pub max_concurrent: Option<usize>,
}

/// The output of a tool: its answer together with its changes.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput<T> {
    /// The answer.
    pub output: T,
    /// The changes to commit.
    pub changes: Vec<Change>,
    /// The session that the call worked on, for the invocation log.
    pub session: Option<SessionId>,
}

/// The field of the arguments in which a tool passes its own state to its next step. The schema
/// must not have it (`#[schemars(skip)]`), so that calls with it are rejected.
pub const STEP_STATE: &str = "_leg";

/// The argument in which a caller brings its own reply to the tool's model request.
pub const REPLY_FIELD: &str = "reply";

/// The field of an answer that clients get as text; other answers are JSON.
pub const TEXT_FIELD: &str = "said";

/// The output of one step of a call.
pub(crate) struct StepOutput {
    pub(crate) outcome: ToolOutput<Value>,
    /// The arguments of the next step, if there is one.
    pub(crate) next: Option<Value>,
    /// The work done so far, for the error if the next step fails.
    pub(crate) partial_summary: Option<String>,
}

/// A tool with erased types, as the registry stores it.
pub(crate) trait AnyTool: Send + Sync {
    fn input_schema(&self) -> Value;
    fn output_schema(&self) -> Value;
    fn checker(&self) -> Result<ArgumentChecker, ToolError>;
    fn resolve_alias(&self, arguments: &Value) -> Option<(String, Value)>;
    fn alias_targets(&self) -> Vec<&'static str>;
    fn may_run_in_background(&self) -> bool;
    fn is_read_call(&self, arguments: &Value) -> bool;
    fn is_offered(&self) -> bool;
    fn is_replayable(&self) -> bool;
    fn max_duration(&self, arguments: &Value) -> Option<Duration>;
    fn foreground_wait(&self, arguments: &Value, usual: Duration) -> ForegroundWait;
    fn run<'a>(
        &'a self,
        arguments: Value,
        call: &'a ToolContext,
    ) -> BoxFuture<'a, Result<StepOutput, ToolError>>;
}

impl<T: Tool> AnyTool for T {
    fn input_schema(&self) -> Value {
        let schema = crate::schema::input_schema::<T::Input>();
        crate::schema::with_reply(schema, self.takes_reply())
    }

    fn output_schema(&self) -> Value {
        crate::schema::output_schema::<T::Output>(
            self.meta().asks_model || Tool::may_run_in_background(self),
        )
    }

    fn checker(&self) -> Result<ArgumentChecker, ToolError> {
        let schema = crate::schema::arguments_schema::<T::Input>();
        ArgumentChecker::new(&crate::schema::with_reply(schema, self.takes_reply()))
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

    fn is_read_call(&self, arguments: &Value) -> bool {
        Tool::is_read_call(self, arguments)
    }

    fn is_offered(&self) -> bool {
        Tool::is_offered(self)
    }

    fn is_replayable(&self) -> bool {
        Tool::is_replayable(self)
    }

    fn max_duration(&self, arguments: &Value) -> Option<Duration> {
        Tool::max_duration(self, arguments)
    }

    fn foreground_wait(&self, arguments: &Value, usual: Duration) -> ForegroundWait {
        Tool::foreground_wait(self, arguments, usual)
    }

    fn run<'a>(
        &'a self,
        mut arguments: Value,
        call: &'a ToolContext,
    ) -> BoxFuture<'a, Result<StepOutput, ToolError>> {
        Box::pin(async move {
            if self.takes_reply() {
                let fields = arguments.as_object_mut();
                let reply = fields.and_then(|fields| fields.shift_remove(REPLY_FIELD));
                call.set_reply(reply.filter(|reply| !reply.is_null()))?;
            }
            let brings_reply = call.has_reply();
            let input = serde_path_to_error::deserialize(arguments)
                .map_err(|error| ToolError::Invalid(vec![ArgumentIssue::unreadable(&error)]))?;
            let outcome = Tool::run(self, input, call).await?;
            let next = self.next_step(&outcome.output);
            let so_far = self
                .partial_summary(&outcome.output)
                .filter(|_| next.is_some());
            let mut output = serde_json::to_value(outcome.output).map_err(|error| {
                tracing::error!(%error, "a tool's answer can't be serialized as JSON");
                ToolError::Internal
            })?;
            let mark = if brings_reply {
                Some(REPLY_RECORDED)
            } else {
                call.is_answered_by_caller().then_some(REPLIES_RECORDED)
            };
            if let (Some(fields), Some(mark)) = (output.as_object_mut(), mark) {
                fields.insert(mark.to_owned(), true.into());
            }
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

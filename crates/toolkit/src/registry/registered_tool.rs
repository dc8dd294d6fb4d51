//! A tool in the registry, with its schemas and the checker of its arguments.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use deliberate_core::FairPermits;
use serde_json::Value;

use crate::{
    ArgumentIssue, Principal, ToolError, ToolInfo, ToolMeta,
    call::suspend,
    schema::ArgumentChecker,
    tool::{AnyTool, ForegroundWait, STEP_STATE},
};

pub(crate) struct RegisteredTool {
    pub(crate) meta: ToolMeta,
    pub(crate) action: ToolAction,
    /// Whether `tools/list` shows the tool.
    pub(crate) is_listed: bool,
    /// The permits of its own calls, if it limits them.
    pub(crate) permits: Option<Arc<FairPermits>>,
    input_schema: OnceLock<Value>,
    output_schema: OnceLock<Value>,
    checker: OnceLock<ArgumentChecker>,
}

/// The action of a registered tool.
pub(crate) enum ToolAction {
    /// Runs the tool.
    Run(Box<dyn AnyTool>),
    /// Resumes a suspended call with its replies.
    Resume,
}

impl RegisteredTool {
    pub(crate) fn new(meta: ToolMeta, action: ToolAction, principal_share: usize) -> Self {
        let own = meta.limits.max_concurrent;
        Self {
            permits: own.map(|most| FairPermits::new(most, principal_share)),
            meta,
            action,
            is_listed: true,
            input_schema: OnceLock::new(),
            output_schema: OnceLock::new(),
            checker: OnceLock::new(),
        }
    }

    pub(crate) fn info(&self) -> ToolInfo<'_> {
        ToolInfo {
            meta: &self.meta,
            input_schema: self.input_schema(),
            output_schema: self.output_schema(),
        }
    }

    /// Returns the tool to run, unless it resumes calls of others.
    pub(crate) fn tool(&self) -> Option<&dyn AnyTool> {
        match &self.action {
            ToolAction::Run(tool) => Some(tool.as_ref()),
            ToolAction::Resume => None,
        }
    }

    /// Tells whether a caller may bring its own reply.
    pub(crate) fn takes_reply(&self) -> bool {
        let properties = self.input_schema().get("properties");
        properties.is_some_and(|known| known.get(crate::REPLY_FIELD).is_some())
    }

    pub(crate) fn input_schema(&self) -> &Value {
        self.input_schema.get_or_init(|| match &self.action {
            ToolAction::Run(tool) => tool.input_schema(),
            ToolAction::Resume => suspend::input_schema(),
        })
    }

    pub(crate) fn output_schema(&self) -> &Value {
        self.output_schema.get_or_init(|| match &self.action {
            ToolAction::Run(tool) => tool.output_schema(),
            ToolAction::Resume => suspend::output_schema(),
        })
    }

    /// Tells whether its calls may become background calls: it uses a model, or works outside this
    /// server and may take long.
    pub(crate) fn may_run_in_background(&self) -> bool {
        let takes_long = match &self.action {
            ToolAction::Run(tool) => tool.may_run_in_background(),
            ToolAction::Resume => false,
        };
        self.meta.asks_model || takes_long || !self.is_replayable()
    }

    /// Tells whether a call with these arguments only reads what is stored here.
    pub(crate) fn is_local_read(&self, arguments: &Value) -> bool {
        let is_read_call = match &self.action {
            ToolAction::Run(tool) => tool.is_read_call(arguments),
            ToolAction::Resume => false,
        };
        self.meta.is_local_read() || is_read_call
    }

    /// Returns how long a client waits for a call with these arguments.
    pub(crate) fn foreground_wait(&self, arguments: &Value, usual: Duration) -> ForegroundWait {
        match &self.action {
            ToolAction::Run(tool) => tool.foreground_wait(arguments, usual),
            ToolAction::Resume => ForegroundWait::new(usual),
        }
    }

    /// Returns the call of another tool that a call with these arguments stands for.
    pub(crate) fn resolve_alias(&self, arguments: &Value) -> Option<(String, Value)> {
        match &self.action {
            ToolAction::Run(tool) => tool.resolve_alias(arguments),
            ToolAction::Resume => None,
        }
    }

    /// Tells whether it stands for a tool that the principal may call.
    pub(crate) fn is_alias_for(&self, principal: &Principal) -> bool {
        match &self.action {
            ToolAction::Run(tool) => {
                let mut behind = tool.alias_targets().into_iter();
                behind.any(|name| principal.scope.allows(name))
            }
            ToolAction::Resume => false,
        }
    }

    /// Tells whether the tool is listed now.
    pub(crate) fn is_offered(&self) -> bool {
        match &self.action {
            ToolAction::Run(tool) => tool.is_offered(),
            ToolAction::Resume => true,
        }
    }

    /// Tells whether an abandoned call may be run again.
    pub(crate) fn is_replayable(&self) -> bool {
        match &self.action {
            ToolAction::Run(tool) => tool.is_replayable(),
            ToolAction::Resume => true,
        }
    }

    /// Returns the time limit of a call with these arguments; `most` is the limit of all calls.
    pub(crate) fn time_limit(&self, arguments: &Value, most: Duration) -> Duration {
        let usual = self.meta.limits.time.map_or(most, |own| own.min(most));
        match &self.action {
            ToolAction::Run(tool) if !tool.is_replayable() => {
                let longer = tool.max_duration(arguments);
                longer.map_or(usual, |longer| longer.max(usual))
            }
            _ => usual,
        }
    }

    /// Validates the arguments of the next step, except the tool's own state in [`STEP_STATE`].
    pub(crate) fn check_next(&self, mut next: Value) -> Result<Value, ToolError> {
        let left = next
            .as_object_mut()
            .and_then(|fields| fields.remove(STEP_STATE));
        let mut next = self.check(next)?;
        if let (Some(left), Some(fields)) = (left, next.as_object_mut()) {
            fields.insert(STEP_STATE.to_owned(), left);
        }
        Ok(next)
    }

    /// Validates arguments. The checker is compiled at the first call, because compiling one for
    /// every tool would delay the start noticeably.
    pub(crate) fn check(&self, arguments: Value) -> Result<Value, ToolError> {
        // Even if the schema would accept it: only the tool itself may set this field.
        if let Some(said) = arguments.get(STEP_STATE) {
            let issue =
                ArgumentIssue::new(STEP_STATE, "is not an argument of this tool").with_value(said);
            return Err(ToolError::Invalid(vec![issue]));
        }
        if let Some(checker) = self.checker.get() {
            return checker.check(arguments);
        }
        let made = match &self.action {
            ToolAction::Run(tool) => tool.checker()?,
            ToolAction::Resume => ArgumentChecker::new(self.input_schema())?,
        };
        self.checker.get_or_init(|| made).check(arguments)
    }
}

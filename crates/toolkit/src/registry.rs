//! The tools there are, and what they share.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use deliberate_core::{Clock, IdSource, did_you_mean};
use deliberate_store::Store;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{
    background::BackgroundCalls,
    dispatch::{
        invocation_log::InvocationWriter,
        suspend::{self, ResumeArguments},
    },
    trace_context::SpanReader,
};
use crate::{
    ArgumentIssue, CallListener, ExternalTools, ModelSelector, Principal, PromptProvider,
    ResourceProvider, Tool, ToolError, ToolMeta,
    event::CallListeners,
    schema::ArgumentChecker,
    tool::{AnyTool, STEP_STATE},
};

/// What every call is run with.
pub struct RegistryDeps {
    /// What is remembered.
    pub store: Arc<dyn Store>,
    /// Who thinks.
    pub models: Arc<dyn ModelSelector>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where new ids come from.
    pub ids: Arc<dyn IdSource>,
    /// What calls may take.
    pub limits: CallLimits,
}

/// What calls may take, all tools together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallLimits {
    /// The longest a call may run.
    pub call_time: Duration,
    /// Calls that may run at once.
    pub running_calls: usize,
    /// Calls that may wait for one of those to end.
    pub waiting_calls: usize,
    /// The longest text a caller may give to think about, in characters.
    pub content_chars: usize,
    /// Tokens of earlier reasoning that an ask may carry.
    pub context_tokens: usize,
    /// What the record of a call keeps of its arguments, and of its answer, in bytes.
    pub record_bytes: usize,
    /// How long a suspended call waits for its replies.
    pub suspension_time: Duration,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            call_time: Duration::from_mins(5),
            running_calls: 256,
            waiting_calls: 1_024,
            content_chars: 100_000,
            context_tokens: 6_000,
            record_bytes: 8_192,
            suspension_time: Duration::from_hours(7 * 24),
        }
    }
}

/// The tools of a server, in the order they are listed.
pub struct Registry {
    pub(crate) deps: Arc<RegistryDeps>,
    pub(crate) tools: Arc<ToolTable>,
    pub(crate) running: Semaphore,
    pub(crate) waiting: Semaphore,
    pub(crate) listeners: CallListeners,
    resources: Vec<Box<dyn ResourceProvider>>,
    prompts: Vec<Box<dyn PromptProvider>>,
    next_call_number: AtomicU64,
    pub(crate) open_calls: Arc<AtomicUsize>,
    pub(crate) background_calls: BackgroundCalls,
    pub(crate) log: Arc<InvocationWriter>,
    /// Cancelled to cut off what runs.
    pub(crate) shutdown: CancellationToken,
    pub(crate) span_reader: Option<SpanReader>,
}

pub(crate) struct RegisteredTool {
    pub(crate) meta: ToolMeta,
    pub(crate) action: ToolAction,
    /// Whether clients are shown it unasked.
    is_listed: bool,
    pub(crate) running: Option<Semaphore>,
    input_schema: OnceLock<Value>,
    output_schema: OnceLock<Value>,
    checker: OnceLock<ArgumentChecker>,
}

/// What calling an entry does.
pub(crate) enum ToolAction {
    /// Runs a tool.
    Run(Box<dyn AnyTool>),
    /// Runs a suspended call again, with the replies it waited for.
    Resume,
}

/// A tool as a client sees it.
#[derive(Debug, Clone, Copy)]
pub struct ToolInfo<'a> {
    /// Name, title, description, annotations.
    pub meta: &'a ToolMeta,
    /// The schema of its arguments.
    pub input_schema: &'a Value,
    /// The schema of its answer.
    pub output_schema: &'a Value,
}

impl Registry {
    /// A registry that so far can only resume.
    pub fn new(parts: RegistryDeps) -> Self {
        let bounds = &parts.limits;
        Self {
            running: Semaphore::new(bounds.running_calls),
            waiting: Semaphore::new(bounds.waiting_calls),
            tools: Arc::new(ToolTable {
                tools: vec![Arc::new(RegisteredTool::new(
                    ResumeArguments::meta(),
                    ToolAction::Resume,
                ))],
                external: None,
            }),
            deps: Arc::new(parts),
            listeners: CallListeners::default(),
            resources: Vec::new(),
            prompts: Vec::new(),
            next_call_number: AtomicU64::new(0),
            open_calls: Arc::default(),
            background_calls: BackgroundCalls::default(),
            log: Arc::default(),
            shutdown: CancellationToken::new(),
            span_reader: None,
        }
    }

    /// The registry with a way to learn where its spans stand in a trace.
    pub fn with_span_reader(mut self, reads_spans: SpanReader) -> Self {
        self.span_reader = Some(reads_spans);
        self
    }

    /// The registry with someone who hears what happens at the gate.
    pub fn with_listener(mut self, listener: Arc<dyn CallListener>) -> Self {
        self.listeners.add(listener);
        self
    }

    /// The registry with one more family of things that can be read by their address.
    pub fn with_resources(mut self, family: impl ResourceProvider + 'static) -> Self {
        self.resources.push(Box::new(family));
        self
    }

    /// The registry with one more family of prompts.
    pub fn with_prompts(mut self, menu: impl PromptProvider + 'static) -> Self {
        self.prompts.push(Box::new(menu));
        self
    }

    /// What can be read by its address, family by family.
    pub fn resources(&self) -> impl Iterator<Item = &dyn ResourceProvider> {
        self.resources.iter().map(AsRef::as_ref)
    }

    /// The prompts, family by family.
    pub fn prompt_providers(&self) -> impl Iterator<Item = &dyn PromptProvider> {
        self.prompts.iter().map(AsRef::as_ref)
    }

    /// Calls that run now, and calls that wait for one of those to end.
    pub fn running_and_waiting(&self) -> (usize, usize) {
        let bounds = &self.deps.limits;
        (
            bounds
                .running_calls
                .saturating_sub(self.running.available_permits()),
            bounds
                .waiting_calls
                .saturating_sub(self.waiting.available_permits()),
        )
    }

    /// A number no other call of this process has.
    pub(crate) fn call_number(&self) -> u64 {
        self.next_call_number.fetch_add(1, Ordering::Relaxed)
    }

    /// The registry with one more tool, listed after those before it. `reasoning_resume` stays
    /// last.
    pub fn with(self, tool: impl Tool) -> Self {
        self.with_tool(tool, true)
    }

    /// The same for a tool that is called like any other and is in no list: whoever calls it has
    /// learned of it elsewhere.
    pub fn with_unlisted(self, tool: impl Tool) -> Self {
        self.with_tool(tool, false)
    }

    fn with_tool(mut self, tool: impl Tool, listed: bool) -> Self {
        let entry = RegisteredTool {
            is_listed: listed,
            ..RegisteredTool::new(tool.meta(), ToolAction::Run(Box::new(tool)))
        };
        let entries = &mut Arc::make_mut(&mut self.tools).tools;
        let last = entries.len().saturating_sub(1);
        entries.insert(last, Arc::new(entry));
        self
    }

    /// The tools that clients are shown, in their order.
    pub fn list(&self) -> impl Iterator<Item = ToolInfo<'_>> {
        let listed = self.tools.tools.iter().filter(|entry| entry.is_listed);
        listed.map(|entry| entry.info())
    }

    /// All tools, listed or not, in their order.
    pub fn all(&self) -> impl Iterator<Item = ToolInfo<'_>> {
        self.tools.tools.iter().map(|entry| entry.info())
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<ToolInfo<'_>> {
        self.tools.get(name).map(RegisteredTool::info)
    }

    /// Whether who may use these tools is shown that one: it is one of them, or stands for one.
    pub fn is_visible_to(&self, principal: &Principal, name: &str) -> bool {
        let front = || {
            self.tools
                .get(name)
                .filter(|own| own.is_alias_for(principal))
        };
        principal.scope.allows(name) || front().is_some()
    }

    /// What is remembered.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.deps.store
    }

    pub(crate) fn registered_tool(&self, name: &str) -> Result<&RegisteredTool, ToolError> {
        self.tools.find(name)
    }
}

/// The tools, shared with the calls that run.
#[derive(Clone)]
pub(crate) struct ToolTable {
    pub(crate) tools: Vec<Arc<RegisteredTool>>,
    pub(crate) external: Option<Arc<dyn ExternalTools>>,
}

impl ToolTable {
    pub(crate) fn get(&self, name: &str) -> Option<&RegisteredTool> {
        let found = self.tools.iter().find(|entry| entry.meta.name == name);
        found.map(AsRef::as_ref)
    }

    /// Our own of that name.
    pub(crate) fn find(&self, name: &str) -> Result<&RegisteredTool, ToolError> {
        self.get(name).ok_or_else(|| {
            let own = self.tools.iter().map(|entry| entry.meta.name);
            let guests = self
                .external
                .as_ref()
                .map(|it| it.list())
                .unwrap_or_default();
            let guests = guests.iter().map(|guest| guest.name.as_ref());
            ToolError::UnknownTool {
                name: deliberate_core::truncate_chars(name, 80),
                nearest: did_you_mean(name, own.chain(guests)),
            }
        })
    }
}

impl RegisteredTool {
    fn new(meta: ToolMeta, action: ToolAction) -> Self {
        Self {
            running: meta.limits.max_concurrent.map(Semaphore::new),
            meta,
            action,
            is_listed: true,
            input_schema: OnceLock::new(),
            output_schema: OnceLock::new(),
            checker: OnceLock::new(),
        }
    }

    fn info(&self) -> ToolInfo<'_> {
        ToolInfo {
            meta: &self.meta,
            input_schema: self.input_schema(),
            output_schema: self.output_schema(),
        }
    }

    pub(crate) fn input_schema(&self) -> &Value {
        self.input_schema.get_or_init(|| match &self.action {
            ToolAction::Run(tool) => tool.input_schema(),
            ToolAction::Resume => suspend::input_schema(),
        })
    }

    fn output_schema(&self) -> &Value {
        self.output_schema.get_or_init(|| match &self.action {
            ToolAction::Run(tool) => tool.output_schema(),
            ToolAction::Resume => suspend::output_schema(),
        })
    }

    /// Whether a caller may stop waiting while it runs: it thinks, or its work is outside, and may
    /// take its time.
    pub(crate) fn may_run_in_background(&self) -> bool {
        let takes_long = match &self.action {
            ToolAction::Run(tool) => tool.may_run_in_background(),
            ToolAction::Resume => false,
        };
        self.meta.asks_model || takes_long || !self.is_replayable()
    }

    /// The call of another tool that a call with these arguments is.
    pub(crate) fn resolve_alias(&self, arguments: &Value) -> Option<(String, Value)> {
        match &self.action {
            ToolAction::Run(tool) => tool.resolve_alias(arguments),
            ToolAction::Resume => None,
        }
    }

    /// Whether it stands for a tool that they may call.
    pub(crate) fn is_alias_for(&self, principal: &Principal) -> bool {
        match &self.action {
            ToolAction::Run(tool) => {
                let mut behind = tool.alias_targets().into_iter();
                behind.any(|name| principal.scope.allows(name))
            }
            ToolAction::Resume => false,
        }
    }

    /// Whether a call that was cut off is run again.
    pub(crate) fn is_replayable(&self) -> bool {
        match &self.action {
            ToolAction::Run(tool) => tool.is_replayable(),
            ToolAction::Resume => true,
        }
    }

    /// The longest a call with these arguments may run, if `most` is the setting for all calls.
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

    /// Checks what a tool said comes next. What it left for itself under [`STEP_STATE`] is its own.
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

    /// Checks arguments. The checker is made on the first call, because making one for every
    /// tool would be felt at the start.
    pub(crate) fn check(&self, arguments: Value) -> Result<Value, ToolError> {
        // Whatever its schema lets through: only a tool says this, and only to itself.
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

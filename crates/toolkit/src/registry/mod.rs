//! The registry of tools and the dependencies that all calls share.

mod registered_tool;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use deliberate_core::{Clock, IdSource, did_you_mean};
use deliberate_store::Store;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    CallListener, CallPresenter, ExternalTools, ModelSelector, Principal, PromptProvider,
    ResourceProvider, Tool, ToolError, ToolMeta,
    call::{
        invocation_log::InvocationWriter, permits::CallPermits, running_calls::BackgroundCalls,
        suspend::ResumeArguments,
    },
    event::CallListeners,
    trace_context::SpanReader,
};

pub(crate) use registered_tool::{RegisteredTool, ToolAction};

/// The dependencies of every call.
pub struct RegistryDeps {
    /// The store.
    pub store: Arc<dyn Store>,
    /// Chooses the model of a call.
    pub models: Arc<dyn ModelSelector>,
    /// The source of time.
    pub clock: Arc<dyn Clock>,
    /// The source of new ids.
    pub ids: Arc<dyn IdSource>,
    /// The limits of all calls.
    pub limits: CallLimits,
}

/// The limits that apply to the calls of all tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallLimits {
    /// The longest time that a call may run.
    pub call_time: Duration,
    /// The most calls that may run at once.
    pub running_calls: usize,
    /// The most calls that may wait for a running one to end.
    pub waiting_calls: usize,
    /// The most model requests at once.
    pub model_requests: usize,
    /// The share of these that one named principal may take of what the others leave, in percent.
    pub principal_share: usize,
    /// The longest text that a caller may send to reason about, in characters.
    pub content_chars: usize,
    /// The most tokens of earlier reasoning in a model request.
    pub context_tokens: usize,
    /// The most bytes of arguments, and of the answer, in a log record.
    pub record_bytes: usize,
    /// How long a suspended call waits for its replies.
    pub suspension_time: Duration,
    /// The time between the heartbeats of a background call, which renew its lease and store its
    /// progress. A worker that misses four of them loses the call.
    pub lease_renewal: Duration,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            call_time: Duration::from_mins(5),
            running_calls: 256,
            waiting_calls: 1_024,
            model_requests: 256,
            principal_share: 50,
            content_chars: 100_000,
            context_tokens: 6_000,
            record_bytes: 8_192,
            suspension_time: Duration::from_hours(7 * 24),
            lease_renewal: Duration::from_secs(5),
        }
    }
}

/// The tools of a server in their listed order, and the dispatcher that runs them.
pub struct Registry {
    pub(crate) deps: Arc<RegistryDeps>,
    pub(crate) tools: Arc<ToolTable>,
    pub(crate) permits: Arc<CallPermits>,
    pub(crate) listeners: CallListeners,
    resources: Vec<Box<dyn ResourceProvider>>,
    prompts: Vec<Box<dyn PromptProvider>>,
    next_call_number: AtomicU64,
    pub(crate) open_calls: Arc<AtomicUsize>,
    pub(crate) background_calls: BackgroundCalls,
    pub(crate) log: Arc<InvocationWriter>,
    /// Cancelled to stop the running calls.
    pub(crate) shutdown: CancellationToken,
    pub(crate) span_reader: Option<SpanReader>,
}

/// A tool as a client sees it.
#[derive(Debug, Clone, Copy)]
pub struct ToolInfo<'a> {
    /// The name, title, description and annotations.
    pub meta: &'a ToolMeta,
    /// The JSON schema of the arguments.
    pub input_schema: &'a Value,
    /// The JSON schema of the answer.
    pub output_schema: &'a Value,
}

impl Registry {
    /// Creates a registry that has only the tool [`RESUME_TOOL`](crate::RESUME_TOOL).
    pub fn new(parts: RegistryDeps) -> Self {
        Self {
            permits: Arc::new(CallPermits::new(&parts.limits)),
            tools: Arc::new(ToolTable {
                tools: vec![Arc::new(RegisteredTool::new(
                    ResumeArguments::meta(),
                    ToolAction::Resume,
                    parts.limits.principal_share,
                ))],
                external: None,
                presenter: None,
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

    /// Sets the function that reads a span's trace context.
    pub fn with_span_reader(mut self, reads_spans: SpanReader) -> Self {
        self.span_reader = Some(reads_spans);
        self
    }

    /// Adds a listener for events of the dispatcher.
    pub fn with_listener(mut self, listener: Arc<dyn CallListener>) -> Self {
        self.listeners.add(listener);
        self
    }

    /// Sets how the calls of a feature's tools are shown to clients.
    pub fn with_presenter(mut self, presenter: impl CallPresenter + 'static) -> Self {
        Arc::make_mut(&mut self.tools).presenter = Some(Arc::new(presenter));
        self
    }

    /// Adds a family of resources.
    pub fn with_resources(mut self, family: impl ResourceProvider + 'static) -> Self {
        self.resources.push(Box::new(family));
        self
    }

    /// Adds a family of prompts.
    pub fn with_prompts(mut self, menu: impl PromptProvider + 'static) -> Self {
        self.prompts.push(Box::new(menu));
        self
    }

    /// Returns the families of resources.
    pub fn resources(&self) -> impl Iterator<Item = &dyn ResourceProvider> {
        self.resources.iter().map(AsRef::as_ref)
    }

    /// Returns the families of prompts.
    pub fn prompt_providers(&self) -> impl Iterator<Item = &dyn PromptProvider> {
        self.prompts.iter().map(AsRef::as_ref)
    }

    /// Returns the number of calls that run and the number of calls that wait.
    pub fn running_and_waiting(&self) -> (usize, usize) {
        self.permits.running_and_waiting()
    }

    /// Returns a number that no other call of this process has.
    pub(crate) fn call_number(&self) -> u64 {
        self.next_call_number.fetch_add(1, Ordering::Relaxed)
    }

    /// Adds a tool, listed after the earlier ones. `reasoning_resume` stays last.
    pub fn with(self, tool: impl Tool) -> Self {
        self.with_tool(tool, true)
    }

    /// Adds a tool that can be called but is not listed, for callers that learn of it elsewhere.
    pub fn with_unlisted(self, tool: impl Tool) -> Self {
        self.with_tool(tool, false)
    }

    fn with_tool(mut self, tool: impl Tool, listed: bool) -> Self {
        let share = self.deps.limits.principal_share;
        let meta = tool.meta();
        let mut entry = RegisteredTool::new(meta, ToolAction::Run(Box::new(tool)), share);
        entry.is_listed = listed;
        let entries = &mut Arc::make_mut(&mut self.tools).tools;
        let last = entries.len().saturating_sub(1);
        entries.insert(last, Arc::new(entry));
        self
    }

    /// Returns the tools that are listed now, in their order.
    pub fn list(&self) -> impl Iterator<Item = ToolInfo<'_>> {
        let listed = self.tools.tools.iter().filter(|entry| entry.is_listed);
        let offered = listed.filter(|entry| entry.is_offered());
        offered.map(|entry| entry.info())
    }

    /// Returns the tools that are listed now or may be later, in their order.
    pub fn list_possible(&self) -> impl Iterator<Item = ToolInfo<'_>> {
        let listed = self.tools.tools.iter().filter(|entry| entry.is_listed);
        listed.map(|entry| entry.info())
    }

    /// Returns all tools, listed or not, in their order.
    pub fn all(&self) -> impl Iterator<Item = ToolInfo<'_>> {
        self.tools.tools.iter().map(|entry| entry.info())
    }

    /// Returns the tool of that name.
    pub fn get(&self, name: &str) -> Option<ToolInfo<'_>> {
        self.tools.get(name).map(RegisteredTool::info)
    }

    /// Tells whether a principal sees the tool: the tool is offered, and its scope includes the tool,
    /// or one it stands for.
    pub fn is_visible_to(&self, principal: &Principal, name: &str) -> bool {
        if self.tools.get(name).is_some_and(|own| !own.is_offered()) {
            return false;
        }
        let front = || {
            self.tools
                .get(name)
                .filter(|own| own.is_alias_for(principal))
        };
        // A scope of one server, `gateway_call/files`, is a scope of a tool that calls others.
        let part = || {
            let calls_others = |own: &RegisteredTool| !own.is_replayable();
            principal.scope.allows_part_of(name) && self.tools.get(name).is_some_and(calls_others)
        };
        let external = || self.tools.allows_external(principal, name);
        principal.scope.allows(name) || front().is_some() || part() || external()
    }

    /// Returns the store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.deps.store
    }

    pub(crate) fn registered_tool(&self, name: &str) -> Result<&RegisteredTool, ToolError> {
        self.tools.find(name)
    }
}

/// The tools, which running calls share.
#[derive(Clone)]
pub(crate) struct ToolTable {
    pub(crate) tools: Vec<Arc<RegisteredTool>>,
    pub(crate) external: Option<Arc<dyn ExternalTools>>,
    pub(crate) presenter: Option<Arc<dyn CallPresenter>>,
}

impl ToolTable {
    /// Validates arguments and replaces the short references in them.
    pub(crate) async fn check_arguments(
        &self,
        entry: &RegisteredTool,
        arguments: Value,
        store: &dyn Store,
    ) -> Result<Value, ToolError> {
        let arguments = entry.check(arguments)?;
        self.resolve_references(entry.meta.name, arguments, store)
            .await
    }

    /// Replaces the short references in the arguments of a tool.
    pub(crate) async fn resolve_references(
        &self,
        tool: &str,
        arguments: Value,
        store: &dyn Store,
    ) -> Result<Value, ToolError> {
        match &self.presenter {
            Some(presenter) if presenter.presents(tool) => {
                presenter.resolve_arguments(arguments, store).await
            }
            _ => Ok(arguments),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&RegisteredTool> {
        let found = self.tools.iter().find(|entry| entry.meta.name == name);
        found.map(AsRef::as_ref)
    }

    /// Returns our own tool of that name.
    pub(crate) fn find(&self, name: &str) -> Result<&RegisteredTool, ToolError> {
        self.get(name).ok_or_else(|| {
            let own = self.tools.iter().map(|entry| entry.meta.name);
            let external = self
                .external
                .as_ref()
                .map(|it| it.list())
                .unwrap_or_default();
            let external = external
                .iter()
                .map(|external_tool| external_tool.name.as_ref());
            ToolError::UnknownTool {
                name: deliberate_core::truncate_chars(name, 80),
                nearest: did_you_mean(name, own.chain(external)),
            }
        })
    }
}

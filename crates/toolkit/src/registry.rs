//! The tools there are, and what they share.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use deliberate_core::{Clock, IdSource, nearest};
use deliberate_store::Store;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{
    About, Guests, Issue, Listener, Menu, Minds, Principal, Resources, Tool, ToolError,
    event::Listeners,
    held::HeldCalls,
    record::Records,
    schema::Checker,
    suspend::{self, Resume},
    tool::{AnyTool, LEG},
    trace::SpanReader,
};

/// What every call is run with.
pub struct Parts {
    /// What is remembered.
    pub store: Arc<dyn Store>,
    /// Who thinks.
    pub minds: Arc<dyn Minds>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where new ids come from.
    pub ids: Arc<dyn IdSource>,
    /// What calls may take.
    pub bounds: Bounds,
}

/// What calls may take, all tools together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
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

impl Default for Bounds {
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
    pub(crate) parts: Arc<Parts>,
    pub(crate) entries: Arc<Entries>,
    pub(crate) running: Semaphore,
    pub(crate) waiting: Semaphore,
    pub(crate) listeners: Listeners,
    resources: Vec<Box<dyn Resources>>,
    menus: Vec<Box<dyn Menu>>,
    calls: AtomicU64,
    pub(crate) open_calls: Arc<AtomicUsize>,
    pub(crate) held: HeldCalls,
    pub(crate) records: Arc<Records>,
    /// Cancelled to cut off what runs.
    pub(crate) stopping: CancellationToken,
    pub(crate) reads_spans: Option<SpanReader>,
}

pub(crate) struct Entry {
    pub(crate) about: About,
    pub(crate) action: Action,
    /// Whether clients are shown it unasked.
    listed: bool,
    pub(crate) running: Option<Semaphore>,
    input_schema: OnceLock<Value>,
    output_schema: OnceLock<Value>,
    checker: OnceLock<Checker>,
}

/// What calling an entry does.
pub(crate) enum Action {
    /// Runs a tool.
    Run(Box<dyn AnyTool>),
    /// Runs a suspended call again, with the replies it waited for.
    Resume,
}

/// A tool as a client sees it.
#[derive(Debug, Clone, Copy)]
pub struct Listing<'a> {
    /// Name, title, description, annotations.
    pub about: &'a About,
    /// The schema of its arguments.
    pub input_schema: &'a Value,
    /// The schema of its answer.
    pub output_schema: &'a Value,
}

impl Registry {
    /// A registry that so far can only resume.
    pub fn new(parts: Parts) -> Self {
        let bounds = &parts.bounds;
        Self {
            running: Semaphore::new(bounds.running_calls),
            waiting: Semaphore::new(bounds.waiting_calls),
            entries: Arc::new(Entries {
                own: vec![Arc::new(Entry::new(Resume::about(), Action::Resume))],
                guests: None,
            }),
            parts: Arc::new(parts),
            listeners: Listeners::default(),
            resources: Vec::new(),
            menus: Vec::new(),
            calls: AtomicU64::new(0),
            open_calls: Arc::default(),
            held: HeldCalls::default(),
            records: Arc::default(),
            stopping: CancellationToken::new(),
            reads_spans: None,
        }
    }

    /// The registry with a way to learn where its spans stand in a trace.
    pub fn traced_by(mut self, reads_spans: SpanReader) -> Self {
        self.reads_spans = Some(reads_spans);
        self
    }

    /// The registry with someone who hears what happens at the gate.
    pub fn heard_by(mut self, listener: Arc<dyn Listener>) -> Self {
        self.listeners.add(listener);
        self
    }

    /// The registry with one more family of things that can be read by their address.
    pub fn with_resources(mut self, family: impl Resources + 'static) -> Self {
        self.resources.push(Box::new(family));
        self
    }

    /// The registry with one more family of prompts.
    pub fn with_menu(mut self, menu: impl Menu + 'static) -> Self {
        self.menus.push(Box::new(menu));
        self
    }

    /// What can be read by its address, family by family.
    pub fn resources(&self) -> impl Iterator<Item = &dyn Resources> {
        self.resources.iter().map(AsRef::as_ref)
    }

    /// The prompts, family by family.
    pub fn menus(&self) -> impl Iterator<Item = &dyn Menu> {
        self.menus.iter().map(AsRef::as_ref)
    }

    /// Calls that run now, and calls that wait for one of those to end.
    pub fn load(&self) -> (usize, usize) {
        let bounds = &self.parts.bounds;
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
        self.calls.fetch_add(1, Ordering::Relaxed)
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
        let entry = Entry {
            listed,
            ..Entry::new(tool.about(), Action::Run(Box::new(tool)))
        };
        let entries = &mut Arc::make_mut(&mut self.entries).own;
        let last = entries.len().saturating_sub(1);
        entries.insert(last, Arc::new(entry));
        self
    }

    /// The tools that clients are shown, in their order.
    pub fn list(&self) -> impl Iterator<Item = Listing<'_>> {
        let listed = self.entries.own.iter().filter(|entry| entry.listed);
        listed.map(|entry| entry.listing())
    }

    /// All tools, listed or not, in their order.
    pub fn all(&self) -> impl Iterator<Item = Listing<'_>> {
        self.entries.own.iter().map(|entry| entry.listing())
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<Listing<'_>> {
        self.entries.own(name).map(Entry::listing)
    }

    /// Whether who may use these tools is shown that one: it is one of them, or stands for one.
    pub fn shows(&self, principal: &Principal, name: &str) -> bool {
        let front = || {
            self.entries
                .own(name)
                .filter(|own| own.fronts_for(principal))
        };
        principal.scope.allows(name) || front().is_some()
    }

    /// What is remembered.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.parts.store
    }

    pub(crate) fn entry(&self, name: &str) -> Result<&Entry, ToolError> {
        self.entries.find(name)
    }
}

/// The tools, shared with the calls that run.
#[derive(Clone)]
pub(crate) struct Entries {
    pub(crate) own: Vec<Arc<Entry>>,
    pub(crate) guests: Option<Arc<dyn Guests>>,
}

impl Entries {
    pub(crate) fn own(&self, name: &str) -> Option<&Entry> {
        let found = self.own.iter().find(|entry| entry.about.name == name);
        found.map(AsRef::as_ref)
    }

    /// Our own of that name.
    pub(crate) fn find(&self, name: &str) -> Result<&Entry, ToolError> {
        self.own(name).ok_or_else(|| {
            let own = self.own.iter().map(|entry| entry.about.name);
            let guests = self.guests.as_ref().map(|it| it.list()).unwrap_or_default();
            let guests = guests.iter().map(|guest| guest.name.as_ref());
            ToolError::UnknownTool {
                name: deliberate_core::cut_to_chars(name, 80),
                nearest: nearest(name, own.chain(guests)),
            }
        })
    }
}

impl Entry {
    fn new(about: About, action: Action) -> Self {
        Self {
            running: about.limits.at_once.map(Semaphore::new),
            about,
            action,
            listed: true,
            input_schema: OnceLock::new(),
            output_schema: OnceLock::new(),
            checker: OnceLock::new(),
        }
    }

    fn listing(&self) -> Listing<'_> {
        Listing {
            about: &self.about,
            input_schema: self.input_schema(),
            output_schema: self.output_schema(),
        }
    }

    pub(crate) fn input_schema(&self) -> &Value {
        self.input_schema.get_or_init(|| match &self.action {
            Action::Run(tool) => tool.input_schema(),
            Action::Resume => suspend::input_schema(),
        })
    }

    fn output_schema(&self) -> &Value {
        self.output_schema.get_or_init(|| match &self.action {
            Action::Run(tool) => tool.output_schema(),
            Action::Resume => suspend::output_schema(),
        })
    }

    /// Whether a caller may stop waiting while it runs: it thinks, or its work is outside, and may
    /// take its time.
    pub(crate) fn may_run_on(&self) -> bool {
        let takes_long = match &self.action {
            Action::Run(tool) => tool.takes_long(),
            Action::Resume => false,
        };
        self.about.thinks || takes_long || !self.may_run_again()
    }

    /// The call of another tool that a call with these arguments is.
    pub(crate) fn stands_for(&self, arguments: &Value) -> Option<(String, Value)> {
        match &self.action {
            Action::Run(tool) => tool.stands_for(arguments),
            Action::Resume => None,
        }
    }

    /// Whether it stands for a tool that they may call.
    pub(crate) fn fronts_for(&self, principal: &Principal) -> bool {
        match &self.action {
            Action::Run(tool) => {
                let mut behind = tool.front_of().into_iter();
                behind.any(|name| principal.scope.allows(name))
            }
            Action::Resume => false,
        }
    }

    /// Whether a call that was cut off is run again.
    pub(crate) fn may_run_again(&self) -> bool {
        match &self.action {
            Action::Run(tool) => tool.may_run_again(),
            Action::Resume => true,
        }
    }

    /// The longest a call with these arguments may run, if `most` is the setting for all calls.
    pub(crate) fn time_limit(&self, arguments: &Value, most: Duration) -> Duration {
        let usual = self.about.limits.time.map_or(most, |own| own.min(most));
        match &self.action {
            Action::Run(tool) if !tool.may_run_again() => {
                let longer = tool.takes_at_most(arguments);
                longer.map_or(usual, |longer| longer.max(usual))
            }
            _ => usual,
        }
    }

    /// Checks what a tool said comes next. What it left for itself under [`LEG`] is its own.
    pub(crate) fn check_next(&self, mut next: Value) -> Result<Value, ToolError> {
        let left = next.as_object_mut().and_then(|fields| fields.remove(LEG));
        let mut next = self.check(next)?;
        if let (Some(left), Some(fields)) = (left, next.as_object_mut()) {
            fields.insert(LEG.to_owned(), left);
        }
        Ok(next)
    }

    /// Checks arguments. The checker is made on the first call, because making one for every
    /// tool would be felt at the start.
    pub(crate) fn check(&self, arguments: Value) -> Result<Value, ToolError> {
        // Whatever its schema lets through: only a tool says this, and only to itself.
        if let Some(said) = arguments.get(LEG) {
            let issue = Issue::new(LEG, "is not an argument of this tool").given(said);
            return Err(ToolError::Invalid(vec![issue]));
        }
        if let Some(checker) = self.checker.get() {
            return checker.check(arguments);
        }
        let made = match &self.action {
            Action::Run(tool) => tool.checker()?,
            Action::Resume => Checker::new(self.input_schema())?,
        };
        self.checker.get_or_init(|| made).check(arguments)
    }
}

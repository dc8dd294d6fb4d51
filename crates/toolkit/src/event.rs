//! What happens at the gate, told to whoever listens: metrics, subscriptions, progress pages.

use std::{sync::Arc, time::Duration};

use deliberate_core::ModelUsage;

use crate::{CallProgress, Principal, ResourceChange};

/// Something that happened.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum CallEvent<'a> {
    /// A call was let in.
    Started(&'a CallInfo<'a>),
    /// It came further.
    Progress(&'a CallInfo<'a>, &'a CallProgress),
    /// A model was asked, and answered or not.
    ModelAsked {
        /// Who was asked, such as `openai`.
        provider: &'a str,
        /// How long it took, retries and all.
        elapsed: Duration,
        /// The stable code of what went wrong.
        error: Option<&'a str>,
        /// What it cost.
        usage: &'a ModelUsage,
    },
    /// It is over, and what it changed is kept.
    Ended {
        /// The call.
        call: &'a CallInfo<'a>,
        /// How long it took.
        elapsed: Duration,
        /// The stable code of what went wrong.
        error: Option<&'a str>,
        /// What asking models cost.
        usage: &'a ModelUsage,
    },
    /// A call changed what stands at these addresses.
    ResourcesChanged(&'a [ResourceChange]),
    /// A tool was called that is not there.
    UnknownTool,
    /// A tool panicked; its caller was told that it failed.
    Panicked {
        /// The tool.
        tool: &'static str,
    },
}

/// A call, as listeners know it.
#[derive(Debug, Clone, Copy)]
pub struct CallInfo<'a> {
    /// Names this call among those of this process.
    pub id: u64,
    /// The tool.
    pub tool: &'static str,
    /// Whose call it is.
    pub principal: &'a Principal,
}

/// Hears what happens. Called in the midst of calls, so it must neither block nor fail.
pub trait CallListener: Send + Sync {
    /// Hears it.
    fn on_event(&self, event: CallEvent<'_>);
}

/// Those who listen. Every call holds them, so a clone is a count and no list.
#[derive(Clone, Default)]
pub(crate) struct CallListeners(Arc<[Arc<dyn CallListener>]>);

impl CallListeners {
    pub(crate) fn add(&mut self, listener: Arc<dyn CallListener>) {
        self.0 = self.0.iter().cloned().chain([listener]).collect();
    }

    pub(crate) fn emit(&self, event: CallEvent<'_>) {
        for listener in self.0.iter() {
            listener.on_event(event);
        }
    }
}

//! What happens at the gate, told to whoever listens: metrics, subscriptions, progress pages.

use std::{sync::Arc, time::Duration};

use deliberate_core::Spent;

use crate::{Principal, Progress, Touched};

/// Something that happened.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A call was let in.
    Began(&'a Running<'a>),
    /// It came further.
    Progressed(&'a Running<'a>, &'a Progress),
    /// A model was asked, and answered or not.
    Asked {
        /// Who was asked, such as `openai`.
        provider: &'a str,
        /// How long it took, retries and all.
        took: Duration,
        /// The stable code of what went wrong.
        error: Option<&'a str>,
        /// What it cost.
        spent: &'a Spent,
    },
    /// It is over, and what it changed is kept.
    Ended {
        /// The call.
        call: &'a Running<'a>,
        /// How long it took.
        took: Duration,
        /// The stable code of what went wrong.
        error: Option<&'a str>,
        /// What asking models cost.
        spent: &'a Spent,
    },
    /// A call changed what stands at these addresses.
    Touched(&'a [Touched]),
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
pub struct Running<'a> {
    /// Names this call among those of this process.
    pub id: u64,
    /// The tool.
    pub tool: &'static str,
    /// Whose call it is.
    pub principal: &'a Principal,
}

/// Hears what happens. Called in the midst of calls, so it must neither block nor fail.
pub trait Listener: Send + Sync {
    /// Hears it.
    fn hear(&self, event: Event<'_>);
}

/// Those who listen. Every call holds them, so a clone is a count and no list.
#[derive(Clone, Default)]
pub(crate) struct Listeners(Arc<[Arc<dyn Listener>]>);

impl Listeners {
    pub(crate) fn add(&mut self, listener: Arc<dyn Listener>) {
        self.0 = self.0.iter().cloned().chain([listener]).collect();
    }

    pub(crate) fn tell(&self, event: Event<'_>) {
        for listener in self.0.iter() {
            listener.hear(event);
        }
    }
}

//! Events of the dispatcher, for metrics, subscriptions and progress pages.

use std::{sync::Arc, time::Duration};

use deliberate_core::ModelUsage;

use crate::{CallProgress, ExternalCallEnd, Principal, ResourceChange};

/// An event of the dispatcher.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum CallEvent<'a> {
    /// A call was authorized and started.
    Started(&'a CallInfo<'a>),
    /// A call reported progress.
    Progress(&'a CallInfo<'a>, &'a CallProgress),
    /// A model request ended, with an answer or an error.
    ModelRequested {
        /// The provider, such as `openai`.
        provider: &'a str,
        /// The duration with all retries.
        elapsed: Duration,
        /// The error code, if the request failed.
        error: Option<&'a str>,
        /// The cost of the request.
        usage: &'a ModelUsage,
    },
    /// A call ended, and its changes are committed.
    Ended {
        /// The call that ended.
        call: &'a CallInfo<'a>,
        /// The duration of the call.
        elapsed: Duration,
        /// The error code, if the call failed.
        error: Option<&'a str>,
        /// The cost of its model requests.
        usage: &'a ModelUsage,
    },
    /// A call changed these resources.
    ResourcesChanged(&'a [ResourceChange]),
    /// A call of an upstream server's tool ended.
    ExternalCallEnded(&'a ExternalCallEnd<'a>),
    /// A call named a tool that does not exist.
    UnknownTool,
    /// A tool panicked; its caller got an error.
    Panicked {
        /// The tool's name.
        tool: &'static str,
    },
}

/// A call, as listeners see it.
#[derive(Debug, Clone, Copy)]
pub struct CallInfo<'a> {
    /// The call's number, unique in this process.
    pub id: u64,
    /// The tool's name.
    pub tool: &'static str,
    /// The principal that calls.
    pub principal: &'a Principal,
}

/// Receives events. It runs inside calls, so it must neither block nor panic.
pub trait CallListener: Send + Sync {
    /// Handles an event.
    fn on_event(&self, event: CallEvent<'_>);
}

/// The listeners. Every call holds them, so a clone copies a reference and not the list.
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

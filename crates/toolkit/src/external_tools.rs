//! Tools of other servers beside ours.
//!
//! A guest is seen under a name of its own, and calling it is a call of one of our own tools: that
//! one is checked, limited and recorded, and its name is what records and metrics hold. Who may call
//! is asked of the guest's name. Knows nothing of the servers that the guests are from.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::{
    Principal, Registry, ToolError, matches_pattern,
    registry::{RegisteredTool, ToolAction, ToolTable},
};

/// The field of an answer that holds the result of another server, to be handed on as it is: with
/// all its fields, in their order.
pub const RAW_RESULT: &str = "handed_on";

/// Tools of other servers that clients see beside ours. Calling one is a call of one of our own
/// tools, with arguments that say which.
pub trait ExternalTools: Send + Sync {
    /// In the order in which they are listed. Cheap: a snapshot.
    fn list(&self) -> Vec<ExternalTool>;

    /// The call that a name stands for, if it is a guest's or if `again` belongs to them.
    ///
    /// Whether the arguments fit is not judged here: it is also asked with none, to learn whether
    /// the name is a guest's. That `again` was given for this name, to this call, must be.
    fn resolve(
        &self,
        name: &str,
        arguments: &Value,
        again: Option<&InputReply>,
    ) -> Option<AliasTarget>;

    /// Those of these names that can be called, listed or not; a `*` at the end of a pattern stands
    /// for any ending. May have to ask their servers.
    fn find<'a>(&'a self, pattern: &'a str) -> BoxFuture<'a, Vec<ExternalTool>> {
        let mut found = self.list();
        found.retain(|guest| matches_pattern(pattern, &guest.name));
        Box::pin(async move { found })
    }

    /// The guest's name for a call of one of our tools, if it is a call of a guest: who may call
    /// the guest alone may pick up what they left.
    fn alias_of(&self, _tool: &str, _arguments: &Value) -> Option<Arc<str>> {
        None
    }
}

/// A tool of another server.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalTool {
    /// Its name here.
    pub name: Arc<str>,
    /// How it describes itself: the whole definition, its name replaced by the one here.
    pub definition: Arc<Value>,
}

/// A call that is sent again, with what its answer asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct InputReply {
    /// What the answer gave to be sent back.
    pub state: String,
    /// What was asked for, by the names of the requests.
    pub responses: Value,
}

/// The call of our own that a call of a guest is.
#[derive(Debug, Clone, PartialEq)]
pub struct AliasTarget {
    /// Our tool.
    pub tool: &'static str,
    /// What it is called with.
    pub arguments: Value,
}

/// What is called: one of our tools, by its own name or a guest's.
pub(crate) struct ResolvedCall<'a> {
    pub(crate) entry: &'a RegisteredTool,
    pub(crate) arguments: Value,
    /// The guest's name.
    external_tool: Option<Arc<str>>,
}

impl ResolvedCall<'_> {
    /// Resuming is for everyone: whose call it is, and whether they may make it, is looked at then.
    /// A front by itself, which tells what is behind it, is for everyone who may call some of that.
    pub(crate) fn check_allowed(&self, principal: &Principal) -> Result<(), ToolError> {
        let name = self
            .external_tool
            .as_deref()
            .unwrap_or(self.entry.meta.name);
        if matches!(self.entry.action, ToolAction::Resume)
            || principal.scope.allows(name)
            || (self.external_tool.is_none() && self.entry.is_alias_for(principal))
        {
            return Ok(());
        }
        Err(ToolError::Forbidden {
            what: name.to_owned(),
        })
    }
}

impl ToolTable {
    /// What is called by that name.
    pub(crate) fn resolve(
        &self,
        name: &str,
        arguments: Value,
        again: Option<&InputReply>,
    ) -> Result<ResolvedCall<'_>, ToolError> {
        // A name of ours is ours, unless the guests gave what is sent again.
        let guests = match (self.get(name), again) {
            (Some(_), None) => None,
            _ => self.external.as_ref(),
        };
        if let Some(call) = guests.and_then(|it| it.resolve(name, &arguments, again)) {
            return Ok(ResolvedCall {
                entry: self.find(call.tool)?,
                arguments: call.arguments,
                external_tool: Some(name.into()),
            });
        }
        let entry = self.find(name)?;
        // A front stands for one of ours, and never for another front.
        let (entry, arguments) = match entry.resolve_alias(&arguments) {
            Some((name, arguments)) => (self.find(&name)?, arguments),
            None => (entry, arguments),
        };
        Ok(ResolvedCall {
            entry,
            arguments,
            external_tool: None,
        })
    }

    /// Whether they may make such a call, by the name of the tool or of a guest.
    pub(crate) fn allows(&self, principal: &Principal, tool: &str, arguments: &Value) -> bool {
        let guest = || self.external.as_ref()?.alias_of(tool, arguments);
        principal.scope.allows(tool) || guest().is_some_and(|name| principal.scope.allows(&name))
    }
}

impl Registry {
    /// The registry with tools of other servers beside its own.
    pub fn with_external_tools(mut self, guests: Arc<dyn ExternalTools>) -> Self {
        Arc::make_mut(&mut self.tools).external = Some(guests);
        self
    }

    /// The tools of other servers, if there may be any.
    pub fn external_tools(&self) -> Option<&Arc<dyn ExternalTools>> {
        self.tools.external.as_ref()
    }
}

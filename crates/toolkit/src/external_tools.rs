//! External tools: tools of upstream servers beside our own.
//!
//! An external tool is listed under its own name, but calling it is a call of one of our tools:
//! that one is validated and limited. The invocation log and traces have the external name. The
//! principal's scope must include the external name, its server, or our tool. The module does not know
//! the upstream servers.

use std::{sync::Arc, time::Duration};

use deliberate_core::{SuspendedCall, truncate_chars};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::{
    CallEvent, ErrorCode, Principal, Registry, ToolContext, ToolError, matches_pattern,
    registry::{RegisteredTool, ToolAction, ToolTable},
};

/// The field of an answer that holds the result of an upstream server, which is passed on
/// unchanged: with all its fields, in their order.
pub const RAW_RESULT: &str = "handed_on";

/// The field of a stored call that holds the digits of its large integers.
const LARGE_INTEGERS: &str = "large_integers";

/// The log target of the audit log: one line per call of an external tool, also if it is refused.
pub const AUDIT_TARGET: &str = "audit";

/// The longest external name in logs and spans. Qualified names are shorter.
const MAX_LOGGED_NAME: usize = 128;

/// The tools of upstream servers that clients see beside our own. A call of one is a call of one of
/// our tools, whose arguments name it.
pub trait ExternalTools: Send + Sync {
    /// Returns a snapshot of the listed tools in their order. It must be cheap.
    fn list(&self) -> Vec<ExternalTool>;

    /// Waits, for a short time, until the list is complete after a start. Most clients list once.
    fn wait_ready(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Resolves a name to a call, if it is an external tool's or if `again` is a reply to one.
    ///
    /// The arguments are not validated here: the function is also called without any, to find out
    /// whether the name is external. It must check that `again` belongs to this name and call.
    fn resolve(
        &self,
        name: &str,
        arguments: &Value,
        again: Option<&InputReply>,
    ) -> Option<AliasTarget>;

    /// Returns the callable tools that match the pattern, listed or not; a `*` at its end matches
    /// any ending. It may ask the upstream servers.
    fn find<'a>(&'a self, pattern: &'a str) -> BoxFuture<'a, Vec<ExternalTool>> {
        let mut found = self.list();
        found.retain(|external_tool| matches_pattern(pattern, &external_tool.name));
        Box::pin(async move { found })
    }

    /// Returns the external name for a call of one of our tools, if it stands for an external tool.
    /// A principal that may call only the external tool may then resume such a call.
    fn external_name(&self, _tool: &str, _arguments: &Value) -> Option<Arc<str>> {
        None
    }

    /// Returns the scopes of which each allows a call of one of our tools that stands for an external
    /// tool, beside our tool's name: the external name, and `tool/server`.
    fn call_scopes(&self, _tool: &str, _arguments: &Value) -> Vec<String> {
        Vec::new()
    }

    /// Returns the upstream server and tool that a call of one of our tools names, whether or not they
    /// exist.
    fn call_target(&self, _tool: &str, _arguments: &Value) -> Option<ExternalTarget> {
        None
    }

    /// Replaces the marks of large integers in a value by texts of their digits. Within a call a mark
    /// may stand for an integer that JSON values can't hold; it means nothing in the log or to another
    /// tool.
    fn stringify_large_integers(&self, _value: &mut Value) {}

    /// Replaces the marks in a value by rounded numbers and returns the digits, if there are any. A
    /// mark means nothing to another process, so the store holds the digits beside the value.
    fn take_large_integers(&self, _value: &mut Value) -> Option<Value> {
        None
    }

    /// Puts marks in place of the numbers whose digits were taken.
    fn restore_large_integers(&self, _value: &mut Value, _digits: &Value) {}
}

/// The upstream server and tool that a call names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalTarget {
    /// The server; absent if there is none of that name.
    pub server: Option<String>,
    /// The tool at the server or, without a server, the whole name.
    pub tool: String,
}

/// A tool of an upstream server.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalTool {
    /// The name of the tool in this server.
    pub name: Arc<str>,
    /// The whole definition, with the name replaced by the one in this server.
    pub definition: Arc<Value>,
}

/// The input that the answer of an earlier call asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct InputReply {
    /// The opaque state from that answer.
    pub state: String,
    /// The responses, by the names of the requests.
    pub responses: Value,
}

/// The call of our own tool that a call of an external tool stands for.
#[derive(Debug, Clone, PartialEq)]
pub struct AliasTarget {
    /// The name of our tool.
    pub tool: &'static str,
    /// The arguments of the call.
    pub arguments: Value,
}

/// The end of a call of an upstream server's tool. It has no arguments and no result.
#[derive(Debug, Clone, Copy)]
pub struct ExternalCallEnd<'a> {
    /// The principal that called.
    pub principal: &'a Principal,
    /// The configured name of the server.
    pub server: &'a str,
    /// The tool's name at the server; absent if the server has no such tool or could not be asked.
    pub tool: Option<&'a str>,
    /// The duration of the call.
    pub elapsed: Duration,
    /// The error code, if the call failed or the tool reported a failure.
    pub error: Option<&'a str>,
}

impl ToolContext {
    /// Reports the end of a call of an upstream server's tool to the audit log and, if the server
    /// exists, to the listeners. The tool that makes such calls does this, so that nested calls are
    /// reported too.
    pub fn report_external_call(
        &self,
        server: Option<&str>,
        tool: Option<&str>,
        elapsed: Duration,
        error: Option<&str>,
    ) {
        let env = &self.shared.env;
        let principal = &env.caller.principal;
        let line = AuditLine {
            principal,
            server,
            tool,
            through: env.tool,
            elapsed,
            error,
        };
        line.write();
        let Some(server) = server else { return };
        env.listeners
            .emit(CallEvent::ExternalCallEnded(&ExternalCallEnd {
                principal,
                server,
                tool,
                elapsed,
                error,
            }));
    }
}

/// A line of the audit log. It has no arguments and no result.
struct AuditLine<'a> {
    principal: &'a Principal,
    server: Option<&'a str>,
    tool: Option<&'a str>,
    /// The tool of ours through which the call was made.
    through: &'a str,
    elapsed: Duration,
    error: Option<&'a str>,
}

impl AuditLine<'_> {
    fn write(&self) {
        tracing::info!(
            target: AUDIT_TARGET,
            principal = self.principal.name.as_deref().unwrap_or("operator"),
            server = self.server,
            tool = self.tool,
            through = self.through,
            outcome = self.error.unwrap_or("ok"),
            took_ms = u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX),
            "external call"
        );
    }
}

impl ExternalTarget {
    /// Adds a call to the audit log that was refused before the tool that makes such calls was run,
    /// which reports all others.
    pub(crate) fn audit_refusal(
        &self,
        principal: &Principal,
        through: &str,
        elapsed: Duration,
        error: &ToolError,
    ) {
        let line = AuditLine {
            principal,
            server: self.server.as_deref(),
            tool: Some(&self.tool),
            through,
            elapsed,
            error: Some(error.code()),
        };
        line.write();
    }
}

/// Returns the error code of an answer in which an upstream server's tool reports that it failed.
pub fn upstream_failure(output: &Value) -> Option<ErrorCode> {
    let result = output.get(RAW_RESULT)?;
    (result.get("isError") == Some(&Value::Bool(true))).then_some(ErrorCode::ToolFailed)
}

/// A call resolved to one of our tools, by its own name or an external one.
pub(crate) struct ResolvedCall<'a> {
    pub(crate) entry: &'a RegisteredTool,
    pub(crate) arguments: Value,
    /// The external name, if the call used one.
    external_tool: Option<Arc<str>>,
    /// The scopes of which each allows the call, too.
    scopes: Vec<String>,
}

impl ResolvedCall<'_> {
    /// Checks the principal's scope. Everyone may resume: the owner and scope are checked when the
    /// stored call is found. A front without a target is allowed for everyone who may call a
    /// target.
    pub(crate) fn check_allowed(&self, principal: &Principal) -> Result<(), ToolError> {
        let name = self
            .external_tool
            .as_deref()
            .unwrap_or(self.entry.meta.name);
        if matches!(self.entry.action, ToolAction::Resume)
            || principal.scope.allows(name)
            || principal.scope.allows(self.entry.meta.name)
            || (self.external_tool.is_none() && self.entry.is_alias_for(principal))
            || self
                .scopes
                .iter()
                .any(|scope| principal.scope.allows(scope))
        {
            return Ok(());
        }
        Err(ToolError::Forbidden {
            what: name.to_owned(),
        })
    }
}

impl ToolTable {
    /// Resolves a name to one of our tools.
    pub(crate) fn resolve(
        &self,
        name: &str,
        arguments: Value,
        again: Option<&InputReply>,
    ) -> Result<ResolvedCall<'_>, ToolError> {
        // Our own names take precedence, unless the reply belongs to an external tool.
        let external = match (self.get(name), again) {
            (Some(_), None) => None,
            _ => self.external.as_ref(),
        };
        if let Some(call) = external.and_then(|it| it.resolve(name, &arguments, again)) {
            return Ok(ResolvedCall {
                entry: self.find(call.tool)?,
                scopes: self.call_scopes(call.tool, &call.arguments),
                arguments: call.arguments,
                external_tool: Some(name.into()),
            });
        }
        let entry = self.find(name)?;
        // A front stands for one of our tools, never for another front.
        let (entry, arguments) = match entry.resolve_alias(&arguments) {
            Some((name, arguments)) => (self.find(&name)?, arguments),
            None => (entry, arguments),
        };
        Ok(ResolvedCall {
            entry,
            scopes: self.call_scopes(entry.meta.name, &arguments),
            arguments,
            external_tool: None,
        })
    }

    fn call_scopes(&self, tool: &str, arguments: &Value) -> Vec<String> {
        let external = self.external.as_ref();
        external.map_or_else(Vec::new, |it| it.call_scopes(tool, arguments))
    }

    /// Returns the external name for a call of one of our tools, for logs and traces.
    pub(crate) fn logged_external_name(&self, tool: &str, arguments: &Value) -> Option<Arc<str>> {
        let name = self.external.as_ref()?.external_name(tool, arguments)?;
        Some(truncate_chars(&name, MAX_LOGGED_NAME).into())
    }

    /// Returns the upstream server and tool that a call of one of our tools names, for the audit log.
    pub(crate) fn call_target(&self, tool: &str, arguments: &Value) -> Option<ExternalTarget> {
        let target = self.external.as_ref()?.call_target(tool, arguments)?;
        Some(ExternalTarget {
            tool: truncate_chars(&target.tool, MAX_LOGGED_NAME),
            ..target
        })
    }

    /// Returns the value with texts of digits in place of the marks of large integers.
    pub(crate) fn with_digits(&self, mut value: Value) -> Value {
        if let Some(external) = &self.external {
            external.stringify_large_integers(&mut value);
        }
        value
    }

    /// Returns a call as the store holds it: with the digits of large integers beside its arguments.
    pub(crate) fn to_stored_call(&self, mut call: SuspendedCall) -> SuspendedCall {
        let external = self.external.as_ref();
        let digits = external.and_then(|it| it.take_large_integers(&mut call.arguments));
        if let (Some(digits), Some(journal)) = (digits, call.journal.as_object_mut()) {
            journal.insert(LARGE_INTEGERS.to_owned(), digits);
        }
        call
    }

    /// Returns an outcome as the store holds it: with the digits of large integers beside the result
    /// of the upstream server.
    pub(crate) fn to_stored_outcome(&self, mut outcome: Value) -> Value {
        let external = self.external.as_ref();
        let digits = external.and_then(|it| it.take_large_integers(outcome.get_mut(RAW_RESULT)?));
        if let (Some(digits), Some(fields)) = (digits, outcome.as_object_mut()) {
            fields.insert(LARGE_INTEGERS.to_owned(), digits);
        }
        outcome
    }

    /// Returns a stored call with marks of large integers.
    pub(crate) fn restore_stored_call(&self, mut call: SuspendedCall) -> SuspendedCall {
        let Some(external) = &self.external else {
            return call;
        };
        let journal = call.journal.as_object_mut();
        if let Some(digits) = journal.and_then(|journal| journal.remove(LARGE_INTEGERS)) {
            external.restore_large_integers(&mut call.arguments, &digits);
        }
        let outcome = call.outcome.as_mut().filter(|_| !call.failed);
        if let Some(fields) = outcome.and_then(Value::as_object_mut)
            && fields.contains_key(RAW_RESULT)
            && let Some(digits) = fields.remove(LARGE_INTEGERS)
            && let Some(result) = fields.get_mut(RAW_RESULT)
        {
            external.restore_large_integers(result, &digits);
        }
        call
    }

    /// Tells whether a name is that of an external tool that the principal may call.
    pub(crate) fn allows_external(&self, principal: &Principal, name: &str) -> bool {
        let called = self.resolve(name, json!({}), None).ok();
        let called = called.filter(|called| called.external_tool.is_some());
        called.is_some_and(|called| called.check_allowed(principal).is_ok())
    }

    /// Tells whether the principal may make the call, by the tool's own name or an external one.
    pub(crate) fn allows(&self, principal: &Principal, tool: &str, arguments: &Value) -> bool {
        let external_tool = || self.external.as_ref()?.external_name(tool, arguments);
        let mut scopes = self.call_scopes(tool, arguments).into_iter();
        principal.scope.allows(tool)
            || external_tool().is_some_and(|name| principal.scope.allows(&name))
            || scopes.any(|scope| principal.scope.allows(&scope))
    }
}

impl Registry {
    /// Adds tools of upstream servers.
    pub fn with_external_tools(mut self, external: Arc<dyn ExternalTools>) -> Self {
        Arc::make_mut(&mut self.tools).external = Some(external);
        self
    }

    /// Returns the tools of upstream servers, if any were added.
    pub fn external_tools(&self) -> Option<&Arc<dyn ExternalTools>> {
        self.tools.external.as_ref()
    }
}

//! Running one tool: its arguments are checked, its server is called, and if that fails in a way
//! that may pass, and nothing can happen twice by it, another server is.

use std::sync::{Arc, Mutex, PoisonError};

use deliberate_core::nearest;
use serde_json::Value;

use super::{Adapter, Invocation, Next};
use crate::{
    CallOptions, Client, Error, ErrorKind,
    client::{Fresh, InputMode, ToolDef},
    transport::Sent,
};

/// What came of running a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Executed {
    /// The result as the server wrote it; one that says `isError` is a result.
    pub result: Value,
    /// The server that gave it.
    pub by: String,
}

impl Adapter {
    /// Runs a tool of a server: check → call → on a failure that may pass, the fallback.
    pub async fn execute(
        &self,
        server: &str,
        tool: &str,
        arguments: Value,
        options: CallOptions,
    ) -> Result<Executed, Error> {
        let by = Arc::new(Mutex::new(server.to_owned()));
        let invocation = Invocation {
            server: server.to_owned(),
            tool: tool.to_owned(),
            arguments,
            meta: options.meta.clone(),
        };
        let end = |invocation: Invocation| -> futures::future::BoxFuture<'_, Result<Value, Error>> {
            let (options, by) = (&options, by.clone());
            Box::pin(async move {
                let executed = self.with_fallback(invocation, options).await?;
                *by.lock().unwrap_or_else(PoisonError::into_inner) = executed.by;
                Ok(executed.result)
            })
        };
        let next = Next {
            rest: &self.0.config.interceptors,
            end: &end,
        };
        let result = next.run(invocation).await?;
        let by = by.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Executed { result, by })
    }

    async fn with_fallback(
        &self,
        invocation: Invocation,
        options: &CallOptions,
    ) -> Result<Executed, Error> {
        let Some(primary) = self.client(&invocation.server) else {
            let names = self.0.clients.keys().map(String::as_str);
            let nearest = nearest(&invocation.server, names);
            let kind = ErrorKind::UnknownTool { nearest };
            return Err(Error::new(invocation.server.as_str(), kind));
        };
        let (failed, tool) = match self.once(primary, &invocation, options).await {
            Ok(executed) => return Ok(executed),
            Err(failed) => failed,
        };
        let Some(other) = self.fallback_for(&failed, tool.as_deref(), &invocation) else {
            return Err(failed);
        };
        tracing::debug!(
            server = primary.name(),
            other = other.name(),
            code = failed.code(),
            "another server is called"
        );
        self.once(other, &invocation, options)
            .await
            .map_err(|(mut error, _)| {
                error.earlier = Some(Box::new(failed));
                error
            })
    }

    /// The server to call after this failure, if any.
    fn fallback_for(
        &self,
        failed: &Error,
        tool: Option<&ToolDef>,
        invocation: &Invocation,
    ) -> Option<&Client> {
        let config = &self.0.config;
        let other = self.client(config.fallbacks.get(&invocation.server)?)?;
        let when = config.when_failing;
        let idempotent = tool.is_some_and(ToolDef::idempotent) || when.may_repeat;
        // A server may have begun and then wanted something that we do not know.
        let harmless = idempotent || failed.sent == Sent::No;
        let helps = failed.may_be_repeated(idempotent)
            || (when.unknown && failed.may_differ_elsewhere() && harmless);
        let allowed = || {
            let before = config.before_fallback.as_ref();
            before.is_none_or(|before| before(failed, invocation))
        };
        (helps && allowed()).then_some(other)
    }

    /// Calls the tool at one server. The error comes with the tool, if that is known.
    async fn once(
        &self,
        client: &Client,
        invocation: &Invocation,
        options: &CallOptions,
    ) -> Result<Executed, (Error, Option<Arc<ToolDef>>)> {
        let name = invocation.tool.as_str();
        let checked = tokio::select! {
            biased;
            () = options.cancelled.cancelled() => {
                let mut error = Error::new(client.name(), ErrorKind::Cancelled);
                error.sent = Sent::No;
                Err((error, None))
            }
            checked = self.checked(client, invocation) => checked,
        };
        let tool = checked.map_err(|(error, tool)| (error.about(name), tool))?;
        let options = CallOptions {
            meta: invocation.meta.clone(),
            ..options.clone()
        };
        let hands_over = options.input == InputMode::HandOver;
        let result = client
            .call(name, invocation.arguments.clone(), options)
            .await
            .map_err(|error| (error, tool.clone()))?;
        let waits = hands_over
            && result
                .get("resultType")
                .is_some_and(|kind| kind == "input_required");
        if let (Some(tool), false, true) = (&tool, waits, self.0.config.validate) {
            check_answer(client, tool, &result)
                .map_err(|error| (error.about(name), Some(tool.clone())))?;
        }
        Ok(Executed {
            result,
            by: client.name().to_owned(),
        })
    }

    /// The tool, if the arguments fit it.
    async fn checked(
        &self,
        client: &Client,
        invocation: &Invocation,
    ) -> Result<Option<Arc<ToolDef>>, (Error, Option<Arc<ToolDef>>)> {
        if !self.0.config.validate {
            let known = client.known_tools();
            return Ok(known.and_then(|list| list.get(&invocation.tool).cloned()));
        }
        let list = client.tools(Fresh::Cached).await.map_err(|mut error| {
            // Whatever became of the listing, the call was not sent.
            error.sent = Sent::No;
            (error, None)
        })?;
        let Some(tool) = list.get(&invocation.tool) else {
            let names = list.tools.iter().map(|tool| tool.name.as_str());
            let nearest = nearest(&invocation.tool, names);
            let kind = ErrorKind::UnknownTool { nearest };
            return Err((Error::new(client.name(), kind), None));
        };
        let faults = tool.check(&invocation.arguments);
        if faults.is_empty() {
            return Ok(Some(tool.clone()));
        }
        let error = Error::new(client.name(), ErrorKind::Invalid(faults));
        Err((error, Some(tool.clone())))
    }
}

/// What a tool answers as structure must be what it promised.
fn check_answer(client: &Client, tool: &ToolDef, result: &Value) -> Result<(), Error> {
    let failed = result.get("isError").is_some_and(|failed| failed == true);
    let (Some(structure), false) = (result.get("structuredContent"), failed) else {
        return Ok(());
    };
    let faults = tool.check_answer(structure);
    let Some(first) = faults.first() else {
        return Ok(());
    };
    let reason = format!("its structured answer breaks its own schema: {first}");
    Err(Error::new(client.name(), ErrorKind::Malformed { reason }))
}

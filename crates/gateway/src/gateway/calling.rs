//! Calling a tool at its server, or at the one that stands in for it.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use deliberate_adapter::{
    ErrorKind,
    adapter::{Adapter, Executed},
    client::{CallOptions, Progress, ToolDef},
};
use futures::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::{Gateway, KnownTool, Served};
use crate::Error;

/// Progress that waits to be told; more than this is dropped, since the newest says it all.
const PROGRESS_QUEUE: usize = 16;
/// What a server says of itself in every result; ours is said instead.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// What a call takes beside its server: finding the tool, waiting for a place.
const BESIDE: Duration = Duration::from_secs(30);

/// A call that was begun. Dropping it takes it back.
pub(crate) struct Underway {
    pub(crate) outcome: BoxFuture<'static, Result<Executed, Error>>,
    pub(crate) progress: mpsc::Receiver<Progress>,
}

impl Gateway {
    /// Calls a tool by its name (`server__tool`). The result is as the server wrote it; one that
    /// says `isError` is a result.
    pub async fn call(
        self: &Arc<Self>,
        tool: &str,
        arguments: Value,
        options: CallOptions,
    ) -> Result<Value, Error> {
        let (served, tool) = self.find(tool).await?;
        let caller = self.caller();
        let executed = caller.called(&served, &tool, arguments, options).await?;
        Ok(without_server_info(executed.result))
    }

    /// Begins a call.
    pub(crate) fn begin(
        self: &Arc<Self>,
        served: &Arc<Served>,
        tool: &Arc<KnownTool>,
        arguments: Value,
        mut options: CallOptions,
    ) -> Underway {
        let (sender, progress) = mpsc::channel(PROGRESS_QUEUE);
        options.progress = Some(Arc::new(move |update| {
            // Full means that newer news is on its way; closed, that nobody listens.
            drop(sender.try_send(update));
        }));
        let caller = self.caller();
        let (served, tool) = (served.clone(), tool.clone());
        let outcome =
            Box::pin(async move { caller.called(&served, &tool, arguments, options).await });
        Underway { outcome, progress }
    }

    /// The longest a call of that tool may take: as long as its server may, and the one that
    /// stands in for it. Nothing, if there is no such server.
    pub(crate) fn takes_at_most(&self, full: &str) -> Option<Duration> {
        let served = self.server_of(full)?;
        let longest = |served: &Served| {
            let limits = &served.about.config.limits;
            limits.longest.saturating_add(limits.connect)
        };
        let other = served.about.fallback.as_deref();
        let other = other.and_then(|name| self.servers.get(name));
        let other = other.map_or(Duration::ZERO, |other| longest(other));
        Some(longest(served).saturating_add(other).saturating_add(BESIDE))
    }

    fn caller(self: &Arc<Self>) -> Caller {
        Caller {
            adapter: self.adapter.clone(),
            gateway: Arc::downgrade(self),
        }
    }
}

/// Makes calls. One that waits is kept by the gateway, which must not keep itself by that.
struct Caller {
    adapter: Adapter,
    gateway: Weak<Gateway>,
}

impl Caller {
    /// The server is called; on a failure that may pass, and by which nothing can happen twice,
    /// the one that stands in for it.
    async fn called(
        &self,
        served: &Served,
        tool: &KnownTool,
        arguments: Value,
        options: CallOptions,
    ) -> Result<Executed, Error> {
        let Some(other) = served.about.fallback.as_deref() else {
            let executed = self.at(served.name(), &tool.def, arguments, options);
            return Ok(executed.await?);
        };
        let first = self.at(served.name(), &tool.def, arguments.clone(), options.clone());
        let failed = match first.await {
            Ok(executed) => return Ok(executed),
            Err(failed) => failed,
        };
        let helps = failed.may_be_repeated(tool.def.idempotent()) || failed.may_differ_elsewhere();
        if !helps || options.again.is_some() {
            return Err(failed.into());
        }
        // Its definition has to be as good as that of the first.
        let Some(stand_in) = self.stand_in(other, &tool.def.name).await else {
            return Err(failed.into());
        };
        tracing::debug!(
            server = served.name(),
            other,
            code = failed.code(),
            "another server is called"
        );
        let executed = self.at(other, &stand_in.def, arguments, options).await;
        executed.map_err(|mut error| {
            error.earlier = Some(Box::new(failed));
            error.into()
        })
    }

    async fn stand_in(&self, server: &str, tool: &str) -> Option<Arc<KnownTool>> {
        let gateway = self.gateway.upgrade()?;
        gateway.find_of(server, tool).await.ok()
    }

    /// Calls a tool as it was judged: what its server says of it meanwhile does not count.
    async fn at(
        &self,
        server: &str,
        tool: &ToolDef,
        arguments: Value,
        options: CallOptions,
    ) -> Result<Executed, deliberate_adapter::Error> {
        let wrong = |kind| deliberate_adapter::Error::new(server, kind).about(tool.name.as_str());
        let faults = tool.check(&arguments);
        if !faults.is_empty() {
            return Err(wrong(ErrorKind::Invalid(faults)));
        }
        let executed = self
            .adapter
            .execute(server, &tool.name, arguments, options)
            .await?;
        match broken_promise(tool, &executed.result) {
            Some(reason) => Err(wrong(ErrorKind::Malformed { reason })),
            None => Ok(executed),
        }
    }
}

/// What a tool answers as structure must be what it promised.
fn broken_promise(tool: &ToolDef, result: &Value) -> Option<String> {
    let failed = result.get("isError").is_some_and(|failed| failed == true);
    let structure = result.get("structuredContent").filter(|_| !failed)?;
    let faults = tool.check_answer(structure);
    let first = faults.first()?;
    Some(format!(
        "its structured answer breaks its own schema: {first}"
    ))
}

/// A result as it is handed on.
pub(crate) fn without_server_info(mut result: Value) -> Value {
    let Some(fields) = result.as_object_mut() else {
        return result;
    };
    let meta = fields.get_mut("_meta").and_then(Value::as_object_mut);
    let Some(meta) = meta else { return result };
    if meta.shift_remove(SERVER_INFO).is_some() && Map::is_empty(meta) {
        fields.shift_remove("_meta");
    }
    result
}

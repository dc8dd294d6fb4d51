//! Requests: within the limits of the server, over whatever connection there is, once more when
//! the server surely saw nothing of it.

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value, json, value::RawValue};
use tokio::{sync::SemaphorePermit, time::Instant};

use super::{
    CallOptions, Client, InputMode,
    connection::{Asking, Connection, Unanswered},
    handshake, headers,
    options::Again,
    pending::Lost,
};
use crate::{
    Error, ErrorKind,
    transport::{Era, Sent},
};

/// How often a server may want input for one request.
const MAX_ROUNDS: usize = 10;

impl Client {
    /// Calls a tool. The result is as the server wrote it; one that says `isError` is a result.
    pub async fn call(
        &self,
        tool: &str,
        arguments: Value,
        options: CallOptions,
    ) -> Result<Value, Error> {
        let about = |error: Error| error.about(tool);
        self.paced().map_err(about)?;
        let mut params = Map::with_capacity(3);
        params.insert("name".to_owned(), tool.into());
        params.insert("arguments".to_owned(), arguments);
        let begun = Instant::now();
        let outcome = self.requested("tools/call", params, &options).await;
        let outcome = outcome.and_then(|result| self.shaped(result));
        self.0
            .counts
            .called(begun.elapsed(), outcome.as_ref().err());
        outcome.map_err(about)
    }

    /// The result, if it is what the protocol calls one: clients choke on what is not.
    fn shaped(&self, result: Value) -> Result<Value, Error> {
        let is = |name: &str, fits: fn(&Value) -> bool| result.get(name).is_none_or(fits);
        let blocks = |content: &Value| {
            let blocks = content.as_array();
            blocks.is_some_and(|blocks| blocks.iter().all(Value::is_object))
        };
        let fine = result.is_object()
            && is("content", blocks)
            && is("isError", Value::is_boolean)
            && is("_meta", Value::is_object)
            && is("resultType", Value::is_string);
        if fine {
            return Ok(result);
        }
        let reason = "the result is not what the protocol calls one".to_owned();
        Err(Error::new(self.name(), ErrorKind::Malformed { reason }))
    }

    /// Makes any request.
    pub async fn request(
        &self,
        method: &str,
        params: Value,
        options: CallOptions,
    ) -> Result<Value, Error> {
        let params = match params {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        self.requested(method, params, &options).await
    }

    /// Whether the server is there, and how fast it answers.
    pub async fn ping(&self) -> Result<Duration, Error> {
        let side = self.server().await?;
        let begun = Instant::now();
        let method = match side.era {
            Era::Handshake => "ping",
            Era::Stateless => "server/discover",
        };
        let options = CallOptions {
            answer: Some(Duration::from_secs(10)),
            ..CallOptions::default()
        };
        // It takes no place: a server that is busy is there all the same.
        let asked = self.until_answered(method, Map::new(), &options);
        let answer = tokio::select! {
            biased;
            () = self.0.stopped.cancelled() => Err(self.stopped()),
            answer = asked => answer,
        };
        // A server that does not know `ping` has answered.
        match answer {
            Err(error) if !matches!(error.kind, ErrorKind::Rpc(_)) => {
                self.0.counts.failed_ping(&error);
                Err(error)
            }
            _ => {
                self.0.counts.pinged(begun.elapsed());
                Ok(begun.elapsed())
            }
        }
    }

    fn paced(&self) -> Result<(), Error> {
        use governor::clock::Clock as _;
        let Some(pace) = &self.0.pace else {
            return Ok(());
        };
        pace.check().map_err(|not_yet| {
            let wait = not_yet.wait_time_from(governor::clock::DefaultClock::default().now());
            Error::new(self.name(), ErrorKind::RateLimited { wait })
        })
    }

    async fn requested(
        &self,
        method: &str,
        params: Map<String, Value>,
        options: &CallOptions,
    ) -> Result<Value, Error> {
        let work = async {
            let _place = self.place(options).await?;
            self.until_answered(method, params, options).await
        };
        if self.0.stopped.is_cancelled() {
            return Err(self.stopped());
        }
        let stopped = self.0.stopped.cancelled();
        tokio::select! {
            biased;
            () = options.cancelled.cancelled() => {
                Err(Error::new(self.name(), ErrorKind::Cancelled))
            }
            () = stopped => {
                let mut error = self.stopped();
                // It may have been on its way.
                error.sent = Sent::Maybe;
                Err(error)
            }
            outcome = work => outcome,
        }
    }

    /// A place among the requests that may run at once; who gets none in time is told so.
    async fn place(&self, options: &CallOptions) -> Result<SemaphorePermit<'_>, Error> {
        if let Ok(place) = self.0.places.try_acquire() {
            return Ok(place);
        }
        // Who waits here holds something elsewhere: a server that hangs must not get all of it.
        let Ok(_waits) = self.0.waiting.try_acquire() else {
            let because = "too many calls wait for it".to_owned();
            let wait = Duration::from_secs(1);
            return Err(Error::new(
                self.name(),
                ErrorKind::Resting { wait, because },
            ));
        };
        let after = options.answer.unwrap_or(self.config().limits.answer);
        let Ok(place) = tokio::time::timeout(after, self.0.places.acquire()).await else {
            let mut error = Error::new(self.name(), ErrorKind::Timeout { after });
            error.sent = Sent::No;
            return Err(error);
        };
        place.map_err(|_| self.stopped())
    }

    /// Makes the request, and again with the input that the server wants before it answers.
    async fn until_answered(
        &self,
        method: &str,
        params: Map<String, Value>,
        options: &CallOptions,
    ) -> Result<Value, Error> {
        let mut again = options.again.clone();
        for _ in 0..MAX_ROUNDS {
            let mut params = params.clone();
            if let Some(again) = &again {
                put_again(again, &mut params);
            }
            let (connection, raw) = self.exchanged(method, params, options).await?;
            let result: Value = serde_json::from_str(raw.get()).map_err(|error| {
                let reason = error.to_string();
                Error::new(self.name(), ErrorKind::Malformed { reason })
            })?;
            let wants_input = connection.is_stateless()
                && result.get("resultType").and_then(Value::as_str) == Some("input_required");
            if !wants_input || options.input == InputMode::HandOver {
                return Ok(result);
            }
            again = Some(self.input(&connection, &result, options).await?);
        }
        let reason = format!("it wanted input {MAX_ROUNDS} times for one request");
        Err(Error::new(self.name(), ErrorKind::Malformed { reason }))
    }

    /// Asks the handler for what the server wants.
    async fn input(
        &self,
        connection: &Connection,
        result: &Value,
        options: &CallOptions,
    ) -> Result<Again, Error> {
        let handler = options.handler.as_ref().unwrap_or(&self.0.handler);
        let mut responses = Map::new();
        let wanted = result.get("inputRequests").and_then(Value::as_object);
        for (key, request) in wanted.into_iter().flatten() {
            let method = request
                .get("method")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let params = request.get("params").cloned().unwrap_or_default();
            let shared = &connection.shared;
            let answer = shared.ask_handler(handler.as_ref(), method, params).await;
            let answer = answer.map_err(|error| {
                let mut error = Error::new(self.name(), ErrorKind::Rpc(error.into()));
                // The refusal is ours. The server has begun, whatever the code says.
                error.sent = Sent::Yes;
                error
            })?;
            responses.insert(key.clone(), answer);
        }
        let state = result.get("requestState").and_then(Value::as_str);
        Ok(Again {
            state: state.map(str::to_owned),
            responses: Value::Object(responses),
        })
    }

    /// One exchange; once more on a new connection if the server surely saw nothing of the first.
    async fn exchanged(
        &self,
        method: &str,
        params: Map<String, Value>,
        options: &CallOptions,
    ) -> Result<(Arc<Connection>, Box<RawValue>), Error> {
        let connection = self.connection().await?;
        let first = self
            .exchange(&connection, method, params.clone(), options)
            .await;
        match first {
            Ok(raw) => Ok((connection, raw)),
            Err(error) if error.sent == Sent::No && !connection.is_live() => {
                let connection = self.connection().await?;
                let raw = self.exchange(&connection, method, params, options).await?;
                Ok((connection, raw))
            }
            Err(error) => Err(error),
        }
    }

    async fn exchange(
        &self,
        connection: &Connection,
        method: &str,
        mut params: Map<String, Value>,
        options: &CallOptions,
    ) -> Result<Box<RawValue>, Error> {
        let limits = &self.config().limits;
        let is_call = method == "tools/call";
        let mut param_headers = Vec::new();
        if let Some(side) = connection.side().filter(|side| side.era == Era::Stateless) {
            if is_call {
                param_headers = self.param_headers(&params);
            }
            handshake::put_meta(&self.0, side, &mut params);
        }
        if !options.meta.is_empty() {
            let meta = params.entry("_meta").or_insert_with(|| json!({}));
            if let Some(meta) = meta.as_object_mut() {
                for (name, value) in &options.meta {
                    meta.entry(name.clone()).or_insert_with(|| value.clone());
                }
            }
        }
        let asking = Asking {
            name: about(method, &params),
            method: method.to_owned(),
            params,
            headers: param_headers,
            answer: Some(options.answer.unwrap_or(limits.answer)),
            longest: Some(options.longest.unwrap_or(limits.longest)),
            progress: options.progress.clone(),
            wants_progress: is_call || options.progress.is_some(),
            handler: options.handler.clone(),
            cancellable: true,
        };
        connection.request(asking).await.map_err(|unanswered| {
            let sent = match &unanswered {
                Unanswered::Timeout { sent, .. } => Some(*sent),
                Unanswered::Lost(_) => None,
            };
            let mut error = Error::new(self.name(), unanswered.into_kind());
            error.sent = sent.unwrap_or(error.sent);
            if matches!(
                error.kind,
                ErrorKind::Transport(_) | ErrorKind::Timeout { .. }
            ) {
                error.diagnosis = connection.link.diagnosis().map(Into::into);
            }
            error
        })
    }

    fn param_headers(&self, params: &Map<String, Value>) -> Vec<(String, String)> {
        let name = params.get("name").and_then(Value::as_str);
        let (Some(name), Some(tools)) = (name, self.0.lists.last_seen()) else {
            return Vec::new();
        };
        match (tools.get(name), params.get("arguments")) {
            (Some(tool), Some(arguments)) => headers::of(tool.input_schema(), arguments),
            _ => Vec::new(),
        }
    }
}

/// What a request is about, for `Mcp-Name`.
fn about(method: &str, params: &Map<String, Value>) -> Option<String> {
    let field = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => "uri",
        _ => return None,
    };
    params.get(field)?.as_str().map(str::to_owned)
}

fn put_again(again: &Again, params: &mut Map<String, Value>) {
    if let Some(state) = &again.state {
        params.insert("requestState".to_owned(), state.clone().into());
    }
    params.insert("inputResponses".to_owned(), again.responses.clone());
}

impl Unanswered {
    pub(super) fn into_kind(self) -> ErrorKind {
        match self {
            Self::Lost(Lost::Rpc(error)) => ErrorKind::Rpc(error.into()),
            Self::Lost(Lost::Transport(error)) => ErrorKind::Transport(error),
            Self::Lost(Lost::TakenBack) => ErrorKind::Cancelled,
            Self::Timeout { after, .. } => ErrorKind::Timeout { after },
        }
    }
}

//! One call of a tool with what its server asks meanwhile: who can be asked during the call is;
//! who can't gets the question as an answer, and the call waits until it is sent again.

use std::sync::Arc;

use deliberate_adapter::{
    ErrorKind,
    adapter::Executed,
    client::{Again, CallOptions, InputMode, Progress},
};
use deliberate_toolkit::{ClientSide, TraceContext, Waits};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::{Gateway, KnownTool, Served, Underway, calling::without_server_info};
use crate::{
    Error,
    asked::{Bound, ELICIT, May, Paused, Question, Relay, declined, say_who_asks},
    pins::canonical,
};

/// How often a server may want input that nobody can give.
const MAX_ROUNDS: usize = 10;

/// A call of one of our clients.
pub(crate) struct Calling<'a> {
    pub(crate) gateway: &'a Arc<Gateway>,
    pub(crate) client: &'a ClientSide,
    pub(crate) owner: Option<String>,
    /// Its place in a trace.
    pub(crate) trace: Option<TraceContext>,
    /// Whether someone waits for its answer, and can be asked.
    pub(crate) waits: Waits,
    /// Hears of progress.
    pub(crate) tell: &'a (dyn Fn(Progress) + Sync),
    pub(crate) served: Arc<Served>,
    pub(crate) tool: Arc<KnownTool>,
    pub(crate) arguments: Value,
}

/// What a call is sent again with.
pub(crate) struct SentAgain {
    pub(crate) state: String,
    pub(crate) responses: Map<String, Value>,
}

/// How far a call has come.
enum Step {
    Done(Executed),
    Asks(Underway, mpsc::Receiver<Question>, Vec<(String, Question)>),
}

/// A call that goes on, and what its server asks.
type Driven = (Underway, mpsc::Receiver<Question>);

impl Calling<'_> {
    /// Makes the call. The result is as the server wrote it, or says what is asked for.
    pub(crate) async fn run(&self, again: Option<SentAgain>) -> Result<Value, Error> {
        let step = match again {
            None => self.begun(&self.served, &self.tool, None).await?,
            Some(again) => match self.gateway.waiting.take(&again.state, &self.bound()) {
                None => return Err(Error::NotWaiting),
                Some(Paused::Within {
                    underway,
                    questions,
                    asked,
                }) => match replied(asked, again.responses) {
                    unanswered if unanswered.is_empty() => self.driven(underway, questions).await?,
                    unanswered => Step::Asks(underway, questions, unanswered),
                },
                Some(Paused::Between {
                    server,
                    state,
                    mut answered,
                }) => {
                    answered.extend(again.responses);
                    self.sent_again(&server, state, answered).await?
                }
            },
        };
        self.until_answered(step).await
    }

    async fn until_answered(&self, mut step: Step) -> Result<Value, Error> {
        for _ in 0..MAX_ROUNDS {
            step = match step {
                Step::Done(executed) => {
                    let waits = self.client.modern
                        && executed
                            .result
                            .get("resultType")
                            .is_some_and(|kind| kind == "input_required");
                    if !waits {
                        return Ok(without_server_info(executed.result));
                    }
                    match self.between(executed).await? {
                        Ok(answer) => return Ok(answer),
                        Err(step) => step,
                    }
                }
                Step::Asks(underway, questions, asked) => {
                    match self.within(underway, questions, asked).await? {
                        Ok(answer) => return Ok(answer),
                        Err((underway, questions)) => self.driven(underway, questions).await?,
                    }
                }
            };
        }
        let reason = format!("it wanted input {MAX_ROUNDS} times for one call");
        let error = ErrorKind::Malformed { reason };
        Err(deliberate_adapter::Error::new(self.served.name(), error).into())
    }

    fn bound(&self) -> Bound {
        let call = json!([self.tool.def.name, self.arguments]);
        Bound {
            owner: self.owner.clone(),
            server: self.served.name().to_owned(),
            digest: canonical::digest(&call),
        }
    }

    async fn begun(
        &self,
        served: &Arc<Served>,
        tool: &Arc<KnownTool>,
        again: Option<Again>,
    ) -> Result<Step, Error> {
        let samplers = self.gateway.samplers.clone();
        let (relay, questions) = Relay::new(self.client, samplers, self.waits.clone());
        let options = CallOptions {
            handler: Some(Arc::new(relay)),
            input: if self.client.modern {
                InputMode::HandOver
            } else {
                InputMode::Answer
            },
            again,
            meta: self.trace.as_ref().map(said_of).unwrap_or_default(),
            ..CallOptions::default()
        };
        let underway = self
            .gateway
            .begin(served, tool, self.arguments.clone(), options);
        self.driven(underway, questions).await
    }

    async fn sent_again(
        &self,
        server: &str,
        state: Option<String>,
        answered: Map<String, Value>,
    ) -> Result<Step, Error> {
        // The one that asked may be another than the one that was called, and both may have
        // changed meanwhile.
        let tool = self.gateway.find_of(server, &self.tool.def.name).await?;
        let responses = Value::Object(answered);
        let again = Again { state, responses };
        let server = self.gateway.server(server)?;
        self.begun(server, &tool, Some(again)).await
    }

    /// Goes on with a call until it ends or its server asks.
    async fn driven(
        &self,
        mut underway: Underway,
        mut questions: mpsc::Receiver<Question>,
    ) -> Result<Step, Error> {
        loop {
            tokio::select! {
                biased;
                Some(update) = underway.progress.recv() => (self.tell)(update),
                Some(question) = questions.recv() => {
                    let mut asked = vec![("ask-1".to_owned(), question)];
                    while let Ok(more) = questions.try_recv() {
                        asked.push((format!("ask-{}", asked.len() + 1), more));
                    }
                    return Ok(Step::Asks(underway, questions, asked));
                }
                outcome = &mut underway.outcome => {
                    while let Ok(update) = underway.progress.try_recv() {
                        (self.tell)(update);
                    }
                    return outcome.map(Step::Done);
                }
            }
        }
    }

    /// The answer that asks for what the server asks within the call. If nobody waits for it, or
    /// too many calls wait already, the server is declined, and the call goes on.
    async fn within(
        &self,
        underway: Underway,
        questions: mpsc::Receiver<Question>,
        asked: Vec<(String, Question)>,
    ) -> Result<Result<Value, Driven>, Error> {
        let requests: Map<String, Value> = asked
            .iter()
            .map(|(key, question)| {
                let request = json!({ "method": question.method, "params": question.params });
                (key.clone(), request)
            })
            .collect();
        let paused = Paused::Within {
            underway,
            questions,
            asked,
        };
        let put = if self.waits.someone_to_the_end().await {
            self.gateway.waiting.put(self.bound(), paused)
        } else {
            Err(paused)
        };
        match put {
            Ok(state) => Ok(Ok(json!({
                "resultType": "input_required",
                "inputRequests": requests,
                "requestState": state,
            }))),
            Err(Paused::Within {
                underway,
                questions,
                asked,
            }) => {
                for (_, question) in asked {
                    let decline = declined(question.method);
                    drop(question.reply.send(decline));
                }
                Ok(Err((underway, questions)))
            }
            Err(Paused::Between { .. }) => Err(Error::NotWaiting),
        }
    }

    /// The answer that hands on what the server asks for by its answer; or the next step, where
    /// the client can be asked for none of it.
    async fn between(&self, executed: Executed) -> Result<Result<Value, Step>, Error> {
        let Executed { mut result, by, .. } = executed;
        let sampling = self.gateway.samplers.contains(&by);
        let may = May::of(self.client, sampling);
        let stays = !may.ask_any_of(&result) || self.waits.someone_to_the_end().await;
        let may = if stays { may } else { May::default() };
        let state = result
            .get("requestState")
            .and_then(Value::as_str)
            .map(str::to_owned);
        let mut answered = Map::new();
        let mut asks = false;
        if let Some(requests) = result
            .get_mut("inputRequests")
            .and_then(Value::as_object_mut)
        {
            let mut refused = Vec::new();
            for (key, request) in requests.iter_mut() {
                let method = request
                    .get("method")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned();
                if may.ask(&method, request.get("params").unwrap_or(&Value::Null)) {
                    if let (ELICIT, Some(params)) = (method.as_str(), request.get_mut("params")) {
                        say_who_asks(&by, params);
                    }
                    continue;
                }
                let answer = declined(&method).map_err(|error| {
                    let error = ErrorKind::Rpc(error.into());
                    deliberate_adapter::Error::new(by.as_str(), error)
                        .about(self.tool.def.name.as_str())
                })?;
                answered.insert(key.clone(), answer);
                refused.push(key.clone());
            }
            for key in refused {
                requests.shift_remove(&key);
            }
            asks = !requests.is_empty();
        }
        if !asks && (!answered.is_empty() || !stays) {
            return Ok(Err(self.sent_again(&by, state, answered).await?));
        }
        let paused = Paused::Between {
            server: by.clone(),
            state,
            answered,
        };
        let name = self
            .gateway
            .waiting
            .put(self.bound(), paused)
            .map_err(|_| {
                let busy = ErrorKind::Resting {
                    wait: std::time::Duration::from_mins(1),
                    because: "too many calls wait for input".to_owned(),
                };
                deliberate_adapter::Error::new(by, busy)
            })?;
        if let Some(fields) = result.as_object_mut() {
            fields.insert("requestState".to_owned(), name.into());
        }
        Ok(Ok(without_server_info(result)))
    }
}

/// Gives the server what it asked for; what is left was not answered.
fn replied(
    asked: Vec<(String, Question)>,
    mut responses: Map<String, Value>,
) -> Vec<(String, Question)> {
    let mut unanswered = Vec::new();
    for (key, question) in asked {
        match responses.remove(&key) {
            // Nobody waits any more if the server took its question back.
            Some(response @ Value::Object(_)) => drop(question.reply.send(Ok(response))),
            _ => unanswered.push((key, question)),
        }
    }
    unanswered
}

/// What a server is told of a call's place in a trace, under the names that the protocol keeps for
/// it in `_meta`.
fn said_of(trace: &TraceContext) -> Map<String, Value> {
    let parent = ("traceparent".to_owned(), trace.parent().into());
    let state = trace.state().map(|it| ("tracestate".to_owned(), it.into()));
    [parent].into_iter().chain(state).collect()
}

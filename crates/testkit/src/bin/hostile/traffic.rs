//! Sends the cases, pings the server, and counts what happened.

use std::{
    collections::BTreeMap,
    fmt,
    net::SocketAddr,
    sync::Arc,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Context as _;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::{
    CALL_TIME, HostileArgs,
    case::{FollowUp, HostileCase, KINDS, prompt_call, prompt_id},
    random::Random,
};
use deliberate_testkit::load::{ClientProtocol, LoadClient, ServerProcess};

const PING_INTERVAL: Duration = Duration::from_millis(10);

/// How much longer than its limit a call may take until its answer is there.
const ANSWER_GRACE: Duration = Duration::from_secs(25);

/// The most violations that are recorded.
const MAX_VIOLATIONS: usize = 20;

/// What all callers share.
pub(crate) struct HostileTraffic {
    host: SocketAddr,
    seed: u64,
    calls: u64,
    answer_time: Duration,
    sent: AtomicU64,
    pub(crate) is_over: AtomicBool,
    counts: Mutex<TrafficCounts>,
}

#[derive(Default)]
struct TrafficCounts {
    /// The answers, by kind of case and outcome.
    answers: BTreeMap<(&'static str, String), u64>,
    pings: Vec<Duration>,
    longest_call: Duration,
    violations: Vec<String>,
}

impl HostileTraffic {
    pub(crate) fn new(server: &ServerProcess, arguments: &HostileArgs) -> Self {
        Self {
            host: server.address(),
            seed: arguments.seed,
            calls: arguments.calls,
            answer_time: CALL_TIME + ANSWER_GRACE,
            sent: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            counts: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, TrafficCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn record_violation(&self, what: String) {
        let mut counts = self.lock();
        if counts.violations.len() < MAX_VIOLATIONS {
            counts.violations.push(what);
        }
    }

    pub(crate) fn violations(&self) -> Vec<String> {
        self.lock().violations.clone()
    }

    pub(crate) fn longest_ping(&self) -> Duration {
        self.lock().pings.iter().max().copied().unwrap_or_default()
    }

    /// Calls a tool and returns its result; every call must be answered.
    async fn call(
        &self,
        client: &mut LoadClient,
        kind: usize,
        (tool, arguments): (&str, Value),
    ) -> Value {
        let kind = KINDS.get(kind).copied().unwrap_or_default();
        let params = json!({ "name": tool, "arguments": &arguments });
        let begun = Instant::now();
        let answered = timeout(self.answer_time, client.request("tools/call", params)).await;
        let answered = answered.context("no answer in time").flatten();
        let (outcome, result) = match answered {
            Ok(result) => (outcome(&result), result),
            Err(error) => {
                let shown: String = arguments_excerpt(&error);
                let call: String = arguments.to_string().chars().take(400).collect();
                self.record_violation(format!("{kind}: {shown}: {tool} {call}"));
                ("unanswered".to_owned(), Value::Null)
            }
        };
        let mut counts = self.lock();
        counts.longest_call = counts.longest_call.max(begun.elapsed());
        *counts.answers.entry((kind, outcome)).or_default() += 1;
        result
    }
}

fn arguments_excerpt(error: &anyhow::Error) -> String {
    format!("{error:#}").chars().take(300).collect()
}

/// Returns the error code of a result, or `ok`.
fn outcome(result: &Value) -> String {
    if result.get("isError") != Some(&Value::Bool(true)) {
        return "ok".to_owned();
    }
    let code = result.pointer("/structuredContent/error/code");
    code.and_then(Value::as_str).unwrap_or("error").to_owned()
}

/// Sends cases until enough were sent.
pub(crate) async fn send_calls(traffic: Arc<HostileTraffic>, number: u64) {
    let mut client = LoadClient::new(traffic.host, ClientProtocol::Legacy, number << 32);
    let prompt = prompt_call("create", &prompt_id(number), "{{ topic }}", None);
    traffic.call(&mut client, 2, prompt).await;
    loop {
        let at = traffic.sent.fetch_add(1, Ordering::Relaxed);
        if at >= traffic.calls {
            return;
        }
        // The case depends on its number alone, not on who sends it.
        let mut random = Random::new(traffic.seed.wrapping_mul(1_000_003).wrapping_add(at));
        let case = HostileCase::generate(&mut random, number);
        let result = traffic.call(&mut client, case.kind, case.first).await;
        let then = match case.then {
            Some(FollowUp::Command(command)) => ("prompt_engine", json!({ "command": command })),
            Some(FollowUp::Health) => {
                let arguments = json!({ "action": "gates", "operation": "health" });
                ("system_control", arguments)
            }
            Some(FollowUp::Answer(answer)) => {
                let Some(run) = result
                    .pointer("/structuredContent/chain_id")
                    .and_then(Value::as_str)
                else {
                    continue;
                };
                let arguments = json!({ "chain_id": run, "user_response": answer });
                ("prompt_engine", arguments)
            }
            None => continue,
        };
        traffic.call(&mut client, case.kind, then).await;
    }
}

/// Pings the server until all is over.
pub(crate) async fn ping(traffic: Arc<HostileTraffic>) {
    let mut client = LoadClient::new(traffic.host, ClientProtocol::Legacy, 1 << 52);
    while !traffic.is_over.load(Ordering::Relaxed) {
        let begun = Instant::now();
        let answered = timeout(traffic.answer_time, client.request("ping", json!({}))).await;
        traffic.lock().pings.push(begun.elapsed());
        if let Err(error) = answered.context("no answer in time").flatten() {
            traffic.record_violation(format!("ping: {}", arguments_excerpt(&error)));
            sleep(Duration::from_secs(1)).await;
        }
        sleep(PING_INTERVAL).await;
    }
}

impl fmt::Display for HostileTraffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut counts = self.lock();
        for ((kind, outcome), count) in &counts.answers {
            writeln!(f, "{kind:>10}  {outcome:<20} {count:>7}")?;
        }
        counts.pings.sort_unstable();
        let at = |share: usize| {
            let index = counts.pings.len().saturating_sub(1) * share / 1_000;
            counts
                .pings
                .get(index)
                .copied()
                .unwrap_or_default()
                .as_secs_f64()
                * 1e3
        };
        writeln!(
            f,
            "{} pings: median {:.1} ms, 99 of 100 within {:.1} ms, longest {:.1} ms; longest call {:.1} s",
            counts.pings.len(),
            at(500),
            at(990),
            at(1_000),
            counts.longest_call.as_secs_f64(),
        )
    }
}

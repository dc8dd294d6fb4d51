//! Metrics of the calls of upstream servers' tools, by server, tool and caller.

use deliberate_toolkit::ExternalCallEnd;
use prometheus_client::{
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::{Registry, Unit},
};

use super::{
    CALL_BUCKETS,
    labels::{BoundedNames, ServerLabel, UpstreamCallLabels, UpstreamCallerLabels, outcome_label},
};

/// The largest number of server labels. Servers are configured, so this is for mistakes.
const MAX_SERVERS: usize = 100;

/// The largest number of tool labels, over all servers.
const MAX_TOOLS: usize = 500;

/// The largest number of caller labels; an issuer of access tokens may have any number of users.
const MAX_CALLERS: usize = 50;

/// The caller without a name: the client that started the program, or any user of this machine.
const OPERATOR: &str = "operator";

pub(super) struct UpstreamMetrics {
    calls: Family<UpstreamCallLabels, Counter>,
    callers: Family<UpstreamCallerLabels, Counter>,
    time: Family<ServerLabel, Histogram>,
    servers: BoundedNames,
    tools: BoundedNames,
    principals: BoundedNames,
}

impl Default for UpstreamMetrics {
    fn default() -> Self {
        Self {
            calls: Family::default(),
            callers: Family::default(),
            time: Family::new_with_constructor(|| Histogram::new(CALL_BUCKETS)),
            servers: BoundedNames::new(MAX_SERVERS),
            tools: BoundedNames::new(MAX_TOOLS),
            principals: BoundedNames::new(MAX_CALLERS),
        }
    }
}

impl UpstreamMetrics {
    pub(super) fn register(&self, book: &mut Registry) {
        book.register(
            "upstream_calls",
            "Finished calls of upstream servers' tools, by server, tool and outcome",
            self.calls.clone(),
        );
        book.register(
            "upstream_caller_calls",
            "Finished calls of upstream servers' tools, by server, caller and outcome",
            self.callers.clone(),
        );
        book.register_with_unit(
            "upstream_call_duration",
            "Duration of calls of upstream servers' tools, by server",
            Unit::Seconds,
            self.time.clone(),
        );
    }

    pub(super) fn record(&self, ended: &ExternalCallEnd<'_>) {
        let server = self.servers.label_for(ended.server);
        let outcome = outcome_label(ended.error);
        // An unknown tool's name comes from the caller and must not become a label.
        let tool = self.tools.label_for(ended.tool.unwrap_or_default());
        let caller = ended.principal.name.as_deref().unwrap_or(OPERATOR);
        let caller = UpstreamCallerLabels {
            server: server.clone(),
            caller: self.principals.label_for(caller),
            outcome,
        };
        self.callers.get_or_create(&caller).inc();
        let calls = UpstreamCallLabels {
            server: server.clone(),
            tool,
            outcome,
        };
        self.calls.get_or_create(&calls).inc();
        self.time
            .get_or_create(&ServerLabel { server })
            .observe(ended.elapsed.as_secs_f64());
    }
}

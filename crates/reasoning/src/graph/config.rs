//! The limits of a graph: the caller's input, the values in effect, and the errors at a limit.

use deliberate_core::{Graph, Score};
use deliberate_toolkit::ToolError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The default number of continuations, if the graph allows that many.
const DEFAULT_K: u32 = 3;

/// The largest number of continuations in one call.
const MAX_BRANCHES: u32 = 10;

/// The limits that a caller gives.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GraphConfigInput {
    #[schemars(range(min = 1, max = 100))]
    max_depth: Option<u32>,
    /// Largest k
    #[schemars(range(min = 1, max = 10))]
    max_branches: Option<u32>,
    prune_threshold: Option<Score>,
    #[schemars(range(min = 2, max = 1000))]
    max_nodes: Option<u32>,
}

/// The limits in effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct GraphConfig {
    pub(super) max_depth: u32,
    pub(super) max_branches: u32,
    pub(super) prune_threshold: Score,
    pub(super) max_nodes: u32,
}

impl Default for GraphConfig {
    fn default() -> Self {
        Self {
            max_depth: 10,
            max_branches: MAX_BRANCHES,
            prune_threshold: Score::clamped(0.3),
            max_nodes: 100,
        }
    }
}

impl From<GraphConfigInput> for GraphConfig {
    fn from(input: GraphConfigInput) -> Self {
        let usual = Self::default();
        Self {
            max_depth: input.max_depth.unwrap_or(usual.max_depth),
            max_branches: input.max_branches.unwrap_or(usual.max_branches),
            prune_threshold: input.prune_threshold.unwrap_or(usual.prune_threshold),
            max_nodes: input.max_nodes.unwrap_or(usual.max_nodes),
        }
    }
}

impl GraphConfig {
    /// The limits of a graph. An imported graph has none of its own and gets the defaults.
    pub(super) fn for_graph(graph: &Graph) -> Self {
        serde_json::from_value(graph.config.clone()).unwrap_or_default()
    }

    /// The number of continuations for a call.
    pub(super) fn continuation_count(&self, wanted: Option<u32>) -> Result<u32, ToolError> {
        let k = wanted.unwrap_or(DEFAULT_K.min(self.max_branches));
        if k <= self.max_branches {
            return Ok(k);
        }
        let most = self.max_branches;
        Err(ToolError::LimitReached {
            what: format!("k is {k}, and this graph allows {most} continuations at once"),
            instead: "Ask for fewer; max_branches was set when the graph was created.",
        })
    }

    /// Fails if a node at this depth exceeds the limit.
    pub(super) fn check_depth(&self, depth: i64) -> Result<(), ToolError> {
        if depth <= i64::from(self.max_depth) {
            return Ok(());
        }
        let most = self.max_depth;
        Err(ToolError::LimitReached {
            what: format!(
                "the new node would have depth {depth}, and the limit of this graph is {most}"
            ),
            instead: "Work on a node that is less deep, or finish with reasoning_got_finalize.",
        })
    }

    /// The number of nodes that may be added to `nodes`. Fails if there is no room for one.
    pub(super) fn remaining_nodes(&self, nodes: usize) -> Result<u32, ToolError> {
        let room = u32::try_from(nodes).map_or(0, |nodes| self.max_nodes.saturating_sub(nodes));
        if room > 0 {
            return Ok(room);
        }
        let most = self.max_nodes;
        Err(ToolError::LimitReached {
            what: format!("the graph has {nodes} nodes, and its limit is {most}"),
            instead: "Make room with reasoning_got_prune, or finish with reasoning_got_finalize.",
        })
    }
}

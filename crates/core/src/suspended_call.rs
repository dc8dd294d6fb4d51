//! Stored calls: suspended calls, which wait for the client's model, and background calls, which
//! continue after their client stopped waiting.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{SuspensionId, Timestamp};

/// A suspended or background call. It holds everything that any process needs to run the call
/// again from its start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SuspendedCall {
    /// The call's id, which the client sends with its replies.
    pub id: SuspensionId,
    /// The name of the tool.
    pub tool_name: String,
    /// The arguments of the call.
    pub arguments: Value,
    /// The replies so far, by the key of their model request.
    pub journal: Value,
    /// The model requests that wait for a reply, in the order that replies are expected in.
    pub asks: Value,
    /// When the call was made.
    pub created_at: Timestamp,
    /// When the record is deleted.
    pub expires_at: Timestamp,
    /// The principal that made the call; only it may resume the call.
    pub owner: Option<String>,
    /// The expiry of the lease, which heartbeats renew. If it has passed and there are no open
    /// model requests, the worker has died.
    pub running_until: Option<Timestamp>,
    /// The result of an ended call, which is returned again whenever the call is resumed.
    pub outcome: Option<Value>,
    /// Whether the result is an error.
    pub failed: bool,
    /// How often the row was taken over or written anew. Who writes it names the number that follows
    /// the one it has read, and who ends it names the one it has read, so that a worker which lost
    /// its lease can't commit.
    #[serde(default)]
    pub fence: i64,
    /// What the tool keeps from one step of the call for the next.
    #[serde(default)]
    pub notes: Option<Value>,
    /// The progress that the worker stored last.
    #[serde(default)]
    pub progress: StoredProgress,
}

/// The progress of a call, as every process sees it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredProgress {
    /// How much of the work is done, 0 to 1, if the tool knows how much there is.
    pub fraction: Option<f64>,
    /// The current activity, for people.
    pub message: String,
}

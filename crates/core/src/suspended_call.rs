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
}

//! A call that is not over: it waits for its client's model to think, or runs on after its client
//! stopped waiting.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{SuspensionId, Timestamp};

/// A call that can be picked up again. It holds everything needed to run the call again from its start, in this
/// process or another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SuspendedCall {
    /// Its id, given back with the replies.
    pub id: SuspensionId,
    /// The tool that was called.
    pub tool_name: String,
    /// The arguments it was called with.
    pub arguments: Value,
    /// The replies given so far, by the key of their ask.
    pub journal: Value,
    /// The asks that wait for a reply, in the order replies are expected.
    pub asks: Value,
    /// When the call was first made.
    pub created_at: Timestamp,
    /// When it will be forgotten.
    pub expires_at: Timestamp,
    /// Whose call it is; nobody else may pick it up.
    pub owner: Option<String>,
    /// Until when it is surely being run by someone, who says so again and again. Past this, and
    /// without asks, whoever ran it has died.
    pub running_until: Option<Timestamp>,
    /// The answer, once the call has ended; the same answer is then given again.
    pub outcome: Option<Value>,
    /// Whether the answer is that it failed.
    pub failed: bool,
}

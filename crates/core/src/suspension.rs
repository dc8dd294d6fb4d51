//! A call that waits for its client's model to think.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{SuspensionId, Timestamp};

/// A suspended call. It holds everything needed to run the call again from its start, in this
/// process or another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Suspension {
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
    /// The answer, once the call has ended; the same answer is then given again.
    pub outcome: Option<Value>,
}

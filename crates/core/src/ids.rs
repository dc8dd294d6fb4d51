//! Typed ids, so that a branch id can't be passed where a thought id is expected.
//!
//! An id is text: new ones are UUIDs of version 7 (they sort by time), imported ones keep the
//! text that their old server used.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! id {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Returns the id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string" })
            }
        }

        impl From<String> for $name {
            fn from(id: String) -> Self {
                Self(id)
            }
        }

        impl From<&str> for $name {
            fn from(id: &str) -> Self {
                Self(id.to_owned())
            }
        }

        impl From<uuid::Uuid> for $name {
            fn from(id: uuid::Uuid) -> Self {
                Self(id.to_string())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    )*};
}

id! {
    /// The id of a [`crate::Session`].
    SessionId,
    /// The id of a [`crate::Thought`].
    ThoughtId,
    /// The id of a [`crate::Branch`].
    BranchId,
    /// The id of a [`crate::CrossRef`].
    CrossRefId,
    /// The id of a [`crate::Checkpoint`].
    CheckpointId,
    /// The id of a [`crate::StateSnapshot`].
    SnapshotId,
    /// The id of a [`crate::Graph`].
    GraphId,
    /// The id of a [`crate::GraphNode`].
    NodeId,
    /// The id of a [`crate::GraphEdge`].
    EdgeId,
    /// The id of an [`crate::Invocation`].
    InvocationId,
    /// The id of a [`crate::SuspendedCall`].
    SuspensionId,
    /// The id of a [`crate::ChainRun`].
    RunId,
}

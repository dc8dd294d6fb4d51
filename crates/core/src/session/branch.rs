//! Branches of a tree session and the references between them.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{BranchId, CrossRefId, Score, SessionId, Timestamp};

/// A branch of a tree session: one approach to the problem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Branch {
    /// The branch's id.
    pub id: BranchId,
    /// The session that the branch belongs to.
    pub session_id: SessionId,
    /// A short name for people.
    pub name: Option<String>,
    /// The branch that this one was opened from.
    pub parent_id: Option<BranchId>,
    /// Whether the branch is active, completed or abandoned.
    pub state: BranchState,
    /// How promising the branch is.
    pub confidence: Score,
    /// The order of work; higher comes first.
    pub priority: i64,
    /// Whether a backtrack set the branch aside.
    #[serde(default)]
    pub set_aside: bool,
    /// When the branch was opened.
    pub created_at: Timestamp,
    /// When the branch last changed.
    pub updated_at: Timestamp,
    /// Further data, such as the rationale.
    pub metadata: Option<Value>,
}

/// The state of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
// The field's name describes it. Repeating that in the schema would cost clients tokens.
#[schemars(description = "")]
pub enum BranchState {
    /// Open for more thoughts.
    Active,
    /// Finished.
    Completed,
    /// Dropped.
    Abandoned,
}

/// A reference from one branch to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrossRef {
    /// The reference's id.
    pub id: CrossRefId,
    /// The branch that refers.
    pub from_branch: BranchId,
    /// The branch that is referred to.
    pub to_branch: BranchId,
    /// The kind of reference.
    pub ref_type: CrossRefKind,
    /// The reason for the reference.
    pub reason: Option<String>,
    /// The strength of the reference.
    pub strength: Score,
    /// When the reference was added.
    pub created_at: Timestamp,
}

/// The kinds of reference between branches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
// The field's name describes it. Repeating that in the schema would cost clients tokens.
#[schemars(description = "")]
pub enum CrossRefKind {
    /// Supports it.
    Supports,
    /// Contradicts it.
    Contradicts,
    /// Extends it.
    Extends,
    /// Could replace it.
    Alternative,
    /// Needs it.
    Depends,
}

/// Converts an enum to and from the lower-case words that the store uses.
macro_rules! string_enum {
    ($($type:ident { $($variant:ident = $word:literal),* $(,)? })*) => {$(
        impl $type {
            /// Returns the word as stored and answered.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }

        impl FromStr for $type {
            type Err = ();

            fn from_str(word: &str) -> Result<Self, ()> {
                match word { $($word => Ok(Self::$variant),)* _ => Err(()) }
            }
        }
    )*};
}
pub(crate) use string_enum;

string_enum! {
    BranchState { Active = "active", Completed = "completed", Abandoned = "abandoned" }
    CrossRefKind {
        Supports = "supports", Contradicts = "contradicts", Extends = "extends",
        Alternative = "alternative", Depends = "depends",
    }
}

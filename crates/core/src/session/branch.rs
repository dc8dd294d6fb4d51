//! Branches of a tree session, and the references between them.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{BranchId, CrossRefId, Score, SessionId, Timestamp};

/// One approach of a tree session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Branch {
    /// Its id.
    pub id: BranchId,
    /// The session it belongs to.
    pub session_id: SessionId,
    /// A short name.
    pub name: Option<String>,
    /// The branch it grew from.
    pub parent_id: Option<BranchId>,
    /// Whether it is still followed.
    pub state: BranchState,
    /// How promising it looks.
    pub confidence: Score,
    /// Higher is to be followed first.
    pub priority: i64,
    /// Whether a backtrack went back behind it.
    #[serde(default)]
    pub set_aside: bool,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Whatever else belongs to it, such as its rationale.
    pub metadata: Option<Value>,
}

/// Whether a branch is still followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
// The name of the field says it; a schema has no room to say it again.
#[schemars(description = "")]
pub enum BranchState {
    /// Open for more thoughts.
    Active,
    /// Followed to its end.
    Completed,
    /// Given up.
    Abandoned,
}

/// How one branch bears on another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrossRef {
    /// Its id.
    pub id: CrossRefId,
    /// The branch that refers.
    pub from_branch: BranchId,
    /// The branch referred to.
    pub to_branch: BranchId,
    /// In which way.
    pub ref_type: CrossRefKind,
    /// Why.
    pub reason: Option<String>,
    /// How strongly.
    pub strength: Score,
    /// When it was noted.
    pub created_at: Timestamp,
}

/// The kinds of reference between branches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
// The name of the field says it; a schema has no room to say it again.
#[schemars(description = "")]
pub enum CrossRefKind {
    /// Speaks for it.
    Supports,
    /// Speaks against it.
    Contradicts,
    /// Carries it further.
    Extends,
    /// Could stand in its place.
    Alternative,
    /// Needs it.
    Depends,
}

/// Text to and from an enum whose variants are plain lower-case words, as the store keeps them.
macro_rules! string_enum {
    ($($type:ident { $($variant:ident = $word:literal),* $(,)? })*) => {$(
        impl $type {
            /// The word for it, as stored and answered.
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

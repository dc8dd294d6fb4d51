//! Whose call it is, and what they may call.

use std::sync::Arc;

/// Someone who was let in. Without a name it is whoever runs this program: the client that
/// started it, or anyone on this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Principal {
    /// Names them, the same in every request. What they leave behind to be picked up later
    /// (a suspended call, a task) is theirs alone.
    pub name: Option<Arc<str>>,
    /// What they may call.
    pub scope: ToolScope,
}

impl Principal {
    /// Whose the things are that they leave behind.
    pub(crate) fn owner(&self) -> Option<String> {
        self.name.as_deref().map(str::to_owned)
    }
}

/// Which tools someone may call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ToolScope {
    /// Every tool.
    #[default]
    All,
    /// Tools that one of these names; a `*` at the end stands for any ending.
    Only(Arc<[String]>),
}

impl ToolScope {
    /// Whether that tool may be called.
    pub fn allows(&self, tool: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(patterns) => patterns
                .iter()
                .any(|pattern| matches_pattern(pattern, tool)),
        }
    }
}

/// Whether a pattern names something: a `*` at its end stands for any ending, and nowhere else for
/// anything.
pub fn matches_pattern(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

//! Principals and their tool scopes.

use std::sync::Arc;

/// An authenticated caller. Without a name it is the operator: the client that started this
/// program, or any user of this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Principal {
    /// The name, the same in every request. Suspended and background calls and tasks belong to the
    /// principal that made them.
    pub name: Option<Arc<str>>,
    /// The tools that the principal may call.
    pub scope: ToolScope,
}

impl Principal {
    /// Returns the owner to store with the principal's data.
    pub(crate) fn owner(&self) -> Option<String> {
        self.name.as_deref().map(str::to_owned)
    }
}

/// The tools that a principal may call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ToolScope {
    /// Every tool.
    #[default]
    All,
    /// Tools that match one of these patterns; a `*` at the end matches any ending.
    Only(Arc<[String]>),
}

impl ToolScope {
    /// Tells whether the scope includes the tool.
    pub fn allows(&self, tool: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(patterns) => patterns
                .iter()
                .any(|pattern| matches_pattern(pattern, tool)),
        }
    }
}

impl ToolScope {
    /// Tells whether the scope includes a part of the tool, `tool/part`, but not all of it.
    pub fn allows_part_of(&self, tool: &str) -> bool {
        match self {
            Self::All => false,
            Self::Only(patterns) => patterns.iter().any(|pattern| {
                let part = pattern.strip_prefix(tool);
                part.is_some_and(|part| part.starts_with('/'))
            }),
        }
    }
}

/// Tells whether a pattern matches a name. A `*` at its end matches any ending; elsewhere it is an
/// ordinary character.
pub fn matches_pattern(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

//! Warns about references to gates and tools that do not exist: the item works without them, but
//! perhaps not as its author intended.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use super::cross_references::{MAX_SUGGESTIONS, reference_problem};
use crate::{
    library::{
        LibraryProblem, ProblemSeverity, id_grammar,
        part::{NameReference, NameReferenceKind},
        read::source_file::truncate,
    },
    model::{Gate, LibraryItemKind, ScriptTool},
};

/// The names of existing gates and script tools.
pub(crate) struct KnownNames<'l> {
    normalized_gates: HashSet<String>,
    gates: &'l BTreeMap<String, Arc<Gate>>,
    scripts: &'l BTreeMap<String, Arc<ScriptTool>>,
    /// The number of searches for similar names so far.
    lookups: usize,
}

impl<'l> KnownNames<'l> {
    pub(crate) fn new(
        gates: &'l BTreeMap<String, Arc<Gate>>,
        scripts: &'l BTreeMap<String, Arc<ScriptTool>>,
    ) -> Self {
        Self {
            normalized_gates: gates
                .keys()
                .map(|gate| id_grammar::normalize_name(gate))
                .collect(),
            gates,
            scripts,
            lookups: 0,
        }
    }

    /// Returns the problems of an item with these references.
    pub(crate) fn missing_references(
        &mut self,
        kind: LibraryItemKind,
        id: &str,
        mentions: &[NameReference],
    ) -> Vec<LibraryProblem> {
        mentions
            .iter()
            .filter_map(|mention| {
                let (thing, near) = self.find_missing(id, mention)?;
                let help = near.map_or_else(
                    || format!("Create the {thing}, or remove the reference."),
                    |near| format!("Did you mean `{near}`?"),
                );
                let name = truncate(&mention.name);
                let message = format!("There is no {thing} `{name}`; the reference is ignored.");
                Some(reference_problem(
                    ProblemSeverity::Warning,
                    kind,
                    id,
                    mention,
                    message,
                    Some(help),
                ))
            })
            .collect()
    }

    /// Returns the kind of the missing item and the most similar name.
    fn find_missing(
        &mut self,
        id: &str,
        mention: &NameReference,
    ) -> Option<(&'static str, Option<String>)> {
        let name = &mention.name;
        let (thing, known): (_, Vec<&str>) = match mention.kind {
            NameReferenceKind::Gate
                if !self
                    .normalized_gates
                    .contains(&id_grammar::normalize_name(name)) =>
            {
                ("gate", self.gates.keys().map(String::as_str).collect())
            }
            NameReferenceKind::Tool
                if !self.scripts.contains_key(name)
                    && !self.scripts.contains_key(&format!("{id}:{name}")) =>
            {
                let shared = self.scripts.keys().map(String::as_str);
                (
                    "script tool",
                    shared.filter(|key| !key.contains(':')).collect(),
                )
            }
            _ => return None,
        };
        self.lookups += 1;
        let near = (self.lookups <= MAX_SUGGESTIONS)
            .then(|| deliberate_core::did_you_mean(name, known))
            .flatten();
        Some((thing, near))
    }
}

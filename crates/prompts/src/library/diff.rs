//! Computes the difference between two snapshots of the library.

use std::{collections::BTreeMap, sync::Arc};

use serde::Serialize;

use super::PromptLibrary;
use crate::model::{ArgumentDefinition, LibraryItemKind, Prompt};

/// The origin of a detected change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeTrigger {
    /// The file watcher.
    #[default]
    Filesystem,
    /// A tool that changed the files or was asked to reload them.
    McpTool,
}

/// The difference between two snapshots of the library.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LibraryDiff {
    /// Whether prompts or categories changed.
    pub prompts: bool,
    /// Whether the listed names, descriptions or arguments of prompts changed.
    pub prompt_list: bool,
    pub gates: bool,
    pub methodologies: bool,
    pub styles: bool,
    pub scripts: bool,
    /// Whether the injection rules changed.
    pub injection: bool,
    pub problems: bool,
    pub trigger: ChangeTrigger,
    /// The items that are new, changed or removed.
    pub ids: Vec<(LibraryItemKind, String)>,
}

impl LibraryDiff {
    /// Compares two snapshots.
    pub fn compute(before: &PromptLibrary, now: &PromptLibrary) -> Self {
        let mut changed = Self {
            injection: before.injection != now.injection,
            problems: before.problems != now.problems,
            ..Self::default()
        };
        let ids = &mut changed.ids;
        changed.prompts =
            collect_changed_ids(&before.prompts, &now.prompts, LibraryItemKind::Prompt, ids);
        changed.gates = collect_changed_ids(&before.gates, &now.gates, LibraryItemKind::Gate, ids);
        changed.methodologies = collect_changed_ids(
            &before.methodologies,
            &now.methodologies,
            LibraryItemKind::Methodology,
            ids,
        );
        changed.styles =
            collect_changed_ids(&before.styles, &now.styles, LibraryItemKind::Style, ids);
        changed.scripts =
            collect_changed_ids(&before.scripts, &now.scripts, LibraryItemKind::Script, ids);
        let categories = before.categories != now.categories;
        changed.prompt_list = categories
            || changed.prompts
                && !before
                    .prompts
                    .values()
                    .map(prompt_list_entry)
                    .eq(now.prompts.values().map(prompt_list_entry));
        changed.prompts |= categories;
        changed
    }

    /// Returns whether anything changed.
    pub const fn has_changes(&self) -> bool {
        self.prompts
            || self.prompt_list
            || self.gates
            || self.methodologies
            || self.styles
            || self.scripts
            || self.injection
            || self.problems
    }
}

type PromptListEntry<'p> = (
    &'p str,
    &'p str,
    &'p str,
    &'p str,
    &'p [ArgumentDefinition],
    Option<bool>,
    bool,
);

fn prompt_list_entry(prompt: &Arc<Prompt>) -> PromptListEntry<'_> {
    (
        &prompt.id,
        &prompt.name,
        &prompt.description,
        &prompt.category,
        &prompt.arguments,
        prompt.registered,
        prompt.is_chain(),
    )
}

fn collect_changed_ids<T: PartialEq>(
    before: &BTreeMap<String, Arc<T>>,
    now: &BTreeMap<String, Arc<T>>,
    kind: LibraryItemKind,
    ids: &mut Vec<(LibraryItemKind, String)>,
) -> bool {
    let count = ids.len();
    let is_new = |(id, it): &(&String, &Arc<T>)| {
        before
            .get(*id)
            .is_none_or(|old| !Arc::ptr_eq(old, it) && old != *it)
    };
    ids.extend(now.iter().filter(is_new).map(|(id, _)| (kind, id.clone())));
    ids.extend(
        before
            .keys()
            .filter(|id| !now.contains_key(*id))
            .map(|id| (kind, id.clone())),
    );
    ids.len() > count
}

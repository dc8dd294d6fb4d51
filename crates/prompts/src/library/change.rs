//! What is different between two libraries.

use std::{collections::BTreeMap, sync::Arc};

use serde::Serialize;

use super::Library;
use crate::model::{Argument, Kind, Prompt};

/// Who noticed that something is different.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoticedBy {
    /// Whoever watches the files.
    #[default]
    Filesystem,
    /// A tool that changed them, or was told to look.
    McpTool,
}

/// What is different now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changed {
    /// Prompts or categories.
    pub prompts: bool,
    /// What a client's menu shows of prompts: names, descriptions, arguments.
    pub menu: bool,
    /// Gates.
    pub gates: bool,
    /// Methodologies.
    pub methodologies: bool,
    /// Styles.
    pub styles: bool,
    /// Script tools.
    pub scripts: bool,
    /// When guidance is added.
    pub injection: bool,
    /// The problems.
    pub problems: bool,
    /// Who noticed.
    pub by: NoticedBy,
    /// The things that are new, different or gone.
    pub ids: Vec<(Kind, String)>,
}

impl Changed {
    /// What is different between two libraries.
    pub fn between(before: &Library, now: &Library) -> Self {
        let mut changed = Self {
            injection: before.injection != now.injection,
            problems: before.problems != now.problems,
            ..Self::default()
        };
        let ids = &mut changed.ids;
        changed.prompts = differ(&before.prompts, &now.prompts, Kind::Prompt, ids);
        changed.gates = differ(&before.gates, &now.gates, Kind::Gate, ids);
        changed.methodologies = differ(
            &before.methodologies,
            &now.methodologies,
            Kind::Methodology,
            ids,
        );
        changed.styles = differ(&before.styles, &now.styles, Kind::Style, ids);
        changed.scripts = differ(&before.scripts, &now.scripts, Kind::Script, ids);
        let categories = before.categories != now.categories;
        changed.menu = categories
            || changed.prompts
                && !before
                    .prompts
                    .values()
                    .map(menu_entry)
                    .eq(now.prompts.values().map(menu_entry));
        changed.prompts |= categories;
        changed
    }

    /// Whether anything is.
    pub const fn any(&self) -> bool {
        self.prompts
            || self.menu
            || self.gates
            || self.methodologies
            || self.styles
            || self.scripts
            || self.injection
            || self.problems
    }
}

type MenuEntry<'p> = (
    &'p str,
    &'p str,
    &'p str,
    &'p str,
    &'p [Argument],
    Option<bool>,
    bool,
);

fn menu_entry(prompt: &Arc<Prompt>) -> MenuEntry<'_> {
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

fn differ<T: PartialEq>(
    before: &BTreeMap<String, Arc<T>>,
    now: &BTreeMap<String, Arc<T>>,
    kind: Kind,
    ids: &mut Vec<(Kind, String)>,
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

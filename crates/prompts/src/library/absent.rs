//! Gates and tools that are named and do not exist: what names them works without them, but not
//! as its author may think.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use super::{
    Problem, Weight,
    cross::{SUGGESTIONS, problem},
    names,
    sheet::shorten,
    unit::{Mention, Mentioned},
};
use crate::model::{Gate, Kind, ScriptTool};

/// What there is.
pub(crate) struct Present<'l> {
    plain_gates: HashSet<String>,
    gates: &'l BTreeMap<String, Arc<Gate>>,
    scripts: &'l BTreeMap<String, Arc<ScriptTool>>,
    /// How many names were looked for among those that exist.
    compared: usize,
}

impl<'l> Present<'l> {
    pub(crate) fn new(
        gates: &'l BTreeMap<String, Arc<Gate>>,
        scripts: &'l BTreeMap<String, Arc<ScriptTool>>,
    ) -> Self {
        Self {
            plain_gates: gates.keys().map(|gate| names::plain(gate)).collect(),
            gates,
            scripts,
            compared: 0,
        }
    }

    /// The problems of a thing that mentions these.
    pub(crate) fn absent(&mut self, kind: Kind, id: &str, mentions: &[Mention]) -> Vec<Problem> {
        mentions
            .iter()
            .filter_map(|mention| {
                let (thing, near) = self.look_for(id, mention)?;
                let help = near.map_or_else(
                    || format!("Create the {thing}, or remove the name."),
                    |near| format!("Did you mean `{near}`?"),
                );
                let name = shorten(&mention.name);
                let message = format!("There is no {thing} `{name}`; it is left out.");
                Some(problem(
                    Weight::Warning,
                    kind,
                    id,
                    mention,
                    message,
                    Some(help),
                ))
            })
            .collect()
    }

    /// What kind of thing is missing, and which one is most like it.
    fn look_for(&mut self, id: &str, mention: &Mention) -> Option<(&'static str, Option<String>)> {
        let name = &mention.name;
        let (thing, known): (_, Vec<&str>) = match mention.what {
            Mentioned::Gate if !self.plain_gates.contains(&names::plain(name)) => {
                ("gate", self.gates.keys().map(String::as_str).collect())
            }
            Mentioned::Tool
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
        self.compared += 1;
        let near = (self.compared <= SUGGESTIONS)
            .then(|| deliberate_core::nearest(name, known))
            .flatten();
        Some((thing, near))
    }
}

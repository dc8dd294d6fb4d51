//! A tool that runs another one within its own call.
//!
//! The inner tool's answer and its changes are handed to the outer one, which returns the changes
//! with its own: both are committed together or not at all. The inner one asks the same minds,
//! under names of its own.

use serde_json::Value;

use crate::{Call, Outcome, ToolError, gate::allowed, registry::Action};

impl Call {
    /// Runs the tool of that name; `key` sets its asks apart from those of others in this call.
    /// Who called must be allowed to use it. Its changes are not yet made: the caller returns them
    /// with its own.
    ///
    /// A tool that is run so can't run others, so that no chain of them has no end.
    pub async fn run_tool(
        &self,
        key: &str,
        name: &str,
        arguments: Value,
    ) -> Result<Outcome<Value>, ToolError> {
        let entry = self.whole.tools.find(name)?;
        let Action::Run(tool) = &entry.action else {
            return Err(self.not_within(name));
        };
        if !self.prefix.is_empty() || self.whole.tool == entry.about.name {
            return Err(self.not_within(name));
        }
        allowed(entry, &self.whole.caller.principal)?;
        let arguments = entry.check(arguments)?;
        let inner = Self {
            whole: self.whole.clone(),
            prefix: format!("{key}/"),
        };
        tool.run(arguments, &inner).await.map(|ran| ran.outcome)
    }

    /// Whether there is a tool of that name that can be run from within this call.
    pub fn can_run(&self, name: &str) -> bool {
        self.whole.tools.find(name).is_ok_and(|entry| {
            matches!(entry.action, Action::Run(_))
                && entry.about.name != self.whole.tool
                && allowed(entry, &self.whole.caller.principal).is_ok()
        })
    }

    /// Whether a tool of that name may have to wait until its client has thought.
    pub fn may_wait(&self, name: &str) -> bool {
        let entry = self.whole.tools.find(name);
        entry.is_ok_and(|entry| entry.about.thinks)
    }

    fn not_within(&self, name: &str) -> ToolError {
        ToolError::Told {
            code: "NotWithin".to_owned(),
            message: format!("{name} can't be run from within {}", self.whole.tool),
            hint: Some("Call it by itself.".to_owned()),
        }
    }
}

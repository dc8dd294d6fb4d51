//! Selects the tools that a model is given by name, our own and external ones alike.

use deliberate_core::did_you_mean;
use serde_json::Value;

use crate::{
    ArgumentIssue, ErrorCode, ToolContext, ToolError, ToolSpec, external_tools::ExternalTool,
    matches_pattern, registry::ToolAction,
};

/// The most tools that a model is given at once, because more confuse it.
const MAX_TOOLS: usize = 32;

impl ToolContext {
    /// Returns the tools of these names; a `*` at the end of a name matches any ending. A name that
    /// is unknown, or that the caller may not use, is an issue of `field`.
    pub async fn select_tools(
        &self,
        field: &str,
        names: &[String],
    ) -> Result<Vec<ToolSpec>, ToolError> {
        if !self.prefix.is_empty() {
            return Err(ToolError::Custom {
                code: ErrorCode::NotWithin,
                message: format!("{field}: a nested tool can't use tools"),
                hint: Some("Omit them, or call the tool directly.".to_owned()),
            });
        }
        let mut hands: Vec<ToolSpec> = Vec::new();
        let mut issues = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let mut found = self.matching_tools(name);
            if let Some(external) = &self.shared.env.tools.external {
                let external = external.find(name).await;
                found.extend(external.iter().map(external_tool_spec));
            }
            found.retain(|hand| self.can_run(&hand.name));
            if found.is_empty() {
                let rule = "is not a tool that can be used here";
                let issue = ArgumentIssue::new(format!("{field}.{at}"), rule);
                issues.push(
                    issue
                        .with_value(&name.as_str().into())
                        .with_suggestion(self.suggest_tool(name)),
                );
            }
            for hand in found {
                if !hands.iter().any(|known| known.name == hand.name) {
                    hands.push(hand);
                }
            }
        }
        if hands.len() > MAX_TOOLS {
            let rule = format!(
                "matches {} tools; at most {MAX_TOOLS} can be used",
                hands.len()
            );
            issues.push(ArgumentIssue::new(field, rule));
        }
        if issues.is_empty() {
            return Ok(hands);
        }
        Err(ToolError::Invalid(issues))
    }

    fn matching_tools(&self, pattern: &str) -> Vec<ToolSpec> {
        let entries = self.shared.env.tools.tools.iter();
        let fitting = entries.filter(|entry| {
            matches_pattern(pattern, entry.meta.name) && matches!(entry.action, ToolAction::Run(_))
        });
        fitting
            .map(|entry| ToolSpec {
                name: entry.meta.name.to_owned(),
                description: entry.meta.description.to_owned(),
                schema: entry.input_schema().clone(),
            })
            .collect()
    }

    fn suggest_tool(&self, name: &str) -> Option<String> {
        let external = self
            .shared
            .env
            .tools
            .external
            .as_ref()
            .map(|external| external.list());
        let external = external.as_deref().unwrap_or_default();
        let own = self
            .shared
            .env
            .tools
            .tools
            .iter()
            .map(|entry| entry.meta.name);
        let all = own.chain(external.iter().map(|external_tool| &*external_tool.name));
        did_you_mean(name, all.filter(|name| self.can_run(name)))
    }
}

fn external_tool_spec(tool: &ExternalTool) -> ToolSpec {
    let text = |field: &str| tool.definition.get(field).and_then(Value::as_str);
    ToolSpec {
        name: tool.name.to_string(),
        description: text("description")
            .or(text("title"))
            .unwrap_or_default()
            .to_owned(),
        schema: tool
            .definition
            .get("inputSchema")
            .cloned()
            .unwrap_or_default(),
    }
}

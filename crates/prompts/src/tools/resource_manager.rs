//! The `resource_manager` tool: manages prompts, gates, methodologies, styles and checkpoints.

use std::sync::Arc;

use deliberate_core::Change;
use deliberate_toolkit::{
    ErrorCode, Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use serde_json::Value;

use crate::{
    engine::{Engine, MethodologySetting, RuntimeSettings, SETTING_KEYS, engine_error},
    model::LibraryItemKind,
    resource_manager::{self, Input, ManageReply, ResourceAction},
};

/// The scope that deleting needs besides the tool's.
const DELETE_SCOPE: &str = "resource_manager/delete";

/// The `resource_manager` tool.
pub struct ResourceManager(pub Arc<Engine>);

impl Tool for ResourceManager {
    type Input = Input;
    type Output = ManageReply;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "resource_manager",
            title: "Manage the prompt library",
            description: "Edits the prompt library. Fields of create and update, beside those \
                          listed: prompt: name, description, category, user_message_template, \
                          system_message, arguments[], chain_steps[], gate_configuration, \
                          tools[]; gate: name, description, guidance, pass_criteria[], severity, \
                          activation, retry_config; methodology: name, system_prompt_guidance, \
                          phases[], methodology_gates[]; style: name, guidance. update changes \
                          only what is given, \"\" clears. guide explains more.",
            hints: ToolHints {
                destructive: true,
                ..ToolHints::ADDITIVE
            },
            asks_model: false,
            limits: ToolLimits::default(),
        }
    }

    async fn run(
        &self,
        input: Input,
        call: &ToolContext,
    ) -> Result<ToolOutput<ManageReply>, ToolError> {
        if matches!(input.action, ResourceAction::Delete | ResourceAction::Clear) {
            call.check_action_allowed(DELETE_SCOPE)?;
        }
        let settings = RuntimeSettings::read(call, &self.0.options).await?;
        if input.action == ResourceAction::Switch
            && input.resource_type.kind() == Some(LibraryItemKind::Methodology)
        {
            return self.switch(&input, call).await;
        }
        let in_use = settings.methodology().map(str::to_owned);
        let reply =
            resource_manager::handle_request(Arc::clone(&self.0), call.now(), in_use, input)
                .await?;
        Ok(ToolOutput {
            output: reply,
            changes: Vec::new(),
            session: None,
        })
    }

    /// A call cannot be replayed, because files may have changed already.
    fn is_replayable(&self) -> bool {
        false
    }
}

impl ResourceManager {
    /// Makes a methodology the active one, for every process and until the next switch.
    async fn switch(
        &self,
        input: &Input,
        call: &ToolContext,
    ) -> Result<ToolOutput<ManageReply>, ToolError> {
        let rest = resource_manager::check_fields(input)?;
        let library = self.0.live_library.library().await;
        let id = input.id.as_deref().unwrap_or_default();
        let Some(methodology) = library.methodology(id) else {
            return Err(resource_manager::unknown_methodology(&library, id));
        };
        if rest.get("persist") == Some(&Value::Bool(false)) {
            return Err(engine_error(
                ErrorCode::InvalidInput,
                "A switch is always stored, so `persist: false` is not possible.",
                "Leave it out. To use a methodology for one command, put @NAME in front of the \
                 command.",
            ));
        }
        let framework = MethodologySetting {
            active: Some(methodology.id.clone()),
            off: false,
            since: Some(call.now()),
            reason: rest
                .get("reason")
                .and_then(Value::as_str)
                .map(str::to_owned),
        };
        let value = serde_json::to_value(framework).map_err(|error| {
            tracing::error!(%error, "a setting can't be serialized as JSON");
            ToolError::Internal
        })?;
        Ok(ToolOutput {
            output: resource_manager::switch_reply(&methodology.id, &methodology.name),
            changes: vec![Change::SetState {
                key: SETTING_KEYS.framework.to_owned(),
                value: Some(value),
                at: call.now(),
            }],
            session: None,
        })
    }
}

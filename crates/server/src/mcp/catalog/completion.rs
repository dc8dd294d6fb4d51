//! `completion/complete`: arguments of prompts and variables of URI templates.

use std::collections::HashMap;

use deliberate_core::truncate_chars;
use deliberate_toolkit::{CompletionRequest, CompletionValues, Registry, ResourceContext};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CompleteRequestMethod, CompleteRequestParams, CompleteResult, CompletionInfo, Reference,
    },
    service::RequestContext,
};

use super::{
    caller_context,
    capabilities::{has_prompts, has_resources},
    error::to_rpc_error,
    may_see, prompts, run_guarded,
};

/// The longest input that is completed.
const MAX_INPUT_LEN: usize = 1_000;

pub(crate) async fn complete(
    registry: &Registry,
    request: CompleteRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CompleteResult, ErrorData> {
    if !has_resources(registry) && !has_prompts(registry) {
        return Err(ErrorData::method_not_found::<CompleteRequestMethod>());
    }
    let caller = caller_context(context);
    let desk = ResourceContext {
        registry,
        caller: &caller,
    };
    let given = request.context.and_then(|it| it.arguments);
    let given: HashMap<String, String> = given.unwrap_or_default();
    let typed = CompletionRequest {
        argument: &request.argument.name,
        text: &request.argument.value,
        arguments: &given,
    };
    if typed.text.len() > MAX_INPUT_LEN {
        return Ok(CompleteResult::new(to_completion_info(
            CompletionValues::default(),
        )));
    }
    let choices = run_guarded(registry, context, async {
        match &request.r#ref {
            Reference::Prompt(prompt) => complete_prompt(&prompt.name, typed, desk).await,
            Reference::Resource(template) => complete_template(&template.uri, typed, desk).await,
            other => Err(ErrorData::invalid_params(
                format!("ref: {} cannot be completed", other.reference_type()),
                None,
            )),
        }
    })
    .await?;
    Ok(CompleteResult::new(to_completion_info(choices)))
}

async fn complete_prompt(
    name: &str,
    typed: CompletionRequest<'_>,
    context: ResourceContext<'_>,
) -> Result<CompletionValues, ErrorData> {
    let principal = &context.caller.principal;
    prompts::check_usable(context.registry, name, principal).await?;
    for menu in context.registry.prompt_providers() {
        if let Some(choices) = menu.complete(name, typed, context).await {
            return choices.map_err(|error| to_rpc_error(&error));
        }
    }
    Err(prompts::unknown_prompt(context.registry, name, principal).await)
}

async fn complete_template(
    uri: &str,
    typed: CompletionRequest<'_>,
    context: ResourceContext<'_>,
) -> Result<CompletionValues, ErrorData> {
    for family in context.registry.resources() {
        if may_see(&context.caller.principal, family)
            && let Some(choices) = family.complete(uri, typed, context).await
        {
            return choices.map_err(|error| to_rpc_error(&error));
        }
    }
    let uri = truncate_chars(uri, 80);
    let text =
        format!("there is no template {uri:?}; list the templates to see the available ones");
    Err(ErrorData::invalid_params(text, None))
}

/// Limits the values to the number that the protocol allows; `total` is set only if it is known.
fn to_completion_info(choices: CompletionValues) -> CompletionInfo {
    let CompletionValues {
        mut values,
        has_more: more,
    } = choices;
    let all = u32::try_from(values.len()).ok();
    let more = more || values.len() > CompletionInfo::MAX_VALUES;
    values.truncate(CompletionInfo::MAX_VALUES);
    let mut info = CompletionInfo::default();
    info.values = values;
    info.total = all.filter(|_| !more);
    info.has_more = Some(more);
    info
}

//! `prompts/list` and `prompts/get`.

use deliberate_core::{did_you_mean, truncate_chars};
use deliberate_toolkit::{
    Principal, PromptInfo, Registry, RenderedPrompt, ResourceContext, ToolScope,
};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        ContentBlock, GetPromptRequestMethod, GetPromptRequestParams, GetPromptResponse,
        GetPromptResult, ListPromptsRequestMethod, ListPromptsResult, PaginatedRequestParams,
        Prompt, PromptArgument, PromptMessage, Role,
    },
    service::RequestContext,
};

use super::{
    LIST_TTL_MS, cache_scope, caller_context, capabilities::has_prompts, error::to_rpc_error,
    pagination::ListKind, run_guarded,
};
use crate::principal::principal;

pub(crate) async fn list(
    registry: &Registry,
    page: Option<PaginatedRequestParams>,
    context: &RequestContext<RoleServer>,
) -> Result<ListPromptsResult, ErrorData> {
    if !has_prompts(registry) {
        return Err(ErrorData::method_not_found::<ListPromptsRequestMethod>());
    }
    let principal = principal(context);
    let dishes = list_prompts(registry, &principal).await;
    let (dishes, next) = ListKind::Prompts.paginate(dishes, page, |dish| &dish.name)?;
    let prompts = dishes.into_iter().map(to_mcp_prompt).collect();
    let mut result = ListPromptsResult::with_all_items(prompts)
        .with_ttl_ms(LIST_TTL_MS)
        .with_cache_scope(cache_scope(&principal));
    result.next_cursor = next;
    Ok(result)
}

pub(crate) async fn get(
    registry: &Registry,
    request: GetPromptRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<GetPromptResponse, ErrorData> {
    if !has_prompts(registry) {
        return Err(ErrorData::method_not_found::<GetPromptRequestMethod>());
    }
    let caller = caller_context(context);
    let desk = ResourceContext {
        registry,
        caller: &caller,
    };
    let arguments = request.arguments.unwrap_or_default();
    run_guarded(registry, context, async {
        check_usable(registry, &request.name, &caller.principal).await?;
        for menu in registry.prompt_providers() {
            if let Some(served) = menu.get(&request.name, &arguments, desk).await {
                let served = served.map_err(|error| to_rpc_error(&error))?;
                return Ok(GetPromptResponse::Complete(to_prompt_result(served)));
            }
        }
        Err(unknown_prompt(registry, &request.name, &caller.principal).await)
    })
    .await
}

/// Lists the prompts whose tool the principal may use.
async fn list_prompts(registry: &Registry, principal: &Principal) -> Vec<PromptInfo> {
    let mut dishes = Vec::new();
    for menu in registry.prompt_providers() {
        dishes.extend(menu.list().await);
    }
    dishes.retain(|dish| principal.scope.allows(&dish.tool));
    dishes
}

/// Fails if the principal may not use the prompt. Its name is then as unknown as any other, so that
/// names cannot be guessed.
pub(super) async fn check_usable(
    registry: &Registry,
    name: &str,
    principal: &Principal,
) -> Result<(), ErrorData> {
    if principal.scope == ToolScope::All {
        return Ok(());
    }
    let usable = list_prompts(registry, principal).await;
    if usable.iter().any(|prompt| prompt.name == name) {
        return Ok(());
    }
    Err(unknown_prompt(registry, name, principal).await)
}

/// The error for a prompt that does not exist or that the principal may not use.
pub(super) async fn unknown_prompt(
    registry: &Registry,
    name: &str,
    principal: &Principal,
) -> ErrorData {
    let dishes = list_prompts(registry, principal).await;
    let hint = match did_you_mean(name, dishes.iter().map(|dish| dish.name.as_str())) {
        Some(meant) => format!("Did you mean {meant}?"),
        None => "List the prompts to see their names.".to_owned(),
    };
    let name = truncate_chars(name, 80);
    ErrorData::invalid_params(format!("there is no prompt named {name:?}. {hint}"), None)
}

fn to_mcp_prompt(dish: PromptInfo) -> Prompt {
    let arguments = dish.arguments.into_iter().map(|argument| {
        PromptArgument::new(argument.name)
            .with_description(argument.description)
            .with_required(argument.required)
    });
    let arguments: Vec<PromptArgument> = arguments.collect();
    let arguments = (!arguments.is_empty()).then_some(arguments);
    Prompt::new(dish.name, Some(dish.description), arguments).with_title(dish.title)
}

fn to_prompt_result(prompt: RenderedPrompt) -> GetPromptResult {
    let message = PromptMessage::new(Role::User, ContentBlock::text(prompt.text));
    GetPromptResult::new(vec![message]).with_description(prompt.description)
}

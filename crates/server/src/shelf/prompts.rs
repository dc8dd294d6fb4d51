//! The prompts of a registry, listed and filled in.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use deliberate_core::{cut_to_chars, nearest};
use deliberate_toolkit::{Desk, Dish, Registry, Said, Served, Speaker, Utterance};
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
    LIST_TTL_MS, cache_scope, caller, capabilities::has_prompts, error::general, guarded,
    paging::List, resources::contents,
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
    let mut dishes = dishes(registry).await;
    dishes.retain(|dish| principal.scope.allows(&dish.leads_to));
    let (dishes, next) = List::Prompts.cut(dishes, page, |dish| &dish.name)?;
    let prompts = dishes.into_iter().map(prompt).collect();
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
    let caller = caller(context);
    let desk = Desk {
        registry,
        caller: &caller,
    };
    let arguments = request.arguments.unwrap_or_default();
    guarded(registry, context, async {
        for menu in registry.menus() {
            if let Some(served) = menu.get(&request.name, &arguments, desk).await {
                let served = served.map_err(|error| general(&error))?;
                return Ok(GetPromptResponse::Complete(result(served)));
            }
        }
        Err(unknown(registry, &request.name).await)
    })
    .await
}

async fn dishes(registry: &Registry) -> Vec<Dish> {
    let mut dishes = Vec::new();
    for menu in registry.menus() {
        dishes.extend(menu.list().await);
    }
    dishes
}

/// The answer to a prompt that is not there.
pub(super) async fn unknown(registry: &Registry, name: &str) -> ErrorData {
    let dishes = dishes(registry).await;
    let hint = match nearest(name, dishes.iter().map(|dish| dish.name.as_str())) {
        Some(meant) => format!("Did you mean {meant}?"),
        None => "List the prompts to see their names.".to_owned(),
    };
    let name = cut_to_chars(name, 80);
    ErrorData::invalid_params(format!("there is no prompt named {name:?}. {hint}"), None)
}

fn prompt(dish: Dish) -> Prompt {
    let arguments = dish.arguments.into_iter().map(|argument| {
        PromptArgument::new(argument.name)
            .with_description(argument.description)
            .with_required(argument.required)
    });
    let arguments: Vec<PromptArgument> = arguments.collect();
    let arguments = (!arguments.is_empty()).then_some(arguments);
    Prompt::new(dish.name, Some(dish.description), arguments).with_title(dish.title)
}

fn result(served: Served) -> GetPromptResult {
    let messages = served.said.into_iter().map(message).collect();
    GetPromptResult::new(messages).with_description(served.description)
}

fn message(said: Said) -> PromptMessage {
    let role = match said.by {
        Speaker::User => Role::User,
        Speaker::Assistant => Role::Assistant,
    };
    let content = match said.what {
        Utterance::Text(text) => ContentBlock::text(text),
        Utterance::Image { bytes, mime_type } => {
            ContentBlock::image(STANDARD.encode(bytes), mime_type)
        }
        Utterance::Resource(resource) => ContentBlock::resource(contents(resource)),
    };
    PromptMessage::new(role, content)
}

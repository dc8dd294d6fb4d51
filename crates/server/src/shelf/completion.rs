//! What a person may be typing: arguments of prompts, variables of templates.

use std::collections::HashMap;

use deliberate_core::cut_to_chars;
use deliberate_toolkit::{Choices, Desk, Registry, Typed};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CompleteRequestMethod, CompleteRequestParams, CompleteResult, CompletionInfo, Reference,
    },
    service::RequestContext,
};

use super::{
    caller,
    capabilities::{has_prompts, has_resources},
    error::general,
    guarded, may_see, prompts,
};

/// Nobody types more than this by hand before they want to be helped.
const LONGEST_TYPED: usize = 1_000;

pub(crate) async fn complete(
    registry: &Registry,
    request: CompleteRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CompleteResult, ErrorData> {
    if !has_resources(registry) && !has_prompts(registry) {
        return Err(ErrorData::method_not_found::<CompleteRequestMethod>());
    }
    let caller = caller(context);
    let desk = Desk {
        registry,
        caller: &caller,
    };
    let given = request.context.and_then(|it| it.arguments);
    let given: HashMap<String, String> = given.unwrap_or_default();
    let typed = Typed {
        argument: &request.argument.name,
        text: &request.argument.value,
        given: &given,
    };
    if typed.text.len() > LONGEST_TYPED {
        return Ok(CompleteResult::new(info(Choices::default())));
    }
    let choices = guarded(registry, context, async {
        match &request.r#ref {
            Reference::Prompt(prompt) => of_prompt(&prompt.name, typed, desk).await,
            Reference::Resource(template) => of_template(&template.uri, typed, desk).await,
            other => Err(ErrorData::invalid_params(
                format!("ref: {} can't be completed", other.reference_type()),
                None,
            )),
        }
    })
    .await?;
    Ok(CompleteResult::new(info(choices)))
}

async fn of_prompt(name: &str, typed: Typed<'_>, desk: Desk<'_>) -> Result<Choices, ErrorData> {
    for menu in desk.registry.menus() {
        if let Some(choices) = menu.complete(name, typed, desk).await {
            return choices.map_err(|error| general(&error));
        }
    }
    Err(prompts::unknown(desk.registry, name).await)
}

async fn of_template(uri: &str, typed: Typed<'_>, desk: Desk<'_>) -> Result<Choices, ErrorData> {
    for family in desk.registry.resources() {
        if may_see(&desk.caller.principal, family)
            && let Some(choices) = family.complete(uri, typed, desk).await
        {
            return choices.map_err(|error| general(&error));
        }
    }
    let uri = cut_to_chars(uri, 80);
    let text = format!("there is no template {uri:?}; list the templates to see what there is");
    Err(ErrorData::invalid_params(text, None))
}

/// At most as many values as the protocol allows; the number of all only where it is known.
fn info(choices: Choices) -> CompletionInfo {
    let Choices { mut values, more } = choices;
    let all = u32::try_from(values.len()).ok();
    let more = more || values.len() > CompletionInfo::MAX_VALUES;
    values.truncate(CompletionInfo::MAX_VALUES);
    let mut info = CompletionInfo::default();
    info.values = values;
    info.total = all.filter(|_| !more);
    info.has_more = Some(more);
    info
}

//! Resources and prompts, found like a client finds them: through the lists.

use anyhow::{Context as _, ensure};
use deliberate_testkit::load::LoadClient;
use serde_json::{Map, Value, json};

use super::scenarios::{SoakScenario, text};

/// Lists the resources and reads this client's own session.
pub(crate) async fn resources(
    caller: &mut LoadClient,
    errands: &mut SoakScenario,
) -> anyhow::Result<()> {
    let listed = caller.request("resources/list", json!({})).await?;
    ensure!(listed["resources"].is_array(), "no list: {listed}");
    let listed = caller
        .request("resources/templates/list", json!({}))
        .await?;
    let templates = listed["resourceTemplates"].as_array();
    let mut templates = templates.context("no list of templates")?.iter();
    let of_session = templates.find_map(|template| {
        let template = template["uriTemplate"].as_str()?;
        let (before, rest) = template.split_once('{')?;
        let (_, after) = rest.split_once('}')?;
        let fits = template.contains("session") && !after.contains('{');
        fits.then(|| (before.to_owned(), after.to_owned()))
    });
    let Some((before, after)) = of_session else {
        return Ok(());
    };
    let session = errands.session(caller).await?;
    let uri = format!("{before}{session}{after}");
    let read = caller
        .request("resources/read", json!({ "uri": uri }))
        .await?;
    errands.tag.check_present(&read)?;
    errands.tag.check_alone(&read)
}

/// Lists the prompts and gets the first one, with this client's tag in every required argument.
pub(crate) async fn prompts(
    caller: &mut LoadClient,
    errands: &mut SoakScenario,
) -> anyhow::Result<()> {
    let listed = caller.request("prompts/list", json!({})).await?;
    let Some(prompt) = listed["prompts"].get(0) else {
        return Ok(());
    };
    let mut arguments = Map::new();
    for argument in prompt["arguments"].as_array().into_iter().flatten() {
        if argument["required"] == true {
            let value = Value::from(errands.tag.word());
            arguments.insert(text(argument, "name")?, value);
        }
    }
    let is_asked = !arguments.is_empty();
    let params = json!({ "name": prompt["name"], "arguments": arguments });
    let served = caller.request("prompts/get", params).await?;
    ensure!(served["messages"].is_array(), "no messages: {served}");
    if is_asked {
        errands.tag.check_present(&served)?;
    }
    errands.tag.check_alone(&served)
}

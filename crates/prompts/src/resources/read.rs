//! What stands at an address.

use deliberate_toolkit::{Body, Contents, Desk, ToolError};
use serde_json::json;

use super::{
    address::{Address, Part, What, nothing_at},
    page, run,
};
use crate::library::Library;

pub(super) async fn read(
    uri: &str,
    address: Address,
    library: &Library,
    desk: Desk<'_>,
) -> Result<Vec<Contents>, ToolError> {
    let (mime_type, text) = match address {
        Address::Problems => ("application/json", pretty(&json!(library.problems))?),
        Address::All(What::Run) => ("application/json", pretty(&run::all(desk).await?)?),
        Address::All(what) => ("text/markdown", page::all(what, library)),
        Address::One {
            what: What::Run,
            id,
            ..
        } => {
            let found = run::one(&id, desk).await?;
            let found = found.ok_or_else(|| nothing_at(uri))?;
            ("application/json", pretty(&found)?)
        }
        Address::One { what, id, part } => {
            let found = page::one(what, &id, part, library);
            let found = found.ok_or_else(|| nothing_at(uri))?;
            let plain = part == Part::Text;
            (if plain { "text/plain" } else { "text/markdown" }, found)
        }
    };
    Ok(vec![Contents {
        uri: uri.to_owned(),
        mime_type: Some(mime_type.to_owned()),
        body: Body::Text(text),
    }])
}

fn pretty(value: &serde_json::Value) -> Result<String, ToolError> {
    serde_json::to_string_pretty(value).map_err(|_| ToolError::Internal)
}

//! What stands at an address, fetched through the gate.

use deliberate_toolkit::{Body, Contents, Desk, ToolError};
use serde_json::{Value, json};

use super::address::{Address, Form, Place, What, nothing_at};

/// Sessions in one part of their list.
const LISTED: u32 = 100;

pub(super) async fn read(
    uri: &str,
    address: Address,
    desk: Desk<'_>,
) -> Result<Vec<Contents>, ToolError> {
    let (form, text) = match address.place {
        Place::Sessions => (Form::Json, sessions(uri, address.offset, desk).await?),
        Place::Thing { what, id, form } => {
            let part = Part {
                uri,
                what,
                id: &id,
                form,
                offset: address.offset,
            };
            (form, part.read(desk).await?)
        }
    };
    Ok(vec![Contents {
        uri: uri.to_owned(),
        mime_type: Some(form.mime_type().to_owned()),
        body: Body::Text(text),
    }])
}

async fn sessions(uri: &str, offset: u32, desk: Desk<'_>) -> Result<String, ToolError> {
    let arguments = json!({ "limit": LISTED, "offset": offset });
    let mut answer = desk.call("reasoning_sessions", arguments).await?;
    if let Some(fields) = answer.as_object_mut()
        && let Some(next) = fields.shift_remove("next_offset")
    {
        fields.insert("next".to_owned(), next_part(uri, &next).into());
    }
    pretty(&answer)
}

/// A part of something that is read.
struct Part<'a> {
    uri: &'a str,
    what: What,
    id: &'a str,
    form: Form,
    offset: u32,
}

impl Part<'_> {
    async fn read(&self, desk: Desk<'_>) -> Result<String, ToolError> {
        let format = match self.form {
            Form::Json => "data",
            Form::Markdown => "markdown",
        };
        let arguments = json!({ "id": self.id, "format": format, "offset": self.offset });
        let answer = desk.call("reasoning_get", arguments).await;
        let mut answer = match answer {
            Ok(answer) => answer,
            // All that can be wrong with our arguments is an id that names nothing, or an offset
            // that nothing reaches.
            Err(ToolError::Invalid(_)) => return Err(nothing_at(self.uri)),
            Err(error) => return Err(error),
        };
        if answer.get("kind").and_then(Value::as_str) != Some(self.what.name()) {
            return Err(self.no_such_thing());
        }
        let next = answer.get("next_offset").map(|it| next_part(self.uri, it));
        match self.form {
            Form::Json => {
                let mut data = answer.get_mut("data").map(Value::take).unwrap_or_default();
                if let (Some(next), Some(fields)) = (next, data.as_object_mut()) {
                    fields.insert("next".to_owned(), next.into());
                }
                pretty(&data)
            }
            Form::Markdown => {
                let text = answer.get("text").and_then(Value::as_str);
                let text = text.unwrap_or_default();
                Ok(match next {
                    Some(next) => format!("{text}\n*The next part is at `{next}`.*\n"),
                    None => text.to_owned(),
                })
            }
        }
    }

    fn no_such_thing(&self) -> ToolError {
        ToolError::NotFound {
            what: self.what.kind(),
            id: deliberate_core::cut_to_chars(self.id, 80),
        }
    }
}

/// The address of the part that begins there.
fn next_part(uri: &str, offset: &Value) -> String {
    let whole = uri.split_once('?').map_or(uri, |(whole, _)| whole);
    format!("{whole}?offset={offset}")
}

fn pretty(value: &Value) -> Result<String, ToolError> {
    serde_json::to_string_pretty(value).map_err(|_| ToolError::Internal)
}

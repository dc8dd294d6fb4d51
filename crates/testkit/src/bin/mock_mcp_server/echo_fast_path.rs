//! The fast path for `echo`: the text is not parsed, only copied from the request into the answer.

use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct EchoRequest<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    method: &'a str,
    #[serde(borrow)]
    params: EchoParams<'a>,
}

#[derive(Deserialize)]
struct EchoParams<'a> {
    name: &'a str,
    #[serde(borrow)]
    arguments: EchoArguments<'a>,
    #[serde(borrow, rename = "_meta", default)]
    meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct EchoArguments<'a> {
    #[serde(borrow)]
    text: &'a RawValue,
}

/// Appends the answer to an `echo` call to `out`; returns false for any other message.
pub(crate) fn echo(message: &[u8], out: &mut Vec<u8>) -> bool {
    let Ok(call) = serde_json::from_slice::<EchoRequest<'_>>(message) else {
        return false;
    };
    let text = call.params.arguments.text.get();
    if call.method != "tools/call" || call.params.name != "echo" || !text.starts_with('"') {
        return false;
    }
    let stateless = call
        .params
        .meta
        .is_some_and(|meta| meta.get().contains("protocolVersion"));
    let pieces = [
        r#"{"jsonrpc":"2.0","id":"#,
        call.id.get(),
        r#","result":{"#,
        if stateless {
            r#""resultType":"complete","#
        } else {
            ""
        },
        r#""content":[{"type":"text","text":"#,
        text,
        "}]}}",
    ];
    for piece in pieces {
        out.extend_from_slice(piece.as_bytes());
    }
    true
}

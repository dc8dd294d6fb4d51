//! Marks the integers beyond 64 bits in the arguments of a call, so that an upstream server gets
//! them exactly.

use std::borrow::Cow;

use deliberate_json_schema::mark_large_integers;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct CallEnvelope<'a> {
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: CallParams<'a>,
}

#[derive(Deserialize)]
struct CallParams<'a> {
    #[serde(borrow)]
    arguments: &'a RawValue,
}

/// Returns the message with marks in the arguments of a call; other messages stay as they are.
pub(crate) fn mark_arguments(message: &str) -> Cow<'_, str> {
    // Most messages have no such integers, and are not parsed.
    if matches!(mark_large_integers(message), Cow::Borrowed(_)) {
        return Cow::Borrowed(message);
    }
    let Ok(CallEnvelope { method, params }) = serde_json::from_str(message) else {
        return Cow::Borrowed(message);
    };
    if method != "tools/call" {
        return Cow::Borrowed(message);
    }
    let arguments = params.arguments.get();
    let start = arguments
        .as_ptr()
        .addr()
        .checked_sub(message.as_ptr().addr());
    let parts = start.and_then(|start| {
        let after = start.checked_add(arguments.len())?;
        Some((message.get(..start)?, message.get(after..)?))
    });
    match parts {
        Some((before, after)) => {
            let marked = mark_large_integers(arguments);
            Cow::Owned([before, &marked, after].concat())
        }
        None => Cow::Borrowed(message),
    }
}

//! The stand-in's own two addresses, for tests that do not run in its process:
//! `POST /_control` changes how it behaves, `GET /_requests` shows what it saw.

use std::{sync::Arc, time::Duration};

use axum::{Json, extract, http::StatusCode, response::IntoResponse};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::{Fault, Rule, records::State};

/// What `POST /_control` takes. Fields that are absent change nothing; `null` turns off.
#[expect(
    clippy::option_option,
    reason = "absent, null and a value are three things here"
)]
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Control {
    reset: bool,
    push: Vec<Fault>,
    push_pipes: Vec<Fault>,
    #[serde(deserialize_with = "given")]
    always: Option<Option<Fault>>,
    /// In place of those before.
    #[serde(deserialize_with = "given")]
    rules: Option<Option<Vec<Rule>>>,
    delay_ms: Option<u64>,
    strict_pipes: Option<bool>,
    strict_threads: Option<bool>,
    #[serde(deserialize_with = "given")]
    rate: Option<Option<u32>>,
    #[serde(deserialize_with = "given")]
    key: Option<Option<String>>,
    #[serde(deserialize_with = "given")]
    success: Option<Option<bool>>,
    flat: Option<bool>,
    refuse_json_schema: Option<bool>,
    keep_bodies: Option<bool>,
}

/// Tells `null` from absent.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

pub(super) async fn change(
    extract::State(state): extract::State<Arc<State>>,
    Json(body): Json<Value>,
) -> impl IntoResponse {
    let control: Control = match serde_json::from_value(body) {
        Ok(control) => control,
        Err(error) => {
            let error = json!({ "error": error.to_string() });
            return (StatusCode::BAD_REQUEST, Json(error));
        }
    };
    if control.reset {
        state.reset();
    }
    state.write(|inner| {
        inner.ask_faults.extend(control.push);
        inner.pipe_faults.extend(control.push_pipes);
        put(&mut inner.always, control.always);
        put(
            &mut inner.rules,
            control.rules.map(Option::unwrap_or_default),
        );
        let settings = &mut inner.settings;
        put(
            &mut settings.delay,
            control.delay_ms.map(Duration::from_millis),
        );
        put(&mut settings.strict_pipes, control.strict_pipes);
        put(&mut settings.strict_threads, control.strict_threads);
        put(&mut settings.rate, control.rate);
        put(&mut settings.key, control.key);
        put(&mut settings.success, control.success);
        put(&mut settings.flat, control.flat);
        put(&mut settings.refuse_json_schema, control.refuse_json_schema);
        put(&mut settings.keep_bodies, control.keep_bodies);
    });
    (StatusCode::OK, Json(json!({})))
}

fn put<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

pub(super) async fn show(extract::State(state): extract::State<Arc<State>>) -> Json<Value> {
    Json(state.read(|inner| {
        json!({
            "requests": inner.records,
            "pipes": inner.pipes,
            "threads": inner.threads,
            "overwritten": inner.overwritten,
            "in_flight": inner.in_flight,
            "peak": inner.peak,
        })
    }))
}

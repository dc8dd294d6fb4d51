//! The control endpoints of the mock provider, for tests in another process: `POST /_control`
//! changes its behavior, `GET /_requests` shows the recorded requests.

use std::{sync::Arc, time::Duration};

use axum::{Json, extract, http::StatusCode, response::IntoResponse};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::{MockFault, ScriptedAnswer, request_log::MockState};

/// The body of `POST /_control`. Absent fields change nothing; `null` turns a setting off.
#[expect(
    clippy::option_option,
    reason = "absent, null and a value are three different cases"
)]
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ControlRequest {
    reset: bool,
    push: Vec<MockFault>,
    push_pipes: Vec<MockFault>,
    #[serde(deserialize_with = "present_or_null")]
    always: Option<Option<MockFault>>,
    /// The scripted answers, replacing earlier ones.
    #[serde(deserialize_with = "present_or_null")]
    rules: Option<Option<Vec<ScriptedAnswer>>>,
    delay_ms: Option<u64>,
    strict_pipes: Option<bool>,
    strict_threads: Option<bool>,
    #[serde(deserialize_with = "present_or_null")]
    rate: Option<Option<u32>>,
    #[serde(deserialize_with = "present_or_null")]
    key: Option<Option<String>>,
    #[serde(deserialize_with = "present_or_null")]
    success: Option<Option<bool>>,
    flat: Option<bool>,
    refuse_json_schema: Option<bool>,
    keep_bodies: Option<bool>,
}

/// Distinguishes `null` from an absent field.
fn present_or_null<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

pub(super) async fn apply_control(
    extract::State(state): extract::State<Arc<MockState>>,
    Json(body): Json<Value>,
) -> impl IntoResponse {
    let control: ControlRequest = match serde_json::from_value(body) {
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
        replace_if_some(&mut inner.default_fault, control.always);
        replace_if_some(
            &mut inner.rules,
            control.rules.map(Option::unwrap_or_default),
        );
        let settings = &mut inner.settings;
        replace_if_some(
            &mut settings.delay,
            control.delay_ms.map(Duration::from_millis),
        );
        replace_if_some(&mut settings.strict_pipes, control.strict_pipes);
        replace_if_some(&mut settings.strict_threads, control.strict_threads);
        replace_if_some(&mut settings.rate, control.rate);
        replace_if_some(&mut settings.key, control.key);
        replace_if_some(&mut settings.success, control.success);
        replace_if_some(&mut settings.flat, control.flat);
        replace_if_some(&mut settings.refuse_json_schema, control.refuse_json_schema);
        replace_if_some(&mut settings.keep_bodies, control.keep_bodies);
    });
    (StatusCode::OK, Json(json!({})))
}

fn replace_if_some<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

pub(super) async fn show_state(
    extract::State(state): extract::State<Arc<MockState>>,
) -> Json<Value> {
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

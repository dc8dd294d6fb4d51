//! What an arm cost on a task: calls, tokens, and answers that a limit cut.

use std::ops::AddAssign;

use serde::Serialize;
use serde_json::Value;

use super::response_cache::EndpointResponse;

/// The cost of some requests to the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct ModelCost {
    pub(crate) calls: u64,
    pub(crate) prompt_tokens: u64,
    pub(crate) completion_tokens: u64,
    /// Answers that ended because of a limit on their length.
    pub(crate) cut_answers: u64,
}

impl AddAssign for ModelCost {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.prompt_tokens += other.prompt_tokens;
        self.completion_tokens += other.completion_tokens;
        self.cut_answers += other.cut_answers;
    }
}

impl ModelCost {
    /// Reads the cost of one request from its answer, a JSON object or a stream of events.
    pub(crate) fn of_response(response: &EndpointResponse) -> Self {
        let mut cost = Self {
            calls: 1,
            ..Self::default()
        };
        for part in json_parts(response) {
            let number = |name: &str| part["usage"][name].as_u64();
            cost.prompt_tokens = number("prompt_tokens").unwrap_or(cost.prompt_tokens);
            cost.completion_tokens = number("completion_tokens").unwrap_or(cost.completion_tokens);
            if part["choices"][0]["finish_reason"] == "length" {
                cost.cut_answers = 1;
            }
        }
        cost
    }
}

/// Returns the text of one answer, a JSON object or a stream of events.
pub(crate) fn text_of_response(response: &EndpointResponse) -> String {
    let parts = json_parts(response);
    let texts = parts.iter().filter_map(|part| {
        let choice = &part["choices"][0];
        let whole = choice["message"]["content"].as_str();
        whole.or_else(|| choice["delta"]["content"].as_str())
    });
    texts.collect()
}

fn json_parts(response: &EndpointResponse) -> Vec<Value> {
    if response.content_type.starts_with("text/event-stream") {
        let events = response
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("data:"));
        return events
            .filter_map(|event| serde_json::from_str(event.trim()).ok())
            .collect();
    }
    serde_json::from_str(&response.body).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_read_from_objects_and_streams() {
        let object = EndpointResponse {
            status: 200,
            content_type: "application/json".to_owned(),
            body: r#"{"choices":[{"finish_reason":"length"}],"usage":{"prompt_tokens":7,"completion_tokens":3}}"#.to_owned(),
        };
        let expected = ModelCost {
            calls: 1,
            prompt_tokens: 7,
            completion_tokens: 3,
            cut_answers: 1,
        };
        assert_eq!(ModelCost::of_response(&object), expected);
        let stream = EndpointResponse {
            status: 200,
            content_type: "text/event-stream".to_owned(),
            body: "data: {\"choices\":[{\"finish_reason\":\"length\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}\n\ndata: [DONE]\n".to_owned(),
        };
        assert_eq!(ModelCost::of_response(&stream), expected);
    }
}

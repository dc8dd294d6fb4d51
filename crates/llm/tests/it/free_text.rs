//! Tests of answers that begin with free text.

use deliberate_llm::{
    ChatModel, ClientDriven, FinishReason, ModelError, ModelReply, ModelRequest, PlainText,
    StructuredError, StructuredOutput, ask_structured,
};
use serde_json::{Value, json};

use crate::support::{
    ScriptedModel, ThoughtAnswer, far_deadline, from_plain, reply, thought_answer, thought_request,
};

/// A request whose text becomes the field `thought`; the schema has the fields after it.
fn text_request() -> ModelRequest {
    ModelRequest {
        schema: json!({
            "type": "object",
            "properties": {
                "confidence": { "type": "integer", "minimum": 0, "maximum": 100,
                    "description": "how sure" },
            },
            "required": ["confidence"],
        }),
        text_field: Some("thought".into()),
        ..thought_request()
    }
}

async fn ask_text(
    script: &ScriptedModel,
) -> Result<StructuredOutput<ThoughtAnswer>, StructuredError> {
    ask_structured(script, text_request(), None, far_deadline()).await
}

async fn ask_text_or_plain(
    script: &ScriptedModel,
) -> Result<StructuredOutput<ThoughtAnswer>, StructuredError> {
    let ask = ModelRequest {
        plain_text: PlainText::IsTheAnswer,
        ..text_request()
    };
    ask_structured(script, ask, Some(from_plain), far_deadline()).await
}

fn cut_reply(text: &str) -> ModelReply {
    ModelReply {
        finish_reason: FinishReason::Length,
        ..reply(text)
    }
}

#[tokio::test]
async fn the_model_thinks_without_a_schema_and_writes_the_fields_after_the_text() {
    let script = ScriptedModel::with_texts(&["6 × 7 = 42.\n\n{\"confidence\": 90}"]);
    let answer = ask_text(&script).await.unwrap();
    assert_eq!(answer.value, thought_answer("6 × 7 = 42.", 90));
    let asks = script.requests();
    assert_eq!(asks.len(), 1);
    assert!(asks[0].schema.is_null());
    insta::assert_snapshot!(asks[0].messages[0].text, @"
    What is 6 × 7?

    First work it out in plain text. Then, as the last line, write one JSON object with these fields, and nothing after it: {\"confidence\": 0 to 100 (how sure)}
    ");
}

#[tokio::test]
async fn missing_fields_are_asked_for_in_a_short_request_that_sees_the_text() {
    let script = ScriptedModel::with_texts(&["6 × 7 = 42.", "{\"confidence\": 90}"]);
    let answer = ask_text(&script).await.unwrap();
    assert_eq!(answer.value, thought_answer("6 × 7 = 42.", 90));
    let second = &script.requests()[1];
    assert_eq!(second.key, "step/fields");
    assert_eq!(second.schema, text_request().schema);
    assert_eq!(second.messages[1].text, "6 × 7 = 42.");
    // Without fields in the second reply the text alone may be the answer.
    let texts = ["6 × 7 = 42.", "I am sure."];
    let plain = ask_text_or_plain(&ScriptedModel::with_texts(&texts)).await;
    assert_eq!(plain.unwrap().value, from_plain("6 × 7 = 42.".to_owned()));
    let failed = ask_text(&ScriptedModel::with_texts(&texts)).await;
    assert_eq!(failed.unwrap_err().error.code(), "InvalidResponse");
}

#[tokio::test]
async fn a_field_that_repeats_its_description_is_asked_for_again() {
    let mut request = text_request();
    let answer = json!({ "type": "string", "description": "The result" });
    request.schema["properties"]["answer"] = answer;
    request.schema["required"] = json!(["confidence", "answer"]);
    let copied = "6 × 7 = 42.\n\n{\"confidence\": 90, \"answer\": \"The result\"}";
    let fields = |answer: &str| json!({ "confidence": 90, "answer": answer }).to_string();
    let script = ScriptedModel::with_texts(&[copied, &fields("42")]);
    let read = ask_structured::<Value>(&*script, request.clone(), None, far_deadline()).await;
    assert_eq!(read.unwrap().value["answer"], "42");
    // A model that copies it twice has no answer.
    let script = ScriptedModel::with_texts(&[copied, &fields("The result")]);
    let read = ask_structured::<Value>(&*script, request.clone(), None, far_deadline()).await;
    let without = json!({ "confidence": 90, "thought": "6 × 7 = 42." });
    assert_eq!(read.unwrap().value, without);
    // A field that may be left out is worth no second request.
    request.schema["required"] = json!(["confidence"]);
    let script = ScriptedModel::with_texts(&[copied]);
    let read = ask_structured::<Value>(&*script, request, None, far_deadline()).await;
    assert_eq!(read.unwrap().value, without);
}

#[tokio::test]
async fn an_object_with_the_text_in_it_is_read_too() {
    let script = ScriptedModel::with_texts(&[r#"{"thought": "42", "confidence": 90}"#]);
    let answer = ask_text(&script).await.unwrap();
    assert_eq!(answer.value, thought_answer("42", 90));
    assert_eq!(answer.replies.len(), 1);
}

#[tokio::test]
async fn a_text_that_reached_the_token_limit_is_continued() {
    let script = ScriptedModel::with_results([
        Ok(cut_reply("6 × 7 is 6 × 5 plus 6 × 2, ")),
        Ok(cut_reply("which is 30 plus ")),
        Ok(reply("12, so 42.\n{\"confidence\": 90}")),
    ]);
    let answer = ask_text(&script).await.unwrap();
    let whole = "6 × 7 is 6 × 5 plus 6 × 2, which is 30 plus 12, so 42.";
    assert_eq!(answer.value, thought_answer(whole, 90));
    // A text that repeats itself is not continued for ever.
    let endless = "and so on and so on, which is again what it was before that ".repeat(4);
    let script =
        ScriptedModel::with_results([Ok(cut_reply(&endless)), Ok(reply("{\"confidence\": 10}"))]);
    let answer = ask_text(&script).await.unwrap();
    assert_eq!(answer.value, thought_answer(endless.trim(), 10));
}

#[tokio::test]
async fn half_an_object_is_asked_for_again_and_never_the_answer() {
    let good = "6 × 7 = 42.\n{\"confidence\": 90}";
    for bad in [
        reply("{\"thou"),
        cut_reply("{\"thought\": \"half a sen"),
        reply(""),
        reply("```json\n{\"thought"),
        reply("{\"confidence\": 90}"),
    ] {
        let script = ScriptedModel::with_results([Ok(bad.clone()), Ok(reply(good))]);
        let answer = ask_text_or_plain(&script).await.unwrap();
        assert_eq!(answer.value, thought_answer("6 × 7 = 42.", 90), "{bad:?}");
        let again = &script.requests()[1];
        assert_eq!(again.key, "step/again");
        assert!(again.schema.is_null());
        let room = match bad.finish_reason {
            FinishReason::Length => 2 * text_request().max_tokens,
            _ => text_request().max_tokens,
        };
        assert_eq!(again.max_tokens, room, "{bad:?}");
        let script = ScriptedModel::with_results([Ok(bad.clone()), Ok(bad.clone())]);
        let failed = ask_text_or_plain(&script).await.unwrap_err();
        assert_eq!(failed.error.code(), "InvalidResponse", "{bad:?}");
        assert_eq!(failed.replies.len(), 2);
    }
}

#[tokio::test]
async fn code_at_the_start_is_text() {
    let code = "```python\nprint({6: 42})\n```";
    let script = ScriptedModel::with_texts(&[code, "{\"confidence\": 90}"]);
    let answer = ask_text(&script).await.unwrap();
    assert_eq!(answer.value, thought_answer(code, 90));
    assert_eq!(script.requests()[1].key, "step/fields");
}

#[tokio::test]
async fn a_refusal_ends_it() {
    let refusal = ModelReply {
        finish_reason: FinishReason::Refusal,
        ..reply("I can't help with that.")
    };
    let script = ScriptedModel::with_results([Ok(refusal)]);
    let failed = ask_text_or_plain(&script).await.unwrap_err();
    assert!(matches!(failed.error, ModelError::InvalidResponse { .. }));
    assert_eq!(script.requests().len(), 1);
}

fn reasoned_reply(reasoning: &str, text: &str) -> ModelReply {
    ModelReply {
        reasoning: reasoning.to_owned(),
        ..reply(text)
    }
}

#[tokio::test]
async fn native_reasoning_is_the_thought_of_a_reply_that_holds_only_the_fields() {
    let fields = r#"{"confidence": 90}"#;
    for bare in [
        reasoned_reply("6 × 7 is 42.", fields),
        reply("<think>6 × 7 is 42.</think>\n{\"confidence\": 90}"),
        reasoned_reply("6 × 7 is 42.\n{\"confidence\": 90}", ""),
    ] {
        let script = ScriptedModel::with_results([Ok(bare.clone())]);
        let answer = ask_text(&script).await.unwrap();
        assert_eq!(answer.value, thought_answer("6 × 7 is 42.", 90), "{bare:?}");
    }
    // A text of its own is the thought.
    for written in [
        "It is 42.\n{\"confidence\": 90}",
        r#"{"thought": "It is 42.", "confidence": 90}"#,
        r#"{"explanation": "It is 42.", "confidence": 90}"#,
    ] {
        let script = ScriptedModel::with_results([Ok(reasoned_reply("Hm.", written))]);
        let answer = ask_text(&script).await.unwrap();
        assert_eq!(answer.value, thought_answer("It is 42.", 90), "{written}");
    }
    // Of a very long reasoning the end is stored.
    let long = format!("{} So 42.", "and on ".repeat(10_000));
    let script = ScriptedModel::with_results([Ok(reasoned_reply(&long, fields))]);
    let thought = ask_text(&script).await.unwrap().value.thought;
    assert!(thought.starts_with('…') && thought.ends_with("So 42."));
    assert!(thought.chars().count() <= 20_001);
}

#[tokio::test]
async fn an_answer_for_which_the_reasoning_left_no_room_is_asked_for_again_with_more() {
    let exhausted = ModelReply {
        finish_reason: FinishReason::Length,
        ..reasoned_reply("Let me see. 6 × 7 is", "")
    };
    let good = "6 × 7 = 42.\n{\"confidence\": 90}";
    let script = ScriptedModel::with_results([Ok(exhausted), Ok(reply(good))]);
    let answer = ask_text(&script).await.unwrap();
    assert_eq!(answer.value, thought_answer("6 × 7 = 42.", 90));
    let again = &script.requests()[1];
    assert_eq!(again.max_tokens, 2 * text_request().max_tokens);
    let told = &again.messages.last().unwrap().text;
    assert!(told.contains("the thinking took all the room"), "{told}");
}

#[tokio::test]
async fn fields_that_reached_the_token_limit_are_asked_for_once_more_with_twice_the_room() {
    let half = cut_reply("{\"confidence\": 90, \"tags\": [\"a long li");
    let script = ScriptedModel::with_results([
        Ok(reply("6 × 7 = 42.")),
        Ok(half.clone()),
        Ok(reply(r#"{"confidence": 90, "tags": ["a long list"]}"#)),
    ]);
    let answer = ask_text_or_plain(&script).await.unwrap();
    assert_eq!(answer.value.tags, ["a long list"]);
    let asks = script.requests();
    assert_eq!(asks[2].key, "step/fields/again");
    assert_eq!(asks[2].max_tokens, 2 * asks[1].max_tokens);
    assert_eq!(asks[2].schema, text_request().schema);
    // An object that ends is whole, wherever the limit is.
    let script = ScriptedModel::with_results([
        Ok(reply("6 × 7 = 42.")),
        Ok(cut_reply("{\"confidence\": 90}")),
    ]);
    assert_eq!(ask_text(&script).await.unwrap().value.confidence, 90);
    // After the second time the text alone is the answer, and it is said that something is missing.
    let script =
        ScriptedModel::with_results([Ok(reply("6 × 7 = 42.")), Ok(half.clone()), Ok(half)]);
    let answer = ask_text_or_plain(&script).await.unwrap();
    assert_eq!(answer.value, from_plain("6 × 7 = 42.".to_owned()));
    assert!(answer.is_cut);
}

#[tokio::test]
async fn a_text_that_stays_cut_says_so() {
    let script = ScriptedModel::with_results([
        Ok(cut_reply("6 × 7 is 6 × 5 ")),
        Ok(cut_reply("plus 6 × 2, ")),
        Ok(cut_reply("which is ")),
        Ok(reply("{\"confidence\": 10}")),
    ]);
    let answer = ask_text(&script).await.unwrap();
    assert!(answer.is_cut);
    let endless = "and so on and so on, which is again what it was before that ".repeat(4);
    let script =
        ScriptedModel::with_results([Ok(cut_reply(&endless)), Ok(reply("{\"confidence\": 10}"))]);
    assert!(ask_text(&script).await.unwrap().is_cut);
    // What ends with its fields has ended.
    let whole = "6 × 7 = 42.\n{\"confidence\": 90}";
    let script = ScriptedModel::with_results([
        Ok(cut_reply("6 × 7 ")),
        Ok(reply("= 42.\n{\"confidence\": 90}")),
    ]);
    assert!(!ask_text(&script).await.unwrap().is_cut);
    let script = ScriptedModel::with_texts(&[whole]);
    assert!(!ask_text(&script).await.unwrap().is_cut);
}

/// A reply with nothing but the fields of `result_request`.
const BARE: &str = r#"{"answer": "42", "confidence": 90}"#;

/// Like `text_request`, with a result among the fields.
fn result_request() -> ModelRequest {
    let mut request = text_request();
    request.schema["properties"]["answer"] = json!({ "type": "string", "description": "result" });
    request.schema["required"] = json!(["answer", "confidence"]);
    request
}

async fn ask_result(
    model: &dyn ChatModel,
) -> Result<StructuredOutput<ThoughtAnswer>, StructuredError> {
    ask_structured(model, result_request(), None, far_deadline()).await
}

#[tokio::test]
async fn fields_without_a_text_are_asked_for_once_more_with_the_work_before_them() {
    let second = "6 × 7 = 41.\n\n{\"answer\": \"41\", \"confidence\": 60}";
    let fenced = format!("```json\n{BARE}\n```");
    let empty = r#"{"answer": null, "confidence": 50}"#;
    let copied = r#"{"answer": "result", "confidence": 50}"#;
    for bare in [BARE, fenced.as_str(), empty, copied] {
        let script = ScriptedModel::with_texts(&[bare, second]);
        let answer = ask_result(&*script).await.unwrap();
        // The text and the fields of the second reply win.
        assert_eq!(answer.value, thought_answer("6 × 7 = 41.", 60));
        assert_eq!(answer.replies.len(), 2, "both are paid for");
        let asks = script.requests();
        let [first, again] = asks.as_slice() else {
            panic!("{asks:?}");
        };
        assert_eq!(again.key, "step/again");
        assert!(again.schema.is_null());
        // The model does not see its first reply, for which it would only find reasons.
        assert_eq!(again.messages.len(), 1);
        let added = again.messages[0].text.strip_prefix(&first.messages[0].text);
        insta::allow_duplicates! {
            insta::assert_snapshot!(added.unwrap(), @"

            Begin with the work in plain text, several sentences or lines of it. Do not begin with the JSON object.
            ");
        }
    }
}

#[tokio::test]
async fn only_a_judgment_that_gives_its_reason_stands_without_a_text() {
    let fields = r#"{"weakest_point": "step two", "confidence": 90}"#;
    let mut judgment = text_request();
    judgment.schema["properties"]["weakest_point"] = json!({ "type": "string" });
    let mut list = text_request();
    list.schema = json!({ "properties": { "scores": { "items": judgment.schema } } });
    let scores = format!("{{\"scores\": [{fields}]}}");
    let second = "Step two holds.\n{\"confidence\": 40}";
    for (request, bare, asked) in [
        (judgment, fields, 1),
        (list, scores.as_str(), 1),
        (text_request(), "{\"confidence\": 90}", 2),
    ] {
        let script = ScriptedModel::with_texts(&[bare, second]);
        let answer = ask_structured::<Value>(&*script, request, None, far_deadline()).await;
        assert!(answer.is_ok(), "{bare}");
        assert_eq!(script.requests().len(), asked, "{bare}");
    }
}

#[tokio::test]
async fn a_reply_with_a_text_and_a_faulty_field_is_told_what_is_wrong() {
    let faulty = r#"{"thought": "6 × 7 = 42.", "confidence": "very"}"#;
    let script = ScriptedModel::with_texts(&[faulty, "6 × 7 = 42.\n{\"confidence\": 90}"]);
    let answer = ask_text(&script).await.unwrap();
    assert_eq!(answer.value, thought_answer("6 × 7 = 42.", 90));
    let again = &script.requests()[1];
    let complaint = &again.messages.last().unwrap().text;
    assert!(complaint.contains("can't be used"), "{complaint}");
}

#[tokio::test]
async fn fields_without_a_text_are_the_answer_after_the_second_time() {
    // The result stands in the place of the text. A second reply that has it is the newer one.
    for (second, thought, confidence) in [
        (BARE, "42", 90),
        (r#"{"answer": "41", "confidence": 60}"#, "41", 60),
        // What can't be used leaves the first reply.
        ("", "42", 90),
        ("{\"answ", "42", 90),
        (r#"{"confidence": 60}"#, "42", 90),
    ] {
        let script = ScriptedModel::with_texts(&[BARE, second]);
        let answer = ask_result(&*script).await.unwrap();
        assert_eq!(
            answer.value,
            thought_answer(thought, confidence),
            "{second}"
        );
        assert_eq!(answer.replies.len(), 2, "{second}");
    }
    // A second reply with the work alone is asked for its fields.
    let fields = r#"{"answer": "41", "confidence": 60}"#;
    let script = ScriptedModel::with_texts(&[BARE, "6 × 7 = 41.", fields]);
    let answer = ask_result(&*script).await.unwrap();
    assert_eq!(answer.value, thought_answer("6 × 7 = 41.", 60));
    assert_eq!(script.requests()[2].key, "step/fields");
}

#[tokio::test]
async fn fields_after_the_models_own_reasoning_are_not_asked_for_again() {
    for reasoned in [
        reasoned_reply("6 × 7 is 42.", BARE),
        reply(&format!("<think>6 × 7 is 42.</think>\n{BARE}")),
        reply(r#"{"steps": "6 × 7 is 42.", "answer": "42", "confidence": 90}"#),
        reply(r#"{"thought": "6 × 7 is 42.", "answer": "42", "confidence": 90}"#),
    ] {
        let script = ScriptedModel::with_results([Ok(reasoned.clone())]);
        let answer = ask_result(&*script).await.unwrap();
        let thought = thought_answer("6 × 7 is 42.", 90);
        assert_eq!(answer.value, thought, "{reasoned:?}");
    }
}

#[tokio::test]
async fn a_client_whose_own_model_writes_the_fields_alone_is_not_asked_again() {
    let driven = ClientDriven::new([("step".to_owned(), BARE.to_owned())].into());
    let answer = ask_result(&driven).await.unwrap();
    assert_eq!(answer.value, thought_answer("42", 90));
    assert_eq!(driven.pending(), []);
}

#[tokio::test]
async fn a_stored_prompt_that_answers_with_the_fields_alone_is_not_asked_again() {
    let stored = ScriptedModel::with_texts(&[BARE]);
    stored.store_prompts();
    let answer = ask_result(&*stored).await.unwrap();
    assert_eq!(answer.value, thought_answer("42", 90));
    assert_eq!(stored.requests().len(), 1);
}

//! Commands: rendering, rejection, and that no input is lost or executed.

use std::{sync::Arc, time::Duration};

use serde_json::json;

use super::engine_support::{ECHO, EngineHarness, reply_text};

const TWO: (&str, &str) = (
    "prompts/general/two.yaml",
    "id: two\nname: Two\ndescription: Takes a topic and a tone from its caller\n\
     systemMessage: You are brief.\nuserMessageTemplate: 'On {{ topic }} in a {{ tone }} tone.'\n\
     arguments:\n  - {name: topic, required: true}\n  - {name: tone, defaultValue: neutral}\n",
);

const NESTED: (&str, &str) = (
    "prompts/general/parent/child/prompt.yaml",
    "id: child\nname: Child\ndescription: A prompt that lives below another one\n\
     userMessageTemplate: I am the child.\n",
);

const PARENT: (&str, &str) = (
    "prompts/general/parent/prompt.yaml",
    "id: parent\nname: Parent\ndescription: A prompt that takes in another prompt\n\
     userMessageTemplate: 'Before {{ref:echo}} after.'\narguments:\n  - {name: text}\n",
);

fn harness() -> EngineHarness {
    EngineHarness::new(&[ECHO, TWO, NESTED, PARENT])
}

#[tokio::test]
async fn a_plain_prompt_is_its_text_and_nothing_else() {
    let kit = harness();
    let answer = kit
        .call_engine(json!({ "command": ">>echo hello  world" }))
        .await;
    assert_eq!(answer, json!({ "said": "hello  world" }));
}

#[tokio::test]
async fn the_system_message_stands_before_the_text() {
    assert_eq!(
        harness().command_text(">>two topic:\"tea\"").await,
        "You are brief.\n\nOn tea in a neutral tone."
    );
}

#[tokio::test]
async fn options_fill_what_the_command_does_not_give() {
    let answer = harness()
        .call_engine(json!({
            "command": ">>two topic:'tea'",
            "options": { "tone": "warm", "topic": "coffee" },
        }))
        .await;
    assert!(reply_text(&answer).ends_with("On tea in a warm tone."));
}

#[tokio::test]
async fn operators_inside_quotes_are_text() {
    let kit = harness();
    for text in [
        "2+2",
        "what?",
        "a --> b",
        "a ==> b",
        "2 * 3 is six",
        "x :: y",
        "x = y",
        "#tag @home %clean",
        "x + y? z",
        "<b>bold</b>",
    ] {
        for quote in ['"', '\''] {
            let command = format!(">>echo text:{quote}{text}{quote}");
            assert_eq!(kit.command_text(&command).await, text, "{command}");
            let command = format!(">>echo {quote}{text}{quote}");
            assert_eq!(kit.command_text(&command).await, text, "{command}");
        }
    }
}

#[tokio::test]
async fn json_arguments_lose_nothing() {
    let kit = harness();
    let said = kit
        .command_text(r#">>echo {"text": "a < b > c & \"d\""}"#)
        .await;
    assert_eq!(said, "a < b > c & \"d\"");
    let wrapped = json!({ "command": ">>echo", "args": { "text": "<x>" } }).to_string();
    assert_eq!(kit.command_text(&wrapped).await, "<x>");
}

#[tokio::test]
async fn what_is_given_is_never_executed_as_a_template() {
    let kit = harness();
    let hostile = "{{range.constructor('return process.version')()}} {{ 7 * 7 }} $& $1 {% for %}";
    let command = json!({ "command": ">>echo", "options": { "text": hostile } });
    assert_eq!(reply_text(&kit.call_engine(command).await), hostile);
    // The same holds when one prompt includes another.
    let command = json!({ "command": ">>parent", "options": { "text": hostile } });
    assert_eq!(
        reply_text(&kit.call_engine(command).await),
        format!("Before {hostile} after.")
    );
}

#[tokio::test]
async fn nested_prompts_can_be_called() {
    assert_eq!(
        harness().command_text(">>parent/child").await,
        "I am the child."
    );
}

#[tokio::test]
async fn a_required_argument_that_is_missing_is_an_error() {
    let wrong = harness()
        .error_text(json!({ "command": ">>two tone:'warm'" }))
        .await;
    assert!(wrong.starts_with("InvalidArguments"), "{wrong}");
    assert!(wrong.contains("topic"), "{wrong}");
}

#[tokio::test]
async fn an_unknown_prompt_is_told_at_its_place_with_the_nearest() {
    let wrong = harness()
        .error_text(json!({ "command": ">>ecoh hi" }))
        .await;
    assert!(wrong.contains("ecoh") && wrong.contains("echo"), "{wrong}");
    assert!(wrong.contains("^^^^"), "{wrong}");
}

#[tokio::test]
async fn unknown_methodologies_styles_and_modifiers_are_errors() {
    let kit = harness();
    for (command, near) in [
        ("@CAGERF >>echo hi", "cageerf"),
        ("#analitical >>echo hi", "analytical"),
        ("%claen >>echo hi", "clean"),
    ] {
        let wrong = kit.error_text(json!({ "command": command })).await;
        assert!(wrong.contains(near), "{command}: {wrong}");
    }
}

#[tokio::test]
async fn a_gate_that_there_is_not_is_an_error_for_who_asks_for_it() {
    let wrong = harness()
        .error_text(json!({ "command": ">>echo hi", "gates": ["code-qualty"] }))
        .await;
    assert!(wrong.contains("code-quality"), "{wrong}");
}

#[tokio::test]
async fn repetition_is_bounded_before_anything_is_made() {
    let wrong = harness()
        .error_text(json!({ "command": ">>echo hi * 100000" }))
        .await;
    assert!(wrong.contains("100"), "{wrong}");
    let wrong = harness()
        .error_text(json!({ "command": ">>echo hi * 0" }))
        .await;
    assert!(wrong.starts_with("InvalidCommand"), "{wrong}");
}

#[tokio::test]
async fn a_huge_argument_is_refused() {
    let text = "x".repeat(10 << 20);
    let kit = harness();
    let wrong = kit
        .error_text(json!({ "command": format!(">>echo {text}") }))
        .await;
    assert!(
        wrong.contains("1048576 bytes"),
        "{}",
        wrong.chars().take(200).collect::<String>()
    );
    let given = json!({ "command": ">>echo", "options": { "text": text } });
    let wrong = kit.error_text(given).await;
    assert!(
        wrong.contains("bytes"),
        "{}",
        wrong.chars().take(200).collect::<String>()
    );
}

#[tokio::test]
async fn an_argument_of_a_megabyte_less_a_little_is_fine() {
    let text = "{{ x }}--> \"y".repeat(60_000);
    let given = json!({ "command": "%clean >>echo", "options": { "text": text } });
    assert_eq!(reply_text(&harness().call_engine(given).await), text);
}

#[tokio::test]
async fn words_are_answered_without_a_prompt() {
    let kit = harness();
    assert!(
        kit.command_text("list")
            .await
            .contains("- echo(text): Says")
    );
    assert!(kit.command_text("list tone").await.contains("two"));
    assert!(kit.command_text(">>help").await.contains("-->"));
    assert!(kit.command_text("gates").await.contains("code-quality"));
}

#[tokio::test]
async fn nothing_at_all_is_told_what_to_send() {
    let wrong = harness().error_text(json!({})).await;
    assert!(wrong.starts_with("MissingCommand"), "{wrong}");
    let wrong = harness().error_text(json!({ "user_response": "x" })).await;
    assert!(wrong.starts_with("MissingRun"), "{wrong}");
}

#[tokio::test]
async fn judge_shows_what_there_is_to_choose() {
    let said = harness().command_text("%judge >>echo hi").await;
    assert!(
        said.contains("@react") && said.contains("#analytical"),
        "{said}"
    );
}

#[tokio::test]
async fn a_methodology_and_a_style_are_added_where_they_are_asked_for() {
    let said = harness().command_text("@ReACT #analytical >>echo hi").await;
    assert!(said.contains("Work by ReACT"), "{said}");
    assert!(said.contains("Style (Analytical"), "{said}");
    let said = harness()
        .command_text("%clean @ReACT #analytical >>echo hi")
        .await;
    assert_eq!(said, "hi");
}

#[tokio::test]
async fn a_slow_template_holds_up_nobody_else() {
    let slow = (
        "prompts/general/slow.yaml",
        "id: slow\nname: Slow\ndescription: Takes long\ncategory: general\n\
         userMessageTemplate: \"{% for i in range(100000) %}{% if topic == topic ~ 'b' %}{% endif %}{% endfor %}\"\n\
         arguments: [{name: topic, required: true}]\n",
    );
    let kit = Arc::new(EngineHarness::new(&[slow]));
    kit.library.library().await;
    let rendering = tokio::spawn({
        let kit = kit.clone();
        async move {
            let options = json!({ "topic": "t".repeat(90_000) });
            let arguments = json!({ "command": ">>slow", "options": options });
            kit.call("prompt_engine", arguments).await
        }
    });
    // The runtime has one thread. If the template were rendered on it, nothing would happen here
    // until it is done.
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let done = rendering.is_finished();
    rendering.abort();
    let ended = rendering.await;
    assert!(!done, "{ended:?}");
}

#[tokio::test]
async fn a_short_command_with_a_large_number_is_refused_at_once() {
    let command = r#"? "range(9)|slice(1000000000)|list|length > 1" : >>teach_me "how TLS works""#;
    let kit = harness();
    let refused = kit.error_text(json!({ "command": command }));
    let refused = tokio::time::timeout(Duration::from_secs(20), refused).await;
    let refused = refused.expect("it takes no time");
    assert!(refused.starts_with("BadCondition"), "{refused}");
}

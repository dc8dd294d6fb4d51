//! Plans of chain runs: loaded once, and never confused with the plan of another run.

use serde_json::json;

use super::engine_support::{ECHO, EngineHarness, reply_text, run_id};

const STEPS: &str = ">>echo text:'tea' --> >>echo text:'milk' --> >>echo text:'sugar'";

#[tokio::test]
async fn a_run_of_the_same_number_has_its_own_plan() {
    let here = EngineHarness::new(&[ECHO]);
    let run = run_id(&here.call_engine(json!({ "command": STEPS })).await);
    let second = here.answer_step(&run, "done").await;
    assert!(reply_text(&second).starts_with("milk"), "{second}");
    // Another process deletes the run, and starts one that gets its number.
    let there = here.second_process();
    let clear = json!({
        "action": "session", "operation": "clear", "session_id": run, "confirm": true,
    });
    there.call("system_control", clear).await.unwrap();
    let wrong = here.error_text(json!({ "chain_id": run })).await;
    assert!(wrong.starts_with("RunNotFound"), "{wrong}");
    let other = ">>echo text:'bread' --> >>echo text:'salt'";
    let other = run_id(&there.call_engine(json!({ "command": other })).await);
    assert_eq!(other, run);
    let shown = here.call_engine(json!({ "chain_id": run })).await;
    assert!(reply_text(&shown).starts_with("bread"), "{shown}");
    assert_eq!(shown["total_steps"], 2);
    let next = here.answer_step(&run, "done").await;
    assert!(reply_text(&next).starts_with("salt"), "{next}");
}

#[tokio::test]
async fn what_another_process_answered_is_seen() {
    let here = EngineHarness::new(&[ECHO]);
    let run = run_id(&here.call_engine(json!({ "command": STEPS })).await);
    here.call_engine(json!({ "chain_id": run })).await;
    let there = here.second_process();
    there.answer_step(&run, "one").await;
    let shown = here.call_engine(json!({ "chain_id": run })).await;
    assert_eq!(shown["steps"], json!([2]));
    here.answer_step(&run, "two").await;
    let shown = there.call_engine(json!({ "chain_id": run })).await;
    assert_eq!(shown["steps"], json!([3]));
    assert!(reply_text(&shown).starts_with("sugar"), "{shown}");
}

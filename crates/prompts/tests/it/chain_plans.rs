//! Plans of runs: read once, and never taken for another run's.

use serde_json::json;

use crate::kit::{ECHO, Kit, run_of, said};

const STEPS: &str = ">>echo text:'tea' --> >>echo text:'milk' --> >>echo text:'sugar'";

#[tokio::test]
async fn a_run_of_the_same_number_has_its_own_plan() {
    let here = Kit::new(&[ECHO]);
    let run = run_of(&here.engine(json!({ "command": STEPS })).await);
    let second = here.answer(&run, "done").await;
    assert!(said(&second).starts_with("milk"), "{second}");
    // Another process deletes it, and begins one that gets its number.
    let there = here.again();
    let clear = json!({
        "action": "session", "operation": "clear", "session_id": run, "confirm": true,
    });
    there.call("system_control", clear).await.unwrap();
    let wrong = here.wrong(json!({ "chain_id": run })).await;
    assert!(wrong.starts_with("RunNotFound"), "{wrong}");
    let other = ">>echo text:'bread' --> >>echo text:'salt'";
    let other = run_of(&there.engine(json!({ "command": other })).await);
    assert_eq!(other, run);
    let shown = here.engine(json!({ "chain_id": run })).await;
    assert!(said(&shown).starts_with("bread"), "{shown}");
    assert_eq!(shown["total_steps"], 2);
    let next = here.answer(&run, "done").await;
    assert!(said(&next).starts_with("salt"), "{next}");
}

#[tokio::test]
async fn what_another_process_answered_is_seen() {
    let here = Kit::new(&[ECHO]);
    let run = run_of(&here.engine(json!({ "command": STEPS })).await);
    here.engine(json!({ "chain_id": run })).await;
    let there = here.again();
    there.answer(&run, "one").await;
    let shown = here.engine(json!({ "chain_id": run })).await;
    assert_eq!(shown["steps"], json!([2]));
    here.answer(&run, "two").await;
    let shown = there.engine(json!({ "chain_id": run })).await;
    assert_eq!(shown["steps"], json!([3]));
    assert!(said(&shown).starts_with("sugar"), "{shown}");
}

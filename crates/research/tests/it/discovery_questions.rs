//! Tests of saved questions: validation, ownership, and changes.

use serde_json::{Value, json};

use super::research_harness::{ResearchHarness, said_text};

fn crossref_harness() -> ResearchHarness {
    ResearchHarness::with_sources("http://127.0.0.1:9/", &["crossref", "arxiv"])
}

async fn create_question(harness: &ResearchHarness, arguments: Value) -> Value {
    harness.call_ok("create_research_question", arguments).await["question"].clone()
}

#[tokio::test]
async fn what_a_question_can_not_be_is_refused_with_its_field() {
    let kit = crossref_harness();
    let fine = json!({ "name": "Bees", "keywords": ["bees"] });
    let wrong = [
        (json!({ "name": "  " }), "name"),
        (json!({ "name": "two\nlines" }), "name"),
        (json!({ "name": "x".repeat(256) }), "name"),
        (json!({ "keywords": ["  "] }), "keywords"),
        (json!({ "keywords": vec!["x"; 51] }), "keywords"),
        (json!({ "keywords": ["x".repeat(201)] }), "keywords"),
        (json!({ "selected_sources": [] }), "selected_sources"),
        (json!({ "selected_sources": ["nature"] }), "nature"),
        (json!({ "selected_sources": [""] }), "source"),
        (json!({ "min_relevance_score": 1.5 }), "min_relevance_score"),
        (json!({ "max_articles_per_run": 0 }), "max_articles_per_run"),
        (
            json!({ "max_articles_per_run": 501 }),
            "max_articles_per_run",
        ),
        (
            json!({ "schedule_frequency": "hourly" }),
            "schedule_frequency",
        ),
        (
            json!({ "schedule_frequency": { "hourly": 1 } }),
            "schedule_frequency",
        ),
        (json!({ "schedule_time": "25:00" }), "schedule_time"),
        (
            json!({ "schedule_days_of_week": [0] }),
            "schedule_days_of_week",
        ),
        (
            json!({ "schedule_days_of_week": [8] }),
            "schedule_days_of_week",
        ),
        (
            json!({ "publication_date_range": { "start": "soon" } }),
            "no date",
        ),
        (
            json!({ "publication_date_range": { "start": "2024-05", "end": "2024-04" } }),
            "publication_date_range",
        ),
        // Arguments without effect are rejected.
        (json!({ "schedule_days_of_week": [1] }), "weekly"),
        (
            json!({ "schedule_frequency": "monthly", "schedule_days_of_week": [1] }),
            "weekly",
        ),
        (
            json!({ "auto_download_min_score": 0.9 }),
            "auto_download_enabled",
        ),
        (json!({ "asked_so": true }), "asked_so"),
    ];
    for (change, field) in wrong {
        let mut arguments = fine.clone();
        for (name, value) in change.as_object().unwrap() {
            arguments[name] = value.clone();
        }
        let told = kit.call_error("create_research_question", arguments).await;
        assert!(told.contains(field), "{change}: {told}");
    }
    let listed = kit.call_ok("list_research_questions", json!({})).await;
    assert_eq!(listed["questions"], json!([]));
    create_question(&kit, json!({ "name": "By topic", "topics": ["bees"] })).await;
}

#[tokio::test]
async fn a_question_is_kept_as_it_was_said_with_the_usual_for_the_rest() {
    let kit = crossref_harness();
    let made = create_question(
        &kit,
        json!({ "name": " Bees ", "keywords": ["bees", " BEES", "", "honey  bees"] }),
    )
    .await;
    assert_eq!(made["name"], "Bees");
    assert_eq!(made["keywords"], json!(["bees", "honey bees"]));
    assert_eq!(made["selected_sources"], json!(["*"]));
    assert_eq!(made["schedule"], "daily at 03:00");
    assert_eq!(made["min_relevance_score"], json!(0.7));
    assert_eq!(made["max_articles_per_run"], 50);
    assert_eq!(made["auto_download_min_score"], Value::Null);
    assert!(made["next_run"].is_string() && made["last_run"].is_null());
    let all = json!({
        "name": "All", "description": "Of everything", "keywords": ["a"], "topics": ["t"],
        "authors": ["Ada Lovelace"], "selected_sources": ["arxiv", "crossref"],
        "schedule_frequency": "weekly", "schedule_time": "7:30", "schedule_days_of_week": [1, 5],
        "min_relevance_score": 0.2, "max_articles_per_run": 7, "auto_download_enabled": true,
        "auto_download_min_score": 0.9,
        "publication_date_range": { "start": "2020", "end": "2024-05-17" },
    });
    let made = create_question(&kit, all).await;
    assert_eq!(made["schedule"], "every Monday, Friday at 7:30");
    assert_eq!(made["auto_download_min_score"], json!(0.9));
    assert_eq!(made["published_to"], "2024-05-17");
    let got = kit
        .call_ok(
            "get_research_question",
            json!({ "question_id": made["question_id"] }),
        )
        .await;
    assert_eq!(got["question"], made);
    assert_eq!(got["total_matches"], 0);
    for word in ["Of everything", "7:30", "2024-05-17", "0.9"] {
        assert!(
            said_text(&got).contains(word),
            "{word}: {}",
            said_text(&got)
        );
    }
}

#[tokio::test]
async fn questions_are_their_users_own() {
    let kit = crossref_harness();
    let ada = create_question(
        &kit,
        json!({ "user_id": "ada", "name": "Bees", "keywords": ["b"] }),
    )
    .await;
    // Another user may use the same name; the same user may not, whatever the case.
    create_question(
        &kit,
        json!({ "user_id": "bob", "name": "Bees", "keywords": ["b"] }),
    )
    .await;
    let again = json!({ "user_id": "ada", "name": "bEES ", "keywords": ["b"] });
    let told = kit.call_error("create_research_question", again).await;
    assert!(told.contains("name of another question"), "{told}");
    // A user name and a question name must not run into each other.
    create_question(
        &kit,
        json!({ "user_id": "a", "name": "b c", "keywords": ["b"] }),
    )
    .await;
    create_question(
        &kit,
        json!({ "user_id": "a b", "name": "c", "keywords": ["b"] }),
    )
    .await;
    let others = json!({ "question_id": ada["question_id"], "user_id": "bob" });
    for tool in [
        "get_research_question",
        "delete_research_question",
        "run_discovery_for_question",
    ] {
        let told = kit.call_error(tool, others.clone()).await;
        assert!(told.starts_with("QuestionNotFound"), "{tool}: {told}");
    }
    let mut change = others;
    change["name"] = json!("Mine");
    let told = kit.call_error("update_research_question", change).await;
    assert!(told.starts_with("QuestionNotFound"), "{told}");
    let listed = kit
        .call_ok("list_research_questions", json!({ "user_id": "ada" }))
        .await;
    assert_eq!(listed["questions"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn every_field_is_changed_by_itself() {
    let kit = crossref_harness();
    let made = create_question(&kit, json!({ "name": "Bees", "keywords": ["bees"] })).await;
    let id = &made["question_id"];
    let changes = [
        ("name", json!("Wasps"), "name", json!("Wasps")),
        (
            "description",
            json!("On wasps"),
            "description",
            json!("On wasps"),
        ),
        ("keywords", json!(["wasps"]), "keywords", json!(["wasps"])),
        ("topics", json!(["stings"]), "topics", json!(["stings"])),
        ("authors", json!(["Bo"]), "authors", json!(["Bo"])),
        (
            "selected_sources",
            json!(["arxiv"]),
            "selected_sources",
            json!(["arxiv"]),
        ),
        (
            "schedule_frequency",
            json!("weekly"),
            "schedule",
            json!("every Monday at 03:00"),
        ),
        (
            "schedule_time",
            json!("04:00"),
            "schedule",
            json!("every Monday at 04:00"),
        ),
        (
            "schedule_days_of_week",
            json!([7]),
            "schedule",
            json!("every Sunday at 04:00"),
        ),
        (
            "min_relevance_score",
            json!(0.1),
            "min_relevance_score",
            json!(0.1),
        ),
        (
            "max_articles_per_run",
            json!(9),
            "max_articles_per_run",
            json!(9),
        ),
        (
            "auto_download_enabled",
            json!(true),
            "auto_download_min_score",
            json!(0.7),
        ),
        (
            "auto_download_min_score",
            json!(0.8),
            "auto_download_min_score",
            json!(0.8),
        ),
        ("is_active", json!(false), "is_active", json!(false)),
        (
            "publication_date_range",
            json!({ "start": "2021" }),
            "published_from",
            json!("2021"),
        ),
    ];
    let mut before = made.clone();
    for (field, value, shown, wanted) in changes {
        let change = json!({ "question_id": id, field: value });
        let output = kit.call_ok("update_research_question", change).await;
        assert_eq!(output["changed"], json!([field]));
        let mut expected = before.clone();
        expected[shown] = wanted;
        let mut question = output["question"].clone();
        // The next run depends on the schedule and on whether the question is active.
        for it in [&mut expected, &mut question] {
            it["next_run"] = Value::Null;
        }
        assert_eq!(question, expected, "{field}");
        let kept = kit
            .call_ok("get_research_question", json!({ "question_id": id }))
            .await;
        assert_eq!(kept["question"], output["question"], "{field}");
        before = output["question"].clone();
    }
    assert_eq!(before["next_run"], Value::Null);
}

#[tokio::test]
async fn a_change_is_checked_like_a_new_question() {
    let kit = crossref_harness();
    let made = create_question(&kit, json!({ "name": "Bees", "keywords": ["bees"] })).await;
    create_question(&kit, json!({ "name": "Wasps", "keywords": ["wasps"] })).await;
    let id = &made["question_id"];
    let wrong = [
        (json!({}), "at least one field"),
        (json!({ "name": "wasps" }), "name of another question"),
        (json!({ "keywords": [] }), "keywords"),
        (json!({ "schedule_time": "noon" }), "schedule_time"),
        (json!({ "selected_sources": ["x"] }), "no source"),
        (json!({ "schedule_days_of_week": [2] }), "weekly"),
        (
            json!({ "auto_download_min_score": 0.5 }),
            "auto_download_enabled",
        ),
    ];
    for (change, rule) in wrong {
        let mut arguments = change.clone();
        arguments["question_id"] = id.clone();
        let told = kit.call_error("update_research_question", arguments).await;
        assert!(told.contains(rule), "{change}: {told}");
    }
    // Its own name in other case and with spaces is no conflict.
    let same = json!({ "question_id": id, "name": " BEES " });
    let output = kit.call_ok("update_research_question", same).await;
    assert_eq!(output["question"]["name"], "BEES");
    // A change that does not affect the schedule keeps the next run.
    assert_eq!(output["question"]["next_run"], made["next_run"]);
}

#[tokio::test]
async fn deleting_is_soft_unless_it_is_meant() {
    let kit = crossref_harness();
    let made = create_question(&kit, json!({ "name": "Bees", "keywords": ["bees"] })).await;
    let id = json!({ "question_id": made["question_id"] });
    let soft = kit.call_ok("delete_research_question", id.clone()).await;
    assert_eq!(soft["deleted"], false);
    let active = kit.call_ok("list_research_questions", json!({})).await;
    assert_eq!(active["questions"], json!([]));
    let all = kit
        .call_ok("list_research_questions", json!({ "active_only": false }))
        .await;
    assert_eq!(all["questions"][0]["is_active"], false);
    let told = kit
        .call_error("run_discovery_for_question", id.clone())
        .await;
    assert!(
        told.starts_with("NotRun") && told.contains("force_run"),
        "{told}"
    );
    let mut back = id.clone();
    back["is_active"] = json!(true);
    let back = kit.call_ok("update_research_question", back).await;
    assert!(back["question"]["next_run"].is_string());
    let mut hard = id.clone();
    hard["hard_delete"] = json!(true);
    assert_eq!(
        kit.call_ok("delete_research_question", hard).await["deleted"],
        true
    );
    let told = kit.call_error("get_research_question", id).await;
    assert!(told.starts_with("QuestionNotFound"), "{told}");
    // The name can be used again.
    create_question(&kit, json!({ "name": "Bees", "keywords": ["bees"] })).await;
}

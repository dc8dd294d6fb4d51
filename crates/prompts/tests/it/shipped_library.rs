//! The shipped library: every item loads, renders and matches its description.

use std::collections::BTreeSet;

use deliberate_prompts::{
    EngineOptions,
    library::{ProblemSeverity, TemplateProblem, check_workspace},
    model::{LibraryItemKind, LibraryLayer, TemplateSource},
    template,
};

use super::engine_support::EngineHarness;

/// Returns the error in a template, if any.
fn template_problem(text: &TemplateSource) -> Option<TemplateProblem> {
    template::compile_check(text).map(|error| TemplateProblem {
        severity: ProblemSeverity::Error,
        line: Some(error.line),
        column: error.column,
        message: error.message,
        help: error.help,
    })
}

#[test]
fn it_has_no_problems() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = EngineOptions::default();
    options.paths.workspace = folder.path().to_owned();
    let (library, findings) = check_workspace(&options, &template_problem);
    let told: Vec<String> = findings
        .iter()
        .map(|it| it.problem.render(it.source.as_deref()))
        .collect();
    assert!(told.is_empty(), "{}", told.join("\n"));
    let tops = library.prompts.keys().filter(|id| !id.contains('/'));
    assert!(tops.count() >= 20);
    assert!(
        library
            .prompts
            .values()
            .all(|it| it.origin.layer == LibraryLayer::Shipped)
    );
    for id in ["cageerf", "react", "5w1h", "scamper"] {
        assert!(!library.methodologies[id].phases.is_empty(), "{id}");
        assert!(
            library.methodologies[id].system_prompt_guidance.len() <= 1_000,
            "{id}"
        );
    }
}

#[tokio::test]
async fn no_gate_joins_a_prompt_that_did_not_ask_for_it() {
    let kit = EngineHarness::new(&[]);
    let library = kit.library.library().await;
    for gate in library.gates.values() {
        let explicit = gate
            .activation
            .as_ref()
            .is_some_and(|it| it.explicit_request);
        assert!(explicit, "{} is active by itself", gate.id);
    }
}

#[tokio::test]
async fn the_prompts_that_create_are_there() {
    let kit = EngineHarness::new(&[]);
    let library = kit.library.library().await;
    let creates: BTreeSet<LibraryItemKind> = library
        .prompts
        .values()
        .filter_map(|it| it.creates)
        .collect();
    assert_eq!(
        creates,
        BTreeSet::from([
            LibraryItemKind::Prompt,
            LibraryItemKind::Gate,
            LibraryItemKind::Methodology
        ])
    );
    let said = kit.command_text(">>create_gate").await;
    assert!(said.contains("guidance"), "{said}");
}

#[tokio::test]
async fn every_chain_can_begin() {
    let kit = EngineHarness::new(&[]);
    let library = kit.library.library().await;
    for prompt in library.prompts.values().filter(|it| it.is_chain()) {
        let arguments: serde_json::Map<String, serde_json::Value> = prompt
            .arguments
            .iter()
            .filter(|it| it.required)
            .map(|it| {
                let value = it.allowed_values.first().cloned();
                (
                    it.name.clone(),
                    value.unwrap_or_else(|| "something to work on".into()),
                )
            })
            .collect();
        let command =
            serde_json::json!({ "command": format!(">>{}", prompt.id), "options": arguments });
        match kit.call("prompt_engine", command).await {
            Ok(answer) => assert!(answer["chain_id"].is_string(), "{}: {answer}", prompt.id),
            // The tools of other crates are not registered here.
            Err(error) => assert!(error.to_string().contains("\"reasoning_"), "{error}"),
        }
    }
}

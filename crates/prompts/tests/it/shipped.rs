//! The shipped library: everything in it loads, renders and is what its author said.

use std::collections::BTreeSet;

use deliberate_prompts::{
    Options,
    library::{Remark, Weight, check},
    model::{Kind, Layer, Text},
    template,
};

use crate::kit::Kit;

/// Finds what a template says wrong.
fn compiled(text: &Text) -> Option<Remark> {
    template::compile_check(text).map(|error| Remark {
        weight: Weight::Error,
        line: Some(error.line),
        column: error.column,
        message: error.message,
        help: error.help,
    })
}

#[test]
fn it_has_no_problems() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.places.workspace = folder.path().to_owned();
    let (library, findings) = check(&options, &compiled);
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
            .all(|it| it.origin.layer == Layer::Shipped)
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
    let kit = Kit::new(&[]);
    let library = kit.shelf.library().await;
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
    let kit = Kit::new(&[]);
    let library = kit.shelf.library().await;
    let creates: BTreeSet<Kind> = library
        .prompts
        .values()
        .filter_map(|it| it.creates)
        .collect();
    assert_eq!(
        creates,
        BTreeSet::from([Kind::Prompt, Kind::Gate, Kind::Methodology])
    );
    let said = kit.said(">>create_gate").await;
    assert!(said.contains("guidance"), "{said}");
}

#[tokio::test]
async fn every_chain_can_begin() {
    let kit = Kit::new(&[]);
    let library = kit.shelf.library().await;
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
            // The tools of the other parts are not here.
            Err(error) => assert!(error.to_string().contains("\"reasoning_"), "{error}"),
        }
    }
}

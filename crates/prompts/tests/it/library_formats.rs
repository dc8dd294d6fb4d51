//! Every file format of a workspace.

use deliberate_prompts::model::{
    ArgumentType, CriterionKind, Enforcement, GateSeverity, InjectionFrequencyMode,
    LibraryItemKind, LibraryLayer, ScriptTrigger, StepKind,
};
use serde_json::json;

use super::library_support::{LibraryWorkspace, assert_clean};

const RELEASE_NOTES: &str = r#"id: release_notes
name: Release notes
category: writing
description: Turns a list of merged changes into notes for users
systemMessage: You write for people who upgrade, not for the authors.
userMessageTemplateFile: user-message.md
arguments:
  - {name: changes, type: array, required: true, description: one change per entry}
  - {name: tone, type: string, defaultValue: neutral, description: voice of the text, allowedValues: [neutral, warm]}
  - {name: link, type: string, description: tracker, validation: {pattern: "^https://"}}
gateConfiguration: {include: [short-answer], exclude: [research-quality], framework_gates: false}
chainSteps:
  - {promptId: release_notes/group, stepName: Group, outputMapping: {grouped: output}}
  - {promptId: release_notes/write, stepName: Write, inputMapping: {material: grouped}, retries: 1}
"#;

#[test]
fn a_folder_with_nested_prompts_is_read_whole() {
    let workspace = LibraryWorkspace::new();
    workspace
        .write("resources/prompts/writing/release_notes/prompt.yaml", RELEASE_NOTES)
        .write("resources/prompts/writing/release_notes/user-message.md", "Notes for {{ changes }}")
        .write(
            "resources/prompts/writing/release_notes/group/prompt.yaml",
            "id: group\nname: Group\ndescription: groups\nuserMessageTemplate: |\n  first\n  second\n",
        )
        .write(
            "resources/prompts/writing/release_notes/write/prompt.yaml",
            "id: release_notes/write\nname: Write\ndescription: writes\nuserMessageTemplate: \"x\"\n",
        )
        .write(
            "resources/prompts/writing/release_notes/write/deeper/prompt.yaml",
            "id: deeper\nname: Deeper\ndescription: deep\nuserMessageTemplate: x\n",
        )
        .write(
            "resources/prompts/writing/category.yaml",
            "name: Writing\ndescription: texts\nregisterWithMcp: false\ninjection: {system-prompt: {enabled: false}}\n",
        );
    let library = workspace.load();
    assert_clean(&library);

    let prompt = library.prompt("release_notes").expect("the prompt");
    assert_eq!(prompt.category, "writing");
    assert_eq!(prompt.origin.layer, LibraryLayer::Workspace);
    assert_eq!(
        prompt.origin.file,
        "resources/prompts/writing/release_notes/prompt.yaml"
    );
    let template = prompt.template.as_ref().expect("a template");
    assert_eq!(template.body, "Notes for {{ changes }}");
    assert_eq!(
        template.file,
        "resources/prompts/writing/release_notes/user-message.md"
    );
    assert_eq!(template.line, 1);
    assert_eq!(prompt.system.as_ref().expect("a system message").line, 5);
    assert_eq!(prompt.arguments.len(), 3);
    assert_eq!(prompt.arguments[0].kind, ArgumentType::Array);
    assert!(prompt.arguments[0].required);
    assert_eq!(prompt.arguments[1].default_value, Some(json!("neutral")));
    assert_eq!(
        prompt.arguments[1].allowed_values,
        [json!("neutral"), json!("warm")]
    );
    assert_eq!(prompt.gates.include, ["short-answer"]);
    assert_eq!(prompt.gates.framework_gates, Some(false));
    assert_eq!(prompt.steps.len(), 2);
    assert_eq!(prompt.steps[0].output["grouped"], "output");
    assert_eq!(prompt.steps[1].input["material"], "grouped");
    assert_eq!(prompt.steps[1].retries, Some(1));

    let group = library
        .prompt("release_notes/group")
        .expect("a nested prompt");
    let text = group.template.as_ref().expect("a template");
    assert_eq!((text.body.as_str(), text.line), ("first\nsecond\n", 5));
    assert!(library.prompt("release_notes/write").is_some());
    assert!(library.prompt("release_notes/write/deeper").is_some());

    let category = &library.categories["writing"];
    assert_eq!(category.name, "Writing");
    assert_eq!(category.register_with_mcp, Some(false));
    assert_eq!(
        category
            .injection
            .system_prompt
            .as_ref()
            .and_then(|rule| rule.enabled),
        Some(false)
    );
}

#[test]
fn a_single_file_is_a_prompt() {
    let workspace = LibraryWorkspace::new();
    workspace.write(
        "resources/prompts/dev/review.yaml",
        "id: review\nname: Review\ndescription: reviews\nsystemMessage: be kind\nuserMessageTemplate: >\n  look at\n  {{ code }}\nsubagentModel: fast\nagentType: reviewer\nregisterWithMcp: true\ncreates: gate\narguments: [{name: code}]\n",
    );
    let library = workspace.load();
    assert_clean(&library);
    let prompt = library.prompt("review").expect("the prompt");
    assert_eq!(prompt.category, "dev");
    assert_eq!(prompt.template.as_ref().expect("a template").line, 6);
    assert_eq!(prompt.delegation.model.as_deref(), Some("fast"));
    assert_eq!(prompt.registered, Some(true));
    assert_eq!(prompt.creates, Some(LibraryItemKind::Gate));
}

#[test]
fn the_older_markdown_is_a_prompt_and_a_readme_is_none() {
    let workspace = LibraryWorkspace::new();
    workspace
        .prompt("one")
        .prompt("two")
        .write("resources/prompts/old/README.md", "# Read me\n\n## Usage\nnothing")
        .write(
            "resources/prompts/old/deep_dive.md",
            "# Deep dive\n\nLooks closely.\n\n## System Message\n\nYou look closely.\n\n## User Message Template\n\nLook at {{ topic }} after {{ previous_step_result }}.\n\n## Details\nkept {{ depth | default('x') }}\n\n## Gate Configuration\n\n```json\n{\n\t\"include\": [\"short-answer\"],\n\t\"framework_gates\": false\n}\n```\n\n## Chain Steps\n\n1. promptId: one\n   stepName: First\n   inputMapping:\n     a: b\n2. Second look (two)\n3. `one`\n",
        );
    let library = workspace.load();
    assert_clean(&library);
    let prompt = library.prompt("deep_dive").expect("the prompt");
    assert_eq!(prompt.name, "Deep dive");
    assert_eq!(prompt.description, "Looks closely.");
    let template = prompt.template.as_ref().expect("a template");
    assert!(template.body.starts_with("Look at"), "{}", template.body);
    assert!(template.body.contains("## Details"), "{}", template.body);
    assert_eq!(template.line, 11);
    let names: Vec<&str> = prompt.arguments.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["topic", "depth"]);
    assert_eq!(prompt.gates.include, ["short-answer"]);
    let steps: Vec<(&str, &StepKind)> = prompt
        .steps
        .iter()
        .map(|step| (step.name.as_str(), &step.kind))
        .collect();
    let step = |id: &str| StepKind::Prompt { id: id.to_owned() };
    assert_eq!(
        steps,
        [
            ("First", &step("one")),
            ("Second look", &step("two")),
            ("one", &step("one"))
        ]
    );
    assert_eq!(prompt.steps[0].input["a"], "b");
    assert!(library.prompt("README").is_none());
}

#[test]
fn our_own_additions_to_steps_are_read() {
    let workspace = LibraryWorkspace::new();
    workspace.prompt("a").prompt("b").write(
        "resources/prompts/general/flow/prompt.yaml",
        r#"id: flow
name: Flow
description: a flow of things
injection: {gate-guidance: {frequency: {mode: first-only}}}
chainSteps:
  - stepName: Think
    tool: reasoning_tree
    arguments: {question: "{{ topic }}", depth: 2}
    outputMapping: {thought: output}
  - stepName: Both
    parallel:
      - {promptId: a, stepName: A}
      - {promptId: b, stepName: B, gates: ["be brief"]}
  - stepName: Maybe
    promptId: a
    when: "thought"
    otherwise: {promptId: b, stepName: Else}
    injection: {styleGuidance: {enabled: false}}
"#,
    );
    let library = workspace.load();
    assert_clean(&library);
    let steps = &library.prompt("flow").expect("the chain").steps;
    assert!(matches!(&steps[0].kind, StepKind::Tool { name, arguments }
            if name == "reasoning_tree" && arguments["depth"] == 2));
    assert!(
        matches!(&steps[1].kind, StepKind::Parallel(inner) if inner.len() == 2 && inner[1].gates == ["be brief"])
    );
    assert_eq!(steps[2].when.as_deref(), Some("thought"));
    assert_eq!(
        steps[2].otherwise.as_ref().expect("another step").name,
        "Else"
    );
    assert_eq!(
        steps[2]
            .injection
            .style_guidance
            .as_ref()
            .and_then(|rule| rule.enabled),
        Some(false)
    );
}

#[test]
fn gates_styles_methodologies_and_scripts_are_read() {
    let workspace = LibraryWorkspace::new();
    workspace
        .write(
            "resources/gates/brief/gate.yaml",
            "id: brief\nname: Brief\ntype: validation\ndescription: Keeps answers brief\nseverity: high\nenforcementMode: advisory\ngate_type: category\nguidanceFile: guidance.md\npass_criteria:\n  - {type: content_check, max_length: 1200, forbidden_patterns: [\"as an AI\"]}\n  - {type: shell_verify, shell_command: \"cargo test -q\", shell_timeout: 120000, shell_preset: full}\nretry_config: {max_attempts: 3}\nactivation: {prompt_categories: [support], framework_context: [ReACT], explicit_request: false}\n",
        )
        .write("resources/gates/brief/guidance.md", "Be brief.")
        .write(
            "resources/styles/dry/style.yaml",
            "id: dry\nname: Dry\ndescription: no jokes\nguidance: No jokes.\npriority: 3\nenhancementMode: prepend\ncompatibleFrameworks: [OODA]\n",
        )
        .write(
            "resources/frameworks/ooda/framework.yaml",
            "id: OODA\nname: OODA\ntype: OODA\nversion: 1.0\ngates: {include: [brief]}\nmethodologyGates:\n  - {id: g, name: G, description: d, methodologyArea: Act, priority: high, validationCriteria: [acts]}\ntemplateSuggestions:\n  - {section: system, type: addition, content: x, impact: high}\ntoolDescriptions: {prompt_engine: {description: x}}\n",
        )
        .write(
            "resources/frameworks/ooda/phases.yaml",
            "processingSteps:\n  - {id: act, name: Act, description: a, methodologyBasis: b, order: 2, required: true}\n  - {id: see, name: See, description: a, order: 1, section_header: Seen, guards: {min_length: 3, matches_pattern: '\\w+'}}\nexecutionSteps:\n  - {id: e, name: E, action: go, methodologyPhase: Act, dependencies: [], expected_output: o}\nqualityIndicators: {act: {keywords: [do], patterns: ['\\bdo\\b']}}\nexecutionFlow: {preProcessingSteps: [x]}\n",
        )
        .write("resources/frameworks/ooda/judge-prompt.md", "Judge it.")
        .write("resources/frameworks/ooda/system-prompt.md", "Observe first.")
        .write(
            "resources/scripts/count/tool.yaml",
            "id: count\nname: Count\ndescriptionFile: description.md\nscript: script.py\nruntime: python\nschemaFile: schema.json\ntimeout: 1000\nenv: {LEVEL: 3}\nexecution: {trigger: explicit, confirm: false}\n",
        )
        .write("resources/scripts/count/script.py", "print('{}')")
        .write("resources/scripts/count/description.md", "Counts.")
        .write("resources/scripts/count/schema.json", "{\"type\": \"object\"}")
        .prompt("owner")
        .write(
            "resources/prompts/general/owner/tools/own/tool.yaml",
            "id: own\nname: Own\ndescription: own\nscript: run.sh\n",
        )
        .write("resources/prompts/general/owner/tools/own/run.sh", "echo");
    let library = workspace.load();
    assert_clean(&library);

    let gate = library.gate("brief").expect("the gate");
    assert_eq!(gate.severity, GateSeverity::High);
    assert_eq!(gate.enforcement, Some(Enforcement::Advisory));
    assert_eq!(gate.guidance, "Be brief.");
    assert!(
        matches!(&gate.criteria[0].kind, CriterionKind::ContentCheck { max_length: Some(1200), forbidden_patterns, .. } if forbidden_patterns.len() == 1)
    );
    assert!(
        matches!(&gate.criteria[1].kind, CriterionKind::ShellVerify(check) if check.timeout_ms == Some(120_000))
    );
    assert_eq!(gate.retry.max_attempts, 3);
    assert!(gate.retry.improvement_hints);

    assert_eq!(library.style("DRY").expect("the style").priority, 3);

    let way = library.methodology("ooda").expect("the methodology");
    assert_eq!(way.id, "OODA");
    assert_eq!(way.system_prompt_guidance, "Observe first.");
    assert_eq!(way.judge_prompt.as_deref(), Some("Judge it."));
    let phases: Vec<&str> = way.phases.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(phases, ["see", "act"]);
    assert_eq!(way.phases[0].section_header.as_deref(), Some("Seen"));
    assert_eq!(way.execution_steps[0].expected_output, "o");
    assert!(way.rest.contains_key("templateSuggestions"));
    assert!(way.rest.contains_key("executionFlow"));

    let count = &library.scripts["count"];
    assert_eq!(count.description, "Counts.");
    assert_eq!(count.execution.trigger, ScriptTrigger::Explicit);
    assert_eq!(count.env["LEVEL"], "3");
    assert_eq!(count.schema, Some(json!({"type": "object"})));
    let own = library
        .script("owner", "own")
        .expect("the prompt's own tool");
    assert_eq!(own.owner.as_deref(), Some("owner"));
    assert!(own.folder.join("run.sh").is_file());
}

#[test]
fn settings_come_from_engine_yaml_and_from_an_older_config() {
    let workspace = LibraryWorkspace::new();
    workspace
        .write(
            "config.json",
            "{\"methodologies\": {\"systemPromptFrequency\": 3, \"styleGuidance\": false}, \"server\": {\"port\": 1}}",
        )
        .write(
            "engine.yaml",
            "injection:\n  global:\n    gate-guidance: {frequency: {mode: never}}\n  categories:\n    dev: {system-prompt: {enabled: false}}\n  chains:\n    - chain: 'x*'\n      rules: {}\n      steps:\n        - {step: last, rules: {style-guidance: {enabled: true}}}\n",
        );
    let library = workspace.load();
    assert_clean(&library);
    let global = &library.injection.global;
    let system = global
        .system_prompt
        .as_ref()
        .and_then(|rule| rule.frequency);
    let system = system.expect("a frequency");
    assert_eq!(
        (system.mode, system.interval),
        (InjectionFrequencyMode::Every, Some(3))
    );
    assert_eq!(
        global.style_guidance.as_ref().and_then(|rule| rule.enabled),
        Some(false)
    );
    assert!(global.gate_guidance.is_some());
    assert!(library.injection.categories.contains_key("dev"));
    assert_eq!(library.injection.chains[0].steps[0].step, json!("last"));
}

#[test]
fn folders_may_stand_in_four_places_and_elsewhere() {
    for place in [
        "resources/prompts",
        "prompts",
        "server/resources/prompts",
        "server/prompts",
    ] {
        let workspace = LibraryWorkspace::new();
        workspace.write(
            &format!("{place}/general/here.yaml"),
            "id: here\nname: Here\ndescription: is here\nuserMessageTemplate: x\n",
        );
        assert!(workspace.load().prompt("here").is_some(), "{place}");
    }
    let workspace = LibraryWorkspace::new();
    let other = LibraryWorkspace::new();
    other.prompt("there");
    let mut options = workspace.options();
    options.paths.prompts = Some(other.path("resources/prompts"));
    let (library, _) = deliberate_prompts::library::check_workspace(&options, &|_| None);
    assert!(library.prompt("there").is_some());
}

#[test]
fn the_workspace_replaces_what_is_shipped() {
    let workspace = LibraryWorkspace::new();
    let before = workspace.load();
    let shipped = before.prompts.values().next().expect("a shipped prompt");
    assert_eq!(shipped.origin.layer, LibraryLayer::Shipped);
    assert!(before.problems.is_empty(), "{:#?}", before.problems);
    workspace.prompt(&shipped.id);
    let after = workspace.load();
    assert_eq!(
        after.prompts[&shipped.id].origin.layer,
        LibraryLayer::Workspace
    );
    assert_eq!(after.prompts.len(), before.prompts.len());
    assert_clean(&after);
}

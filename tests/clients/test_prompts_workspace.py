"""A workspace written for the older server: every format, unchanged."""

import json
from typing import Any

import pytest

from raw_protocol import OverStdio, run
from conftest import Home
from prompt_fixtures import House, Workspace, control, engine, house, kill, manage  # noqa: F401

FILES = {
    # A prompt in a folder, which is a chain of the prompts nested in it.
    "prompts/writing/category.yaml": "name: Writing\ndescription: Texts for people\nregisterWithMcp: true\n",
    "prompts/writing/release_notes/prompt.yaml": """\
        id: release_notes
        name: Release notes
        category: writing
        description: Turns a list of merged changes into notes for users
        systemMessageFile: system-message.md
        userMessageTemplateFile: user-message.md
        arguments:
          - {name: changes, type: array, required: true, description: one change per entry}
          - {name: tone, type: string, defaultValue: neutral, description: voice of the text}
          - {name: link, type: string, description: tracker, validation: {pattern: "^https://"}}
        gateConfiguration: {include: [short-answer-here], exclude: [research-quality], framework_gates: false}
        chainSteps:
          - {promptId: release_notes/group, stepName: Group, outputMapping: {grouped: output}}
          - {promptId: release_notes/write, stepName: Write, inputMapping: {material: grouped}, retries: 1}
        """,
    "prompts/writing/release_notes/system-message.md": "You write for people who upgrade.\n",
    "prompts/writing/release_notes/user-message.md": "Notes on {{ changes | join(', ') }}.\n",
    "prompts/writing/release_notes/group/prompt.yaml": """\
        id: group
        name: Group
        description: Groups changes by what they mean
        userMessageTemplate: |
          Group these:
          {% for change in changes %}
          - {{ change }}
          {% endfor %}
        arguments:
          - {name: changes, type: array, required: true}
        """,
    "prompts/writing/release_notes/write/prompt.yaml": """\
        id: write
        name: Write
        description: Writes the notes from grouped changes
        userMessageTemplate: >-
          Write from {{ material }} in a {{ tone | default('plain') | upper }}
          tone{% if link %}, linking {{ link }}{% endif %}.
        arguments:
          - {name: material, required: true}
          - {name: tone}
          - {name: link}
        """,
    # A prompt in one file, listed on its own.
    "prompts/development/review.yaml": """\
        id: review
        name: Code review
        description: Looks at a piece of code
        systemMessage: Be exact.
        userMessageTemplate: >-
          {# not shown #}Review
          {{ code | trim }}{% if focus == 'speed' %} for speed{% elif focus %} for {{ focus }}{% else %}.{% endif %}
          {% raw %}{{ kept }}{% endraw %} {{ extra | dump }}
        arguments:
          - {name: code, required: true, description: the code}
          - {name: focus, description: what to look at}
          - {name: extra, type: object, description: anything, defaultValue: {a: 1}}
        subagentModel: fast
        someKeyOfTomorrow: ignored
        """,
    # The format of the first release.
    "prompts/general/deep_dive.md": """\
        # Deep dive

        Looks closely at something.

        ## System Message

        You look closely.

        ## User Message Template

        Look at {{ topic }} after {{ previous_step_result }}.

        ## Gate Configuration

        ```json
        {"include": ["short-answer-here"], "framework_gates": false}
        ```
        """,
    "prompts/general/README.md": "# Notes for ourselves\n\nNot a prompt.\n",
    "prompts/general/_draft/prompt.yaml": "id: [nothing to read here\n",
    # A prompt that includes another.
    "prompts/general/letter/prompt.yaml": """\
        id: letter
        name: Letter
        description: A letter with a signature
        userMessageTemplate: "Dear {{ who }}, {{ref:signature}}"
        arguments:
          - {name: who, required: true}
        """,
    "prompts/general/signature.yaml": """\
        id: signature
        name: Signature
        description: Signs for {{ who }}
        userMessageTemplate: "signed for {{ who }}"
        arguments:
          - {name: who}
        """,
    # A prompt with its own script tool.
    "prompts/development/counted/prompt.yaml": """\
        id: counted
        name: Counted
        description: Says how many words there are
        userMessageTemplate: >-
          {% if tool_count %}{{ tool_count.words }} words{% else %}not counted{% endif %}: {{ text }}
        arguments:
          - {name: text, required: true, description: the words}
        tools: [count]
        """,
    "prompts/development/counted/tools/count/tool.yaml": """\
        id: count
        name: Count words
        descriptionFile: description.md
        script: script.sh
        runtime: shell
        schemaFile: schema.json
        timeout: 5000
        execution: {trigger: schema_match, confirm: true}
        """,
    "prompts/development/counted/tools/count/description.md": "Counts words.\n",
    "prompts/development/counted/tools/count/schema.json": """\
        {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}
        """,
    "prompts/development/counted/tools/count/script.sh": "printf '{\"words\": %s}' \"$(cat | wc -w)\"\n",
    # A gate with its own name and file.
    "gates/short-answer-here/gate.yaml": """\
        id: short-answer-here
        name: Short answer
        type: validation
        description: Keeps answers brief
        severity: critical
        enforcementMode: blocking
        gate_type: category
        guidanceFile: guidance.md
        pass_criteria:
          - {type: content_check, max_length: 40, forbidden_patterns: ["as an AI"]}
        retry_config: {max_attempts: 2, improvement_hints: true}
        activation: {explicit_request: true}
        """,
    "gates/short-answer-here/guidance.md": "Be brief.\n",
    # A methodology with phases.
    "methodologies/focus/methodology.yaml": """\
        id: FOCUS
        name: FOCUS
        type: FOCUS
        version: 1.2.0
        enabled: true
        systemPromptGuidance: Frame before you observe.
        gates: {include: [short-answer-here]}
        methodologyGates:
          - id: framed
            name: Framed
            description: It is framed
            methodologyArea: Frame
            priority: high
            validationCriteria: [A frame is named]
        templateSuggestions:
          - {section: system, type: addition, content: Frame it, impact: high}
        methodologyElements: {requiredSections: [Frame], optionalSections: [], sectionDescriptions: {Frame: The frame}}
        toolDescriptions: {prompt_engine: {description: anything}}
        """,
    "methodologies/focus/phases.yaml": """\
        processingSteps:
          - {id: frame, name: Frame, description: Say it, methodologyBasis: FOCUS, order: 1, required: true}
          - {id: observe, name: Observe, description: Look, methodologyBasis: FOCUS, order: 2, required: true}
        executionSteps:
          - {id: run, name: Run, action: go, methodologyPhase: Frame, dependencies: [], expected_output: a frame}
        qualityIndicators: {frame: {keywords: [frame], patterns: ["frame"]}}
        executionFlow: {preProcessingSteps: [x], postProcessingSteps: [], validationSteps: []}
        """,
    "methodologies/focus/judge-prompt.md": "Judge the frame.\n",
    # A style.
    "styles/dry/style.yaml": """\
        id: dry
        name: Dry
        description: Without jokes
        guidanceFile: guidance.md
        priority: 5
        enabled: true
        enhancementMode: append
        activation: {prompt_categories: [writing]}
        compatibleFrameworks: [FOCUS]
        """,
    "styles/dry/guidance.md": "No jokes.\n",
    # A shared script.
    "scripts/today/tool.yaml": """\
        id: today
        name: Today
        description: Says the day
        script: script.sh
        execution: {trigger: explicit, confirm: false}
        """,
    "scripts/today/script.sh": "echo '{\"day\": \"Monday\"}'\n",
}

CONFIG = {
    "server": {"name": "older", "port": 9090, "transport": "stdio"},
    "methodologies": {"enabled": True, "systemPromptFrequency": 3, "styleGuidance": True},
    "logging": {"level": "debug"},
}


@pytest.fixture
def older(house: House) -> House:
    for path, text in FILES.items():
        house.workspace(path, text)
    (house.workspace.path / "config.json").write_text(json.dumps(CONFIG))
    return house


def test_it_loads_unchanged_and_without_an_error(older: House) -> None:
    before = contents(older.workspace)
    checked = run(older.home, "prompt", "check", str(older.workspace.path))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "error:" not in checked.stdout and "0 errors" in checked.stdout, checked.stdout
    speak = older.stdio()
    status = control(speak, "status")
    assert [it for it in status["problems"] if it["weight"] == "error"] == []
    listed = {it["id"] for it in manage(speak, "list", format="json", limit=200)["items"] if it["layer"] == "workspace"}
    own = {"release_notes", "release_notes/group", "release_notes/write", "review", "deep_dive", "letter", "signature"}
    assert own | {"counted", "echo"} == listed
    engine(speak, '>>letter who:"Ada"')
    assert contents(older.workspace) == before, "nothing in it was touched"


def contents(workspace: Workspace) -> dict[str, bytes]:
    files = [it for it in workspace.path.rglob("*") if it.is_file() and not it.name.startswith(".deliberate")]
    return {str(it.relative_to(workspace.path)): it.read_bytes() for it in files}


def test_a_chain_in_a_folder_runs_over_the_prompts_nested_in_it(older: House) -> None:
    speak = older.stdio()
    given: dict[str, Any] = {"changes": ["faster start", "fewer bugs"], "link": "https://x.example"}
    begun = engine(speak, ">>release_notes", options=given)
    assert "- faster start" in begun["said"] and "- fewer bugs" in begun["said"]
    assert begun["chain_id"] == "chain-release_notes#1"
    assert {"id": "short-answer-here", "from": "chain"} in begun["gates"]
    kill(speak)
    speak = older.http()
    held = engine(speak, chain_id="chain-release_notes#1", step=1, user_response="x" * 41)
    assert held["status"] == "review" and "Attempt 1 of 2" in held["said"]
    went = engine(speak, chain_id="chain-release_notes#1", step=1, user_response="speed; bugs")
    assert "Write from speed; bugs in a NEUTRAL tone, linking https://x.example." in went["said"]
    assert engine(speak, chain_id="chain-release_notes#1", step=2, user_response="done")["status"] == "done"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (">>review code:' x '", "Review x. {{ kept }} "),
        (">>review code:'x' focus:speed", "Review x for speed {{ kept }} "),
        (">>review code:'x' focus:'style'", "Review x for style {{ kept }} "),
        (">>deep_dive topic:'tea'", "Look at tea after ."),
        (">>letter who:'Ada'", "Dear Ada, signed for Ada"),
        (">>letter who:'{{ 7*7 }}'", "Dear {{ 7*7 }}, signed for {{ 7*7 }}"),
        (">>Letter who:'Ada'", "Dear Ada, signed for Ada"),
        ("letter who='Ada'", "Dear Ada, signed for Ada"),
        ("/letter Ada", "Dear Ada, signed for Ada"),
        (">>release-notes/group changes:'a, b'", "Group these:"),
    ],
)
def test_each_prompt_says_what_it_said(older: House, command: str, said: str) -> None:
    assert said in engine(older.stdio(), command)["said"]


def test_gates_styles_and_methodologies_are_used(older: House) -> None:
    speak = older.stdio()
    shown = engine(speak, '@focus #dry >>echo "x" :: short-answer-here')["said"]
    for guidance in ["Frame before you observe.", "No jokes.", "Be brief."]:
        assert guidance in shown
    assert "Frame" in manage(speak, "inspect", "methodology", id="FOCUS")["said"]


def test_a_script_runs_only_if_the_operator_allows_it(older: House) -> None:
    closed = engine(older.stdio(), '>>counted text:"one two three"')
    assert closed["said"].startswith("not counted: one two three")
    opened = older.stdio(DELIBERATE_PROMPTS_SCRIPTS="counted:count")
    said = engine(opened, '>>counted text:"one two three"')["said"]
    assert said.endswith("words: one two three") and not said.startswith("not counted")


@pytest.mark.parametrize("place", ["resources", "prompts", "server/resources", "server/prompts"])
def test_folders_may_stand_where_they_stood(home: Home, place: str) -> None:
    root = home.path / "elsewhere" / place
    folder = root if place.endswith("prompts") else root / "prompts"
    folder.joinpath("general").mkdir(parents=True)
    text = "id: here\nname: H\ndescription: Is here\nuserMessageTemplate: Here.\n"
    folder.joinpath("general/here.yaml").write_text(text)
    speak = OverStdio(home, {"MCP_WORKSPACE": str(home.path / "elsewhere")}, "--stdio")
    try:
        assert engine(speak, ">>here")["said"] == "Here."
    finally:
        speak.stop()


def test_every_folder_can_be_named_by_its_own_setting(home: Home) -> None:
    for kind, text in {
        "prompts": "id: own\nname: O\ndescription: My own\nuserMessageTemplate: Own.\n",
        "gates": "id: own\nname: O\ntype: validation\ndescription: My own\nguidance: Own gate.\n"
        "activation: {explicit_request: true}\n",
        "styles": "id: own\nname: O\ndescription: My own\nguidance: Own style.\n",
    }.items():
        file = {"prompts": "general/own.yaml", "gates": "own/gate.yaml", "styles": "own/style.yaml"}[kind]
        path = home.path / f"my-{kind}" / file
        path.parent.mkdir(parents=True)
        path.write_text(text)
    settings = {f"MCP_{kind.upper()}_PATH": str(home.path / f"my-{kind}") for kind in ["prompts", "gates", "styles"]}
    speak = OverStdio(home, settings | {"MCP_WORKSPACE": str(home.path / "workspace")}, "--stdio")
    try:
        shown = engine(speak, "#own >>own :: own")["said"]
        for words in ["Own.", "Own gate.", "Own style."]:
            assert words in shown
    finally:
        speak.stop()

"""The schemas of `tools/list`, through the code with which clients make them ready for their model:
google-genai's converter, OpenAI's strict schemas and Letta's health check."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import PATIENCE_SECONDS, Home, program, program_python
from gateway_fixtures import started_by, through, write_settings

FRAMEWORKS = Path(__file__).parent / "frameworks"

# The tool list by default, with every tool, and as short as it gets; each with the tools of an
# upstream server.
LISTS = {
    "default": {},
    "full": {"DELIBERATE_TOOLS_SETS": "reasoning,prompts,research,gateway"},
    "compact": {"DELIBERATE_TOOLS_SETS": "research_compact,gateway"},
}

# The arguments that take an object of any shape beside text: clients get them as text.
TEXT_ARGUMENTS = {
    ("reasoning_linear", "reply"): "string",
    ("reasoning_resume", "replies"): "array",
    ("prompt_engine", "gates"): "array",
    ("prompt_engine", "gate_verdict"): "string",
}

Schema = dict[str, Any]


class Listing:
    """One tool list, and what the clients make of it."""

    def __init__(self, tools: dict[str, dict[str, Any]], converted: dict[str, Any], letta: dict[str, Any]) -> None:
        self.tools = tools
        self.converted = converted
        self.letta = letta
        assert converted.keys() == letta.keys() == tools.keys()

    def schemas(self) -> Iterator[tuple[str, Schema]]:
        for name, tool in self.tools.items():
            yield name, tool["inputSchema"]


def tools_with(home: Home, settings: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Returns the tools that a client lists with these settings."""
    client = through(home, "legacy", settings)
    try:
        return client.tools()
    finally:
        client.stop()


def piped(script: str, requirements: str, lists: dict[str, Any], home: Home) -> dict[str, Any]:
    """Returns what a program makes of each tool of each list."""
    ran = subprocess.run(
        [program_python(requirements), FRAMEWORKS / script],
        input=json.dumps({name: list(tools.values()) for name, tools in lists.items()}),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={"HOME": str(home.path)},
        timeout=PATIENCE_SECONDS,
    )
    return json.loads(ran.stdout)


@pytest.fixture(scope="module")
def listings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Listing]:
    """All lists at once: the clients take much longer to load than to convert."""
    home = Home(tmp_path_factory.mktemp("schemas"))
    write_settings(home, mock=started_by([program("MOCK_MCP_SERVER_BIN")], expose="all"))
    lists = {name: tools_with(home, settings) for name, settings in LISTS.items()}
    converted = piped("convert_schemas.py", "requirements-frameworks.txt", lists, home)
    letta = piped("check_schemas_letta.py", "requirements-langchain.txt", lists, home)
    return {name: Listing(tools, converted[name], letta[name]) for name, tools in lists.items()}


@pytest.fixture(params=LISTS)
def listing(request: pytest.FixtureRequest, listings: dict[str, Listing]) -> Listing:
    return listings[request.param]


def parts(schema: Schema, place: str = "") -> Iterator[tuple[str, Schema]]:
    """Returns a schema and all schemas within it, each with its place."""
    yield place, schema
    for name, inner in schema.get("properties", {}).items():
        yield from parts(inner, f"{place}/{name}")
    if "items" in schema:
        yield from parts(schema["items"], f"{place}/[]")
    for key in ("anyOf", "any_of", "oneOf", "allOf"):
        for number, inner in enumerate(schema.get(key, [])):
            yield from parts(inner, f"{place}/{key}{number}")


def is_open(schema: Schema) -> bool:
    """Returns whether an object takes any fields: OpenAI has no strict form of it."""
    return any(part.get("type") == "object" and not part.get("properties") for _, part in parts(schema))


def test_the_lists_hold_what_they_should(listing: Listing) -> None:
    assert {"research", "gateway_search", "gateway_call", "mock__echo", "mock__add"} <= listing.tools.keys()


def test_every_argument_and_item_has_one_type(listing: Listing) -> None:
    for name, schema in listing.schemas():
        for place, part in parts(schema):
            assert isinstance(part.get("type"), str), (name, place, part)
            assert part["type"] != "array" or part["items"], (name, place)
    for (tool, argument), kind in TEXT_ARGUMENTS.items():
        if tool in listing.tools:
            schema = listing.tools[tool]["inputSchema"]["properties"][argument]
            assert (schema["type"], schema.get("items", {}).get("type", "string")) == (kind, "string")


def test_gemini_gets_every_argument_with_its_type(listing: Listing) -> None:
    for name, schema in listing.schemas():
        declared = listing.converted[name]["gemini"]
        assert (declared["name"], declared["description"]) == (name, listing.tools[name]["description"])
        told, given = dict(parts(declared["parameters"])), dict(parts(schema))
        assert told.keys() == given.keys(), name
        for place, part in given.items():
            assert told[place]["type"] == part["type"].upper(), (name, place)
            assert told[place].get("enum") == part.get("enum"), (name, place)
            assert told[place].get("required", []) == part.get("required", []), (name, place)


def test_openai_gets_a_strict_schema_of_all_but_open_objects(listing: Listing) -> None:
    for name, schema in listing.schemas():
        made = listing.converted[name]
        assert made["openai"]["strict"] is not is_open(schema), name
        told = dict(parts(made["openai"]["parameters"]))
        assert told.keys() == dict(parts(schema)).keys(), name
        for place, part in parts(made["strict"]):
            if part["type"] == "object":
                assert part["additionalProperties"] is False, (name, place)
                assert part.get("required", []) == list(part.get("properties", {})), (name, place)


def test_letta_drops_no_tool(listing: Listing) -> None:
    for name, schema in listing.schemas():
        for form in ("listed", "strict"):
            assert listing.letta[name][form]["status"] != "INVALID", (name, listing.letta[name][form])
        arguments = listing.letta[name]["strict"]["schema"]["properties"].keys()
        assert schema.get("properties", {}).keys() <= arguments, name

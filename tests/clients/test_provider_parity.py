"""The same workflow through Langbase, through an OpenAI-compatible endpoint, and by the client's
own model: every answer is the same, and the stored data is the same.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from conftest import ENGINE_TOOLS, RESEARCH_TOOLS, Connect, Home, MockProvider
from scenario import RULES, Course, Mind, run, told_to_provider

pytestmark = pytest.mark.anyio

# The name by which the answers of each way call their model.
MODELS = {"langbase": "openai:gpt-4o-mini", "openai": "stand-in", "client": "client"}
WAYS = list(MODELS)

# The tools of the workflow that ask a model.
ASKING = {
    "reasoning_linear",
    "reasoning_tree",
    "reasoning_divergent",
    "reasoning_reflection",
    "reasoning_reflection_evaluate",
    "reasoning_auto",
    "reasoning_backtrack",
    "reasoning_got_generate",
    "reasoning_got_score",
    "reasoning_got_refine",
    "reasoning_got_aggregate",
}

# All data that reasoning stores, in the order of creation. Calls and their costs differ.
TABLES = {
    "sessions": "rowid",
    "thoughts": "seq",
    "branches": "seq",
    "cross_refs": "seq",
    "checkpoints": "seq",
    "graphs": "seq",
    "graph_nodes": "seq",
    "graph_edges": "seq",
    "epochs": "session_id, number",
    "branch_revisions": "id, epoch",
    "node_revisions": "id, epoch",
}

ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
TIMES = {"created_at", "updated_at"}


class Names:
    """Replaces ids by the order in which they first appear, and removes times and the provider's
    own conversation."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def of(self, value: Any) -> Any:
        if isinstance(value, dict):
            fields = {self.of(key): self.of(held) for key, held in value.items() if key not in TIMES}
            if isinstance(metadata := fields.get("metadata"), dict):
                metadata.pop("thread", None)
                fields["metadata"] = metadata or None
            return fields
        if isinstance(value, list | tuple):
            return [self.of(item) for item in value]
        if isinstance(value, str):
            return TIME.sub("(time)", ID.sub(lambda id: self.name(id[0]), value))
        return value

    def name(self, id: str) -> str:
        return self.known.setdefault(id, f"id-{len(self.known) + 1}")


def stored(home: Home) -> dict[str, list[dict[str, Any]]]:
    """Returns the contents of the database, with JSON parsed."""
    tables = {}
    for table, order in TABLES.items():
        rows = home.rows(f"SELECT * FROM {table} ORDER BY {order}")
        for row in rows:
            row.pop("seq", None)
            for column in ["metadata", "snapshot", "config"]:
                if row.get(column) is not None:
                    row[column] = json.loads(row[column])
        tables[table] = rows
    return tables


class Lived:
    """One completed run of the workflow."""

    def __init__(self, course: Course, home: Home, tools: set[str]) -> None:
        names = Names()
        # The answers that name a model, by their number, and the names.
        self.models = {number: told["model"] for number, (_, told) in enumerate(course.told) if "model" in told}
        self.answers = names.of(
            [(tool, {name: held for name, held in told.items() if name != "model"}) for tool, told in course.told]
        )
        self.stored = names.of(stored(home))
        self.course = course
        self.tools = tools


async def live(way: str, era: str, connect: Connect, mock_provider: MockProvider, home: Home) -> Lived:
    if way != "client":
        mock_provider.control(reset=True, rules=RULES)
    settings = {"langbase": mock_provider.langbase(), "openai": mock_provider.openai(), "client": {}}[way]
    mind = Mind(RULES)
    async with connect(era, settings, at=home) as client:
        course = Course(client, mind if way == "client" else None)
        await run(course)
        tools = {tool.name for tool in (await client.list_tools()).tools}
    if way != "client":
        course.mind = mind
        for ask in mock_provider.asks():
            mind.reply(told_to_provider(ask["body"]))  # Fails where the mock provider had to use its default reply.
    return Lived(course, home, tools)


async def test_every_way_comes_to_the_same(
    connect: Connect, mock_provider: MockProvider, tmp_path: Path, era: str
) -> None:
    lived = {}
    for way in WAYS:
        (tmp_path / way).mkdir()
        lived[way] = await live(way, era, connect, mock_provider, Home(tmp_path / way))
    first = lived[WAYS[0]]
    assert all(first.stored[table] for table in TABLES), "no table is empty"
    for way, model in MODELS.items():
        # The same calls asked a model, and each names it.
        assert lived[way].models == dict.fromkeys(first.models, model), way
    named = {first.course.told[number][0] for number in first.models}
    assert named == ASKING, "the answer of every tool that asks a model names it"
    for way in WAYS[1:]:
        other = lived[way]
        for number, (one, two) in enumerate(zip(first.answers, other.answers, strict=True)):
            assert one == two, f"answer {number}: {WAYS[0]} and {way} differ"
        for table in TABLES:
            assert other.stored[table] == first.stored[table], f"{table}: {WAYS[0]} and {way} differ"
        assert other.course.mind.used == first.course.mind.used


async def test_the_course_uses_every_tool_and_every_rule(
    connect: Connect, mock_provider: MockProvider, home: Home
) -> None:
    lived = await live("client", "auto", connect, mock_provider, home)
    # The tools of the prompt engine and of research are not part of reasoning; they have their own
    # tests.
    assert lived.course.called == lived.tools - ENGINE_TOOLS - RESEARCH_TOOLS
    assert ENGINE_TOOLS | RESEARCH_TOOLS <= lived.tools
    unused = [rule["words"] for number, rule in enumerate(RULES) if number not in lived.course.mind.used]
    assert unused == []
    # Some calls took several rounds, and some rounds had several requests at once.
    rounds = [counts for counts_of_tool in lived.course.rounds.values() for counts in counts_of_tool]
    assert any(len(counts) > 1 for counts in rounds)
    assert any(count > 1 for counts in rounds for count in counts)

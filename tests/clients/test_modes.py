"""A short realistic use of every tool through the real client, with a model whose answers have no
meaning: answers have the documented fields and match the listed schemas; unknown ids are rejected,
and sessions mix modes.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp import Client

from conftest import Connect, Home, MockProvider, answer, error, plain_tags, text_of

pytestmark = pytest.mark.anyio

# The most tokens of four characters that the whole tool list may cost a client.
MOST_TOKENS = 5_000

NOBODY = "00000000-0000-7000-8000-000000000000"
NO_RUN = "chain-nobody#1"


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_id(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 36


def is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def is_score(value: Any) -> bool:
    return is_number(value) and 0 <= value <= 1


def or_none(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or check(value)


def list_of(check: Any) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(has(item, check) for item in value)


def has(value: Any, shape: Any) -> bool:
    """Returns whether a value passes a check, or an object has fields that do."""
    if callable(shape):
        return shape(value)
    return all(name in value and has(value[name], check) for name, check in shape.items())


THOUGHT = {
    "thought_id": is_id,
    "session_id": is_id,
    "content": is_text,
    "answer": lambda value: value is None or is_text(value),
    "confidence": is_score,
    # The model that was asked.
    "model": is_text,
}

# The documented fields, by tool.
DOCUMENTED: dict[str, dict[str, Any]] = {
    "reasoning_linear": THOUGHT | {"previous_thought": or_none(is_id)},
    "reasoning_tree": THOUGHT
    | {"branch_id": is_id, "branches_explored": is_count, "recommended_branch": is_id},
    "reasoning_divergent": THOUGHT
    | {
        "perspectives": list_of({"id": is_id, "viewpoint": is_text, "novelty_score": is_score}),
        "synthesis": is_text,
    },
    "reasoning_reflection": THOUGHT
    | {
        "strengths": list_of(is_text),
        "weaknesses": list_of(is_text),
        "recommendations": list_of(is_text),
        # Null where the model did not improve it.
        "improved_reasoning": or_none(is_text),
    },
    "reasoning_auto": {
        "recommended_mode": is_text,
        "confidence": is_score,
        "rationale": is_text,
        "complexity": is_score,
        "alternative_modes": list_of({"mode": is_text, "confidence": is_score, "rationale": is_text}),
    },
    "reasoning_got_init": {
        "graph_id": is_id,
        "session_id": is_id,
        "root_node_id": is_id,
        "content": is_text,
        "confidence": is_score,
    },
    "reasoning_got_state": {
        "graph_id": is_id,
        "session_id": is_id,
        "node_count": is_count,
        "edge_count": is_count,
        "max_depth": is_count,
        "active_nodes": is_count,
        "terminal_nodes": is_count,
        "has_cycle": is_flag,
    },
}


class Bench:
    """A client whose answers are checked against the listed schemas and the documentation."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.schemas: dict[str, dict[str, Any]] = {}

    async def learn(self) -> "Bench":
        for tool in (await self.client.list_tools()).tools:
            self.schemas[tool.name] = tool.output_schema
        return self

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        told = answer(await self.client.call_tool(tool, arguments))
        Draft202012Validator(self.schemas[tool]).validate(told)
        for name, check in DOCUMENTED.get(tool, {}).items():
            assert name in told, f"{tool} answers no {name}"
            assert has(told[name], check), f"{tool}: {name} is {told[name]!r}"
        return told

    async def refused(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        told = error(await self.client.call_tool(tool, arguments))
        assert told["message"] and told["hint"]
        return told


async def test_linear(connect: Connect, mock_provider: MockProvider, era: str) -> None:
    async with connect(era, mock_provider.langbase()) as client:
        bench = await Bench(client).learn()
        first = await bench.call("reasoning_linear", content="What is a tide?")
        second = await bench.call("reasoning_linear", content="Why two a day?", session_id=first["session_id"])
        assert second["previous_thought"] == first["thought_id"]
        unsure = await bench.call("reasoning_linear", content="Surely?", confidence=0.99)
        assert unsure["below_threshold"] is True and is_text(unsure["weakest_point"])


async def test_tree(connect: Connect, mock_provider: MockProvider, era: str) -> None:
    async with connect(era, mock_provider.langbase()) as client:
        bench = await Bench(client).learn()
        fork = await bench.call("reasoning_tree", content="Where to build the bridge?")
        session, best = fork["session_id"], fork["recommended_branch"]
        assert fork["branches_explored"] == 4
        # A request for each approach, and one that compares them, because their results differ.
        assert len(mock_provider.asks()) == 5
        assert "Which approach is best?" in text_of(mock_provider.asks()[-1])
        assert best == fork["branches"][0]["id"] and fork["answer"] == fork["branches"][0]["answer"]
        assert best in {branch["id"] for branch in fork["branches"]}
        followed = await bench.call("reasoning_tree_focus", session_id=session, branch_id=best)
        assert (followed["previous_branch"], followed["state"]) == (fork["branch_id"], "active")
        deeper = await bench.call("reasoning_tree", content="And how?", session_id=session, max_branches=2)
        assert (deeper["branch_id"], deeper["branches_explored"]) == (best, 2)
        closed = await bench.call("reasoning_tree_complete", session_id=session, branch_id=best, state="completed")
        assert closed["state"] == "completed"
        # The session goes on where the closed branch began.
        assert closed["active_branch"] == fork["branch_id"]
        told = await bench.refused("reasoning_tree", content="More?", session_id=session, branch_id=best)
        assert told["code"] == "BranchClosed"
        listed = await bench.call("reasoning_tree_list", session_id=session)
        assert listed["active_branch"] == fork["branch_id"]
        assert [branch["id"] for branch in listed["branches"] if branch["state"] == "completed"] == [best]
        # The root, and the branches that each exploration opened.
        assert len(listed["branches"]) == 1 + fork["branches_explored"] + deeper["branches_explored"]
        assert all(branch["thoughts"] >= 1 for branch in listed["branches"])
        onward = await bench.call("reasoning_linear", content="And then?", session_id=session)
        assert onward["previous_thought"] == fork["thought_id"]
        followed = await bench.call("reasoning_tree_focus", session_id=session, branch_id=best)
        assert (followed["previous_branch"], followed["reopened"]) == (fork["branch_id"], True)


async def test_checkpoints(connect: Connect, mock_provider: MockProvider, era: str) -> None:
    async with connect(era, mock_provider.langbase()) as client:
        bench = await Bench(client).learn()
        first = await bench.call("reasoning_linear", content="One?")
        session = first["session_id"]
        place = await bench.call("reasoning_checkpoint_create", session_id=session, name="after one")
        assert place["latest_thought"] == first["thought_id"]
        second = await bench.call("reasoning_linear", content="Two?", session_id=session)
        back = await bench.call(
            "reasoning_backtrack", checkpoint_id=place["checkpoint_id"], new_direction="Rather three."
        )
        assert back["set_aside"]["thoughts"] == 1
        assert is_text(back["content"]) and is_id(back["new_branch_id"])
        current = await bench.call("reasoning_get", id=session)
        assert second["thought_id"] not in {thought["id"] for thought in current["data"]["thoughts"]}
        undone = await bench.call("reasoning_backtrack", checkpoint_id=back["undo_checkpoint_id"])
        assert undone["thought_id"] == second["thought_id"]
        listed = await bench.call("reasoning_checkpoint_list", session_id=session)
        assert [it["kind"] for it in listed["checkpoints"]] == ["undo", "undo", "asked"]


async def test_divergent(connect: Connect, mock_provider: MockProvider, era: str) -> None:
    async with connect(era, mock_provider.langbase()) as client:
        bench = await Bench(client).learn()
        views = await bench.call("reasoning_divergent", content="What else is a brick?", num_perspectives=4)
        assert len(views["perspectives"]) == 4
        assert views["content"] == views["synthesis"]
        # A request for each perspective, and one for the synthesis.
        assert len(mock_provider.asks()) == 5
        usual = await bench.call("reasoning_divergent", content="And a roof?", session_id=views["session_id"])
        assert len(usual["perspectives"]) == 3


async def test_reflection(connect: Connect, mock_provider: MockProvider, era: str) -> None:
    async with connect(era, mock_provider.langbase()) as client:
        bench = await Bench(client).learn()
        await bench.call("reasoning_reflection", content="All swans are white.", max_iterations=3)
        thought = await bench.call("reasoning_linear", content="Are all swans white?")
        looked = await bench.call("reasoning_reflection", thought_id=thought["thought_id"])
        assert looked["session_id"] == thought["session_id"]
        told = await bench.call("reasoning_reflection_evaluate", session_id=thought["session_id"])
        assert told["total_thoughts"] >= 2
        assert is_score(told["coherence_score"]) and is_text(told["assessment"])


async def test_reflection_works_out_the_question_of_its_own_subject(
    connect: Connect, mock_provider: MockProvider, era: str
) -> None:
    """The session has an earlier question; neither a branch nor an improved text answers that one."""
    fields = {"answer": "lower density", "quality_percent": 40, "confidence_percent": 80}
    async with connect(era, mock_provider.langbase()) as client:
        bench = await Bench(client).learn()
        tea = await bench.call("reasoning_linear", content="Why does tea cool?")
        ice = await bench.call("reasoning_linear", content="Why does ice float?", session_id=tea["session_id"])
        fork = await bench.call("reasoning_tree", content="Why is snow white?", session_id=tea["session_id"])
        checked = f"Cold water sinks.\n\n## Revised\n\nIt is less dense.\n\n{json.dumps(fields)}"
        words = "Which version is better?"
        orders = [("It is less dense.", "A"), ("Thought", "B")]
        mock_provider.control(rules=[
            *({"words": [words, f"Version A:\n<subject>\n{first}"], "text": {"better": it}} for first, it in orders),
            {"words": ["The text to check:"], "text": checked},
        ])
        better = await bench.call("reasoning_reflection", thought_id=ice["thought_id"])
        assert better["improved_reasoning"] == "It is less dense."
        questions = []
        for subject in [ice["thought_id"], better["improved_thought_id"], fork["branches"][0]["thought_id"]]:
            asked = len(mock_provider.asks())
            await bench.call("reasoning_reflection", thought_id=subject)
            told = plain_tags(mock_provider.asks()[asked]["body"]["messages"][-1]["content"])
            questions.append(told.partition("The question:\n<given>\n")[2].partition("\n</given>")[0])
        assert questions == ["Why does ice float?", "Why does ice float?", "Why is snow white?"]


async def test_auto(connect: Connect, mock_provider: MockProvider, home: Home, era: str) -> None:
    async with connect(era, mock_provider.langbase()) as client:
        bench = await Bench(client).learn()
        by_words = await bench.call("reasoning_auto", content="Use a tree of thoughts: rail or road for this valley?")
        assert by_words["recommended_mode"] == "tree"
        assert "model" not in by_words and mock_provider.asks() == [], "no model was asked"
        leak = "The roof leaks where the old chimney stood."
        routed = await bench.call("reasoning_auto", content=leak, hints=["a puzzle"])
        assert routed["decided_by"] == "router" and is_text(routed["model"])
        assert home.count("sessions") == 0
        ran = await bench.call("reasoning_auto", content="Why does the roof leak?", hints=["linear"], run=True)
        assert ran["recommended_mode"] == "linear"
        # The model is named once, by the call that asked it.
        assert is_text(ran["model"]) and "model" not in ran["result"]
        assert has(ran["result"] | {"model": ran["model"]}, DOCUMENTED["reasoning_linear"])
        assert home.count("sessions") == 1


async def test_graph(connect: Connect, mock_provider: MockProvider, era: str) -> None:
    async with connect(era, mock_provider.langbase()) as client:
        bench = await Bench(client).learn()
        begun = await bench.call("reasoning_got_init", content="Bees sleep.", problem="What do bees need?")
        graph = begun["graph_id"]
        grown = await bench.call("reasoning_got_generate", graph_id=graph, node_id=begun["root_node_id"])
        nodes = [it["node_id"] for it in grown["continuations"]]
        assert len(nodes) == 3
        scored = await bench.call("reasoning_got_score", graph_id=graph, node_id=nodes[0])
        assert is_score(scored["overall_score"])
        asked = len(mock_provider.asks())
        several = await bench.call("reasoning_got_score", graph_id=graph, node_ids=nodes)
        assert len(mock_provider.asks()) == asked + 1, "one request judges all"
        assert {it["node_id"] for it in several["scores"]} == set(nodes)
        for it in several["scores"]:
            measures = it["breakdown"]
            assert it["overall_score"] == min(sum(measures.values()) / 4, measures["validity"])
        merged = await bench.call("reasoning_got_aggregate", graph_id=graph, node_ids=nodes[:2])
        assert merged["source_nodes"] == nodes[:2]
        refined = await bench.call("reasoning_got_refine", graph_id=graph, node_id=merged["aggregated_node_id"])
        assert refined["kept"] in ["original", "refined"]
        pruned = await bench.call("reasoning_got_prune", graph_id=graph, threshold=0.1)
        assert pruned["pruned_count"] == 0 and "undo_checkpoint_id" not in pruned
        ended = await bench.call("reasoning_got_finalize", graph_id=graph)
        assert ended["terminal_count"] == len(ended["conclusions"]) > 0
        concluded = {it["node_id"] for it in ended["conclusions"]}
        assert begun["root_node_id"] not in concluded
        assert concluded & {merged["aggregated_node_id"], refined["refined_node_id"]}, "what was merged comes first"
        state = await bench.call("reasoning_got_state", graph_id=graph)
        assert state["node_count"] >= 5 and state["edge_count"] >= 5
        assert state["terminal_nodes"] == ended["terminal_count"]
        assert state["has_cycle"] is False


async def test_reading_back(connect: Connect, mock_provider: MockProvider, home: Home, era: str) -> None:
    async with connect(era, mock_provider.langbase()) as client:
        bench = await Bench(client).learn()
        fork = await bench.call("reasoning_tree", content="Which sail for the narwhal?")
        step = await bench.call("reasoning_linear", content="How deep dives a narwhal?")
        for id, kind in [
            (fork["session_id"], "session"),
            (fork["branch_id"], "branch"),
            (step["thought_id"], "thought"),
        ]:
            told = await bench.call("reasoning_get", id=id)
            assert (told["kind"], "data" in told) == (kind, True)
            assert (await bench.call("reasoning_get", id=id, format="markdown"))["text"].startswith("#")
            assert (await bench.call("reasoning_get", id=id, format="mermaid"))["text"].startswith("flowchart")
        found = await bench.call("reasoning_search", query="narwhal dives", mode="linear")
        assert [hit["id"] for hit in found["results"]] == [step["thought_id"]]
        listed = await bench.call("reasoning_sessions")
        ids = [session["session_id"] for session in listed["sessions"]]
        assert ids == [step["session_id"], fork["session_id"]]
        renamed = await bench.call("reasoning_sessions", action="rename", session_id=ids[0], title="Whales")
        assert renamed["sessions"][0]["title"] == "Whales"
        kept = await bench.call("reasoning_sessions", action="delete", session_id=ids[0])
        assert kept["deleted"] is False and home.count("sessions") == 2
        gone = await bench.call("reasoning_sessions", action="delete", session_id=ids[0], confirm=True)
        assert gone["deleted"] is True and home.count("sessions") == 1


UNKNOWN = [
    ("reasoning_linear", {"content": "x", "session_id": NOBODY}, "SessionNotFound"),
    ("reasoning_tree", {"content": "x", "session_id": NOBODY}, "SessionNotFound"),
    ("reasoning_tree", {"content": "x", "branch_id": NOBODY}, "BranchNotFound"),
    ("reasoning_tree_focus", {"session_id": NOBODY, "branch_id": NOBODY}, "SessionNotFound"),
    ("reasoning_tree_list", {"session_id": NOBODY}, "SessionNotFound"),
    ("reasoning_tree_complete", {"session_id": NOBODY, "branch_id": NOBODY, "state": "completed"}, "SessionNotFound"),
    ("reasoning_divergent", {"content": "x", "session_id": NOBODY}, "SessionNotFound"),
    ("reasoning_reflection", {"content": "x", "session_id": NOBODY}, "SessionNotFound"),
    ("reasoning_reflection", {"thought_id": NOBODY}, "ThoughtNotFound"),
    ("reasoning_reflection_evaluate", {"session_id": NOBODY}, "SessionNotFound"),
    ("reasoning_auto", {"content": "x", "session_id": NOBODY}, "SessionNotFound"),
    ("reasoning_checkpoint_create", {"session_id": NOBODY, "name": "x"}, "SessionNotFound"),
    ("reasoning_checkpoint_list", {"session_id": NOBODY}, "SessionNotFound"),
    ("reasoning_backtrack", {"checkpoint_id": NOBODY}, "CheckpointNotFound"),
    ("reasoning_backtrack", {"checkpoint_id": NOBODY, "session_id": NOBODY}, "SessionNotFound"),
    ("reasoning_got_init", {"content": "x", "session_id": NOBODY}, "SessionNotFound"),
    ("reasoning_got_generate", {"graph_id": NOBODY, "node_id": NOBODY}, "GraphNotFound"),
    ("reasoning_got_score", {"graph_id": NOBODY, "node_id": NOBODY}, "GraphNotFound"),
    ("reasoning_got_aggregate", {"graph_id": NOBODY, "node_ids": [NOBODY, "y"]}, "GraphNotFound"),
    ("reasoning_got_refine", {"graph_id": NOBODY, "node_id": NOBODY}, "GraphNotFound"),
    ("reasoning_got_prune", {"graph_id": NOBODY}, "GraphNotFound"),
    ("reasoning_got_finalize", {"graph_id": NOBODY}, "GraphNotFound"),
    ("reasoning_got_state", {"graph_id": NOBODY}, "GraphNotFound"),
    ("reasoning_search", {"query": "x", "session_id": NOBODY}, "SessionNotFound"),
    ("reasoning_sessions", {"action": "delete", "session_id": NOBODY, "confirm": True}, "SessionNotFound"),
    # It may be the id of anything, so the error names no kind.
    ("reasoning_get", {"id": NOBODY}, "Validation"),
    ("reasoning_resume", {"id": NOBODY, "replies": ["x"]}, "SuspensionNotFound"),
    ("prompt_engine", {"chain_id": NO_RUN}, "RunNotFound"),
    ("prompt_engine", {"chain_id": NOBODY}, "InvalidChainId"),
    ("resource_manager", {"resource_type": "prompt", "action": "inspect", "id": NOBODY}, "NotFound"),
    ("system_control", {"action": "session", "operation": "inspect", "session_id": NO_RUN}, "RunNotFound"),
    ("research", {"tool": "get_article_details", "arguments": {"article_identifier": NOBODY}}, "ArticleNotFound"),
]


async def test_ids_that_name_nothing_are_refused(connect: Connect, mock_provider: MockProvider, home: Home, era: str) -> None:
    async with connect(era, mock_provider.langbase()) as client:
        bench = await Bench(client).learn()
        for tool, arguments, code in UNKNOWN:
            told = await bench.refused(tool, **arguments)
            assert told["code"] == code, (tool, told)
        assert bench.schemas.keys() == {tool for tool, _, _ in UNKNOWN}, "every tool takes an id"
    assert mock_provider.asks() == []
    assert home.count("sessions") == 0


async def test_ids_inside_what_is_there_are_looked_for_there(connect: Connect, mock_provider: MockProvider, era: str) -> None:
    async with connect(era, mock_provider.langbase()) as client:
        bench = await Bench(client).learn()
        one = await bench.call("reasoning_tree", content="One?")
        other = await bench.call("reasoning_tree", content="Other?")
        place = await bench.call("reasoning_checkpoint_create", session_id=one["session_id"], name="here")
        for tool, arguments, code in [
            ("reasoning_tree_focus", {"branch_id": NOBODY}, "BranchNotFound"),
            ("reasoning_tree_focus", {"branch_id": one["branch_id"]}, "BranchNotFound"),
            ("reasoning_tree_complete", {"branch_id": one["branch_id"], "state": "completed"}, "BranchNotFound"),
            ("reasoning_tree", {"content": "x", "branch_id": one["branch_id"]}, "BranchNotFound"),
            ("reasoning_backtrack", {"checkpoint_id": place["checkpoint_id"]}, "CheckpointNotFound"),
        ]:
            told = await bench.refused(tool, session_id=other["session_id"], **arguments)
            assert told["code"] == code, (tool, told)
        graph = await bench.call("reasoning_got_init", content="A root.")
        grown = await bench.call("reasoning_got_generate", graph_id=graph["graph_id"], node_id=graph["root_node_id"])
        leaf = grown["continuations"][0]["node_id"]
        stranger = await bench.call("reasoning_got_init", content="Another root.")
        for node in [NOBODY, stranger["root_node_id"]]:
            for tool in ["reasoning_got_generate", "reasoning_got_score", "reasoning_got_refine"]:
                told = await bench.refused(tool, graph_id=graph["graph_id"], node_id=node)
                assert told["code"] == "NodeNotFound", (tool, told)
            both = [graph["root_node_id"], node]
            told = await bench.refused("reasoning_got_aggregate", graph_id=graph["graph_id"], node_ids=both)
            assert told["code"] == "NodeNotFound"
            ends = [leaf, node]
            told = await bench.refused("reasoning_got_finalize", graph_id=graph["graph_id"], terminal_node_ids=ends)
            assert told["code"] == "NodeNotFound"
        # The root is a conclusion only if it is named.
        roots = [graph["root_node_id"]]
        told = await bench.call("reasoning_got_finalize", graph_id=graph["graph_id"], terminal_node_ids=roots)
        assert [one["node_id"] for one in told["conclusions"]] == roots


async def test_a_session_of_any_mode_is_continued_by_every_mode(
    connect: Connect, mock_provider: MockProvider, home: Home, era: str
) -> None:
    makers = {
        "linear": ("reasoning_linear", {}),
        "tree": ("reasoning_tree", {"max_branches": 2}),
        "divergent": ("reasoning_divergent", {"num_perspectives": 2}),
        "reflection": ("reasoning_reflection", {}),
        "got": ("reasoning_got_init", {}),
    }
    async with connect(era, mock_provider.langbase()) as client:
        bench = await Bench(client).learn()
        # The modes that continue a session without knowing how it began.
        unknowing = []
        for begun, (maker, options) in makers.items():
            first = await bench.call(maker, content=f"It began as {begun}.", **options)
            session = first["session_id"]
            for mode, (tool, more) in makers.items():
                stored, asked = home.count("thoughts") + home.count("graph_nodes"), len(mock_provider.asks())
                step = await bench.call(tool, content=f"On with {mode}.", session_id=session, **more)
                assert step["session_id"] == session, (begun, mode)
                assert home.count("thoughts") + home.count("graph_nodes") > stored, (begun, mode)
                asks = [text_of(ask) for ask in mock_provider.asks()[asked:]]
                assert bool(asks) == (mode != "got"), "a graph begins without a model"
                if not all(f"It began as {begun}." in ask for ask in asks):
                    unknowing.append((begun, mode))
            # A later step of another mode knows the first one.
            last = await bench.call("reasoning_linear", content="And now?", session_id=session)
            assert is_id(last["previous_thought"])
            if f"It began as {begun}." not in text_of(mock_provider.asks()[-1]):
                unknowing.append((begun, "linear, after every mode"))
        assert unknowing == []
        assert home.count("sessions") == len(makers)


async def test_the_list_of_tools_stays_affordable(connect: Connect, era: str) -> None:
    async with connect(era) as client:
        tools = (await client.list_tools()).tools
    listed = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    tokens = len(json.dumps(listed, ensure_ascii=False, separators=(",", ":"))) / 4
    print(f"{len(tools)} tools: about {tokens:.0f} tokens")
    assert tokens < MOST_TOKENS

"""Without a provider: the server suspends calls, and the client brings the model's replies."""

import json
from typing import Any

import pytest
from mcp import Client

from conftest import Connect, Home, answer, error, text_of_result, think

pytestmark = pytest.mark.anyio

# The explicit setting, and the default when no provider is configured and the client offers no
# model.
SETTINGS = [{"DELIBERATE_PROVIDER": "client"}, {}]


def reply_to(ask: dict[str, Any], thought: str) -> str:
    """Returns a reply as the request asks for it: the text, then the fields."""
    asked = ask["messages"][-1]["text"]
    assert "plain text" in asked and "JSON object" in asked
    fields = {"answer": thought.upper(), "weakest_point": "the definition", "confidence_percent": 70}
    assert all(f'"{name}"' in asked for name in fields)
    return f"{thought}\n\n{json.dumps(fields)}"


def the_ask(told: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    needs = told["needs_reply"]
    assert "reasoning_resume" in needs["next"]
    (ask,) = needs["asks"]
    # No schema: the model thinks in free text.
    assert set(ask) == {"key", "system", "messages"} and ask["key"] and ask["system"]
    assert all(set(message) == {"role", "text"} for message in ask["messages"])
    return needs["id"], ask


async def resume(client, call: str, *replies: Any) -> dict[str, Any]:
    """Resumes a call. The text of the answer does not repeat what the client has just written."""
    arguments = {"id": call, "replies": list(replies)}
    result = await client.call_tool("reasoning_resume", arguments)
    step = answer(result, own=True)
    assert step["content"] not in text_of_result(result)
    return step


@pytest.mark.parametrize("settings", SETTINGS, ids=["asked-for", "nothing"])
async def test_a_session_of_the_client_s_own_thoughts(
    connect: Connect, home: Home, era: str, settings: dict[str, str]
) -> None:
    async with connect(era, settings) as client:
        await client.list_tools()  # From here on the client checks answers against the schema.
        call, ask = the_ask(await think(client, "Is a virus alive?"))
        assert "Is a virus alive?" in str(ask["messages"])
        assert home.count("sessions") == 0
        first = await resume(client, call, reply_to(ask, "It depends on the definition."))
        assert first["content"] == "It depends on the definition."
        assert first["answer"] == "IT DEPENDS ON THE DEFINITION."
        assert first["confidence"] == pytest.approx(0.7)
        assert first["weakest_point"] == "the definition"
        assert first["previous_thought"] is None

        call, ask = the_ask(await think(client, "Which one?", session_id=first["session_id"]))
        # The model made the first step itself: it is told the result, and not the whole step again.
        assert "You made the earlier steps" in str(ask["messages"])
        assert "IT DEPENDS ON THE DEFINITION." in str(ask["messages"])
        assert "It depends on the definition." not in str(ask["messages"])
        assert "Which one?" in str(ask["messages"])
        second = await resume(client, call, reply_to(ask, "The one with metabolism."))
        assert second["previous_thought"] == first["thought_id"]
        assert second["session_id"] == first["session_id"]
    assert home.count("sessions") == 1


async def test_resuming_again_gives_the_same(connect: Connect, home: Home, era: str) -> None:
    async with connect(era) as client:
        call, ask = the_ask(await think(client, "Is a virus alive?"))
        first = await resume(client, call, reply_to(ask, "Yes."))
        again = await resume(client, call, reply_to(ask, "No."))
        assert again == first
    assert home.count("sessions") == 1


async def test_a_suspended_call_outlives_the_process(connect: Connect, era: str) -> None:
    async with connect(era) as client:
        call, ask = the_ask(await think(client, "Is a virus alive?"))
    async with connect(era) as client:
        step = await resume(client, call, reply_to(ask, "Yes."))
    assert step["content"] == "Yes."


async def test_a_new_connection_is_shown_the_steps_of_an_old_session_once(connect: Connect, era: str) -> None:
    async with connect(era) as client:
        call, ask = the_ask(await think(client, "Is a virus alive?"))
        first = await resume(client, call, reply_to(ask, "It depends on the definition."))
    async with connect(era) as client:
        call, ask = the_ask(await think(client, "Which one?", session_id=first["session_id"]))
        assert "You made the earlier steps" not in str(ask["messages"])
        assert "It depends on the definition." in str(ask["messages"])
        await resume(client, call, reply_to(ask, "The one with metabolism."))
        _, ask = the_ask(await think(client, "Why?", session_id=first["session_id"]))
        assert "You made the earlier steps" in str(ask["messages"])
        assert "It depends on the definition." not in str(ask["messages"])


async def test_plain_text_is_a_reply(connect: Connect, era: str) -> None:
    async with connect(era) as client:
        call, _ = the_ask(await think(client, "Is a virus alive?"))
        step = await resume(client, call, "Hardly.")
    assert (step["content"], step["confidence"]) == ("Hardly.", pytest.approx(0.8))


async def test_a_useless_reply_is_asked_for_again(connect: Connect, era: str) -> None:
    async with connect(era) as client:
        call, ask = the_ask(await think(client, "Is a virus alive?"))
        result = await client.call_tool("reasoning_resume", {"id": call, "replies": [""]})
        # An error or another request; in both cases the call can still be resumed.
        if not result.is_error:
            call, ask = the_ask(answer(result))
        step = await resume(client, call, reply_to(ask, "Yes."))
    assert step["content"] == "Yes."


async def test_unknown_calls_and_too_many_replies_are_refused(connect: Connect, era: str) -> None:
    async with connect(era) as client:
        unknown = {"id": "nonsense", "replies": ["x"]}
        told = error(await client.call_tool("reasoning_resume", unknown))
        assert told["code"] == "SuspensionNotFound"
        call, _ = the_ask(await think(client, "Is a virus alive?"))
        for arguments in [{"id": call}, {"id": call, "replies": []}]:
            again, _ = the_ask(answer(await client.call_tool("reasoning_resume", arguments)))
            assert again == call
        for arguments in [{"id": call, "replies": ["x", "y"]}, {"replies": ["x"]}]:
            told = error(await client.call_tool("reasoning_resume", arguments))
            assert told["code"] == "Validation"


class Meter:
    """A client that brings its own replies, and what its calls show it: texts and data."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.calls = 0
        self.bytes = 0

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self.client.call_tool(tool, arguments)
        told = answer(result)
        assert "needs_reply" not in told
        self.calls += 1
        data = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
        self.bytes += len(text_of_result(result).encode()) + len(data.encode())
        return told


def own_step(number: int) -> dict[str, Any]:
    thought = f"Step {number}: " + "the sum of the parts so far is carried on and checked against the bound. " * 8
    return {"thought": thought, "answer": f"{number} parts", "weakest_point": "the bound", "confidence_percent": 80}


async def test_ten_own_steps_are_ten_small_calls(connect: Connect, home: Home, era: str) -> None:
    async with connect(era) as client:
        meter = Meter(client)
        first = await meter.call("reasoning_linear", content="How many parts are there?", reply=own_step(1))
        session, previous = first["session_id"], first["thought_id"]
        for number in range(2, 11):
            step = await meter.call("reasoning_linear", content="Go on.", session_id=session, reply=own_step(number))
            assert (step["session_id"], step["previous_thought"]) == (session, previous)
            assert (step["answer"], step["confidence"]) == (f"{number} parts", pytest.approx(0.8))
            assert "content" not in step, "the caller knows what it wrote"
            previous = step["thought_id"]
        assert meter.calls == 10
        assert meter.bytes <= 12_000, meter.bytes
        kept = answer(await client.call_tool("reasoning_get", {"id": session}))["data"]["thoughts"]
    assert [thought["content"] for thought in kept] == [own_step(number)["thought"].strip() for number in range(1, 11)]
    assert home.count("thoughts") == 10


async def test_a_whole_graph_of_own_thoughts_is_six_small_calls(connect: Connect, home: Home, era: str) -> None:
    def idea(number: int) -> dict[str, Any]:
        return {"thought": f"Idea {number}: " + "the harbour draws on the tide. " * 8, "kind": "hypothesis",
                "answer": f"idea {number}", "weakest_point": "silt", "confidence_percent": 60}

    def marks(number: int, percent: int) -> dict[str, Any]:
        names = ["relevance", "validity", "depth", "novelty"]
        return {"node": number, "weakest_point": "silt"} | {f"{name}_percent": percent for name in names}

    merged = idea(4) | {"conflicts_resolved": ["The first and the third agree."]}
    better = idea(5) | {"critique": "It was vague.", "improvements": ["figures"], "confidence_percent": 90}
    async with connect(era) as client:
        meter = Meter(client)
        graph = await meter.call("reasoning_got_init", content="Tides could power the harbour.")
        ids = {"graph_id": graph["graph_id"]}
        ideas = [idea(number) for number in (1, 2, 3)]
        grown = await meter.call(
            "reasoning_got_generate", node_id=graph["root_node_id"], k=3, reply={"continuations": ideas}, **ids
        )
        # Short ids are taken wherever an id is.
        short = {id: name for name, id in grown["short_ids"].items()}
        one, two, three = (short[it["node_id"]] for it in grown["continuations"])
        assert (one, two, three) == ("n2", "n3", "n4")
        scores = {"scores": [marks(1, 70), marks(2, 20), marks(3, 80)]}
        scored = await meter.call("reasoning_got_score", node_ids=[one, two, three], reply=scores, **ids)
        assert [it["overall_score"] for it in scored["scores"]] == pytest.approx([0.8, 0.7, 0.2])
        whole = await meter.call("reasoning_got_aggregate", node_ids=[one, three], reply=merged, **ids)
        assert whole["source_nodes"] == [grown["continuations"][0]["node_id"], grown["continuations"][2]["node_id"]]
        refined = await meter.call("reasoning_got_refine", node_id="n5", reply=better, **ids)
        assert (refined["original_node_id"], refined["kept"]) == (whole["aggregated_node_id"], "refined")
        ended = await meter.call("reasoning_got_finalize", **ids)
        assert [it["node_id"] for it in ended["conclusions"]] == [refined["refined_node_id"]]
        assert meter.calls == 6
        assert meter.bytes <= 10_000, meter.bytes
    assert home.count("graph_nodes") == 6


async def test_short_ids_and_beginnings_of_ids_are_taken(connect: Connect, era: str) -> None:
    async with connect(era) as client:
        meter = Meter(client)
        first = await meter.call("reasoning_linear", content="One?", reply="It is one.")
        session = first["session_id"]
        assert first["short_ids"] == {"t1": first["thought_id"]}
        second = await meter.call("reasoning_linear", content="Two?", session_id=session, reply="It is two.")
        assert second["short_ids"]["t2"] == second["thought_id"]
        for id in ["t1", first["thought_id"]]:
            got = answer(await client.call_tool("reasoning_get", {"id": id, "session_id": session}))
            assert got["data"]["content"] == "It is one.", id
        checked = await meter.call(
            "reasoning_reflection", thought_id="t1", session_id=session, reply={"analysis": "True.", "quality_percent": 90}
        )
        assert checked["reflected_thought_id"] == first["thought_id"]
        place = await meter.call("reasoning_checkpoint_create", session_id=session, name="here")
        assert place["short_ids"]["c1"] == place["checkpoint_id"]
        back = await meter.call("reasoning_backtrack", checkpoint_id="c1", session_id=session)
        assert back["session_id"] == session
        told = error(await client.call_tool("reasoning_reflection", {"thought_id": "t99", "session_id": session}))
        assert told["code"] == "ThoughtNotFound"


async def test_an_own_reply_of_the_wrong_shape_names_the_fields(connect: Connect, home: Home, era: str) -> None:
    async with connect(era) as client:
        for tool, wrong, fields in [
            ("reasoning_linear", {"confidence_percent": 40}, ["`thought`", "`answer`"]),
            ("reasoning_tree", {"approaches": [{"thought": "Alone."}]}, ["`approaches`"]),
        ]:
            told = error(await client.call_tool(tool, {"content": "Why?", "reply": wrong}))
            assert told["code"] == "Validation"
            assert "reply" in told["message"] and all(field in told["message"] for field in fields), told
    assert home.count("sessions") == 0

"""One workflow that uses every tool, and the answers of its model.

The model is a list of rules: the first rule whose words all occur in a request gives the reply.
The mock provider applies them when a provider is asked, `Mind` when the client's model works.
"""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from mcp import Client

from conftest import answer, error, plain_tags

Rule = dict[str, Any]

# The text right before the subject of a request; earlier steps are elsewhere.
NEXT = "<given>\n"
EXPLORE = NEXT
DIRECTION = "<direction>\n"
PROBLEM = "<problem>\n"
SUBJECT = "The text to check:\n<subject>\n"
REDO = "Go through it step by step and redo each step"
THROUGH = "Go through it step by step"
VERSION_A = "Version A:\n<subject>\n"
VERSION_B = "Version B:\n<subject>\n"
WAYS = ["another way or option"]
ROOT = "<node>\n"
CONTINUE = "Continue this node:\n<node>\n"
JUDGE = "Judge this node:\n<node>\n"
JUDGE_ALL = "Judge these nodes:\n"
IMPROVE = "Improve this node:\n<node>\n"
SYNTHESIS = "What do they come to together?"
AGAIN = "can't be used"


def rule(words: list[str], text: Any) -> Rule:
    return {"words": words, "text": text}


def step(thought: str, percent: int, weakest: str = "not much", result: str | None = None) -> dict[str, Any]:
    return {"thought": thought, "answer": result, "confidence_percent": percent, "weakest_point": weakest}


def approach(name: str, thought: str, result: str, percent: int) -> str:
    """An approach as models write it: the text, then the fields."""
    fields = {"name": name, "answer": result, "weakest_point": f"whether {name} lasts", "confidence_percent": percent}
    return f"{thought}\n\n{json.dumps(fields)}"


def ways(before: str, *approaches: str) -> list[Rule]:
    """The rules for the requests of one exploration: the first is offered no way to go, and all further
    requests get the last approach."""
    first, *others = approaches
    named = [rule([before, way], text) for way, text in zip(WAYS, others[:-1])]
    return [*named, rule([before, "The way to go"], others[-1]), rule([before], first)]


def preference(words: list[str], better: str) -> Rule:
    return rule([*words, "Which version is better?"], "The step is right there.\n\n" + json.dumps({"better": better}))


def marks(relevance: int, validity: int, depth: int, novelty: int) -> dict[str, Any]:
    return {
        "relevance_percent": relevance,
        "validity_percent": validity,
        "depth_percent": depth,
        "novelty_percent": novelty,
        "rationale": "by the four measures",
        "weakest_point": "no figures",
    }


def reflection(analysis: str, quality: int, result: str | None, revised: str | None = None) -> str:
    """A check as models write it: the text, the revised version if there is one, then the fields."""
    fields = {
        "strengths": ["it is short"],
        "weaknesses": ["it is bare", " "],
        "recommendations": ["measure it"],
        "reaches_result": True,
        "quality_percent": quality,
        "answer": result,
        "confidence_percent": 77,
        "weakest_point": "taste",
    }
    below = f"\n\n## Revised\n\n{revised}" if revised else ""
    return f"{analysis}{below}\n\n{json.dumps(fields)}"


def continuation(thought: str, kind: str, percent: int) -> dict[str, Any]:
    return {"thought": thought, "kind": kind, "confidence_percent": percent, "rationale": "it leads on"}


def perspective(viewpoint: str, content: str, novelty: int) -> dict[str, Any]:
    return {
        "viewpoint": viewpoint,
        "content": content,
        "assumption_challenged": "that it must be so",
        "novelty_percent": novelty,
        "viability_percent": 100 - novelty,
    }


def views(problem: str, synthesis: dict[str, Any], *perspectives: dict[str, Any]) -> list[Rule]:
    """The rules for the perspectives on a problem, and for their synthesis."""
    before = PROBLEM + problem
    numbered = [rule([before, f"Perspective {number} of"], text) for number, text in enumerate(perspectives, 1)]
    return [rule([before, SYNTHESIS], synthesis), *numbered]


MOONS = "How many moons has Mars?"
FALL = "Which of them will fall?"
SOON = "How soon is that?"
PLAIN = "Say it plainly."
LATER = "What is left after that?"
RING = "Suppose that it becomes a ring instead."

WELL = "Where should the well be dug?"
DEEPER = "How deep must it be there?"
OTHER = "And if there is rock?"

QUIET = "How can a street be made quiet?"
QUIETER = "And at night?"
FIRST = "Which of these is tried first?"

CLAIM = "Bread rises because yeast breathes."
CLAIM_BETTER = "Bread rises because yeast makes carbon dioxide from sugar."
CLAIM_BEST = "Bread rises because yeast makes carbon dioxide, which gluten holds."
TEA = "Why does tea cool?"
TEA_ANSWER = "It gives its warmth to the room."
TEA_ANEW = "Most of the warmth leaves with the steam."
ICE = "Why does ice float?"
ICE_ANSWER = "It is cold, and cold things rise."
ICE_BETTER = "It is less dense than water."
ICE_ALIKE = "Water is denser than ice."
# Longer than a result that two models would word alike.
TEA_RESULT = "its warmth goes into the air of the room"
ICE_RESULT = "it has a lower density than the water around it"
SALT = "How much salt is in two litres with 35 g each?"
SALT_ANSWER = "2 × 35 g = 70 g."

SHARED = "Use a tree of thoughts: my neighbour's dog and our cat share a garden, and it rains a lot here."
KETTLE = "Think step by step: the kettle takes four minutes on this stove and the stove is old by now."
POND = "Build a graph of thoughts: the fish, the weed and the heron in this pond all live from each other."
COMPARED = "Use a tree of thoughts: a wooden or a steel bridge for this river?"

TIDE = "Tides could power the harbour."
TIDE_PROBLEM = "What should power the harbour?"
TURBINE = "A turbine at the mole gives 200 kW."
SILT = "Silt will stop any turbine here."
LAGOON = "A lagoon stores the high tide."
MERGED = "A lagoon upstream of the silt, with one turbine."
MERGED_BETTER = "A lagoon upstream of the silt, with one turbine that is flushed at ebb."
FLUSH = "Flushing takes a tenth of the yield."

RULES = [
    # An unusable reply is requested again.
    rule([AGAIN, NEXT + SOON], step("In about fifty million years.", 55)),
    rule([NEXT + SOON], {"thought": " "}),
    # Linear.
    rule([NEXT + MOONS], step("Mars has two moons, Phobos and Deimos.", 95)),
    rule([NEXT + FALL], step("Phobos falls, Deimos drifts away.", 60, "models of Mars’s inside")),
    rule([NEXT + PLAIN], "Phobos will break up long before we need to worry."),
    rule([NEXT + LATER], step("Deimos alone, and a little dust.", 71)),
    rule([DIRECTION + RING], step("A ring of dust, for some million years.", 65, "how much falls at once")),
    # Tree: most approaches agree, so that no model has to compare them.
    *ways(
        EXPLORE + WELL,
        approach("hill", "On the hill, where springs are.", "the hill", 40),
        approach("valley", "In the valley, where water gathers.", "the valley", 80),
        approach("house", "Beside the house it is dry; the valley is near.", "The valley.", 55),
    ),
    *ways(
        EXPLORE + DEEPER,
        approach("shallow", "Ten metres reach water that dries up, so thirty.", "30", 60),
        approach("deep", "Thirty reach water that lasts.", "30.0", 75),
    ),
    # The second approach is the same as the first.
    *ways(
        EXPLORE + OTHER,
        approach("blast", "Blasting costs more than another well.", "dig elsewhere", 20),
        approach("again", "blasting costs more than ANOTHER well!", "dig elsewhere", 30),
        approach("move", "The next field has no rock.", "dig elsewhere", 60),
    ),
    # Divergent.
    *views(
        QUIETER,
        {"synthesis": "Move the noise, not the people.", "answer": None, "confidence_percent": 58, "weakest_point": "law"},
        perspective("the owl", "Night has its own listeners.", 90),
        perspective("the baker", "Work at night, and let the day be loud.", 60),
    ),
    *views(
        QUIET,
        {"synthesis": "Cover noise before forbidding it.", "answer": "cover it", "confidence_percent": 72,
         "weakest_point": "winter"},
        perspective("the deaf", "Quiet is also what is not looked at.", 85),
        perspective("the road", "Soft ground swallows tyres.", 30),
        perspective("the tree", "Leaves are louder and kinder.", 55),
    ),
    rule([NEXT + FIRST], step("Trees, since they need no permit.", 64)),
    # Reflection: it improves twice, then it does not. A version has to be preferred in both orders.
    preference([VERSION_A + CLAIM], "B"),
    preference([VERSION_A + CLAIM_BETTER, VERSION_B + CLAIM_BEST], "B"),
    preference([VERSION_A + CLAIM_BETTER, VERSION_B + CLAIM], "A"),
    preference([VERSION_A + CLAIM_BEST], "A"),
    # The one for tea is preferred only where it is read last.
    preference([VERSION_A + TEA_ANSWER, VERSION_B + TEA_ANEW], "B"),
    preference([VERSION_A + TEA_ANEW, VERSION_B + TEA_ANSWER], "B"),
    preference([VERSION_A + ICE_ANSWER, VERSION_B + ICE_BETTER], "B"),
    preference([VERSION_A + ICE_BETTER, VERSION_B + ICE_ANSWER], "A"),
    rule([SUBJECT + CLAIM_BEST, THROUGH], reflection("Nothing is left to mend.", 90, "gluten holds it", CLAIM_BEST)),
    # A reply that has all of it as fields.
    rule([SUBJECT + CLAIM_BETTER, THROUGH], {
        "analysis": "Gluten is missing.", "strengths": ["it is true"], "weaknesses": ["no gluten"],
        "recommendations": [], "quality_percent": 70, "improved_reasoning": CLAIM_BEST,
        "improved_quality_percent": 85, "answer": "gluten holds it", "confidence_percent": 77, "weakest_point": "taste",
    }),
    rule([SUBJECT + CLAIM, THROUGH], reflection("True and shallow.", 50, "carbon dioxide", CLAIM_BETTER)),
    rule([NEXT + TEA, SUBJECT + TEA_ANSWER, THROUGH], reflection("No steam.", 60, "mostly by steam", TEA_ANEW)),
    rule([NEXT + ICE, SUBJECT + ICE_ANSWER, THROUGH], reflection("Cold water sinks.", 40, ICE_RESULT, ICE_BETTER)),
    # The same result is no reason to compare.
    rule([NEXT + ICE, SUBJECT + ICE_BETTER, THROUGH], reflection("It is right.", 80, f"{ICE_RESULT}.", ICE_ALIKE)),
    # A short result is compared with that of another solution, which does not see the first one.
    rule([NEXT + SALT, SUBJECT + SALT_ANSWER, REDO], reflection("It holds.", 90, "70")),
    rule([NEXT + SALT], step(SALT_ANSWER, 90, result="70 g")),
    rule(["Judge this reasoning as a whole."], {
        "assessment": "It hangs together.", "coherence_percent": 80, "quality_percent": 64,
        "strengths": ["it decides"], "weaknesses": [], "recommendations": ["survey the ground"],
        "confidence_percent": 69,
    }),
    rule([NEXT + TEA], step(TEA_ANSWER, 83, result=TEA_RESULT)),
    rule([NEXT + ICE], step(ICE_ANSWER, 52, result="cold things weigh less than all warm ones, so they rise")),
    # Auto.
    *ways(
        EXPLORE + SHARED,
        approach("hours", "The dog by day, the cat by night.", "by hours", 70),
        approach("fence", "A fence with a gap for the cat is not built in the rain, so hours.", "by hours", 50),
    ),
    rule([NEXT + KETTLE], step("Four minutes are not much for an old stove.", 74)),
    rule([ROOT + POND, "another way than the obvious"], continuation("The heron can fly away.", "hypothesis", 60)),
    rule([ROOT + POND, "divide it into parts"], continuation("less WEED,  fewer fish!", "thought", 50)),
    rule([ROOT + POND], continuation("Less weed, fewer fish.", "thought", 70)),
    *ways(
        EXPLORE + COMPARED,
        approach("wood", "Wood bends with the flood, but it rots.", "steel", 45),
        approach("steel", "Steel lasts.", "steel", 65),
    ),
    # Graph.
    rule([CONTINUE + TIDE, "another way than the obvious"], continuation(SILT, "thought", 50)),
    rule([CONTINUE + TIDE, "divide it into parts"], continuation(LAGOON, "thought", 60)),
    rule([CONTINUE + TIDE], continuation(TURBINE, "hypothesis", 70)),
    rule([CONTINUE + MERGED_BETTER], continuation(FLUSH, "conclusion", 66)),
    rule([JUDGE_ALL, TURBINE, LAGOON], {"rationale": "The lagoon stores.", "scores": [
        {"node": 2, **marks(80, 80, 70, 70)}, {"node": 1, **marks(90, 50, 60, 60)}
    ]}),
    rule([JUDGE + TURBINE], marks(90, 60, 50, 40)),
    rule([JUDGE + SILT], marks(20, 30, 10, 20)),
    rule([JUDGE + LAGOON], marks(80, 80, 70, 70)),
    rule([JUDGE + MERGED_BETTER], marks(95, 85, 80, 80)),
    rule([JUDGE + MERGED], marks(90, 80, 70, 70)),
    rule([IMPROVE + MERGED], {
        "critique": "Silt still comes.", "thought": MERGED_BETTER, "improvements": ["it is flushed"],
    }),
    rule([IMPROVE + LAGOON], {"critique": "", "thought": LAGOON.upper(), "improvements": []}),
    rule(["Merge these nodes:", TURBINE, LAGOON], {
        "thought": MERGED, "approach": "place before size",
        "conflicts_resolved": ["one turbine is enough with a lagoon"],
        "contradictions": [{"first": 1, "second": 2, "reason": "flow or store"}], "confidence_percent": 73,
    }),
]


class Mind:
    """The client's own model: the rules, and which of them it used."""

    def __init__(self, rules: list[Rule]) -> None:
        self.rules = rules
        self.used: set[int] = set()

    def reply(self, told: str) -> Any:
        for number, rule in enumerate(self.rules):
            if all(word in plain_tags(told) for word in rule["words"]):
                self.used.add(number)
                return rule["text"]
        raise AssertionError(f"no rule for this ask:\n{told}")

    def answers(self, needs: dict[str, Any]) -> list[Any]:
        """Returns a reply for each ask. Asks may share a system prompt."""
        shared = needs.get("system")
        return [
            self.reply("\n".join([ask.get("system", shared), *(message["text"] for message in ask["messages"])]))
            for ask in needs["asks"]
        ]


class Course:
    """A series of calls, and all their answers."""

    def __init__(self, client: Client, mind: Mind | None = None) -> None:
        self.client = client
        self.mind = mind
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.called: set[str] = set()
        # For each suspended call, the number of requests in each of its rounds.
        self.rounds: dict[str, list[list[int]]] = {}
        # Whether the client's own replies answered the last call.
        self.is_own = False

    async def _call(self, tool: str, arguments: dict[str, Any]) -> Any:
        self.called.add(tool)
        result = await self.client.call_tool(tool, arguments)
        rounds = []
        while self.mind and not result.is_error and "needs_reply" in result.structured_content:
            needs = answer(result)["needs_reply"]
            rounds.append(len(needs["asks"]))
            assert len(rounds) < 20, "it never ends"
            replies = self.mind.answers(needs)
            self.called.add("reasoning_resume")
            result = await self.client.call_tool("reasoning_resume", {"id": needs["id"], "replies": replies})
        self.is_own = bool(rounds)
        if rounds:
            self.rounds.setdefault(tool, []).append(rounds)
        return result

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Makes a call that must succeed."""
        result = await self._call(tool, arguments)
        told = answer(result, own=self.is_own)
        assert "needs_reply" not in told
        self.told.append((tool, told))
        return told

    async def refused(self, tool: str, code: str, **arguments: Any) -> dict[str, Any]:
        """Makes a call that must fail."""
        told = error(await self._call(tool, arguments))
        assert told["code"] == code, told
        self.told.append((tool, told))
        return told


Part = Callable[[Course], Awaitable[None]]
PARTS: list[Part] = []


def part(function: Part) -> Part:
    PARTS.append(function)
    return function


async def run(course: Course) -> None:
    """Runs the whole workflow."""
    for function in PARTS:
        await function(course)


@part
async def linear_with_a_way_back(course: Course) -> None:
    first = await course.call("reasoning_linear", content=MOONS)
    session = first["session_id"]
    second = await course.call("reasoning_linear", content=FALL, session_id=session, confidence=0.9)
    assert second["below_threshold"] is True and second["weakest_point"]
    third = await course.call("reasoning_linear", content=SOON, session_id=session)
    assert third["content"] == "In about fifty million years."
    place = await course.call("reasoning_checkpoint_create", session_id=session, name="moons", description="so far")
    await course.refused("reasoning_checkpoint_create", "Validation", session_id=session, name="moons")
    plain = await course.call("reasoning_linear", content=PLAIN, session_id=session)
    # The request for its fields gets the same text; the client's own model is not asked for them.
    assert plain["confidence"] == 0.8

    back = await course.call("reasoning_backtrack", checkpoint_id=place["checkpoint_id"], session_id=session)
    assert back["set_aside"]["thoughts"] == 1
    await course.call("reasoning_linear", content=LATER, session_id=session)
    along = await course.call(
        "reasoning_backtrack", checkpoint_id=place["checkpoint_id"], new_direction=RING, confidence=0.7
    )
    assert along["new_branch_id"] and along["below_threshold"]
    undone = await course.call("reasoning_backtrack", checkpoint_id=along["undo_checkpoint_id"])
    assert undone["brought_back"]["thoughts"] == 1
    await course.call("reasoning_checkpoint_list", session_id=session)
    await course.call("reasoning_get", id=session, include_set_aside=True)
    await course.call("reasoning_get", id=session, format="markdown")
    await course.call("reasoning_get", id=session, format="mermaid")


@part
async def tree_with_a_way_back(course: Course) -> None:
    fork = await course.call("reasoning_tree", content=WELL, max_branches=3, confidence=0.75)
    session, best = fork["session_id"], fork["recommended_branch"]
    hill, valley, house = (branch["id"] for branch in fork["branches"])
    # Two of three reach this result, so no comparison was needed.
    assert (best, fork["answer"], fork["confidence"]) == (valley, "the valley", 0.6667)
    assert fork["below_threshold"]
    kinds = [(it["from"], it["to"], it["type"]) for it in fork["cross_references"]]
    assert kinds == [(house, valley, "supports"), (hill, valley, "contradicts")]
    await course.call("reasoning_tree_focus", session_id=session, branch_id=valley)
    place = await course.call("reasoning_checkpoint_create", session_id=session, name="valley")
    await course.call("reasoning_tree", content=DEEPER, session_id=session, max_branches=2)
    await course.call("reasoning_tree_complete", session_id=session, branch_id=hill, state="abandoned")
    await course.refused("reasoning_tree", "BranchClosed", content=DEEPER, branch_id=hill)
    await course.call("reasoning_tree_list", session_id=session)
    await course.call("reasoning_backtrack", checkpoint_id=place["checkpoint_id"])
    # The hill is open again, since it was closed after the checkpoint.
    listed = await course.call("reasoning_tree_list", session_id=session)
    assert {branch["state"] for branch in listed["branches"]} == {"active"}
    elsewhere = await course.call("reasoning_tree", content=OTHER, branch_id=house, max_branches=3)
    assert elsewhere["branches_explored"] == 2
    await course.call("reasoning_tree_complete", session_id=session, branch_id=house, state="completed")
    await course.call("reasoning_tree_focus", session_id=session, branch_id=house)
    await course.call("reasoning_get", id=valley, format="markdown")
    await course.call("reasoning_get", id=session, format="mermaid", include_set_aside=True)


@part
async def divergent(course: Course) -> None:
    first = await course.call("reasoning_divergent", content=QUIET, constraints=["no laws", "no money"])
    assert len(first["perspectives"]) == 3
    second = await course.call(
        "reasoning_divergent", content=QUIETER, session_id=first["session_id"], num_perspectives=2, confidence=0.9
    )
    assert second["below_threshold"]
    # A session mixes modes: the next step builds on the synthesis.
    mixed = await course.call("reasoning_linear", content=FIRST, session_id=first["session_id"])
    assert mixed["previous_thought"] == second["thought_id"]
    await course.call("reasoning_get", id=first["session_id"], format="mermaid")


@part
async def reflections(course: Course) -> None:
    alone = await course.call("reasoning_reflection", content=CLAIM, max_iterations=4, focus_areas=["chemistry"])
    assert (alone["improved_reasoning"], alone["answer"]) == (CLAIM_BEST, "gluten holds it")
    assert (alone["iterations"], alone["quality_before"], alone["quality_after"]) == (3, 0.5, 0.9)
    tea = await course.call("reasoning_linear", content=TEA)
    looked = await course.call("reasoning_reflection", thought_id=tea["thought_id"])
    # Only one order prefers the revision, so the original stays.
    assert (looked["improved_reasoning"], looked["answer"]) == (None, TEA_RESULT)
    assert "did not prefer it" in looked["note"]
    ice = await course.call("reasoning_linear", content=ICE)
    better = await course.call("reasoning_reflection", thought_id=ice["thought_id"])
    assert (better["improved_reasoning"], better["answer"]) == (ICE_BETTER, ICE_RESULT)
    same = await course.call("reasoning_reflection", thought_id=better["improved_thought_id"])
    assert (same["improved_reasoning"], same["answer"]) == (None, ICE_RESULT)
    assert "the same result" in same["note"]
    salt = await course.call("reasoning_linear", content=SALT)
    solved = await course.call("reasoning_reflection", thought_id=salt["thought_id"])
    assert (solved["improved_reasoning"], solved["answer"], solved["confidence"]) == (None, "70 g", 1.0)
    assert solved["note"] == "An independent solution also reaches 70 g."
    await course.call("reasoning_reflection_evaluate", session_id=tea["session_id"])


@part
async def auto_alone(course: Course) -> None:
    by_rules = await course.call("reasoning_auto", content=COMPARED)
    assert (by_rules["recommended_mode"], by_rules["decided_by"]) == ("tree", "rules")
    ran = await course.call("reasoning_auto", content=KETTLE, run=True)
    assert ran["result"]["content"].startswith("Four minutes")


@part
async def auto_runs_a_tree(course: Course) -> None:
    ran = await course.call("reasoning_auto", content=COMPARED, run=True)
    assert ran["result"]["branches_explored"] == 2
    session = ran["result"]["session_id"]
    await course.call("reasoning_auto", content=SHARED, session_id=session, run=True)


@part
async def auto_runs_a_graph(course: Course) -> None:
    ran = await course.call("reasoning_auto", content=POND, run=True)
    # The third continuation is the same as the first.
    assert ran["result"]["count"] == 2


@part
async def graph(course: Course) -> None:
    begun = await course.call(
        "reasoning_got_init", content=TIDE, problem=TIDE_PROBLEM, config={"max_depth": 3, "prune_threshold": 0.4}
    )
    graph, session = begun["graph_id"], begun["session_id"]
    grown = await course.call("reasoning_got_generate", graph_id=graph, node_id=begun["root_node_id"], k=3)
    turbine, silt, lagoon = (it["node_id"] for it in grown["continuations"])
    for node in [turbine, silt, lagoon]:
        await course.call("reasoning_got_score", graph_id=graph, node_id=node)
    both = await course.call("reasoning_got_score", graph_id=graph, node_ids=[turbine, lagoon])
    # The validity bounds the score, and the best is first.
    assert [(it["node_id"], it["overall_score"]) for it in both["scores"]] == [(lagoon, 0.785), (turbine, 0.5)]
    place = await course.call("reasoning_checkpoint_create", session_id=session, name="scored")
    pruned = await course.call("reasoning_got_prune", graph_id=graph)
    assert pruned["undo_checkpoint_id"]
    await course.call("reasoning_got_state", graph_id=graph)
    await course.refused("reasoning_got_score", "NodePruned", graph_id=graph, node_id=silt)
    unchanged = await course.call("reasoning_got_refine", graph_id=graph, node_id=lagoon)
    assert unchanged["kept"] == "original"
    merged = await course.call("reasoning_got_aggregate", graph_id=graph, node_ids=[turbine, lagoon])
    refined = await course.call("reasoning_got_refine", graph_id=graph, node_id=merged["aggregated_node_id"])
    assert refined["kept"] == "refined"
    better = refined["refined_node_id"]
    last = await course.call("reasoning_got_generate", graph_id=graph, node_id=better, k=1)
    (flush,) = (it["node_id"] for it in last["continuations"])
    await course.refused("reasoning_got_generate", "LimitReached", graph_id=graph, node_id=flush)
    await course.call("reasoning_got_finalize", graph_id=graph, terminal_node_ids=[better, flush])
    await course.call("reasoning_got_finalize", graph_id=graph)
    await course.call("reasoning_got_state", graph_id=graph)
    await course.call("reasoning_get", id=graph, format="mermaid")
    await course.call("reasoning_get", id=silt)

    back = await course.call("reasoning_backtrack", checkpoint_id=place["checkpoint_id"])
    assert back["set_aside"]["nodes"] == 3
    await course.refused("reasoning_got_score", "SetAside", graph_id=graph, node_id=better)
    # The nodes that were pruned after the checkpoint are restored.
    await course.call("reasoning_got_score", graph_id=graph, node_id=silt)
    await course.call("reasoning_got_state", graph_id=graph)


@part
async def looking_back(course: Course) -> None:
    await course.call("reasoning_search", query="Phobos")
    await course.call("reasoning_search", query="water", mode="tree", limit=3)
    await course.call("reasoning_search", query="nothing of the kind")
    listed = await course.call("reasoning_sessions")
    await course.call("reasoning_sessions", limit=1, offset=1)
    oldest = listed["sessions"][-1]["session_id"]
    await course.call("reasoning_sessions", action="rename", session_id=oldest, title="The moons of Mars")
    gone = await course.call("reasoning_linear", content=MOONS)
    await course.call("reasoning_sessions", action="delete", session_id=gone["session_id"])
    await course.call("reasoning_sessions", action="delete", session_id=gone["session_id"], confirm=True)
    await course.refused("reasoning_linear", "SessionNotFound", content=MOONS, session_id=gone["session_id"])
    await course.refused("reasoning_get", "Validation", id=gone["thought_id"])
    await course.refused("reasoning_resume", "SuspensionNotFound", id="nonsense", replies=["x"])
    await course.call("reasoning_sessions")


def told_to_provider(body: dict[str, Any]) -> str:
    """Returns all texts that a provider's model received."""
    texts = [body.get("system") or "", *(message["content"] for message in body["messages"])]
    return "\n".join(text if isinstance(text, str) else json.dumps(text) for text in texts)

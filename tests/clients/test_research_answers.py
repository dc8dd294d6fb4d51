"""The whole workflow from a search to a bibliography; and answers that are supported by the
papers, or are not given.

There is no provider: the client's model works, and its replies are checked like those of any
model.
"""

import re
from typing import Any

import pytest

from sample_papers import MOISTURE, SENSING
from research_fixtures import Desk, Sit, desk, entries_of, texts_of, whole_world, world  # noqa: F401

pytestmark = pytest.mark.anyio

SOURCES = ("crossref", "openalex")
QUESTION = "How much earlier than aerial thermography does the buried radio network find a smouldering front?"

FRONT = "The network found the smouldering front 41 hours earlier than aerial thermography."
ALARMS = "It raised 2 false alarms in 212 days."


def passages_of(ask: dict[str, Any]) -> dict[str, str]:
    """Returns the passages in a request, by their ids."""
    found = re.findall(r'<passage id="([^"]+)"[^>]*>\n?(.*?)\n?</passage>', texts_of(ask), re.DOTALL)
    return {id: " ".join(text.split()) for id, text in found}


def cited(ask: dict[str, Any], sentence: str) -> list[str]:
    return [id for id, text in passages_of(ask).items() if sentence in text][:1]


def honest(*sentences: str):
    """Replies with sentences of the passages, each citing the passage it is from."""

    def reply(ask: dict[str, Any]) -> dict[str, Any]:
        return {"sentences": [{"sentence": it, "passages": cited(ask, it)} for it in sentences]}

    return reply


def says(*sentences: tuple[str, str], quote: str | None = None):
    """Replies with sentences that cite the passage containing other words."""

    def reply(ask: dict[str, Any]) -> dict[str, Any]:
        made = [{"sentence": text, "passages": cited(ask, near)} for text, near in sentences]
        if quote:
            made[0]["quote"] = quote
        return {"sentences": made}

    return reply


async def there(ask: Desk, citation: dict[str, Any]) -> str:
    """Returns the text at the position of a citation, read again."""
    assert citation["page"] == citation["end_page"]
    page = await ask("read_article", article_identifier=citation["article_id"], pages=str(citation["page"]))
    return page["text"][citation["start"] : citation["end"]]


async def test_from_a_search_to_a_bibliography(desk: Sit) -> None:
    async with desk(*SOURCES) as ask:
        found = await ask("search_papers", query="radio sensing of smouldering peat")
        best = found["papers"][0]
        assert best["article_id"] is None

        added = await ask("add_article", identifiers=[best["identifier"]])
        id = added["results"][0]["article_id"]
        fetched = await ask("download_pdf", source=best["identifier"])
        assert fetched["file"]["is_pdf"] and not fetched["file"]["was_there"]
        read = await ask("process_pdf", pdf_path=fetched["file"]["path"])
        assert (read["article_id"], read["outcome"]) == (id, "joined")
        assert (await ask("search_papers", query="radio sensing of smouldering peat"))["papers"][0]["article_id"] == id

        hits = await ask("search_articles", query="false alarms of the network")
        assert hits["results"][0]["article_id"] == id

        told = await ask.think("answer_research_question", honest(FRONT, ALARMS), question=QUESTION)
        assert told["status"] == "answered" and told["support"] == 1.0
        assert [it["verdict"] for it in told["sentences"]] == ["supported", "supported"]
        for sentence in told["sentences"]:
            assert sentence["citations"], "every sentence has a place"
            for citation in sentence["citations"]:
                assert citation["article_id"] == id and citation["page"] == 2
                text = await there(ask, citation)
                assert " ".join(text.split()) == " ".join(citation["quote"].split())
                uri = f"knowledge://{id}/page/{citation['page']}"
                (content,) = (await ask.client.read_resource(uri)).contents
                assert text in content.text
        assert "41 hours" in told["said"] and SENSING.title.lower() in told["said"].lower()

        key = told["sources"][0]["cite_key"]
        exported = await ask("export_bibliography", articles=[id], filename="story.bib")
        assert exported["path"] == str(ask.exports / "story.bib")
        entries = entries_of((ask.exports / "story.bib").read_text())
        assert list(entries) == [key]
        entry = entries[key]
        assert entry["type"] == "article"
        assert entry["doi"].lower() == SENSING.doi and entry["volume"] == "12"
        assert re.sub("[{}]", "", entry["title"]).lower() == SENSING.title.lower()
        assert " and " in entry["author"]


LIES = {
    "a number": ("The network found the smouldering front 14 hours earlier than aerial thermography.", FRONT, "number"),
    "a direction": (
        "The network found the smouldering front 41 hours later than aerial thermography.",
        FRONT,
        "direction",
    ),
    "a denial": ("Detection improved when more than 48 nodes were used.", "Detection did not improve", "negation"),
    "a unit": ("The network found the smouldering front 41 days earlier than aerial thermography.", FRONT, "number"),
}


@pytest.mark.parametrize("name", LIES)
async def test_a_lie_is_found_out(desk: Sit, name: str) -> None:
    lie, near, kind = LIES[name]
    async with desk(*SOURCES) as ask:
        await ask.take_in("sensing")
        told = await ask.think("answer_research_question", says((lie, near)), question=QUESTION)
        assert told["status"] == "withheld"
        (sentence,) = told["sentences"]
        assert sentence["verdict"] in ("contradicted", "not_found")
        assert kind in [problem["kind"] for problem in sentence["problems"]], sentence
        assert told["support"] == 0.0
        assert "withheld" in told["said"].lower()
        assert FRONT[:30] in " ".join(told["said"].split()), "what was found is given in its place"


async def test_what_nobody_judges_is_not_checked(desk: Sit) -> None:
    claim = "Penguins prefer colder herring in the southern winter."
    answer = says((claim, FRONT))

    def reply(ask: dict[str, Any]) -> dict[str, Any]:
        return {"claims": []} if "Claim 1, citing" in str(ask) else answer(ask)

    async with desk(*SOURCES) as ask:
        await ask.take_in("sensing")
        told = await ask.think("answer_research_question", reply, question=QUESTION)
        (sentence,) = told["sentences"]
        assert (sentence["verdict"], sentence["judged_by"]) == ("not_checked", "nobody")
        assert told["support"] == 0.0


async def test_one_lie_among_truths_is_marked(desk: Sit) -> None:
    lie = "The batteries lasted 91 months on average."
    truths = [(FRONT, FRONT), (ALARMS, ALARMS)]
    async with desk(*SOURCES) as ask:
        await ask.take_in("sensing")
        told = await ask.think(
            "answer_research_question", says(*truths, (lie, "The batteries lasted")), question=QUESTION
        )
    assert told["status"] == "answered"
    assert [it["verdict"] for it in told["sentences"]] == ["supported", "supported", "contradicted"]
    (problem, *_) = told["sentences"][2]["problems"]
    assert problem["kind"] == "number" and "19" in problem.get("instead", "")
    said = told["said"]
    (line,) = [it for it in said.splitlines() if lie in it]
    assert "✗" in line, said


async def test_a_quote_must_stand_there_letter_by_letter(desk: Sit) -> None:
    async with desk(*SOURCES) as ask:
        await ask.take_in("sensing")
        true = await ask.think(
            "answer_research_question",
            says((FRONT, FRONT), quote="41 hours earlier than aerial thermography"),
            question=QUESTION,
        )
        assert true["status"] == "answered"
        false = says((FRONT, FRONT), quote="41 hours sooner than aerial thermography")
        told = await ask.think("answer_research_question", false, question=QUESTION)
        assert "quote" in [problem["kind"] for sentence in told["sentences"] for problem in sentence["problems"]]


async def test_a_second_answer_may_be_better(desk: Sit) -> None:
    replies = [says((LIES["a number"][0], FRONT)), honest(FRONT)]
    async with desk(*SOURCES) as ask:
        await ask.take_in("sensing")
        asks: list[dict[str, Any]] = []

        def reply(asked: dict[str, Any]) -> Any:
            asks.append(asked)
            return replies[min(len(asks), 2) - 1](asked)

        told = await ask.think("answer_research_question", reply, question=QUESTION)
    assert told["status"] == "answered"
    assert len(asks) == 2 and "14 hours" in texts_of(asks[1]), "what was wrong is told"
    assert passages_of(asks[0]) == passages_of(asks[1])


async def test_a_passage_that_is_made_up_supports_nothing(desk: Sit) -> None:
    async with desk(*SOURCES) as ask:
        await ask.take_in("sensing")
        reply = {"sentences": [{"sentence": "Peat burns blue on Tuesdays.", "passages": ["p99"]}]}
        told = await ask.think("answer_research_question", lambda _: reply, question=QUESTION)
    assert told["status"] == "withheld"
    assert told["sentences"][0]["citations"] == [] or told["sentences"][0]["verdict"] != "supported"


async def test_what_the_collection_does_not_know_is_not_answered(desk: Sit) -> None:
    async with desk(*SOURCES) as ask:
        empty = await ask("answer_research_question", question=QUESTION)
        assert empty["status"] == "nothing_found" and "search_papers" in empty["said"]
        await ask.take_in("sensing")
        told = await ask(
            "answer_research_question", question="Which mortgage rates did Luxembourg banks offer?", min_relevance=0.6
        )
        assert told["status"] == "nothing_found"
        assert (await ask.refused("answer_research_question", question="  "))["code"] == "Validation"
        for wrong in [{"max_sources": 0}, {"max_sources": 99}, {"min_relevance": 2}, {"scope": "everything!"}]:
            told = await ask.refused("answer_research_question", question=QUESTION, **wrong)
            assert told["code"] == "Validation", wrong
        told = await ask.refused("answer_research_question", question=QUESTION, scope="collection:none of that name")
        assert "NotFound" in told["code"]


async def test_orders_in_a_paper_are_shown_to_the_model_as_data(desk: Sit) -> None:
    async with desk("arxiv", "openalex") as ask:
        await ask.take_in("hostile")
        seen: list[dict[str, Any]] = []
        truth = "Of the 12 surveys, 7 repeat the same figure without checking it."

        def reply(asked: dict[str, Any]) -> Any:
            seen.append(asked)
            return honest(truth)(asked)

        told = await ask.think(
            "answer_research_question",
            reply,
            question="How many of the surveys of peat repeat the same figure?",
            min_relevance=0.0,
        )
        text = texts_of(seen[0])
        assert "never an instruction" in seen[0]["system"]
        shown = passages_of(seen[0])
        assert all(re.fullmatch(r"p\d+", id) for id in shown)
        assert text.count("</passage>") == len(re.findall(r'<passage id="', text)) == len(shown), (
            "nothing closes a passage early"
        )
        assert not any(it.strip() == "The network found nothing at all." for it in shown.values())
        assert told["status"] == "answered"
        # The injected words support no claim of another paper.
        await ask.take_in("sensing")


async def test_scopes_bound_what_is_looked_at(desk: Sit) -> None:
    async with desk(*SOURCES) as ask:
        ids = await ask.take_in("sensing", "moisture")
        note = ask.put("turf.md", b"# Cutting turf\n\nA slane cuts 14 sods of turf in a minute.\n")
        await ask("upload_external_knowledge", file_path=str(note), collection_name="Lore")
        await ask("move_paper_to_project", paper_id=ids["moisture"], project_name="Ignition")
        question = "How many sods of turf does a slane cut in a minute?"
        told = await ask.think(
            "answer_research_question",
            honest("A slane cuts 14 sods of turf in a minute."),
            question=question,
            scope="external",
        )
        assert told["status"] == "answered" and [it["title"] for it in told["sources"]] == ["Cutting turf"]
        for scope in ["papers_only", "collection:Ignition"]:
            shown: list[str] = []

            def reply(asked: dict[str, Any]) -> Any:
                shown.extend(passages_of(asked).values())
                return {"sentences": [{"sentence": "The passages do not say.", "passages": []}]}

            told = await ask.think("answer_research_question", reply, question=question, scope=scope, min_relevance=0.0)
            assert not any("slane" in text for text in shown)
            if scope == "collection:Ignition":
                assert {it["article_id"] for it in told["sources"]} <= {ids["moisture"]}


async def test_a_suspended_answer_outlives_the_process(desk: Sit) -> None:
    async with desk(*SOURCES) as ask:
        await ask.take_in("sensing")
        waiting = await ask("answer_research_question", question=QUESTION)
        assert "needs_reply" in waiting
    async with desk(*SOURCES) as ask:
        # The earlier search results are the basis of the answer.
        await ask.take_in("moisture")
        told = await ask.go_on(waiting, honest(FRONT))
    assert told["status"] == "answered"
    assert [it["title"].lower() for it in told["sources"]] == [SENSING.title.lower()]


def thinker(*sentences: str):
    """Answers every kind of request of the agentic pipeline, whatever its schema."""

    def value(schema: dict[str, Any], ask: dict[str, Any], name: str = "") -> Any:
        if "$ref" in schema:
            return value(ask["schema"]["$defs"][schema["$ref"].rsplit("/", 1)[1]], ask, name)
        for choice in ("anyOf", "oneOf"):
            if choice in schema:
                return value(schema[choice][0], ask, name)
        if "enum" in schema:
            return schema["enum"][0]
        if "const" in schema:
            return schema["const"]
        kind = schema.get("type")
        kind = kind[0] if isinstance(kind, list) else kind
        if kind == "object" or "properties" in schema:
            return {field: value(it, ask, field) for field, it in schema.get("properties", {}).items()}
        if kind == "array":
            return [value(schema["items"], ask, name)] if schema.get("minItems") else []
        return {"integer": 90, "number": 90, "boolean": True, "string": QUESTION}.get(kind)

    def reply(ask: dict[str, Any]) -> Any:
        if "sentences" in ask["schema"].get("properties", {}):
            return honest(*sentences)(ask)
        return value(ask["schema"], ask)

    return reply


async def test_the_agentic_pipeline_with_the_client_as_its_model(desk: Sit) -> None:
    async with desk(*SOURCES) as ask:
        ids = await ask.take_in("sensing", "moisture")
        told = await ask.think("agentic_research_question", thinker(FRONT, ALARMS), question=QUESTION)
        assert told["status"] in ("answered", "partial"), told["said"]
        assert [it["verdict"] for it in told["sentences"]] == ["supported", "supported"]
        for sentence in told["sentences"]:
            for citation in sentence["citations"]:
                assert citation["article_id"] == ids["sensing"]
                text = await there(ask, citation)
                assert " ".join(text.split()) == " ".join(citation["quote"].split())


async def test_the_agentic_pipeline_tells_what_it_does(desk: Sit) -> None:
    async with desk(*SOURCES) as ask:
        await ask.take_in("sensing", "moisture")
        steps: list[tuple[float, str | None]] = []

        async def progress(done: float, _: float | None, message: str | None) -> None:
            steps.append((done, message))

        result = await ask.client.call_tool(
            "agentic_research_question", {"question": QUESTION}, progress_callback=progress
        )
        told = await ask.go_on(result.structured_content, thinker(FRONT))
        assert steps and all(message for _, message in steps)
        nodes = [node["node"] for node in told["trace"]]
        assert {"classify", "retrieve", "grade", "generate", "check"} <= set(nodes)
        assert nodes.index("retrieve") < nodes.index("grade") < nodes.index("generate") < nodes.index("check")
        assert told["spent"]["model_calls"] >= 2 and told["rounds"] >= 1 and told["queries"]


async def test_a_spent_budget_gives_what_there_is(desk: Sit) -> None:
    async with desk(*SOURCES, DELIBERATE_RESEARCH_ANSWER_MODEL_CALLS="1") as ask:
        await ask.take_in("sensing", "moisture")
        asked: list[dict[str, Any]] = []

        def reply(ask: dict[str, Any]) -> Any:
            asked.append(ask)
            return thinker(FRONT)(ask)

        told = await ask.think("agentic_research_question", reply, question=QUESTION)
        assert len(asked) <= 1
        assert told["left_out"] or told["status"] != "answered"
        assert told["sources"], "what was found is given all the same"


async def test_the_agentic_pipeline_does_not_believe_a_lie(desk: Sit) -> None:
    async with desk(*SOURCES) as ask:
        await ask.take_in("sensing")

        def reply(asked: dict[str, Any]) -> Any:
            if "sentences" in asked["schema"].get("properties", {}):
                return says((LIES["a number"][0], FRONT))(asked)
            return thinker()(asked)

        told = await ask.think("agentic_research_question", reply, question=QUESTION, max_retries=1)
    assert told["status"] == "withheld"
    assert "14 hours" not in told["said"].split("Passages")[0] or "withheld" in told["said"].lower()


def test_the_sentences_are_in_the_papers() -> None:
    texts = " ".join(text for _, paragraphs in SENSING.sections + MOISTURE.sections for text in paragraphs)
    assert FRONT in texts and ALARMS in texts

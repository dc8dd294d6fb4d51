"""Research questions: saved, checked, run, scored, due; and saved sources, one tool for each."""

import json
import sqlite3
from typing import Any

import anyio
import pytest

from conftest import PATIENCE_SECONDS, Home
from mock_paper_sources import World
from sample_papers import SENSING
from research_fixtures import Desk, Sit, desk, titles, whole_world, world  # noqa: F401

pytestmark = pytest.mark.anyio

SOURCES = ("crossref", "openalex")

PEAT: dict[str, Any] = {
    "name": "Smouldering peat",
    "keywords": ["smouldering peat", "radio sensing"],
    "selected_sources": ["crossref", "openalex"],
    "schedule_frequency": "on-demand",
    "min_relevance_score": 0.4,
}


def score(ask: dict[str, Any]) -> dict[str, Any]:
    """A model's scores, if one is asked: every paper fits well."""
    papers = [{"paper": number, "score": 90, "keywords": [], "reason": "It fits."} for number in range(1, 13)]
    return {"papers": papers}


async def create(ask: Desk, **fields: Any) -> str:
    return (await ask("create_research_question", **(PEAT | fields)))["question"]["question_id"]


async def test_a_question_is_saved_as_it_was_given(desk: Sit) -> None:
    fields = {
        "description": "What finds a fire below the ground?",
        "topics": ["peat fires"],
        "authors": ["Brennan"],
        "schedule_frequency": "weekly",
        "schedule_time": "06:30",
        "schedule_days_of_week": [1, 4],
        "max_articles_per_run": 7,
        "auto_download_enabled": True,
        "auto_download_min_score": 0.9,
        "publication_date_range": {"start": "2020", "end": "2024-12"},
    }
    async with desk(*SOURCES) as ask:
        id = await create(ask, **fields)
    async with desk(*SOURCES) as ask:
        told = await ask("get_research_question", question_id=id)
        question = told["question"]
        assert question["name"] == PEAT["name"] and question["keywords"] == PEAT["keywords"]
        assert question["topics"] == ["peat fires"] and question["authors"] == ["Brennan"]
        assert question["max_articles_per_run"] == 7 and question["auto_download_min_score"] == 0.9
        assert (question["published_from"], question["published_to"]) == ("2020", "2024-12")
        assert "06:30" in question["schedule"] and "Thursday" in question["schedule"]
        assert question["is_active"] and question["next_run"] and question["last_run"] is None
        assert told["matches"] == [] and told["total_matches"] == 0
        listed = await ask("list_research_questions")
        assert [it["question_id"] for it in listed["questions"]] == [id]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"name": ""}, "Validation"),
    ({"name": "   "}, "Validation"),
    ({"name": "x" * 256}, "Validation"),
    ({"keywords": [], "topics": []}, "Validation"),
    ({"keywords": ["  "]}, "Validation"),
    ({"selected_sources": []}, "Validation"),
    ({"selected_sources": [""]}, "SourceNotFound"),
    ({"selected_sources": ["google"]}, "SourceNotFound"),
    ({"min_relevance_score": 1.5}, "Validation"),
    ({"schedule_frequency": "hourly"}, "Validation"),
    ({"schedule_frequency": "sometimes"}, "Validation"),
    ({"schedule_time": "25:00"}, "Validation"),
    ({"schedule_days_of_week": [0]}, "Validation"),
    ({"max_articles_per_run": 501}, "Validation"),
    ({"publication_date_range": {"start": "2024", "end": "2020"}}, "Validation"),
]


async def test_questions_that_cannot_be_asked_are_refused(desk: Sit) -> None:
    async with desk(*SOURCES) as ask:
        for fields, code in WRONG:
            told = await ask.refused("create_research_question", **(PEAT | fields))
            assert told["code"] == code, (fields, told)
        await create(ask)
        told = await ask.refused("create_research_question", **(PEAT | {"name": "SMOULDERING peat "}))
        assert told["code"] == "Validation" and "name" in str(told)
        assert len((await ask("list_research_questions"))["questions"]) == 1


async def test_questions_are_changed_and_put_away(desk: Sit) -> None:
    async with desk(*SOURCES) as ask:
        id = await create(ask)
        other = await create(ask, name="Another")
        changed = await ask("update_research_question", question_id=id, keywords=["bog"], max_articles_per_run=3)
        assert set(changed["changed"]) == {"keywords", "max_articles_per_run"}
        question = (await ask("get_research_question", question_id=id))["question"]
        assert (
            question["keywords"] == ["bog"]
            and question["max_articles_per_run"] == 3
            and question["name"] == PEAT["name"]
        )
        assert (await ask.refused("update_research_question", question_id=id))["code"] == "Validation"
        assert (await ask.refused("update_research_question", question_id=id, name="another"))["code"] == "Validation"
        assert (await ask.refused("update_research_question", question_id=id, keywords=[], topics=[]))[
            "code"
        ] == "Validation"
        soft = await ask("delete_research_question", question_id=id)
        assert soft["deleted"] is False
        assert [it["question_id"] for it in (await ask("list_research_questions"))["questions"]] == [other]
        everything = await ask("list_research_questions", active_only=False)
        assert {it["question_id"]: it["is_active"] for it in everything["questions"]} == {id: False, other: True}
        told = await ask.refused("run_discovery_for_question", question_id=id)
        assert told["code"] == "NotRun" and "force_run" in told["hint"]
        hard = await ask("delete_research_question", question_id=id, hard_delete=True)
        assert hard["deleted"] is True
        assert (await ask.refused("get_research_question", question_id=id))["code"] == "QuestionNotFound"


async def test_one_user_s_questions_are_not_another_s(desk: Sit) -> None:
    async with desk(*SOURCES) as ask:
        id = await create(ask, user_id="ada")
        await create(ask, user_id="bob")
        assert [it["question_id"] for it in (await ask("list_research_questions", user_id="ada"))["questions"]] == [id]
        assert (await ask("list_research_questions"))["questions"] == []
        for tool, more in [
            ("get_research_question", {}),
            ("update_research_question", {"name": "Mine now"}),
            ("delete_research_question", {"hard_delete": True}),
            ("run_discovery_for_question", {"force_run": True}),
        ]:
            for user in [{"user_id": "bob"}, {}]:
                told = await ask.refused(tool, question_id=id, **user, **more)
                assert told["code"] == "QuestionNotFound", tool
        assert (await ask("get_research_question", question_id=id, user_id="ada"))["question"]["name"] == PEAT["name"]


async def test_a_run_keeps_what_fits_and_counts_it(desk: Sit, world: World) -> None:
    async with desk(*SOURCES) as ask:
        id = await create(ask)
        ran = await ask.think("run_discovery_for_question", score, question_id=id)
        assert {it["source"]: it["outcome"] for it in ran["sources"]} == {"crossref": "ok", "openalex": "ok"}
        run = ran["run"]
        assert run["found"] >= run["scored"] >= run["matched"] >= 1
        assert run["new"] == run["matched"] == len(ran["matches"])
        assert SENSING.title.lower() in titles(ran["matches"])
        scores = [match["score"] for match in ran["matches"]]
        assert scores == sorted(scores, reverse=True) and min(scores) >= 0.4
        assert all(match["scored_by"] in ("model", "words") and match["reasoning"] for match in ran["matches"])
        kept = await ask("get_research_question", question_id=id)
        assert (
            kept["total_matches"] == len(ran["matches"]) and kept["question"]["last_run"]["matched"] == run["matched"]
        )
        listed = await ask("list_articles", limit=100)
        assert {it["article_id"] for it in ran["matches"]} <= {it["article_id"] for it in listed["articles"]}
        soon = await ask.refused("run_discovery_for_question", question_id=id)
        assert soon["code"] == "NotRun"
        again = await ask.think("run_discovery_for_question", score, question_id=id, force_run=True)
        assert again["run"]["new"] == 0
        assert (await ask("get_research_question", question_id=id))["total_matches"] == kept["total_matches"]
        assert (await ask("list_articles", limit=100))["total"] == listed["total"]


async def test_limits_and_dates_of_a_question_count(desk: Sit) -> None:
    async with desk(*SOURCES) as ask:
        id = await create(
            ask, keywords=["peat"], min_relevance_score=0.0, publication_date_range={"start": "2022", "end": "2023"}
        )
        ran = await ask.think("run_discovery_for_question", score, question_id=id)
        dates = {it["title"]: it.get("date", "") for it in (await ask("list_articles", limit=100))["articles"]}
        assert dates and all("2022" <= date[:4] <= "2023" for date in dates.values() if date), dates
        few = await ask.think("run_discovery_for_question", score, question_id=id, force_run=True, max_articles=1)
        assert few["run"]["found"] == 1
        assert ran["run"]["found"] > 1
        strict = await create(ask, name="Strict", keywords=["origami", "peat"], min_relevance_score=1.0)
        none = await ask("run_discovery_for_question", question_id=strict)
        if "needs_reply" not in none:
            assert none["matches"] == [] and none["run"]["matched"] == 0


async def test_a_run_goes_on_past_a_source_that_fails(desk: Sit, world: World) -> None:
    world.fault("openalex", status=429, headers={"retry-after": "77"})
    async with desk(*SOURCES) as ask:
        id = await create(ask)
        ran = await ask.think("run_discovery_for_question", score, question_id=id)
        assert ran["matches"]
        assert len(ran["run"]["problems"]) == 1 and "openalex" in ran["run"]["problems"][0].lower()
        world.fault("crossref", status=500)
        other = await create(ask, name="Another", keywords=["drones"])
        told = await ask.refused("run_discovery_for_question", question_id=other)
        assert told["code"] == "SourcesFailed"
        # It has not run, and may run again.
        assert (await ask("get_research_question", question_id=other))["question"]["last_run"] is None


async def test_matches_come_with_their_texts_if_that_is_wanted(desk: Sit) -> None:
    async with desk(*SOURCES) as ask:
        id = await create(ask, auto_download_enabled=True, auto_download_min_score=0.4)
        ran = await ask.think("run_discovery_for_question", score, question_id=id)
        assert SENSING.title.lower() in titles(ran["matches"])
        details = await ask("get_article_details", article_identifier=SENSING.doi)
        assert details["summary"]["pages"] == 3
        assert list(ask.papers.rglob("*.pdf"))


def make_due(home: Home, id: str) -> None:
    """Changes the time of a question, as if it had become due while no server was running."""
    connection = sqlite3.connect(home.database)
    with connection:
        (body,) = connection.execute("SELECT body FROM items WHERE kind = 'question' AND id = ?", [id]).fetchone()
        fields = json.loads(body)
        assert fields["next_run"] is not None
        fields["next_run"] = 1_000_000 if isinstance(fields["next_run"], int) else "2020-01-01T00:00:00Z"
        connection.execute("UPDATE items SET body = ? WHERE kind = 'question' AND id = ?", [json.dumps(fields), id])
        changed = connection.execute(
            "UPDATE item_keys SET value = ? WHERE kind = 'question' AND item_id = ? AND name = 'due'",
            [f"{1_000_000:020}", id],
        )
        assert changed.rowcount == 1
    connection.close()


async def test_what_is_due_is_run_while_the_server_is_up(desk: Sit, world: World, home: Home) -> None:
    async with desk(*SOURCES) as ask:
        id = await create(ask, schedule_frequency="daily")
        put_away = await create(ask, name="Put away", schedule_frequency="daily")
        later = await create(ask, name="Later", schedule_frequency="daily")
        make_due(home, put_away)
        await ask("update_research_question", question_id=put_away, is_active=False)
    make_due(home, id)
    assert world.requests() == []
    async with desk(*SOURCES, DELIBERATE_RESEARCH_SCHEDULE_EVERY_MS="100") as ask:
        with anyio.fail_after(PATIENCE_SECONDS):
            while not (told := await ask("get_research_question", question_id=id))["question"]["last_run"]:
                await anyio.sleep(0.05)
        assert told["total_matches"] >= 1
        assert told["question"]["next_run"] > told["question"]["last_run"]["at"], "it is planned anew"
        for other in (put_away, later):
            assert (await ask("get_research_question", question_id=other))["question"]["last_run"] is None


async def test_the_schedule_can_be_switched_off(desk: Sit, world: World, home: Home) -> None:
    async with desk(*SOURCES) as ask:
        id = await create(ask, schedule_frequency="daily")
    make_due(home, id)
    off = {"DELIBERATE_RESEARCH_SCHEDULE": "off", "DELIBERATE_RESEARCH_SCHEDULE_EVERY_MS": "100"}
    async with desk(*SOURCES, **off) as ask:
        await anyio.sleep(0.6)
        assert (await ask("get_research_question", question_id=id))["question"]["last_run"] is None
    assert world.requests() == []


TOOLS = {
    "create_arxiv_source": "arxiv",
    "create_pubmed_source": "pubmed",
    "create_crossref_source": "crossref",
    "create_openalex_source": "openalex",
    "create_biorxiv_source": "biorxiv",
}


async def test_each_source_has_its_own_tool(desk: Sit, world: World) -> None:
    async with desk() as ask:
        for tool, source in TOOLS.items():
            fields: dict[str, Any] = {"keywords": ["peat"]}
            if source == "biorxiv":
                fields = {"start_date": "2024-05-01", "end_date": "2024-05-31"}
            elif source == "arxiv":
                fields["categories"] = ["physics.ao-ph"]
            elif source == "pubmed":
                fields["date_filter"] = "2020/01/01:2024/12/31"
            saved = await ask(tool, name=f"my {source}", schedule_hours=12, **fields)
            assert saved["sources"][0]["source"] == source
            ran = await ask("run_discovery", source_name=f"my {source}")
            (run,) = ran["runs"]
            assert run["problem"] is None and run["run"]["found"] >= 1, run
            assert world.requests(source)
        listed = await ask("list_discovery_sources")
        assert {it["source"] for it in listed["sources"]} == set(TOOLS.values())
        assert all(it["last_run"] and it["next_run"] for it in listed["sources"])
        assert (await ask.refused("create_arxiv_source", name="none", keywords=[]))["code"] == "Validation"
        assert (await ask.refused("create_crossref_source", name="My Crossref", keywords=["x"]))["code"] == "Validation"
        assert (await ask.refused("create_pubmed_source", name="p", keywords=["x"], date_filter="yesterday"))[
            "code"
        ] == "Validation"
        await ask("delete_discovery_source", source_name="my arxiv")
        assert (await ask.refused("get_discovery_source", source_name="my arxiv"))["code"] == "SourceNotFound"
        # Saved sources belong to no user.
        assert (await ask("list_research_questions", user_id="*"))["questions"] == []
        assert (await ask("list_articles", limit=100))["total"] >= 4


async def test_all_saved_sources_run_and_one_may_fail(desk: Sit, world: World) -> None:
    world.fault("crossref", status=500)
    async with desk(*SOURCES) as ask:
        await ask("create_crossref_source", name="c", keywords=["peat"])
        await ask("create_openalex_source", name="o", keywords=["peat"])
        ran = await ask("run_discovery")
    runs = {run["name"]: run for run in ran["runs"]}
    assert runs["c"]["problem"] and runs["o"]["problem"] is None
    assert runs["o"]["run"]["found"] >= 1

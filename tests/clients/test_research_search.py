"""Searching for papers: many sources at once, each paper once, and the state of each source."""

import re

import anyio
import pytest

from conftest import Home
from mock_paper_sources import HTML, SOURCES, Fault, World
from sample_papers import SENSING
from research_fixtures import Sit, by_source, desk, everywhere, titles, whole_world, world  # noqa: F401

pytestmark = pytest.mark.anyio

RADIO = "radio sensing of smouldering peat"


async def test_all_sources_are_asked_and_each_paper_comes_once(desk: Sit, world: World) -> None:
    async with desk() as ask:
        found = await ask("search_papers", query=RADIO)
    reports = by_source(found)
    assert list(reports) == SOURCES
    assert all(report["outcome"] == "ok" for report in reports.values()), reports
    assert {it.source for it in world.requests()} == set(SOURCES)
    same = [paper for paper in found["papers"] if paper.get("doi") == SENSING.doi]
    assert len(same) == 1
    (paper,) = same
    assert found["papers"][0] == paper, "the one that all sources have first comes first"
    assert set(paper["sources"]) == {"arxiv", "semantic_scholar", "openalex", "crossref", "pubmed", "europe_pmc"}
    assert (paper["arxiv_id"], paper["pmid"]) == (SENSING.arxiv, SENSING.pmid)
    assert paper["citation_count"] == 57
    assert "<i>" not in paper["title"] and not paper["title"].endswith(".")
    assert paper["title"] != paper["title"].upper(), "a title in capitals is no better than the others"
    scores = [paper["score"] for paper in found["papers"]]
    assert scores == sorted(scores, reverse=True)
    assert len(set(titles(found["papers"]))) == len(found["papers"])


async def test_a_preprint_and_its_published_version_are_one(desk: Sit) -> None:
    async with desk("arxiv", "crossref") as ask:
        found = await ask("search_papers", query="moisture thresholds ignition peat")
    (paper,) = [paper for paper in found["papers"] if "thresholds" in paper["title"].lower()]
    # The published version takes precedence; the preprint's id is kept.
    assert paper["doi"] == "10.5555/firesoil.2023.45"
    assert paper["arxiv_id"] == "2305.04321"
    assert paper["kind"] == "journal_article"
    assert set(paper["sources"]) == {"arxiv", "crossref"}


async def test_what_only_one_source_has_is_found_there(desk: Sit) -> None:
    async with desk("biorxiv", "crossref") as ask:
        window = {"date_from": "2024-05-01", "date_to": "2024-05-31"}
        found = await ask("search_papers", query="fungal succession burnt peat", **window)
    (paper,) = [paper for paper in found["papers"] if paper["sources"] == ["biorxiv"]]
    assert paper["doi"] == "10.1101/2024.05.06.592000"
    assert paper["venue"] == "bioRxiv"


async def test_a_retracted_paper_says_so(desk: Sit) -> None:
    async with desk("openalex", "crossref") as ask:
        found = await ask("search_papers", query="peat fires reverse atmospheric carbon growth")
    paper = found["papers"][0]
    assert paper["retracted"] is True
    assert "RETRACTED" in found["said"]


async def test_sources_are_asked_in_their_own_language(desk: Sit, world: World) -> None:
    async with desk("arxiv", "openalex", "crossref", "pubmed", "europe_pmc", "semantic_scholar") as ask:
        await ask("search_papers", query=RADIO, date_from="2024", date_to="2024-06", max_results=7)
    (arxiv,) = world.requests("arxiv")
    assert arxiv.path == "/api/query"
    assert "submittedDate:[202401010000 TO 202406302359]" in arxiv.query["search_query"]
    assert arxiv.query["sortBy"] == "relevance"
    (openalex,) = world.requests("openalex")
    assert "from_publication_date:2024-01-01" in openalex.query["filter"]
    assert openalex.query["sort"] == "relevance_score:desc"
    (crossref,) = world.requests("crossref")
    assert crossref.query["mailto"] == "reader@example.org"
    assert "until-pub-date:2024-06" in crossref.query["filter"]
    assert [it.path.rsplit("/", 1)[1] for it in world.requests("pubmed")] == ["esearch.fcgi", "efetch.fcgi"]
    (epmc,) = world.requests("europe_pmc")
    assert epmc.query["resultType"] == "core"
    (scholar,) = world.requests("semantic_scholar")
    assert scholar.path == "/graph/v1/paper/search"
    assert all("deliberate/" in it.headers["user-agent"] for it in world.requests())


FAULTS = {
    "rate limited": (Fault(429, b"slow down", {"retry-after": "600"}), "rate_limited"),
    "rate limited for some time": (Fault(429, b""), "rate_limited"),
    "down": (Fault(503, b"down"), None),
    "html": (HTML, "failed"),
    "broken off": (Fault(cut=60), "failed"),
    "key": (Fault(401, b"{}"), "failed"),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_a_source_that_fails_is_told_and_the_others_go_on(desk: Sit, world: World, name: str) -> None:
    fault, outcome = FAULTS[name]
    world.fault("openalex", fault)
    async with desk("openalex", "crossref") as ask:
        found = await ask("search_papers", query=RADIO)
    reports = by_source(found)
    assert reports["crossref"]["outcome"] == "ok"
    told = reports["openalex"]
    assert told["outcome"] == outcome if outcome else told["outcome"] in ("failed", "rate_limited")
    if told["outcome"] == "rate_limited":
        assert told["wait_s"] >= 1
    else:
        assert told["why"] and told["code"]
    if name == "rate limited":
        assert 590 <= told["wait_s"] <= 600
    assert "openalex" in found["said"].lower()
    assert found["papers"][0]["doi"] == SENSING.doi


@pytest.mark.parametrize(
    "fault", [Fault(406, b"no"), Fault(cut=400), Fault(200, b"<!DOCTYPE x [<!ENTITY a 'b'>]><feed>&a;</feed>")]
)
async def test_arxiv_s_own_ways_to_fail(desk: Sit, world: World, fault: Fault) -> None:
    world.fault("arxiv", fault)
    async with desk("arxiv", "crossref") as ask:
        found = await ask("search_papers", query=RADIO)
    told = by_source(found)["arxiv"]
    assert told["outcome"] == ("rate_limited" if fault.status == 406 else "failed"), told


async def test_nobody_to_ask_is_no_empty_answer(desk: Sit, world: World) -> None:
    world.fault("openalex", status=429, headers={"retry-after": "120"})
    world.fault("crossref", HTML)
    async with desk("openalex", "crossref") as ask:
        told = await ask.refused("search_papers", query=RADIO)
    assert told["code"] == "SourcesFailed"
    assert "OpenAlex" in told["message"] or "openalex" in told["message"]
    assert any(100 <= int(number) <= 120 for number in re.findall(r"\d+", told["hint"])), told


async def test_nothing_found_is_an_answer(desk: Sit) -> None:
    async with desk("openalex", "crossref", "semantic_scholar") as ask:
        found = await ask("search_papers", query="zymurgy quaternions")
    assert found["papers"] == []
    assert [report["outcome"] for report in found["sources"]] == ["ok"] * 3


async def test_while_a_source_cools_down_it_is_not_asked(desk: Sit, world: World, home: Home) -> None:
    world.fault("openalex", status=429, headers={"retry-after": "300"})
    async with desk("openalex", "crossref") as ask:
        await ask("search_papers", query=RADIO)
        world.mend()
        asked = len(world.requests("openalex"))
        assert asked == 1
        again = await ask("search_papers", query="peat drones")
        assert by_source(again)["openalex"]["outcome"] == "rate_limited"
    # Another process with the same data knows it too.
    async with desk("openalex", "crossref") as ask:
        again = await ask("search_papers", query="peat hydrology")
    assert by_source(again)["openalex"]["outcome"] == "rate_limited"
    assert len(world.requests("openalex")) == asked


async def test_a_fault_that_passes_is_not_noticed(desk: Sit, world: World) -> None:
    world.fault("crossref", status=502, times=1)
    async with desk("crossref") as ask:
        found = await ask("search_papers", query=RADIO)
    assert by_source(found)["crossref"]["outcome"] == "ok"
    assert len(world.requests("crossref")) == 2


async def test_answers_are_kept_for_a_while(desk: Sit, world: World) -> None:
    async with desk("openalex", "crossref") as ask:
        first = await ask("search_papers", query=RADIO)
        asked = len(world.requests())
        again = await ask("search_papers", query=RADIO)
        assert again["papers"] == first["papers"]
        assert all(report["kept"] for report in again["sources"])
        assert not any(report["kept"] for report in first["sources"])
    async with desk("openalex", "crossref") as ask:
        later = await ask("search_papers", query=RADIO)
    assert later["papers"] == first["papers"]
    assert len(world.requests()) == asked


async def test_a_failure_is_not_kept(desk: Sit, world: World) -> None:
    world.fault("crossref", HTML)
    async with desk("crossref", "openalex") as ask:
        await ask("search_papers", query=RADIO)
        world.mend()
        again = await ask("search_papers", query=RADIO)
    assert by_source(again)["crossref"]["outcome"] == "ok"


async def test_keys_are_sent_where_they_belong_and_shown_nowhere(desk: Sit, world: World, home: Home) -> None:
    keys = {
        "SEMANTIC_SCHOLAR_API_KEY": "s2-secret-9f3",
        "OPENALEX_API_KEY": "oa-secret-7c1",
        "NCBI_API_KEY": "ncbi-secret-5d2",
    }
    world.fault("semantic_scholar", status=401, body=b'{"message": "bad key s2-secret-9f3"}')
    async with desk("semantic_scholar", "openalex", "pubmed", LOG_LEVEL="trace", **keys) as ask:
        found = await ask("search_papers", query=RADIO)
        listed = await ask("list_available_sources")
    (scholar, *_) = world.requests("semantic_scholar")
    assert scholar.headers["x-api-key"] == "s2-secret-9f3"
    assert world.requests("openalex")[0].query["api_key"] == "oa-secret-7c1"
    assert world.requests("pubmed")[0].query["api_key"] == "ncbi-secret-5d2"
    assert {it["name"]: it["has_key"] for it in listed["sources"]} == {
        "semantic_scholar": True,
        "openalex": True,
        "pubmed": True,
    }
    shown = str(found) + str(listed)
    written = everywhere(home)
    for key in keys.values():
        assert key not in shown
        assert key.encode() not in written


async def test_bad_questions_are_refused(desk: Sit, world: World) -> None:
    async with desk("openalex", "crossref") as ask:
        for wrong in [
            {"query": ""},
            {"query": "   "},
            {"query": "x" * 5000},
            {"query": RADIO, "max_results": 0},
            {"query": RADIO, "max_results": 100_000},
            {"query": RADIO, "date_from": "last spring"},
            {"query": RADIO, "date_from": "2024", "date_to": "2020"},
            {"query": RADIO, "sort_by": "loudness"},
            {"query": RADIO, "no_such_field": 1},
        ]:
            told = await ask.refused("search_papers", **wrong)
            assert told["code"] == "Validation", (wrong, told)
        told = await ask.refused("search_papers", query=RADIO, sources=["google"])
        assert told["code"] == "SourceNotFound" and "crossref" in told["hint"]
    assert world.requests() == []


async def test_a_slow_source_can_be_given_up(desk: Sit, world: World) -> None:
    world.fault("openalex", delay=20)
    async with desk("openalex", "crossref") as ask:
        with anyio.move_on_after(1) as scope:
            await ask("search_papers", query=RADIO)
        assert scope.cancelled_caught
        # The server accepts other calls at once.
        found = await ask("search_papers", query=RADIO, sources=["crossref"])
    assert found["papers"]


async def test_a_source_that_lies_about_its_length_fails(desk: Sit, world: World) -> None:
    world.fault("openalex", length=10_000_000)
    world.fault("semantic_scholar", length=50_000_000_000)
    async with desk("openalex", "semantic_scholar", "crossref") as ask:
        found = await ask("search_papers", query=RADIO)
    reports = by_source(found)
    assert reports["openalex"]["outcome"] == "failed"
    assert reports["semantic_scholar"]["outcome"] == "failed"
    assert reports["crossref"]["outcome"] == "ok"


@pytest.mark.parametrize(
    "target", ["elsewhere", "http://169.254.169.254/latest/meta-data", "http://localhost:1/", "file:///etc/passwd"]
)
async def test_redirects_to_private_places_are_not_followed(desk: Sit, world: World, target: str) -> None:
    to = world.url("elsewhere") + "/works" if target == "elsewhere" else target
    world.fault("openalex", status=302, headers={"location": to})
    async with desk("openalex", "crossref") as ask:
        found = await ask("search_papers", query=RADIO)
    assert by_source(found)["openalex"]["outcome"] == "failed"
    assert world.requests("elsewhere") == []

"""Citations: correct or wrong, valid or retracted; bibliographies in their styles; citation
graphs."""

import csv
import io
import json
from typing import Any

import pytest

from mock_paper_sources import HTML, World
from sample_papers import DRONE, MOISTURE, NOTES, REVERSAL, SENSING
from research_fixtures import Sit, desk, entries_of, unescaped, whole_world, world  # noqa: F401

pytestmark = pytest.mark.anyio

SOURCES = ("crossref", "openalex", "semantic_scholar")

RIGHT = f"C. Okafor and M. Lindqvist. Moisture Thresholds for the Ignition of Peat. Fire & Soil 8, 45-58, 2023. doi:{MOISTURE.doi}"

CASES: dict[str, tuple[dict[str, Any], str]] = {
    "right, as printed": ({"citation": RIGHT}, "verified"),
    "right, by its doi": ({"citation": MOISTURE.doi}, "verified"),
    "right, in parts": (
        {"title": MOISTURE.title, "authors": ["Chidi Okafor", "Maja Lindqvist"], "year": 2023},
        "verified",
    ),
    "right, as bibtex": (
        {
            "citation": "@article{x, title={Moisture Thresholds for the Ignition of Peat}, author={Okafor, Chidi and Lindqvist, Maja}, year={2023}}"
        },
        "verified",
    ),
    "another year": (
        {"title": MOISTURE.title, "authors": ["Chidi Okafor"], "year": 2019, "doi": MOISTURE.doi},
        "differs",
    ),
    "another author": (
        {"title": MOISTURE.title, "authors": ["Jane Impostor"], "year": 2023, "doi": MOISTURE.doi},
        "differs",
    ),
    "another's doi": (
        {"title": MOISTURE.title, "authors": ["Chidi Okafor"], "year": 2023, "doi": SENSING.doi},
        "wrong_identifier",
    ),
    "made up": (
        {"title": "Quantum Turf Dynamics under Lunar Gravity", "authors": ["Nobody Atall"], "year": 2022},
        "not_found",
    ),
    "made up, with a doi": (
        {"title": "Quantum Turf Dynamics under Lunar Gravity", "doi": "10.5555/never.1"},
        "not_found",
    ),
}


@pytest.mark.parametrize("name", CASES)
async def test_a_citation_is_what_it_says(desk: Sit, name: str) -> None:
    given, status = CASES[name]
    async with desk(*SOURCES) as ask:
        told = await ask("verify_citation", **given)
    assert told["status"] == status, told
    # A work that is not found has an unknown retraction state.
    assert told["retracted"] is (None if status == "not_found" else False)
    if status == "differs":
        fields = {difference["field"] for difference in told["differences"]}
        assert fields & {"year", "date", "authors", "author"}, fields
    if status == "verified":
        assert told["found"]["doi"] == MOISTURE.doi and told["differences"] == []
    if status == "not_found":
        assert told["found"] is None


async def test_a_retracted_work_is_told(desk: Sit) -> None:
    async with desk(*SOURCES, "pubmed", "europe_pmc") as ask:
        told = await ask("verify_citation", citation=REVERSAL.doi)
    assert told["retracted"] is True
    assert {"crossref", "pubmed"} <= {notice["source"] for notice in told["notices"] if notice["kind"] == "retraction"}
    assert any(notice.get("date", "").startswith("2022") for notice in told["notices"])
    assert "retracted" in told["said"].lower()


async def test_a_retraction_that_only_a_notice_tells_of_is_found(desk: Sit, world: World) -> None:
    # Its own record does not mention the retraction.
    work = json.loads(world.of_crossref(f"/{REVERSAL.doi}", {}).body)
    del work["message"]["updated-by"]
    body = json.dumps(work).encode()
    world.fault("crossref", None, REVERSAL.doi, body=body, headers={"content-type": "application/json"})
    async with desk("crossref") as ask:
        told = await ask("verify_citation", citation=REVERSAL.doi)
    assert told["retracted"] is True


async def test_sources_that_fail_make_it_unknown_not_wrong(desk: Sit, world: World) -> None:
    for source in SOURCES:
        world.fault(source, status=500)
    async with desk(*SOURCES) as ask:
        by_id = await ask("verify_citation", citation=MOISTURE.doi)
        by_title = await ask("verify_citation", title="Quantum Turf Dynamics under Lunar Gravity", year=2022)
    assert by_id["status"] == by_title["status"] == "unknown"
    assert by_id["reasons"] and "500" in str(by_id["reasons"])


async def test_one_source_is_enough(desk: Sit, world: World) -> None:
    world.fault("openalex", HTML)
    world.fault("semantic_scholar", status=429, headers={"retry-after": "60"})
    async with desk(*SOURCES) as ask:
        told = await ask("verify_citation", citation=RIGHT)
    assert told["status"] == "verified"
    assert told["reasons"], "who could not be asked is told"


async def test_nothing_to_verify_is_refused(desk: Sit) -> None:
    async with desk(*SOURCES) as ask:
        for wrong in [{}, {"citation": ""}, {"citation": "  "}, {"citation": "x" * 20_000}, {"doi": "nonsense"}]:
            told = await ask.refused("verify_citation", **wrong)
            assert told["code"] in ("Validation", "ArticleNotFound"), (wrong, told)


BIB = f"""
@article{{good, title={{Moisture Thresholds for the Ignition of Peat}}, author={{Okafor, Chidi and Lindqvist, Maja}},
  journal={{Fire \\& Soil}}, year={{2023}}, doi={{{MOISTURE.doi}}}}}
@article{{twin, title={{Moisture thresholds for the ignition of peat}}, author={{Okafor, C.}}, year={{2023}}, doi={{{MOISTURE.doi}}}}}
@article{{gone, title={{Peat Fires Reverse Atmospheric Carbon Growth}}, author={{Halloway, Viktor}}, year={{2021}}, doi={{{REVERSAL.doi}}}}}
@article{{wrong, title={{Moisture Thresholds for the Ignition of Peat}}, author={{Okafor, Chidi}}, year={{2011}}, doi={{{MOISTURE.doi}}}}}
@article{{fake, title={{Quantum Turf Dynamics under Lunar Gravity}}, author={{Atall, Nobody}}, year={{2022}}}}
@article{{broken, title={{No closing brace
"""


async def test_a_bibliography_is_audited_entry_by_entry(desk: Sit) -> None:
    async with desk(*SOURCES) as ask:
        told = await ask("audit_bibliography", bibliography=BIB)
        entries = {entry["key"]: entry for entry in told["entries"]}
        assert entries["good"]["status"] == "verified"
        assert entries["wrong"]["status"] == "differs"
        assert entries["fake"]["status"] == "not_found"
        assert entries["gone"]["retracted"] is True
        assert told["retracted"] == ["gone"]
        assert any({"good", "twin"} <= set(same) for same in told["duplicates"])
        assert told["unreadable"], "an entry that can't be read is told"
        assert sum(told["counts"].values()) == len(told["entries"])
        few = await ask("audit_bibliography", bibliography=BIB, max_entries=2)
        assert len(few["entries"]) == 2 and few["left_out"] >= 3


async def test_the_references_of_an_article_are_audited(desk: Sit) -> None:
    async with desk(*SOURCES) as ask:
        id = (await ask.take_in("sensing"))["sensing"]
        told = await ask("audit_bibliography", article_identifier=id)
        assert [entry["status"] for entry in told["entries"]] == ["verified"] * 3
        cited = await ask("extract_citations", article_identifier=id)
    assert [it["doi"] for it in cited["outbound"]] == [MOISTURE.doi, "10.5555/handbook.1998.3", DRONE.doi]
    assert [it["page"] for it in cited["outbound"]] == [3, 3, 3]


async def test_who_cites_whom_within_the_collection(desk: Sit) -> None:
    async with desk(*SOURCES) as ask:
        ids = await ask.take_in("sensing", "moisture")
        cited = await ask("extract_citations", article_identifier=ids["moisture"])
        assert [it["article_id"] for it in cited["inbound"]] == [ids["sensing"]]
        context = await ask("get_citation_context", citing_paper_id=ids["sensing"], cited_paper_id=ids["moisture"])
        sentences = [" ".join(it["sentence"].split()) for it in context["contexts"]]
        assert any(it.startswith("Earlier work measured at which moisture peat ignites [1]") for it in sentences), (
            sentences
        )
        assert any("The moisture model of Okafor and Lindqvist [1]" in it for it in sentences)
        assert all("[2]" not in it or "[1]" in it for it in sentences)
        assert {it["place"]["page"] for it in context["contexts"] if it["place"]} == {1}
        none = await ask("get_citation_context", citing_paper_id=ids["moisture"], cited_paper_id=ids["sensing"])
        assert none["contexts"] == []


async def test_a_network_is_drawn_and_says_who_could_not_be_asked(desk: Sit, world: World) -> None:
    async with desk(*SOURCES) as ask:
        await ask("add_article", identifiers=[MOISTURE.doi])
        told = await ask("explore_citation_network", article_id=MOISTURE.doi)
        nodes = {node["article"].get("doi"): node["number"] for node in told["nodes"]}
        middle = nodes[MOISTURE.doi]
        edges = {(edge["citing"], edge["cited"]) for edge in told["edges"]}
        assert (nodes[SENSING.doi], middle) in edges
        assert (middle, nodes["10.5555/handbook.1998.3"]) in edges
        assert told["metrics"]["citation_count"] == 133
        assert len(told["nodes"]) == 3, "the same work of two sources is one"
    async with desk("openalex") as ask:
        deep = await ask("explore_citation_network", article_id=MOISTURE.doi, depth=2, include_metrics=False)
        assert DRONE.doi in {node["article"].get("doi") for node in deep["nodes"]}
        assert "metrics" not in deep


async def test_a_network_with_one_source_down(desk: Sit, world: World) -> None:
    world.fault("semantic_scholar", status=429, headers={"retry-after": "90"})
    async with desk(*SOURCES) as ask:
        told = await ask("explore_citation_network", article_id=MOISTURE.doi)
        assert len(told["nodes"]) == 3
        assert any("90" in it or "89" in it or "often" in it for it in told["problems"])
        world.fault("openalex", HTML)
        refused = await ask.refused("explore_citation_network", article_id=SENSING.doi)
    assert refused["code"] == "SourcesFailed"


FORMS = {"bibtex": "bib", "ris": "ris", "endnote": "enw", "json": "json", "csv": "csv"}


@pytest.mark.parametrize("form", FORMS)
async def test_bibliographies_are_written_in_every_form(desk: Sit, form: str) -> None:
    async with desk("crossref", "openalex") as ask:
        await ask("add_article", identifiers=[SENSING.doi, DRONE.doi, "10.5555/handbook.1998.3"])
        told = await ask("export_bibliography", format=form)
        assert told["records"] == 3
        files = list(ask.exports.iterdir())
    assert [str(file) for file in files] == [told["path"]]
    text = files[0].read_text()
    if form == "bibtex":
        entries = {entry["doi"].lower(): entry for entry in entries_of(text).values()}
        assert entries[DRONE.doi]["type"] == "inproceedings"
        assert unescaped(entries[DRONE.doi]["title"]) == DRONE.title.replace("{", "").replace("}", "")
        assert "%" not in entries[DRONE.doi]["title"].replace(r"\%", ""), "a bare % begins a comment"
        assert "booktitle" in entries[DRONE.doi] and "--" in entries[DRONE.doi]["pages"]
        assert entries["10.5555/handbook.1998.3"]["type"] == "incollection"
        assert entries[SENSING.doi]["type"] == "article"
    elif form == "ris":
        records = [record for record in text.split("ER  -") if record.strip()]
        assert [record.strip().splitlines()[0] for record in records if "robots" in record] == [
            "TY  - CPAPER"
        ] or "TY  - CONF" in text
        assert "AU  - van der Meer, Zoë" in text and "SP  - 77" in text
    elif form == "json":
        records = {record["DOI"].lower(): record for record in json.loads(text)}
        assert records[DRONE.doi]["type"] == "paper-conference"
        assert records[SENSING.doi]["issued"]["date-parts"][0] == [2024, 3, 5]
    elif form == "csv":
        rows = list(csv.DictReader(text.splitlines()))
        assert DRONE.title in [value for row in rows for value in row.values()]
        assert len(rows) == 3
    else:
        assert text.count("%0 ") == 3 and "%D 2022" in text


async def test_a_file_is_not_overwritten_unless_told(desk: Sit) -> None:
    async with desk("crossref", "openalex") as ask:
        await ask("add_article", identifiers=[SENSING.doi])
        first = await ask("export_bibliography", filename="mine")
        assert first["path"].endswith("mine.bib")
        await ask("add_article", identifiers=[DRONE.doi])
        told = await ask.refused("export_bibliography", filename="mine")
        assert told["code"] == "Exists"
        assert len(entries_of((ask.exports / "mine.bib").read_text())) == 1
        again = await ask("export_bibliography", filename="mine", overwrite=True)
        assert again["records"] == 2
        assert sorted(file.name for file in ask.exports.iterdir()) == ["mine.bib"], "no drafts are left"
        empty = await ask.refused("export_bibliography", articles=["10.5555/never.1"])
        assert empty["code"] == "NothingToExport"


STYLES = {
    "apa": "Brennan, A., & Müller, J. (2024)",
    "ieee": "A. Brennan and J. Müller",
    "mla": "Brennan, Aoife, and Jörg Müller",
    "chicago": "Brennan",
    "harvard": "Brennan",
    "nature": "Brennan, A.",
    "vancouver": "Brennan A, Müller J",
}


async def test_citations_in_real_styles(desk: Sit) -> None:
    async with desk("crossref", "openalex", "semantic_scholar") as ask:
        await ask("add_article", identifiers=[SENSING.doi])
        for style, names in STYLES.items():
            told = await ask("format_citations", articles=[SENSING.doi], style=style)
            (entry,) = told["citations"]
            assert names in entry["text"], (style, entry["text"])
            assert "12" in entry["text"] and "2024" in entry["text"], (style, entry["text"])
            # Nature prints no DOIs.
            assert style == "nature" or "mire.2024.201" in entry["text"].lower(), (style, entry["text"])
            assert entry.get("missing", []) == [] and entry["in_text"]
        wrong = await ask.refused("format_citations", articles=[SENSING.doi], style="my own")
        assert wrong["code"] == "Validation"
        missed = await ask("format_citations", articles=[SENSING.doi, "10.5555/never.1"])
        assert len(missed["citations"]) == 1 and missed["not_found"]


async def test_an_incomplete_record_is_flagged_and_never_made_whole(desk: Sit) -> None:
    async with desk("openalex") as ask:
        added = await ask("add_article", identifiers=[NOTES.openalex])
        assert added["results"][0]["outcome"] == "added", added
        told = await ask("format_citations", articles=[NOTES.openalex], style="apa")
        (entry,) = told["citations"]
        missing = json.dumps(entry["missing"])
        assert "author" in missing and ("date" in missing or "year" in missing)
        assert "n.d." not in entry["text"] and "Anonymous" not in entry["text"]
        assert (
            "incomplete" in told["said"].lower() or "missing" in told["said"].lower() or "lacks" in told["said"].lower()
        )
        exported = await ask("export_bibliography")
        assert len(exported["incomplete"]) == 1


async def test_names_that_come_in_parts_stay_so(desk: Sit) -> None:
    async with desk("crossref", "openalex", "semantic_scholar") as ask:
        await ask("add_article", identifiers=[DRONE.doi])
        record = (await ask("get_article_details", article_identifier=DRONE.doi))["record"]
        found = await ask("search_papers", query="drones over burning peat")
        (paper,) = [paper for paper in found["papers"] if paper.get("doi") == DRONE.doi]
    # Crossref gives family names separately, the others full names.
    for authors in (record["authors"], paper["authors"]):
        assert [(it["given"], it["family"]) for it in authors] == DRONE.authors


async def test_related_papers_and_what_they_share(desk: Sit) -> None:
    async with desk("crossref", "openalex") as ask:
        ids = await ask.take_in("sensing", "moisture")
        await ask("add_article", identifiers=[DRONE.doi, "10.5555/handbook.1998.3"])
        told = await ask(
            "find_related_papers", paper_identifier=SENSING.doi, explain_connections=True, similarity_threshold=0.0
        )
        related = {it["article_id"]: it for it in told["related"]}
        assert ids["sensing"] not in related, "a paper is not related to itself"
        assert ids["moisture"] in related and related[ids["moisture"]]["connections"]
        scores = [it["similarity"] for it in told["related"]]
        assert scores == sorted(scores, reverse=True) and all(0 <= it <= 1.0001 for it in scores)
        none = await ask("find_related_papers", paper_identifier=SENSING.doi, similarity_threshold=1.0)
        assert none["related"] == []


async def test_articles_are_compared_in_their_own_words(desk: Sit) -> None:
    async with desk("crossref", "openalex") as ask:
        ids = await ask.take_in("sensing", "moisture")
        dimensions = ["methodology", "findings", "citations", "metrics", "approach"]
        told = await ask("compare_articles", article_ids=list(ids.values()), compare_dimensions=dimensions)
        sensing, moisture = told["articles"]
        assert sensing["references"] == 3 and moisture["references"] == 1
        says = {
            it["dimension"]: " ".join(" ".join(i["text"].split()) for i in it["sentences"]) for it in sensing["says"]
        }
        assert set(says) <= set(dimensions)
        assert "64 sensor nodes" in says["methodology"]
        assert "41 hours earlier" in says["findings"]
        assert any("Hydrology" in it for it in told["cited_by_several"])
        assert (await ask.refused("compare_articles", article_ids=[ids["sensing"]]))["code"] == "Validation"
        twice = await ask.client.call_tool("compare_articles", {"article_ids": [ids["sensing"], SENSING.doi]})
        assert twice.is_error, "a paper is not compared with itself"


async def test_insights_are_sentences_with_places(desk: Sit) -> None:
    async with desk("crossref", "openalex") as ask:
        id = (await ask.take_in("sensing"))["sensing"]
        told = await ask("extract_article_insights", article_id=id)
        limits = [" ".join(it["text"].split()) for it in told["insights"]["limitations"]]
        assert any("all three sites were drained" in it for it in limits), told["insights"]
        future = [" ".join(it["text"].split()) for it in told["insights"]["future_work"]]
        assert any("undrained mires" in it for it in future)
        for all in told["insights"].values():
            for insight in all:
                place = insight["place"]
                page = await ask("read_article", article_identifier=id, pages=str(place["page"]))
                if place["page"] == place["end_page"]:
                    there = page["text"][place["start"] : place["end"]]
                    assert " ".join(there.split()) == " ".join(insight["text"].split())


async def test_a_record_that_is_written_to_break_files_breaks_none(desk: Sit) -> None:
    hostile = {
        "title": '=HYPERLINK("http://x") }, note = {evil}, % $x_1$ # ~ \\input{/etc/passwd}',
        "authors": ["Eve } Evil", "=cmd|' /C calc'!A0"],
        "journal": "A\nER  - \nTY  - JOUR\nTI  - fake",
    }
    async with desk("crossref") as ask:
        await ask("add_article", identifiers=[SENSING.doi, MOISTURE.doi])
        await ask("update_article_metadata", article_identifier=SENSING.doi, update_metadata=hostile)
        texts = {}
        for form, ending in FORMS.items():
            told = await ask("export_bibliography", format=form, filename=f"it.{ending}")
            texts[form] = (ask.exports / f"it.{ending}").read_text()
            assert told["records"] == 2
    entries = entries_of(texts["bibtex"])
    assert len(entries) == 2 and not any("note" in entry for entry in entries.values())
    assert all("\\input" not in entry["title"] for entry in entries.values())
    assert (
        texts["ris"].count("\nER  -") == 2
        and len([line for line in texts["ris"].splitlines() if line.startswith("TY  - ")]) == 2
    )
    rows = list(csv.DictReader(io.StringIO(texts["csv"])))
    assert len(rows) == 2
    assert not any(value.startswith(("=", "+", "-", "@")) for row in rows for value in row.values()), (
        "no cell is a formula"
    )
    assert len(json.loads(texts["json"])) == 2
    assert len([line for line in texts["endnote"].splitlines() if line.startswith("%0 ")]) == 2

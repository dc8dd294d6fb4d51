"""The collection: adding, listing, searching, changing and removing articles, and the metadata of
a file."""

import anyio
import pytest

from pdf_builder import bomb, encrypted, pdf_of, scanned, truncated
from mock_paper_sources import World
from sample_papers import DRONE, MOISTURE, SENSING, pdf
from research_fixtures import Desk, Sit, desk, titles, whole_world, world  # noqa: F401

pytestmark = pytest.mark.anyio

FIRST = ("crossref", "openalex")


async def test_papers_are_added_by_any_of_their_names(desk: Sit, world: World) -> None:
    async with desk("crossref", "openalex", "semantic_scholar", "arxiv", "pubmed", "europe_pmc") as ask:
        added = await ask(
            "add_article", identifiers=[f"https://doi.org/{MOISTURE.doi.upper()}", f"pmid:{SENSING.pmid}"]
        )
        assert [line["outcome"] for line in added["results"]] == ["added", "added"]
        # Other ids of the same papers.
        again = await ask("add_article", identifiers=[f"arXiv:{MOISTURE.arxiv}v1", SENSING.doi, SENSING.doi])
        assert [line["article_id"] for line in again["results"]] == [line["article_id"] for line in added["results"]]
        assert {line["outcome"] for line in again["results"]} <= {"known", "joined"}
        listed = await ask("list_articles")
    assert listed["total"] == 2
    assert titles(listed["articles"]) == [SENSING.title.lower(), MOISTURE.title.lower()]


async def test_what_no_source_knows_and_what_is_no_name_is_told(desk: Sit, world: World) -> None:
    async with desk(*FIRST) as ask:
        names = ["10.5555/invented.1", "some words", DRONE.doi]
        added = await ask("add_article", identifiers=names)
        wrong, nonsense, right = added["results"]
        assert (wrong["outcome"], nonsense["outcome"], right["outcome"]) == ("failed", "failed", "added")
        assert wrong["name"] == names[0] and wrong["notes"] and nonsense["notes"]
        world.fault("crossref", status=500)
        world.fault("openalex", status=500)
        failed = await ask("add_article", identifiers=[MOISTURE.doi])
        assert failed["results"][0]["outcome"] == "failed"
        assert "500" in str(failed["results"][0]["notes"]), "that sources failed is not that there is no such paper"
        assert (await ask("list_articles"))["total"] == 1


async def test_a_paper_comes_with_its_text(desk: Sit, world: World) -> None:
    async with desk(*FIRST) as ask:
        added = await ask("add_article", identifiers=[SENSING.doi], download=True)
        (line,) = added["results"]
        details = await ask("get_article_details", article_identifier=SENSING.doi)
        files = list(ask.papers.rglob("*.pdf"))
    assert line["outcome"] == "added", line
    assert details["article_id"] == line["article_id"]
    assert details["summary"]["pages"] == 3
    assert details["references"] == 3
    assert details["figures_and_tables"] == 2
    assert details["headings"] >= 5
    assert details["record"]["venue"] == SENSING.venue
    assert [file.read_bytes() for file in files] == [pdf(SENSING)]
    assert world.requests("openalex", "/pdf/sensing.pdf") or world.requests("arxiv", "/pdf/")


async def test_details_are_of_exactly_the_paper_that_is_named(desk: Sit) -> None:
    async with desk(*FIRST) as ask:
        await ask("add_article", identifiers=[SENSING.doi, MOISTURE.doi, DRONE.doi])
        found = await ask("get_article_details", article_identifier=MOISTURE.title.upper())
        assert found["record"]["doi"] == MOISTURE.doi
        key = found["summary"]["cite_key"]
        for name in [MOISTURE.doi, MOISTURE.doi.upper(), f"https://doi.org/{MOISTURE.doi}", key, found["article_id"]]:
            again = await ask("get_article_details", article_identifier=name)
            assert again["article_id"] == found["article_id"], name
        # Similar titles are not the same paper.
        for name in [
            "10.5555/firesoil.2023.4",
            "Moisture Thresholds",
            "peat",
            "../moisture",
            "'; DROP TABLE items; --",
        ]:
            told = await ask.refused("get_article_details", article_identifier=name)
            assert "NotFound" in told["code"], told
        assert (await ask("list_articles"))["total"] == 3


async def test_lists_are_paged_and_filtered(desk: Sit) -> None:
    async with desk(*FIRST) as ask:
        await ask("add_article", identifiers=[SENSING.doi, MOISTURE.doi, DRONE.doi, "10.5555/handbook.1998.3"])
        first = await ask("list_articles", limit=3)
        rest = await ask("list_articles", limit=3, offset=first["next_offset"])
        assert (len(first["articles"]), len(rest["articles"])) == (3, 1)
        assert "next_offset" not in rest
        ids = [article["article_id"] for article in first["articles"] + rest["articles"]]
        assert len(set(ids)) == 4 == first["total"]
        chapters = await ask("list_articles", filter_by_type="chapter")
        assert titles(chapters["articles"]) == ["ground water and mire hydrology"]
        by_name = await ask("list_articles", search_term="lindqvist")
        assert titles(by_name["articles"]) == [MOISTURE.title.lower()]
        assert (await ask("list_articles", search_term="zeppelin"))["total"] == 0
        assert (await ask.refused("list_articles", filter_by_type="poem"))["code"] == "Validation"
        assert (await ask.refused("list_articles", limit=1000))["code"] == "Validation"


FILTERS = [
    ({"author": "Okafor"}, {"moisture"}),
    ({"author": "okafor"}, {"moisture"}),
    ({"date_from": "2024"}, {"sensing"}),
    ({"date_to": "2022-12"}, {"drone", "hydrology"}),
    ({"date_from": "2022-09-15", "date_to": "2023-12-31"}, {"moisture"}),
    ({"document_type": "conference_paper"}, {"drone"}),
    ({"journal": "Fire & Soil"}, {"moisture"}),
    ({"tags": ["field"]}, {"sensing", "drone"}),
    ({"tags": ["field", "air"]}, {"drone"}),
    ({"min_citations": 100}, {"moisture", "hydrology"}),
    ({"author": "Okafor", "document_type": "preprint"}, set()),
]


async def test_every_filter_of_a_search_is_applied(desk: Sit) -> None:
    dois = {
        "sensing": SENSING.doi,
        "moisture": MOISTURE.doi,
        "drone": DRONE.doi,
        "hydrology": "10.5555/handbook.1998.3",
    }
    async with desk(*FIRST) as ask:
        await ask("add_article", identifiers=list(dois.values()))
        await ask("update_article_metadata", article_identifier=SENSING.doi, add_tags=["Field"])
        await ask("update_article_metadata", article_identifier=DRONE.doi, add_tags=["field", "Air"])
        everything = await ask("search_articles", query="peat water mire burning", limit=50)
        assert len(everything["results"]) == 4
        for wanted, expected in FILTERS:
            found = await ask("search_articles", query="peat water mire burning", limit=50, **wanted)
            slugs = {slug for slug, doi in dois.items() if doi in [it["doi"] for it in found["results"]]}
            assert slugs == expected, wanted
        for wrong in [{"document_type": "poem"}, {"date_from": "someday"}, {"limit": 0}, {"sort_by": "color"}]:
            assert (await ask.refused("search_articles", query="peat", **wrong))["code"] == "Validation", wrong


async def test_a_search_is_sorted_as_it_is_asked(desk: Sit) -> None:
    async with desk(*FIRST) as ask:
        await ask("add_article", identifiers=[SENSING.doi, MOISTURE.doi, DRONE.doi, "10.5555/handbook.1998.3"])
        query = {"query": "peat water mire burning", "limit": 50}
        by_date = await ask("search_articles", sort_by="date", **query)
        assert [it["date"][:4] for it in by_date["results"]] == ["2024", "2023", "2022", "1998"]
        by_count = await ask("search_articles", sort_by="citations", **query)
        assert [it["citation_count"] for it in by_count["results"]] == [402, 133, 57, 21]
        by_title = await ask("search_articles", sort_by="title", **query)
        assert titles(by_title["results"]) == sorted(titles(by_title["results"]))
        by_fit = await ask("search_articles", query="moisture thresholds for ignition", limit=50)
        scores = [it["score"] for it in by_fit["results"]]
        assert by_fit["results"][0]["doi"] == MOISTURE.doi and scores == sorted(scores, reverse=True)


async def test_a_passage_of_a_text_is_found_with_its_place(desk: Sit) -> None:
    async with desk(*FIRST) as ask:
        ids = await ask.take_in("sensing", "moisture")
        found = await ask("search_articles", query="attenuation of the radio signal with volumetric moisture")
        best = found["results"][0]
        assert best["article_id"] == ids["sensing"]
        assert best["section"][-1].endswith("Results")
        assert "6.4 dB" in best["preview"]
        place = best["place"]
        assert place["page"] == 2
        page = await ask("read_article", article_identifier=ids["sensing"], pages=str(place["page"]))
        assert place["page"] != place["end_page"] or page["text"][place["start"] : place["end"]].startswith(
            best["preview"][:40]
        )


async def test_metadata_and_tags_are_changed(desk: Sit) -> None:
    async with desk(*FIRST) as ask:
        await ask("add_article", identifiers=[SENSING.doi, MOISTURE.doi])
        fields = {
            "title": "A Better Title",
            "authors": ["Ada Lovelace", "Babbage, Charles"],
            "publication_date": "2025-01",
        }
        changed = await ask(
            "update_article_metadata", article_identifier=SENSING.doi, update_metadata=fields, add_tags=[" Mine "]
        )
        assert changed["changes"]
        details = await ask("get_article_details", article_identifier=SENSING.doi)
        assert details["record"]["title"] == "A Better Title"
        assert [author["family"] for author in details["record"]["authors"]] == ["Lovelace", "Babbage"]
        assert details["record"]["date"] == "2025-01"
        assert details["summary"]["tags"] == ["mine"]
        found = await ask("search_articles", query="better title lovelace")
        assert found["results"][0]["title"] == "A Better Title", "the index follows"
        await ask("update_article_metadata", article_identifier=SENSING.doi, remove_tags=["MINE"])
        assert "tags" not in (await ask("get_article_details", article_identifier=SENSING.doi))["summary"]
        for wrong in [
            {"doi": "nonsense"},
            {"publication_date": "soon"},
            {"url": "javascript:alert(1)"},
            {"shoe_size": 44},
        ]:
            told = await ask.refused("update_article_metadata", article_identifier=SENSING.doi, update_metadata=wrong)
            assert told["code"] == "Validation", wrong
        taken = await ask.refused(
            "update_article_metadata", article_identifier=SENSING.doi, update_metadata={"doi": MOISTURE.doi}
        )
        assert taken["code"] == "AlreadyTaken"


async def test_deleting_is_said_twice(desk: Sit) -> None:
    async with desk(*FIRST) as ask:
        ids = await ask.take_in("sensing", "moisture")
        asked = await ask("delete_article", article_identifier=ids["sensing"])
        assert asked["deleted"] is False and "confirm_deletion" in asked["said"]
        assert (await ask("list_articles"))["total"] == 2
        gone = await ask("delete_article", article_identifier=ids["sensing"], confirm_deletion=True)
        assert gone["deleted"] is True
        assert "NotFound" in (await ask.refused("get_article_details", article_identifier=SENSING.doi))["code"]
        found = await ask("search_articles", query="attenuation of the radio signal")
        assert ids["sensing"] not in [it["article_id"] for it in found["results"]]
        stats = await ask("collection_stats")
    assert (stats["articles"], stats["with_text"]) == (1, 1)


async def test_stats_count_articles_not_passages(desk: Sit) -> None:
    async with desk(*FIRST) as ask:
        empty = await ask("collection_stats")
        assert (empty["articles"], empty["with_text"], empty["by_type"]) == (0, 0, {})
        await ask.take_in("sensing")
        await ask("add_article", identifiers=[MOISTURE.doi, DRONE.doi])
        await ask("search_articles", query="peat")
        stats = await ask("collection_stats")
    assert (stats["articles"], stats["with_text"]) == (3, 1)
    assert stats["by_year"] == {"2022": 1, "2023": 1, "2024": 1}
    assert sum(stats["by_type"].values()) == 3
    assert stats["index"]["articles"] == 3
    assert stats["index"]["passages"] >= 4


async def test_a_file_says_what_it_is_and_is_joined_with_what_sources_know(desk: Sit) -> None:
    async with desk(*FIRST) as ask:
        known = await ask("add_article", identifiers=[SENSING.doi])
        read = await ask("process_pdf", pdf_path=str(ask.put_paper("sensing")))
        assert read["outcome"] == "joined", read
        assert read["article_id"] == known["results"][0]["article_id"]
        assert (read["references"], read["figures_and_tables"]) == (3, 2)
        again = await ask("process_pdf", pdf_path=str(ask.put_paper("sensing")))
        assert again["outcome"] == "unchanged"
        # The same file under another name is the same article.
        other = await ask("process_pdf", pdf_path=str(ask.put("copy of it.pdf", pdf(SENSING))))
        assert (other["outcome"], other["article_id"]) == ("unchanged", read["article_id"])
        assert (await ask("list_articles"))["total"] == 1


BAD_FILES: dict[str, tuple[bytes, list[str]]] = {
    "broken.pdf": (truncated(pdf(SENSING)), ["broken"]),
    "empty.pdf": (b"", ["empty", "broken"]),
    "garbage.docx": (b"PK\x03\x04 and no more", ["broken"]),
    "locked.pdf": (encrypted(), ["encrypted"]),
    "scan.pdf": (scanned(), ["scan"]),
    "noise.txt": (bytes(range(256)) * 40, ["format"]),
}


async def test_files_that_cannot_be_read_are_told_one_by_one(desk: Sit) -> None:
    async with desk(*FIRST) as ask:
        for name, (data, words) in BAD_FILES.items():
            told = await ask.refused("process_pdf", pdf_path=str(ask.put(name, data)))
            assert any(word in told["message"] for word in words), (name, told)
            assert told["hint"], name
        # A decompression bomb: rejected, or read within its limits, without harm.
        await ask.client.call_tool("process_pdf", {"pdf_path": str(ask.put("bomb.pdf", bomb()))})
        await ask.client.call_tool("process_pdf", {"pdf_path": str(ask.put("deep.html", b"<div>" * 50_000 + b"deep"))})
        # The server still works.
        assert (await ask("process_pdf", pdf_path=str(ask.put_paper("moisture"))))["outcome"] == "added"


async def test_a_long_text_with_many_headings_is_read(desk: Sit) -> None:
    parts = [
        f"## Part {number}\n\n" + f"County {number} cuts turf on {number * 7} days. " * 14 + "\n"
        for number in range(2000)
    ]
    async with desk(*FIRST) as ask:
        read = await ask("process_pdf", pdf_path=str(ask.put("survey.md", "\n".join(parts).encode())))
        id = read["article_id"]
        outline = await ask("read_article", article_identifier=id)
        assert outline["outline"][1]["title"] == "Part 1"
        section = await ask("read_article", article_identifier=id, section="Part 1234")
        assert "on 8638 days" in section["text"] and "County 1233 " not in section["text"]


async def test_a_batch_goes_on_past_broken_files_and_tells_how_far_it_is(desk: Sit) -> None:
    async with desk(*FIRST) as ask:
        for slug in ("sensing", "moisture"):
            ask.put_paper(slug)
        ask.put("broken.pdf", b"%PDF-1.4 and then nothing")
        ask.put("locked.pdf", encrypted())
        ask.put(".hidden.pdf", pdf(MOISTURE))
        ask.put("below/note.md", b"# A note on turf\n\nTurf is peat that was cut and dried, 30 percent water.\n")
        told: list[tuple[float, float | None, str | None]] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            told.append((done, total, message))

        result = await ask.client.call_tool(
            "batch_process_pdfs", {"directory_path": str(ask.inbox)}, progress_callback=progress
        )
        assert not result.is_error, result
        lines = {line["name"].rsplit("/", 1)[-1]: line for line in result.structured_content["results"]}
        assert set(lines) == {"sensing.pdf", "moisture.pdf", "broken.pdf", "locked.pdf", "note.md"}
        assert lines["broken.pdf"]["outcome"] == lines["locked.pdf"]["outcome"] == "failed"
        assert lines["broken.pdf"]["notes"] and lines["locked.pdf"]["notes"]
        assert lines["sensing.pdf"]["outcome"] == "added"
        assert [done for done, _, _ in told] == sorted({done for done, _, _ in told})
        assert len(told) >= 5 and {total for _, total, _ in told} == {5}
        again = await ask("batch_process_pdfs", directory_path=str(ask.inbox))
        outcomes = {line["name"].rsplit("/", 1)[-1]: line["outcome"] for line in again["results"]}
        assert outcomes["sensing.pdf"] == outcomes["moisture.pdf"] == outcomes["note.md"] == "unchanged"
        few = await ask("batch_process_pdfs", directory_path=str(ask.inbox), max_files=2)
        assert len(few["results"]) == 2
        assert (await ask("list_articles"))["total"] == 3


async def test_what_a_pdf_says_of_itself_is_told_without_keeping_it(desk: Sit) -> None:
    async with desk(*FIRST) as ask:
        told = await ask("extract_pdf_metadata", pdf_path=str(ask.put_paper("sensing")), analyze_structure=True)
        assert told["pages"] == 3
        assert told["title"] == SENSING.title
        assert told["references"] == 3
        assert any("Results" in heading for heading in told["headings"])
        assert "Smouldering peat fires" in told["preview"]
        assert (await ask("list_articles"))["total"] == 0


async def test_a_text_of_many_pages_is_read(desk: Sit) -> None:
    pages = [b"BT /F1 10 Tf 60 700 Td (Page %d tells of turf number %d.) Tj ET" % (n, n * 7) for n in range(1, 401)]
    async with desk(*FIRST) as ask:
        read = await ask("process_pdf", pdf_path=str(ask.put("long.pdf", pdf_of(pages))))
        assert read["article"]["pages"] == 400
        found = await ask("read_article", article_identifier=read["article_id"], find="turf number 2751")
        assert [it["place"]["page"] for it in found["found"]] == [393]


async def test_two_files_of_one_title_are_two(desk: Sit) -> None:
    notes = {
        "turf": b"# Introduction\n\nThe first course is on turf, week 1.\n",
        "cheese": b"# Introduction\n\nThe second course is on cheese, week 9.\n",
    }
    async with desk(*FIRST) as ask:
        ids = {}
        for name, text in notes.items():
            file = ask.put(f"{name}/Introduction.md", text)
            up = await ask("upload_external_knowledge", file_path=str(file), collection_name=name)
            ids[name] = up["article_id"]
        assert ids["turf"] != ids["cheese"]
        for name, id in ids.items():
            assert name in (await ask("read_article", article_identifier=id, pages="1"))["text"]
        # The same file with changed content is the same article with a new text.
        file = ask.put("turf/Introduction.md", notes["turf"] + b"\nIt has 12 weeks.\n")
        again = await ask("upload_external_knowledge", file_path=str(file), collection_name="turf")
        assert again["article_id"] == ids["turf"]
        assert "12 weeks" in (await ask("read_article", article_identifier=ids["turf"], pages="1"))["text"]


NAMES = {
    "Müller": SENSING,
    "MÜLLER": SENSING,
    "Muller": SENSING,
    "Jörg Müller": SENSING,
    "Müller, J.": SENSING,
    "van der Meer": DRONE,
    "Meer": DRONE,
    "O Briain": DRONE,
}


@pytest.mark.parametrize("name", NAMES)
async def test_authors_are_found_as_people_type_them(desk: Sit, name: str) -> None:
    async with desk("crossref") as ask:
        await ask("add_article", identifiers=[SENSING.doi, MOISTURE.doi, DRONE.doi])
        wanted = NAMES[name].title.lower()
        found = await ask("search_articles", query="peat", author=name)
        assert titles(found["results"]) == [wanted]
        by_authors = await ask("find_articles_by_authors", authors=[name])
        assert titles(by_authors["articles"]) == [wanted]


async def test_one_paper_brought_by_many_at_once_is_one(desk: Sit) -> None:
    async with desk(*FIRST) as one, desk(*FIRST) as two:
        file = str(one.put_paper("sensing"))
        ids = set()

        async def bring(ask: Desk, tool: str, arguments: dict[str, object]) -> None:
            answer = await ask(tool, **arguments)
            ids.add(answer.get("article_id") or answer["results"][0]["article_id"])

        async with anyio.create_task_group() as group:
            for ask in (one, two):
                for _ in range(3):
                    group.start_soon(bring, ask, "process_pdf", {"pdf_path": file})
                    group.start_soon(bring, ask, "add_article", {"identifiers": [SENSING.doi]})
        assert len(ids) == 1
        assert (await two("list_articles"))["total"] == 1
        page = await two("read_article", article_identifier=SENSING.doi, pages="2")
        assert "6.4 dB" in page["text"]

        async def tag(number: int) -> None:
            await (one, two)[number % 2](
                "update_article_metadata", article_identifier=SENSING.doi, add_tags=[f"t{number}"]
            )

        async with anyio.create_task_group() as group:
            for number in range(6):
                group.start_soon(tag, number)
        details = await one("get_article_details", article_identifier=SENSING.doi)
        assert sorted(details["summary"]["tags"]) == [f"t{number}" for number in range(6)], "no change is lost"

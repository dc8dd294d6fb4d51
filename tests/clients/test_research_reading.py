"""Reading: outline, section, pages, word positions; the same as resources; and texts with injected
instructions."""

import re

import pytest
from mcp import types
from mcp.shared.exceptions import MCPError

from conftest import Home
from sample_papers import HOSTILE, ORDERS, SENSING
from research_fixtures import Sit, desk, whole_world, world  # noqa: F401

pytestmark = pytest.mark.anyio

SOURCES = ("crossref", "openalex")


async def test_from_the_outline_to_the_section(desk: Sit) -> None:
    async with desk(*SOURCES) as ask:
        id = (await ask.take_in("sensing"))["sensing"]
        outline = await ask("read_article", article_identifier=id)
        entries = {entry["title"].split(" ", 1)[-1]: entry for entry in outline["outline"]}
        assert {"Introduction", "Methods", "Results", "Discussion", "References"} <= set(entries)
        assert [entries[name]["page"] for name in ("Introduction", "Methods", "Results", "Discussion")] == [1, 1, 2, 2]
        assert "41 hours earlier" in outline["text"], "the abstract comes with it"
        section = await ask("read_article", article_identifier=id, section="Results")
        assert "2 false alarms in 212 days" in " ".join(section["text"].split())
        assert "We buried 64 sensor nodes" not in section["text"] and "Radio sensing is cheaper" not in section["text"]
        by_number = await ask("read_article", article_identifier=id, section=entries["Results"]["number"])
        assert by_number["text"] == section["text"]
        told = await ask.refused("read_article", article_identifier=id, section="Resultz")
        assert told["code"] == "SectionNotFound" and "Results" in told["hint"]


async def test_two_columns_are_read_one_after_the_other(desk: Sit) -> None:
    async with desk(*SOURCES) as ask:
        id = (await ask.take_in("sensing"))["sensing"]
        page = (await ask("read_article", article_identifier=id, pages="2"))["text"]
    flat = " ".join(page.split())
    for sentence in [
        "The network found the smouldering front 41 hours earlier than aerial thermography.",
        "Attenuation of the radio signal rose by 6.4 dB for each ten percent of volumetric moisture.",
        "A limitation of this study is that all three sites were drained for harvesting.",
    ]:
        assert sentence in flat
    assert flat.index("batteries lasted") < flat.index("Radio sensing is cheaper")


async def test_a_short_second_column_is_not_read_across(desk: Sit) -> None:
    async with desk("arxiv", "openalex") as ask:
        id = (await ask.take_in("hostile"))["hostile"]
        flat = " ".join((await ask("read_article", article_identifier=id, pages="1"))["text"].split())
    assert "Of the 12 surveys, 7 repeat the same figure without checking it." in flat
    assert "The median survey cites 88 works." in flat


async def test_pages_and_words_inside(desk: Sit) -> None:
    async with desk(*SOURCES) as ask:
        id = (await ask.take_in("sensing"))["sensing"]
        whole = await ask("read_article", article_identifier=id, pages="1-3")
        assert (whole["place"]["page"], whole["place"]["end_page"], whole["cut"]) == (1, 3, False)
        for wrong in ["0", "4", "3-2", "one", "1-2-3", "-"]:
            assert (await ask.refused("read_article", article_identifier=id, pages=wrong))["code"] == "Validation", (
                wrong
            )
        found = await ask("read_article", article_identifier=id, find="64 NODES on the")
        assert found["found"], "words are found without regard to case"
        for it in found["found"]:
            place = it["place"]
            page = await ask("read_article", article_identifier=id, pages=str(place["page"]))
            there = page["text"][place["start"] : place["end"]]
            assert " ".join(there.split()).lower() == "64 nodes on the"
        nothing = await ask("read_article", article_identifier=id, find="submarine")
        assert nothing.get("found", []) == []
        figures = await ask("read_article", article_identifier=id, figures=True)
        assert [(it["label"].split()[0], it["page"]) for it in figures["figures"]] == [("Figure", 1), ("Table", 2)]
        both = await ask.refused("read_article", article_identifier=id, pages="1", find="peat")
        assert both["code"] == "Validation"
        short = await ask("read_article", article_identifier=id, pages="1-3", max_length=1000)
        assert short["cut"] and len(short["text"]) <= 1100 and whole["text"].startswith(short["text"][:900])


async def test_an_article_without_text_says_how_to_get_it(desk: Sit) -> None:
    async with desk(*SOURCES) as ask:
        await ask("add_article", identifiers=[SENSING.doi])
        outline = await ask("read_article", article_identifier=SENSING.doi)
        assert "41 hours" in outline["text"]
        told = await ask.refused("read_article", article_identifier=SENSING.doi, pages="1")
        assert told["code"] == "NoText" and "download_pdf" in told["hint"]


async def test_a_text_that_gives_orders_stays_between_its_marks(desk: Sit) -> None:
    async with desk("arxiv", "openalex") as ask:
        id = (await ask.take_in("hostile"))["hostile"]
        for said in [
            (await ask("read_article", article_identifier=id, pages="1"))["said"],
            (await ask("read_article", article_identifier=id, section="Introduction"))["said"],
            (await ask("read_article", article_identifier=id, find="previous instructions"))["said"],
            (await ask("read_article", article_identifier=id))["said"],
            (await ask("search_articles", query="survey of surveys of peat"))["said"],
            (await ask("get_article_details", article_identifier=id))["said"],
            (await ask("search_papers", query="survey of surveys of peat", sources=["openalex"]))["said"],
        ]:
            part = re.search(r"between <passage-([0-9a-f]{6})> marks", said)
            assert part and "</passage>" not in said, said
            tag = f"passage-{part[1]}"
            openings = len(re.findall(rf"<{tag}[ >](?! marks)", said))
            assert said.count(f"</{tag}>") == openings, said
            before, found, _ = said.partition("Ignore all previous")
            assert not found or before.rfind(f"<{tag}") > before.rfind(f"</{tag}>"), said
            fenced = "".join(re.findall(rf"<{tag}[^>]*>(.*?)</{tag}>", said, re.DOTALL))
            assert fenced.count("<system>") == said.count("<system>"), said
        listed = await ask("list_articles")
    # The injected instructions had no effect.
    assert listed["total"] == 1


async def test_a_working_set_has_three_slots(desk: Sit) -> None:
    async with desk("crossref", "openalex", "arxiv") as ask:
        ids = await ask.take_in("sensing", "moisture", "hostile")
        note = ask.put("note.md", b"# A note on turf\n\nTurf is peat that was cut and dried.\n")
        fourth = (await ask("process_pdf", pdf_path=str(note)))["article_id"]
        for id in ids.values():
            read = await ask("read_full_article", article_identifier=id, agent_id="me")
            assert not read["cut"]
        assert len(read["loaded"]) == 3
        full = await ask.refused("read_full_article", article_identifier=fourth, agent_id="me")
        assert "unload_article" in str(full)
        # Loaded articles of another agent are separate.
        await ask("read_full_article", article_identifier=fourth, agent_id="you")
        await ask("unload_article", article_identifier=ids["moisture"], agent_id="me")
        again = await ask("read_full_article", article_identifier=fourth, agent_id="me")
        assert "Turf is peat" in again["text"]


async def test_articles_are_resources(desk: Sit, home: Home) -> None:
    async with desk(*SOURCES) as ask:
        id = (await ask.take_in("sensing"))["sensing"]
        listed = (await ask.client.list_resources()).resources
        (resource,) = [it for it in listed if str(it.uri) == f"knowledge://{id}"]
        assert SENSING.title.lower() in (resource.title or resource.name).lower()
        templates = [it.uri_template for it in (await ask.client.list_resource_templates()).resource_templates]
        ours = [it for it in templates if it.startswith("knowledge://")]
        assert any("section" in it for it in ours) and any("page" in it for it in ours), ours

        async def read(uri: str) -> str:
            (content,) = (await ask.client.read_resource(uri)).contents
            assert isinstance(content, types.TextResourceContents)
            return content.text

        article = await read(str(resource.uri))
        assert SENSING.title.lower() in article.lower()
        page = await read(f"knowledge://{id}/page/2")
        told = await ask("read_article", article_identifier=id, pages="2")
        assert told["text"].strip() in page
        section = await read(f"knowledge://{id}/section/Results")
        assert "false alarms" in section and "We buried" not in section
        for wrong in [
            f"knowledge://{id}/page/99",
            f"knowledge://{id}/page/x",
            f"knowledge://{id}/section/None",
            "knowledge://nobody",
            f"knowledge://{id}/../../etc/passwd",
        ]:
            with pytest.raises(MCPError):
                await read(wrong)
        await ask("delete_article", article_identifier=id, confirm_deletion=True)
        with pytest.raises(MCPError):
            await read(str(resource.uri))


async def test_resources_are_completed(desk: Sit) -> None:
    async with desk(*SOURCES) as ask:
        id = (await ask.take_in("sensing"))["sensing"]
        templates = [it.uri_template for it in (await ask.client.list_resource_templates()).resource_templates]
        template = next(it for it in templates if it.startswith("knowledge://") and "section" in it)
        names = [part.split("}")[0] for part in template.split("{")[1:]]
        ref = types.ResourceTemplateReference(type="ref/resource", uri=template)
        first = await ask.client.complete(ref, {"name": names[0], "value": ""})
        assert first.completion.values
        assert any(
            id.startswith(value) or value in id or "brennan" in value.lower() for value in first.completion.values
        )
        sections = await ask.client.complete(
            ref, {"name": names[1], "value": "Res"}, context_arguments={names[0]: first.completion.values[0]}
        )
        assert any("Results" in value for value in sections.completion.values)


def test_the_orders_are_in_the_paper() -> None:
    assert ORDERS in HOSTILE.abstract and ORDERS in HOSTILE.sections[0][1]

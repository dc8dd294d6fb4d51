"""Files and addresses that may be read, fetched and written: configured folders, public addresses,
plain names."""

import os
from pathlib import Path

import pytest

from conftest import Home
from mock_paper_sources import HTML, Fault, World
from sample_papers import SENSING, pdf
from research_fixtures import Sit, desk, everywhere, whole_world, world  # noqa: F401

pytestmark = pytest.mark.anyio

SECRET = b"# Private\n\nThe password of the vault is swordfish-4711.\n"


async def test_only_named_folders_are_read(desk: Sit, home: Home) -> None:
    (home.path / "private").mkdir()
    outside = home.path / "private" / "secret.md"
    outside.write_bytes(SECRET)
    async with desk("crossref") as ask:
        ask.put(".hidden/secret.md", SECRET)
        ask.put(".secret.md", SECRET)
        (ask.inbox / "link.md").symlink_to(outside)
        (ask.inbox / "folder").symlink_to(outside.parent)
        (ask.inbox / "inner").mkdir()
        paths = [
            str(outside),
            str(ask.inbox / ".." / "private" / "secret.md"),
            str(ask.inbox / "inner" / ".." / ".." / "private" / "secret.md"),
            "../private/secret.md",
            str(ask.inbox / "link.md"),
            str(ask.inbox / "folder" / "secret.md"),
            str(ask.inbox / ".secret.md"),
            str(ask.inbox / ".hidden" / "secret.md"),
            "/etc/passwd",
            "/proc/self/environ",
            "file:///etc/passwd",
            f"file://{outside}",
            "~/private/secret.md",
            "/dev/zero",
            str(home.database),
            "secret.md\0.pdf",
            "x" * 10_000,
        ]
        for tool, field, more in [
            ("process_pdf", "pdf_path", {}),
            ("extract_pdf_metadata", "pdf_path", {}),
            ("upload_external_knowledge", "file_path", {"collection_name": "c"}),
        ]:
            for path in paths:
                told = await ask.refused(tool, **{field: path}, **more)
                assert told["code"] in ("PathNotAllowed", "FileNotFound", "NotAFile", "Validation"), (tool, path, told)
                assert "swordfish" not in str(told)
        # The error does not reveal whether a file exists.
        there = await ask.refused("process_pdf", pdf_path=str(outside))
        not_there = await ask.refused("process_pdf", pdf_path=str(outside.parent / "nothing.md"))
        assert there["code"] == not_there["code"] == "PathNotAllowed"
        for folder in ["/etc", str(home.path), str(ask.inbox / ".."), str(ask.inbox / "folder"), "/", "/proc"]:
            told = await ask.refused("batch_process_pdfs", directory_path=folder)
            assert told["code"] == "PathNotAllowed", (folder, told)
        # Links and hidden files in an allowed folder are skipped.
        batch = await ask("batch_process_pdfs", directory_path=str(ask.inbox))
        assert batch["results"] == []
        assert (await ask("list_articles"))["total"] == 0


async def test_a_fifo_does_not_hold_anybody_up(desk: Sit) -> None:
    async with desk("crossref") as ask:
        os.mkfifo(ask.inbox / "pipe.pdf")
        told = await ask.refused("process_pdf", pdf_path=str(ask.inbox / "pipe.pdf"))
        assert told["code"] == "NotAFile"


NAMES = [
    "../evil.bib",
    "/tmp/evil.bib",
    "a/b.bib",
    "..",
    ".",
    ".bashrc",
    "a\\b.bib",
    "con\0.bib",
    "nul\n.bib",
    "x" * 400,
    "..%2fevil.bib",
]


async def test_names_of_files_are_names_and_nothing_else(desk: Sit, home: Home) -> None:
    async with desk("crossref") as ask:
        await ask("add_article", identifiers=[SENSING.doi])
        await ask("export_bibliography", filename="right")
        before = {file for file in home.path.rglob("*") if file.suffix == ".bib"}
        for name in NAMES:
            result = await ask.client.call_tool("export_bibliography", {"filename": name})
            if not result.is_error:
                path = Path(result.structured_content["path"])
                assert path.parent == ask.exports and not path.name.startswith("."), name
                assert len(path.name) < 256 and path.is_file()
        written = {file for file in home.path.rglob("*") if "evil" in file.name or file.suffix == ".bib"} - before
        assert all(file.parent == ask.exports for file in written)
        assert not Path("/tmp/evil.bib").exists()
        # An existing link with that name is not followed.
        victim = home.path / "victim.txt"
        victim.write_text("mine")
        (ask.exports / "trap.bib").symlink_to(victim)
        await ask.client.call_tool("export_bibliography", {"filename": "trap.bib", "overwrite": True})
        assert victim.read_text() == "mine"


async def test_papers_are_fetched_into_their_folder_alone(desk: Sit, home: Home, world: World) -> None:
    url = world.pdf_url("sensing")
    async with desk("crossref", "openalex") as ask:
        for wrong in ["..", "../elsewhere", "/tmp", str(home.path), ".hidden", "a/../../b"]:
            told = await ask.refused("download_pdf", source=url, output_directory=wrong)
            assert told["code"] in ("PathNotAllowed", "Validation"), wrong
        (ask.papers).mkdir(exist_ok=True)
        (ask.papers / "out").symlink_to(home.path)
        told = await ask.refused("download_pdf", source=url, output_directory="out")
        assert told["code"] == "PathNotAllowed"
        for name in ["../evil", "/tmp/evil", ".evil", "a/b"]:
            result = await ask.client.call_tool("download_pdf", {"source": url, "filename": name})
            if not result.is_error:
                assert Path(result.structured_content["file"]["path"]).parent == ask.papers, name
        fetched = await ask("download_pdf", source=url, output_directory="mires/2024", filename="it")
        assert fetched["file"]["path"] == str(ask.papers / "mires" / "2024" / "it.pdf")
        assert Path(fetched["file"]["path"]).read_bytes() == pdf(SENSING)
        asked = len(world.requests("openalex", "/pdf/"))
        again = await ask("download_pdf", source=url, output_directory="mires/2024", filename="it")
        assert again["file"]["was_there"] and again["file"]["sha256"] == fetched["file"]["sha256"]
        assert len(world.requests("openalex", "/pdf/")) == asked


PRIVATE = [
    "http://169.254.169.254/latest/meta-data/",
    "http://127.0.0.1:1/x.pdf",
    "http://localhost/x.pdf",
    "http://[::1]/x.pdf",
    "http://[::ffff:127.0.0.1]/x.pdf",
    "http://0x7f000001/x.pdf",
    "http://2130706433/x.pdf",
    "http://127.1/x.pdf",
    "http://10.0.0.5/x.pdf",
    "http://192.168.1.1/x.pdf",
    "http://user:pass@example.org/x.pdf",
    "http://example.org:22/x.pdf",
    "file:///etc/passwd",
    "ftp://example.org/x.pdf",
    "gopher://127.0.0.1/x",
]


async def test_private_addresses_are_not_fetched(desk: Sit, world: World) -> None:
    async with desk("crossref", "openalex") as ask:
        for url in [*PRIVATE, f"{world.url('elsewhere')}/pdf/sensing.pdf"]:
            told = await ask.refused("download_pdf", source=url)
            # An address without a host is invalid.
            codes = (
                ("ArticleNotFound", "Validation") if url.startswith("file:") else ("AddressNotAllowed", "Validation")
            )
            assert told["code"] in codes, (url, told)
        assert world.requests("elsewhere") == []
        assert not ask.papers.exists() or list(ask.papers.rglob("*.pdf")) == []


@pytest.mark.parametrize(
    "target", ["elsewhere", "http://169.254.169.254/latest/", "http://localhost:22/", "file:///etc/passwd", "loop"]
)
async def test_a_redirect_does_not_lead_to_a_private_address(desk: Sit, world: World, target: str) -> None:
    to = {"elsewhere": world.url("elsewhere") + "/pdf/sensing.pdf", "loop": world.pdf_url("moisture")}.get(
        target, target
    )
    world.fault("openalex", Fault(302, headers={"location": to}), "/pdf/")
    async with desk("crossref", "openalex") as ask:
        told = await ask.refused("download_pdf", source=world.pdf_url("sensing"))
        assert told["message"]
        assert world.requests("elsewhere") == []
        assert len(world.requests("openalex", "/pdf/")) < 25
        assert not ask.papers.exists() or list(ask.papers.rglob("*")) == [], "nothing half is left"


BAD_FILES = {
    "html": HTML,
    "empty": Fault(200, b"", {"content-type": "application/pdf"}),
    "shorter than it says": Fault(length=9_000_000),
    "not there": Fault(404, b"no"),
    "down": Fault(503, b"no"),
}


@pytest.mark.parametrize("name", BAD_FILES)
async def test_what_is_no_pdf_is_not_kept(desk: Sit, world: World, name: str) -> None:
    world.fault("openalex", BAD_FILES[name], "/pdf/")
    async with desk("crossref", "openalex") as ask:
        told = await ask.refused("download_pdf", source=world.pdf_url("sensing"))
        assert told["hint"], told
        assert not ask.papers.exists() or [it for it in ask.papers.rglob("*") if it.is_file()] == []
        if name != "down":
            # A source that is down is not asked again for a while.
            world.mend()
            assert (await ask("download_pdf", source=world.pdf_url("sensing"), overwrite=True))["file"]["is_pdf"]


async def test_a_file_that_is_too_large_is_not_taken(desk: Sit, world: World) -> None:
    world.files["/pdf/large.pdf"] = b"%PDF-1.4\n" + b"0" * 300_000
    async with desk("crossref", "openalex", DELIBERATE_RESEARCH_FILE_BYTES="100000") as ask:
        told = await ask.refused("download_pdf", source=world.url("openalex") + "/pdf/large.pdf")
        assert "100000" in str(told)
        # Even if it declares a small length.
        world.fault("openalex", Fault(length=50), "/pdf/large")
        await ask.client.call_tool("download_pdf", {"source": world.url("openalex") + "/pdf/large.pdf"})
        assert all(file.stat().st_size <= 100_000 for file in ask.papers.rglob("*") if file.is_file())
        told = await ask.refused("process_pdf", pdf_path=str(ask.put("large.pdf", b"%PDF-1.4\n" + b"0" * 200_000)))
        assert told["code"] == "TooLarge"


async def test_an_open_pdf_is_located_and_who_was_asked_is_told(desk: Sit, world: World) -> None:
    async with desk("crossref", "openalex", "semantic_scholar") as ask:
        told = await ask("locate_pdf", article_identifier=SENSING.doi)
        assert world.pdf_url("sensing") in [place["url"] for place in told["places"]]
        asked = {it["source"]: it["outcome"] for it in told["asked"]}
        assert asked["unpaywall"] == asked["openalex"] == asked["semantic_scholar"] == "found"
        assert asked["crossref"] == "nothing"
        assert world.requests("unpaywall")[0].query["email"] == "reader@example.org"
        world.fault("unpaywall", status=429, headers={"retry-after": "60"})
        world.fault("openalex", HTML, "/works/doi:10.5555/robots")
        other = await ask("locate_pdf", article_identifier="10.5555/robots.2022.77")
        asked = {it["source"]: it["outcome"] for it in other["asked"]}
        assert asked["unpaywall"] == "rate_limited" and asked["openalex"] == "failed"
        assert other["places"] == []


async def test_no_contact_is_told_to_nobody(desk: Sit, world: World, home: Home) -> None:
    async with desk("crossref", "openalex", LOG_LEVEL="trace") as ask:
        await ask("search_papers", query="peat")
        await ask("locate_pdf", article_identifier=SENSING.doi)
    assert b"reader@example.org" not in home.log.read_bytes()
    assert b"reader@example.org" not in b"".join(
        file.read_bytes() for file in (home.path / "research").rglob("*") if file.is_file()
    )
    assert everywhere(home)

"""`deliberate papers`, as a user runs it."""

import json
import subprocess
from pathlib import Path

import pytest

from raw_protocol import run
from conftest import PATIENCE_SECONDS, Home, program
from mock_paper_sources import World
from sample_papers import MOISTURE, REVERSAL, SENSING, pdf
from research_fixtures import places, whole_world, world  # noqa: F401


@pytest.fixture
def papers(home: Home, world: World):
    """Runs `deliberate papers …` to its end, with the mock paper sources and without a provider."""

    def papers(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        settings = world.settings("crossref", "openalex", **places(home))
        return run(home, "papers", *arguments, **settings | {"LOG_LEVEL": "error"} | more)

    return papers


def well(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


def badly(done: subprocess.CompletedProcess[str], code: int = 1) -> str:
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    assert "panicked" not in done.stderr and ".rs:" not in done.stderr
    return done.stderr


def a_file(home: Home, name: str, data: bytes | str) -> str:
    file = home.path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data.encode() if isinstance(data, str) else data)
    return str(file)


def test_papers_are_added_listed_shown_found_and_cited(papers, home: Home) -> None:
    # A link that is named explicitly may be followed.
    real = a_file(home, "elsewhere/paper.pdf", pdf(SENSING))
    link = home.path / "desk" / "link.pdf"
    link.parent.mkdir()
    link.symlink_to(real)
    assert SENSING.title in well(papers("add", str(link)))
    assert MOISTURE.title in well(papers("add", MOISTURE.doi))
    assert "2 articles" in well(papers("list"))
    (first,) = json.loads(well(papers("list", "--limit", "1", "--json")))["articles"]
    assert first["title"] == MOISTURE.title
    assert "41 hours" in well(papers("show", SENSING.title, "--section", "results"))
    assert SENSING.title in well(papers("find", "buried radio sensors"))
    cited = well(papers("cite", "--style", "ieee"))
    assert "[1]" in cited and "\\[" not in cited, "a citation is copied as it is"
    assert "2 works" in well(papers("export", "--file", "mine", "--format", "ris"))
    assert (home.path / "exports" / "mine.ris").read_text().count("TY  - ") == 2


def test_what_fails_is_told_and_ends_with_one(papers, home: Home) -> None:
    folder = Path(a_file(home, "some/broken.pdf", b"%PDF-1.4 nothing")).parent
    a_file(home, "some/good.pdf", pdf(SENSING))
    done = papers("add", str(folder))
    assert done.returncode == 1 and SENSING.title in done.stdout and "broken.pdf: failed" in done.stdout
    assert papers("add", "10.5555/never.1").returncode == 1
    assert "there is no file" in badly(papers("add", "nosuch.pdf"), 2)
    assert "there is no article" in badly(papers("show", "nobody knows this"))
    told = badly(papers("ask", "Why does peat burn?"))
    assert "deliberate papers find" in told and "--manual" not in told
    assert "style" in badly(papers("cite", "--style", "nosuch"))
    done = papers("cite", SENSING.title, "nobody")
    assert done.returncode == 1 and SENSING.title in done.stdout and "nobody" in done.stdout, done
    for wrong in [
        ["list", "--limit", "0"],
        ["find", "x", "--limit", "1000"],
        ["export", "--format", "docx"],
        ["show", "x", "--pages", "1", "--section", "y"],
        ["call", "list_articles", "[1]"],
        ["call", "list_articles", "{"],
        ["check", "nosuch.bib"],
        ["check", a_file(home, "latin.bib", "@misc{a, title={Caf\xe9}}".encode("latin-1"))],
        ["list", "--set", "research.vector_weight=0", "--set", "research.text_weight=0"],
        [],
    ]:
        assert badly(papers(*wrong), 2), wrong


ENTRY = "@article{{k{number}, title={{{title}}}, author={{Okafor, Chidi and Lindqvist, Maja}}, year={{2023}}, doi={{{doi}}}}}"


def test_a_long_bibliography_is_checked_to_its_end(papers, home: Home) -> None:
    entries = [ENTRY.format(number=n, title=MOISTURE.title, doi=MOISTURE.doi) for n in range(59)]
    entries.append(f"@article{{gone, title={{{REVERSAL.title}}}, author={{Halloway, Viktor}}, year={{2021}}, doi={{{REVERSAL.doi}}}}}")
    file = a_file(home, "thesis.bib", "\n".join(entries))
    told = well(papers("check", file))
    assert told.startswith("# 60 entries\n\n- ") and told.count("**retracted**: gone") == 1, "one heading, one summary"
    assert "# 50 entries" not in told and "# 10 entries" not in told and "not checked" not in told
    assert told.count("the same work: ") == 1, "what is alike is told once"
    parts = [json.loads(line) for line in well(papers("check", file, "--json")).splitlines()]
    assert [len(part["entries"]) for part in parts] == [50, 10]
    settings = home.environment() | {"DELIBERATE_RESEARCH_SOURCES": "crossref"}
    done = subprocess.run(
        [program("DELIBERATE_BIN"), "papers", "check", "-"],
        input="@misc{x, title = {Never closed",
        env=settings,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 1 and "bibliography" in done.stderr, done


def test_a_reader_that_leaves_is_no_failure(home: Home, world: World) -> None:
    settings = world.settings("crossref", **places(home))
    environment = home.environment() | settings | {"LOG_LEVEL": "error"}
    with subprocess.Popen(
        [program("DELIBERATE_BIN"), "papers", "call", "research"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.wait(PATIENCE_SECONDS) == 0
        assert process.stderr.read() == b""


def test_help_is_there_for_each(papers) -> None:
    for command in ["search", "add", "list", "show", "find", "ask", "cite", "export", "check", "stats", "call"]:
        assert "Usage: deliberate papers " + command in well(papers(command, "--help"))

"""Agent frameworks as clients: each lists the tools once, sees those of an upstream server that has not
started yet, and brings a thought of its own model to its end.

Each framework runs in its own environment, as a program of the folder frameworks.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conftest import PATIENCE_SECONDS, Home, program, program_python
from gateway_fixtures import Fields, started_by, through, write_settings

FRAMEWORKS = Path(__file__).parent / "frameworks"

# Each program, with the requirements of its environment.
PROGRAMS = {
    "fastmcp": "requirements-frameworks.txt",
    "google_genai": "requirements-frameworks.txt",
    "langchain": "requirements-frameworks.txt",
    "langchain_mcp_adapters": "requirements-langchain.txt",
    "letta": "requirements-langchain.txt",
    "openai_agents": "requirements-frameworks.txt",
    "pydantic_ai": "requirements-frameworks.txt",
}

SLOW = ["--fault", "slow-start:1000"]


def mock_server(*arguments: str) -> Fields:
    return started_by([program("MOCK_MCP_SERVER_BIN"), *arguments], expose="all")


@pytest.fixture(scope="module")
def known_upstream(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home in which the upstream server was seen once, so that its definitions are stored."""
    home = Home(tmp_path_factory.mktemp("known"))
    write_settings(home, mock=mock_server())
    client = through(home, "legacy")
    try:
        assert "mock__echo" in client.tools()
    finally:
        client.stop()
    return home


def run(name: str, home: Home) -> dict[str, Any]:
    """Returns the report of a framework's program."""
    how = {
        "command": program("DELIBERATE_BIN"),
        "args": ["serve"],
        "env": home.environment() | {"DELIBERATE_PROVIDER": "client"},
        "cwd": str(home.path),
    }
    with home.log.open("a") as log:
        ran = subprocess.run(
            [program_python(PROGRAMS[name]), FRAMEWORKS / f"{name}_client.py", json.dumps(how)],
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=home.path,
            env={"HOME": str(home.path), "LANGSMITH_TRACING": "false", "OPENAI_AGENTS_DISABLE_TRACING": "1"},
            timeout=PATIENCE_SECONDS,
        )
    assert ran.returncode == 0, home.log.read_text()[-4000:]
    return json.loads(ran.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_framework_sees_upstream_tools_in_its_first_list_and_finishes_a_thought(
    name: str, known_upstream: Home, home: Home
) -> None:
    shutil.copytree(known_upstream.path, home.path, dirs_exist_ok=True)
    # The first list is asked for before the upstream server can answer anything.
    write_settings(home, mock=mock_server(*SLOW))
    told = run(name, home)
    assert {"mock__echo", "mock__add", "reasoning_linear", "reasoning_resume", "prompt_engine"} <= set(told["listed"])
    echo, asked, thought = told["results"]
    assert "as it is" in echo
    assert "Is a virus alive?" in asked
    assert "it depends" in thought
    (step,) = home.rows("SELECT content FROM thoughts")
    assert step["content"] == "It depends on the definition."

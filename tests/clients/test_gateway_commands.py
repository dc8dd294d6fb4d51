"""`deliberate servers`, as a user runs it, with real servers."""

import json
from pathlib import Path
from typing import Any

from raw_protocol import run
from conftest import Home, Node
from gateway_fixtures import DEAD, everything, fast, filesystem, write_settings


def servers(home: Home, *arguments: str, code: int = 0) -> str:
    """Returns the output of the command; stderr is included if it fails."""
    ran = run(home, "servers", *arguments)
    assert ran.returncode == code, ran.stdout + ran.stderr
    return ran.stdout if code == 0 else ran.stdout + ran.stderr


def as_json(home: Home, *arguments: str) -> Any:
    return json.loads(servers(home, *arguments, "--json"))


def command_of(fields: dict[str, Any]) -> list[str]:
    return [fields["command"], *fields["args"]]


def test_from_adding_to_removing(home: Home, node: Node, tmp_path: Path) -> None:
    assert "servers add" in servers(home)
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "notes.txt").write_text("the text of the file\n")
    files = filesystem(node, folder)

    added = servers(home, "add", "files", "--expose", "read_*", "--description", "Papers", "--", *command_of(files))
    assert "deliberate servers test files" in added
    (listed,) = as_json(home, "list")["servers"]
    assert (listed["name"], listed["enabled"], listed["expose"]) == ("files", True, "read_*")
    assert "files" in servers(home)

    (tested,) = as_json(home, "test")
    assert tested["ok"] and tested["tools"] > 10 and tested["held_back"] == []
    assert tested["protocol"] == "2025-11-25"
    assert "secure-filesystem-server" in json.dumps(tested["server"])

    shown = servers(home, "tools", "files")
    assert "read_text_file" in shown and "write_file" in shown
    schema = json.loads(servers(home, "tools", "files", "--schema", "read_text_file"))
    assert list(schema["properties"]) == ["path", "tail", "head"]

    path = str(folder / "notes.txt")
    assert servers(home, "call", "files__read_text_file", f"path={path}").strip() == "the text of the file"
    result = as_json(home, "call", "files", "read_text_file", "--args", json.dumps({"path": path, "head": 1}))
    assert "the text of the file" in result["content"][0]["text"]
    # The error of the tool itself, and an error before it is called.
    assert "denied" in servers(home, "call", "files__read_text_file", "path=/etc/passwd", code=1).lower()
    assert "read_text_file" in servers(home, "call", "files__read_textfile", f"path={path}", code=2)
    assert '"files"' in servers(home, "tools", "fils", code=2)

    assert "Removed" in servers(home, "remove", "files")
    assert as_json(home, "list") == {"servers": [], "problems": []}


def test_one_that_is_dead_is_told_with_why(home: Home, node: Node) -> None:
    write_settings(home, everything=everything(node), dead=DEAD)
    told = servers(home, "test", code=1)
    (fine,) = [line for line in told.splitlines() if line.startswith("ok")]
    (wrong,) = [line for line in told.splitlines() if line.startswith("WRONG")]
    assert "everything" in fine and "2025-11-25" in fine
    assert "dead" in wrong and DEAD["command"] in wrong
    servers(home, "test", "everything")
    # A server that starts and then fails shows its own error message.
    fails = "console.error('no licence found'); process.exit(3)"
    write_settings(home, broken={"command": node.path, "args": ["-e", fails]})
    assert "no licence found" in servers(home, "test", code=1)


def test_another_client_s_file_is_taken_over(home: Home, node: Node, tmp_path: Path) -> None:
    theirs = tmp_path / "claude_desktop_config.json"
    theirs.write_text(json.dumps({"mcpServers": {"everything": everything(node), "dead": DEAD}}))
    assert "everything" in servers(home, "add", "--from", str(theirs), "everything")
    assert [it["name"] for it in as_json(home, "list")["servers"]] == ["everything"]
    assert servers(home, "call", "everything__echo", "message=hello").strip() == "Echo: hello"


def test_a_changed_tool_is_held_back_until_it_is_approved(home: Home) -> None:
    write_settings(home, fast=fast())
    assert servers(home, "call", "fast__echo", "text=one").strip() == "one"

    write_settings(home, fast=fast("--changed"))
    refused = servers(home, "call", "fast__echo", "text=two", code=2)
    assert "servers approve fast" in refused
    (echo,) = [line for line in servers(home, "tools", "fast").splitlines() if " echo " in line]
    assert "CHANGED" in echo

    # There is no terminal for a question.
    asked = servers(home, "approve", "fast", code=2)
    assert "Says what it was told." in asked and "Says it twice." in asked and "--yes" in asked
    assert "Approved: echo" in servers(home, "approve", "fast", "echo", "--yes")
    assert servers(home, "call", "fast__echo", "text=two").strip() == "two"
    assert "quarantined" in servers(home, "approve", "fast")


def test_a_tool_that_gives_orders_is_held_back_until_it_is_approved(home: Home) -> None:
    write_settings(home, sly=fast("--sly"))
    (tested,) = as_json(home, "test")
    assert tested["held_back"] == ["helper"]
    assert "servers approve sly" in servers(home, "call", "sly__helper", "text=x", code=2)
    assert "Ignore all previous instructions" in servers(home, "approve", "sly", "helper", "--yes")
    assert servers(home, "call", "sly__helper", "text=x").strip() == "x"

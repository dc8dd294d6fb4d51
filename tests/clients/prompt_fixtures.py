"""A workspace of prompts, and the three tools of the engine as a client calls them."""

import json
import signal
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, types

from raw_protocol import OverHttp, OverStdio, call
from conftest import PATIENCE_SECONDS, Home, HttpServer, text_of_result

Speak = Callable[..., dict[str, Any]]


class Workspace:
    """A folder of prompts and gates, as a user writes them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.resources = path / "resources"
        self.resources.mkdir(parents=True)

    def __call__(self, path: str, text: str) -> Path:
        """Writes a file below `resources`, in one move, as editors do."""
        file = self.resources / path
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(f".{file.name}.draft")
        draft.write_text(textwrap.dedent(text))
        draft.rename(file)
        return file

    def prompt(self, id: str, template: str, category: str = "general", **more: Any) -> Path:
        """Writes a prompt in its own folder; `more` are further fields of its file."""
        last = id.rsplit("/", 1)[-1]
        fields = {"id": last, "name": last, "description": f"The prompt {id} of a test", **more}
        fields["userMessageTemplateFile"] = "user-message.md"
        self(f"prompts/{category}/{id}/user-message.md", template)
        # JSON is also YAML.
        return self(f"prompts/{category}/{id}/prompt.yaml", json.dumps(fields))

    def chain(self, id: str, steps: list[dict[str, Any]], category: str = "general", **more: Any) -> Path:
        fields = {"id": id, "name": id, "description": f"The chain {id} of a test", "chainSteps": steps, **more}
        return self(f"prompts/{category}/{id}/prompt.yaml", json.dumps(fields))

    def gate(self, id: str, guidance: str = "Take care.", **more: Any) -> Path:
        fields = {"id": id, "name": id, "type": "validation", "description": f"The gate {id} of a test", **more}
        fields["guidanceFile"] = "guidance.md"
        self(f"gates/{id}/guidance.md", guidance)
        return self(f"gates/{id}/gate.yaml", json.dumps(fields))

    @property
    def settings(self) -> dict[str, str]:
        return {"MCP_WORKSPACE": str(self.path)}


class House:
    """A workspace with a prompt that echoes, in a home, and the servers that are started on both.
    """

    def __init__(self, home: Home, serve_http: Callable[..., HttpServer]) -> None:
        self.home, self.serve_http = home, serve_http
        self.workspace = Workspace(home.path / "workspace")
        self.workspace.prompt(**ECHO)
        self.open: list[OverStdio] = []

    def stdio(self, **settings: str) -> OverStdio:
        """Starts another server over standard input and output."""
        self.open.append(OverStdio(self.home, self.workspace.settings | settings, "--stdio"))
        return self.open[-1]

    def http(self, **settings: str) -> OverHttp:
        """Starts another server over HTTP."""
        return OverHttp(self.serve_http(self.workspace.settings | settings))


def kill(speak: OverStdio | OverHttp) -> None:
    """Kills the server, like a power failure."""
    if isinstance(speak, OverHttp):
        speak.server.stop(signal.SIGKILL)
    else:
        speak.stop()


@pytest.fixture
def house(home: Home, serve_http):
    house = House(home, serve_http)
    yield house
    for speak in house.open:
        speak.stop()


# Repeats its argument word for word.
ECHO: dict[str, Any] = {"id": "echo", "template": "{{ text }}", "arguments": [{"name": "text", "required": True}]}

# The arguments that create a prompt, without the id.
MADE = {
    "resource_type": "prompt",
    "action": "create",
    "name": "Made",
    "description": "A prompt that is made by the tool",
    "user_message_template": "made",
}

# A criterion that the server checks alone.
SAYS_FINE = {"type": "content_check", "required_patterns": ["fine"]}


def engine(speak: Speak, command: str | None = None, **arguments: Any) -> dict[str, Any]:
    """Returns the engine's answer to a successful call."""
    if command is not None:
        arguments["command"] = command
    return told(call(speak, "prompt_engine", **arguments))


def manage(speak: Speak, action: str, resource_type: str = "prompt", **arguments: Any) -> dict[str, Any]:
    """Returns the answer of `resource_manager` to a successful call."""
    return told(call(speak, "resource_manager", resource_type=resource_type, action=action, **arguments))


def control(speak: Speak, action: str, operation: str | None = None, **arguments: Any) -> dict[str, Any]:
    """Returns the answer of `system_control` to a successful call."""
    if operation is not None:
        arguments["operation"] = operation
    return told(call(speak, "system_control", action=action, **arguments))


def told(result: dict[str, Any]) -> dict[str, Any]:
    """Returns the answer of a successful call; its text is the part to read."""
    assert not result.get("isError"), result
    (content,) = result["content"]
    assert content["text"] == result["structuredContent"]["said"]
    return result["structuredContent"]


async def ask(client: Client, tool: str = "prompt_engine", **arguments: Any) -> dict[str, Any]:
    """Makes the same call with the official client."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    assert text_of_result(result) == result.structured_content["said"]
    return result.structured_content


def refused(speak: Speak, tool: str, **arguments: Any) -> dict[str, Any]:
    """Returns the error of a call that must fail: its code, and the whole text for the reader."""
    result = call(speak, tool, **arguments)
    assert result.get("isError"), result
    error = result["structuredContent"]["error"]
    (content,) = result["content"]
    return {"code": error["code"], "text": content["text"]}


def problems(speak: Speak) -> list[dict[str, Any]]:
    """Returns the problems of the workspace."""
    return control(speak, "status")["problems"]


class Heard:
    """The notifications that a client received."""

    def __init__(self) -> None:
        self.prompts, self.updated = 0, []
        self.changed = anyio.Event()

    async def __call__(self, message: Any) -> None:
        notification = getattr(message, "root", message)
        if isinstance(notification, types.PromptListChangedNotification):
            self.prompts += 1
        if isinstance(notification, types.ResourceUpdatedNotification):
            self.updated.append(str(notification.params.uri))
        self.changed.set()

    async def until(self, condition: Any) -> None:
        with anyio.fail_after(PATIENCE_SECONDS):
            while not condition():
                self.changed = anyio.Event()
                await self.changed.wait()


async def every_prompt(client: Client) -> list[types.Prompt]:
    """Returns all pages of the current list."""
    found: list[types.Prompt] = []
    cursor = None
    while True:
        page = await client.list_prompts(cursor=cursor, cache_mode="refresh")
        found += page.prompts
        cursor = page.next_cursor
        if cursor is None:
            return found

"""The shared part of the LangChain programs: a step as a line of JSON in, a line of JSON out.

They run in their own environments, which have LangChain and not the packages of the tests.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from jsonschema import Draft202012Validator
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

Step = Callable[..., Awaitable[Any]]


def options() -> dict[str, Any]:
    """Returns how the server is reached: the only argument."""
    return json.loads(sys.argv[1])


def steps_with(tools: list[BaseTool], spoken: str | None) -> dict[str, Step]:
    """Returns the steps that any LangChain tools support, and the protocol revision."""
    by_name = {tool.name: tool for tool in tools}

    async def revision() -> str | None:
        return spoken

    async def listed() -> list[dict[str, Any]]:
        return [shown(tool) for tool in tools]

    async def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return await told(by_name[name], arguments)

    async def at_once(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return await asyncio.gather(*[call(**one) for one in calls])

    return {"revision": revision, "tools": listed, "call": call, "at_once": at_once}


def shown(tool: BaseTool) -> dict[str, Any]:
    """Returns a tool as LangChain knows it, and as a model receives it."""
    assert isinstance(tool.args_schema, dict)
    Draft202012Validator.check_schema(tool.args_schema)
    return {
        "name": tool.name,
        "description": tool.description,
        "schema": tool.args_schema,
        "arguments": tool.args,
        "metadata": tool.metadata,
        "function": convert_to_openai_tool(tool)["function"],
    }


async def told(tool: BaseTool, arguments: dict[str, Any]) -> dict[str, Any]:
    """Returns the message that a model gets after calling the tool."""
    message = await tool.ainvoke({"type": "tool_call", "id": "1", "name": tool.name, "args": arguments})
    assert isinstance(message, ToolMessage)
    return {"status": message.status, "content": message.content, "artifact": message.artifact}


async def answer_lines(steps: dict[str, Step]) -> None:
    """Runs the function of each step that is read, and answers `{ok}` or `{error}`."""
    # Reports that the program is connected.
    write({"ok": None})
    while line := await asyncio.to_thread(sys.stdin.readline):
        step = json.loads(line)
        try:
            write({"ok": await steps[step.pop("do")](**step)})
        except Exception as error:
            write({"error": f"{type(error).__name__}: {error}"})


def write(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)

"""An agent of Pydantic AI makes the scripted calls; see scripted_call.py."""

import asyncio
import json

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from scripted_call import PATIENCE_SECONDS, next_call, options, report


def results_in(messages: list[ModelMessage]) -> list[str]:
    returned = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    return [part.content if isinstance(part.content, str) else json.dumps(part.content) for part in returned]


async def main() -> None:
    listed: list[list[str]] = []

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        listed.append([tool.name for tool in info.function_tools])
        if (following := next_call(results_in(messages))) is None:
            return ModelResponse(parts=[TextPart("Done.")])
        return ModelResponse(parts=[ToolCallPart(*following)])

    toolset = MCPToolset(StdioTransport(**options()), init_timeout=PATIENCE_SECONDS, read_timeout=PATIENCE_SECONDS)
    run = await Agent(FunctionModel(respond), toolsets=[toolset]).run("Go on.")
    report(listed[0], results_in(run.all_messages()))


asyncio.run(main())

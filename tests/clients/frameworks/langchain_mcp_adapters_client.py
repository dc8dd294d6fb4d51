"""A chat model of LangChain with `langchain-mcp-adapters` makes the scripted calls; see scripted_call.py."""

import asyncio

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

from scripted_call import options, report
from scripted_chat_model import ScriptedChatModel, results_in


async def main() -> None:
    model = ScriptedChatModel()
    client = MultiServerMCPClient({"it": {"transport": "stdio", **options()}})
    async with client.session("it") as session:
        tools = {tool.name: tool for tool in await load_mcp_tools(session)}
        bound = model.bind_tools(list(tools.values()))
        messages: list[BaseMessage] = [HumanMessage("Go on.")]
        while (message := await bound.ainvoke(messages)).tool_calls:
            (call,) = message.tool_calls
            messages += [message, await tools[call["name"]].ainvoke(call)]
    report(model.listed, results_in(messages))


asyncio.run(main())

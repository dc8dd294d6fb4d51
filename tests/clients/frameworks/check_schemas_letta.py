"""Converts tools as Letta does when it takes them from an MCP server.

Reads lists of tools by name, as JSON, from standard input; prints, for each tool of each list, the health of its
schema with the reasons, as listed and as a strict tool of an agent.
"""

import json
import sys
from typing import Any

from letta_package import (
    MCPTool,
    MCPToolHealth,
    generate_tool_schema_for_mcp,
    normalize_mcp_schema,
    validate_complete_json_schema,
)


def checked(listed: dict[str, Any]) -> dict[str, Any]:
    status, reasons = validate_complete_json_schema(normalize_mcp_schema(listed["inputSchema"]))
    tool = MCPTool.model_validate({**listed, "health": MCPToolHealth(status=status.value, reasons=reasons)})
    strict = generate_tool_schema_for_mcp(tool, strict=True)
    return {
        "listed": {"status": status.value, "reasons": reasons},
        "strict": {"status": tool.health.status, "reasons": tool.health.reasons, "schema": strict["parameters"]},
    }


lists: dict[str, list[dict[str, Any]]] = json.load(sys.stdin)
print(json.dumps({name: {tool["name"]: checked(tool) for tool in tools} for name, tools in lists.items()}))

// A client on the first generation of the TypeScript SDK, which speaks the handshake revisions.
import { Model, answerLines, commonSteps, options, packages, withProgress } from './lines.mjs';

const { Client } = packages('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = packages('@modelcontextprotocol/sdk/client/stdio.js');
const { StreamableHTTPClientTransport } = packages('@modelcontextprotocol/sdk/client/streamableHttp.js');
const { SSEClientTransport } = packages('@modelcontextprotocol/sdk/client/sse.js');
const { CallToolResultSchema, CreateMessageRequestSchema } = packages('@modelcontextprotocol/sdk/types.js');

const transports = {
  stdio: () => new StdioClientTransport({ ...options.stdio, stderr: 'inherit' }),
  http: () => new StreamableHTTPClientTransport(new URL(options.url)),
  sse: () => new SSEClientTransport(new URL(options.url)),
};

const model = new Model(options.model);
const capabilities = options.model ? { sampling: {} } : {};
const client = new Client({ name: 'tests', version: '1' }, { capabilities });
if (options.model) client.setRequestHandler(CreateMessageRequestSchema, (request) => model.reply(request));

const transport = transports[options.transport]();
let revision;
const tell = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (version) => {
  revision = version;
  tell?.(version);
};

await answerLines({
  ...commonSteps(client, model),
  connect: () => client.connect(transport),
  revision: () => revision,
  call: ({ name, arguments: given }) =>
    withProgress((onprogress) =>
      client.callTool({ name, arguments: given }, CallToolResultSchema, { onprogress }),
    ),
});

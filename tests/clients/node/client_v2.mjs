// A client on the second generation of the TypeScript SDK, which discovers the revision 2026-07-28
// when it is told to.
import { Model, answerLines, commonSteps, options, packages, withProgress } from './lines.mjs';

const { Client, SSEClientTransport, StreamableHTTPClientTransport } = packages('@modelcontextprotocol/client');
const { StdioClientTransport } = packages('@modelcontextprotocol/client/stdio');

const transports = {
  stdio: () => new StdioClientTransport({ ...options.stdio, stderr: 'inherit' }),
  http: () => new StreamableHTTPClientTransport(new URL(options.url)),
  sse: () => new SSEClientTransport(new URL(options.url)),
};

const model = new Model(options.model);
const capabilities = options.model ? { sampling: {} } : {};
const versionNegotiation = { mode: options.mode ?? 'auto' };
const client = new Client({ name: 'tests', version: '2' }, { capabilities, versionNegotiation });
if (options.model) client.setRequestHandler('sampling/createMessage', (request) => model.reply(request));

await answerLines({
  ...commonSteps(client, model),
  connect: () => client.connect(transports[options.transport]()),
  revision: () => client.getNegotiatedProtocolVersion(),
  call: ({ name, arguments: given }) =>
    withProgress((onprogress) => client.callTool({ name, arguments: given }, { onprogress })),
});

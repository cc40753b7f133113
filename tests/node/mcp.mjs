// SPDX-License-Identifier: Apache-2.0
// The official MCP clients against a server: node mcp.mjs old|auto|new URL KEY — prints what they got.
const [era, url, key] = process.argv.slice(2);
const requestInit = { headers: { Authorization: `Bearer ${key}` } };
const told = { name: 'atoll-tests', version: '1.0.0' };

async function connect() {
  if (era === 'old') {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    const client = new Client(told);
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
    return client;
  }
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const mode = era === 'auto' ? 'auto' : { pin: '2026-07-28' };
  const client = new Client(told, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return client;
}

const client = await connect();
const tools = (await client.listTools()).tools;
// Both clients check structuredContent against the outputSchema that they have been listed.
const call = (name, args) => client.callTool({ name, arguments: args });
const results = {
  server: client.getServerVersion(),
  tools: tools.map((tool) => tool.name),
  bash: await call('bash', { command: 'echo from the client; exit 2' }),
  write: await call('write', { path: 'client.txt', content: 'one\ntwo\n' }),
  read: await call('read', { path: 'client.txt' }),
  edit: await call('edit', { path: 'client.txt', old_string: 'two', new_string: '2' }),
  glob: await call('glob', { pattern: 'client.*' }),
  grep: await call('grep', { pattern: 'one', glob: 'client.txt', output_mode: 'content' }),
  list_files: await call('list_files', {}),
  list_sandboxes: await call('list_sandboxes', {}),
  failed: await call('read', { path: 'missing' }),
  resources: (await client.listResources()).resources.length,
  templates: (await client.listResourceTemplates()).resourceTemplates.length,
};
let unknown;
try {
  await call('no_such_tool', {});
} catch (error) {
  unknown = error.code;
}
// Progress keeps a call open, and one that is not wanted any more ends. (The old client takes a schema in between.)
const slowly = (args, options) =>
  era === 'old' ? client.callTool({ name: 'bash', arguments: args }, undefined, options)
    : client.callTool({ name: 'bash', arguments: args }, options);
const progress = [];
const slow = await slowly({ command: 'echo working; sleep 4.5; echo done' }, {
  onprogress: (step) => progress.push(step), timeout: 3500, resetTimeoutOnProgress: true,
});
const stop = new AbortController();
let aborted = 'not';
try {
  const stopping = slowly({ command: 'sleep 16.18' }, { signal: stop.signal, onprogress: () => stop.abort('abort it') });
  await stopping;
} catch (error) {
  aborted = String(error);
}
// The old client's word goes out on its own: closing at once would take it back.
await new Promise((done) => setTimeout(done, era === 'old' ? 500 : 0));
await client.close();
console.log(JSON.stringify({ ...results, unknown, progress, slow, aborted }));

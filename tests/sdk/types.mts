// SPDX-License-Identifier: Apache-2.0
// What must compile, and, after each @ts-expect-error, what must not. Checked by tsc, never run.
import { Atoll, AtollError, CommandHandle, ConflictError, Sandbox, withSandbox, type types } from '../../sdk/typescript/index.js';

const sandbox: Sandbox = await Sandbox.create({ template: 'host', internet: false, labels: { a: 'b' }, timeout_ms: 1,
  onProgress: ({ message, percent }) => console.log(message.length, percent ?? 0) });
const result = await sandbox.commands.run({ cmd: 'node', args: ['build.js'], cwd: '/' });
const code: number = result.exitCode;
const handle = await sandbox.commands.run('sleep 1', { background: true, onStdout: (text: string) => text.length });
const killed: boolean = await handle.kill('SIGTERM');
const text: string = await sandbox.files.read('a');
const bytes: Uint8Array = await sandbox.files.read('a', { format: 'bytes' });
const stream: ReadableStream<Uint8Array> = await sandbox.files.read('a', { format: 'stream' });
await sandbox.files.write('b', stream);
const shown: string | undefined = (await sandbox.code.run('6 * 7')).results[0]?.png;
const alone: CommandHandle = await sandbox.code.run('1', { context: null, background: true });
await sandbox.code.run('1', { context: await sandbox.code.contexts.create({ language: 'bash' }), onResult: ({ html }) => html });
const secret: string = (await new Atoll().webhooks.create({ url: 'https://example.com/' })).secret;
const build: types.Build = await new Atoll().builds.wait('b', { onLog: ({ text }) => console.log(text) });
const note: string = await new Atoll().volumes.files('v').read('note');
const state: string = sandbox.info.state;
const entries: types.FileEntry[] = await sandbox.files.list();
const total: number = await withSandbox('key', async (mine) => (await mine.files.list()).length, { template: 'host' });
for await (const event of new Atoll().events({ kind: 'sandbox.*' })) console.log(event.sequence, event.kind);
const served: types.Service = await sandbox.services.put('web', { command: 'npm start', restart: 'on-failure' });
const leases: types.Lease[] = await new Atoll().leases.list({ prefix: 'a' });
const oldest: types.AuditRow | undefined = (await new Atoll().audit.rows({ after: 0, action: 'keys.*' }).next()).value;
const ended: number = await new Atoll().consents.revoke('github', { conversation: 'c' });
const budget: types.Budget = await new Atoll().budgets.create({ limit_usd: 2, scope: 'run', subject: 'r' });
const limits: types.Quota[] = await new Atoll().quotas.update('key', 'k', { sandboxes_running: 2 });
try {
  await sandbox.pause();
} catch (error) {
  if (error instanceof ConflictError || error instanceof AtollError) console.log(error.code, error.hint, error.requestId);
}
// @ts-expect-error there is no such option
await Sandbox.create({ templat: 'host' });
// @ts-expect-error a result of a background command is got by wait()
handle.exitCode;
// @ts-expect-error a context has no jobs
await sandbox.code.run('x', { background: true });
// @ts-expect-error COBOL is no language of it
await sandbox.code.run('x', { language: 'cobol' });
// @ts-expect-error it is no number
const wrong: number = sandbox.info.state;

export { alone, build, bytes, code, ended, entries, killed, leases, limits, note, oldest, secret, shown, state, text, total, wrong };

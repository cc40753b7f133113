// SPDX-License-Identifier: Apache-2.0
// The JavaScript client against a real server: test_sdk.py starts it and this with `node --test`.
import assert from 'node:assert/strict';
import { createServer, request as httpRequest } from 'node:http';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import {
  Atoll,
  ConnectionError,
  ConflictError,
  InvalidRequestError,
  NotFoundError,
  Sandbox,
  SandboxNotFoundError,
  UnauthenticatedError,
  withSandbox,
} from '../../sdk/typescript/src/index.js';
import { errorOf } from '../../sdk/typescript/src/errors.js';
import { EventParser } from '../../sdk/typescript/src/sse.js';

let sandbox;
const folder = await mkdtemp(join(tmpdir(), 'atoll-sdk-'));

before(async () => {
  sandbox = await Sandbox.create({ template: 'host', internet: false });
});
after(async () => {
  assert.equal(await sandbox.kill(), true);
  assert.equal(await sandbox.kill(), false);
  await rm(folder, { recursive: true });
});

/** A proxy before the server that can break connections. */
async function proxy(cut) {
  const target = new URL(process.env.ATOLL_API_URL);
  const state = { requests: [] };
  const server = createServer((request, response) => {
    state.requests.push(`${request.method} ${request.url} ${request.headers['idempotency-key'] ?? ''}`);
    const onward = httpRequest({ host: target.hostname, port: target.port, method: request.method, path: request.url,
      headers: request.headers }, (answer) => {
      const breaks = cut(request, state.requests.length);
      if (breaks === 'unsent') return answer.on('data', () => {}).on('end', () => request.socket.destroy());
      response.writeHead(answer.statusCode, answer.headers);
      let sent = 0;
      answer.on('data', (piece) => {
        response.write(piece);
        sent += piece.length;
        if (breaks && sent >= breaks) setTimeout(() => (request.socket.destroy(), onward.destroy()), 20);
      });
      answer.on('end', () => response.end());
      answer.on('error', () => {});
    });
    onward.on('error', () => {});
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    requests: state.requests,
    close: () => (server.closeAllConnections(), server.close()),
  };
}

test('a command has its result', async () => {
  const result = await sandbox.commands.run('echo out; echo err >&2; exit 3');
  assert.deepEqual([result.exitCode, result.stdout, result.stderr, result.ok], [3, 'out\n', 'err\n', false]);
});

test('a program has arguments that no shell sees', async () => {
  const result = await sandbox.commands.run({ cmd: 'printf', args: ['%s|', '$HOME', 'a b'] });
  assert.equal(result.stdout, '$HOME|a b|');
});

test('a command is recorded when its call asks', async () => {
  const { recording } = await sandbox.commands.run('echo kept', { record: true });
  assert.match(recording, new RegExp(`^${sandbox.id}-`));
  assert.equal((await sandbox.commands.run('true')).recording, undefined);
  const block = await sandbox.code.run("print('kept')", { record: true });
  assert.match(block.recording, new RegExp(`^${sandbox.id}-`));
  assert.equal((await sandbox.code.run('1')).recording, undefined);
  const job = await sandbox.commands.run('echo job', { record: true, background: true });
  assert.equal((await job.wait()).ok, true);
  assert.match(job.recording, new RegExp(`^${sandbox.id}-`));
});

test('output comes while the command runs', async () => {
  const seen = [];
  await sandbox.commands.run('echo one; read line; echo two', { stdin: 'x\n', onStdout: (text) => seen.push(text) });
  assert.equal(seen.join(''), 'one\ntwo\n');
});

test('bytes that are no text come whole', async () => {
  const pieces = [];
  await sandbox.commands.run("printf '\\377\\0\\1'", { onStdout: (_, bytes) => pieces.push(...bytes) });
  assert.deepEqual(pieces, [255, 0, 1]);
});

test('long output is cut in the middle, and said so', async () => {
  const result = await sandbox.commands.run('seq 100000', { outputLimitBytes: 1000 });
  assert.equal(result.truncated, true);
  assert.match(result.stdout, /^1\n2\n[^]*\[587895 bytes of output were cut here\][^]*99999\n100000\n$/);
});

test('a command that takes too long is killed, and its result says so', async () => {
  const result = await sandbox.commands.run('sleep 60', { timeoutMs: 100 });
  assert.deepEqual([result.timedOut, result.ok], [true, false]);
});

test('a background command is waited for, written to and killed', async () => {
  const cat = await sandbox.commands.run('cat', { background: true, stdin: true });
  await cat.sendStdin('through ');
  await cat.sendStdin('it', { end: true });
  assert.equal((await cat.wait()).stdout, 'through it');
  const sleeper = await sandbox.commands.run('sleep 60', { background: true });
  assert.ok((await sandbox.commands.list()).some((one) => one.process === sleeper.process && one.state === 'running'));
  assert.equal(await sleeper.kill(), true);
  assert.equal((await sleeper.wait()).signal, 'SIGKILL');
  assert.equal(await sleeper.kill(), false);
});

test('an aborted command is killed', async () => {
  const stop = new AbortController();
  let number;
  const running = sandbox.commands.run('echo $$; sleep 60', {
    signal: stop.signal,
    onStdout: (text) => {
      number = text.trim();
      stop.abort();
    },
  });
  await assert.rejects(running, { name: 'AbortError' });
  const look = await sandbox.commands.run(`for i in $(seq 100); do kill -0 ${number} 2>/dev/null || exit 0; sleep .02; done; exit 1`);
  assert.equal(look.exitCode, 0);
});

test('a stream that breaks goes on where it was', async () => {
  const between = await proxy((request) => (request.url.includes('/exec') ? 200 : request.url.includes('since=0.0') ? 0 : 900));
  try {
    const remote = await Sandbox.connect(sandbox.id, { apiUrl: between.url });
    let text = '';
    const result = await remote.commands.run('for i in $(seq 40); do echo line $i; sleep .01; done', {
      onStdout: (more) => (text += more),
    });
    const wanted = Array.from({ length: 40 }, (_, i) => `line ${i + 1}\n`).join('');
    assert.equal(text, wanted);
    assert.equal(result.stdout, wanted);
    assert.ok(between.requests.filter((line) => line.includes('/stream?')).length >= 1, between.requests.join('\n'));
  } finally {
    between.close();
  }
});

test('a create whose answer is lost makes one sandbox', async () => {
  const between = await proxy((request, count) => (request.method === 'POST' && count === 1 ? 'unsent' : 0));
  try {
    const made = await Sandbox.create({ template: 'host', internet: false, labels: { sdk: 'lost' }, apiUrl: between.url });
    const found = await Sandbox.list({ label: 'sdk=lost' });
    assert.deepEqual(found.map((one) => one.id), [made.id]);
    const keys = between.requests.filter((line) => line.startsWith('POST')).map((line) => line.split(' ')[2]);
    assert.equal(keys.length, 2);
    assert.equal(keys[0], keys[1]);
    assert.equal(await made.kill(), true);
  } finally {
    between.close();
  }
});

test('a call that changes something is not sent twice', async () => {
  const between = await proxy((request) => (request.method === 'POST' ? 'unsent' : 0));
  try {
    const remote = await Sandbox.connect(sandbox.id, { apiUrl: between.url });
    await assert.rejects(remote.files.mkdir('once'), ConnectionError);
    assert.equal(between.requests.filter((line) => line.includes('mkdir')).length, 1);
  } finally {
    between.close();
  }
});

test('files are written, read, told, moved and removed', async () => {
  const { files } = sandbox;
  const entry = await files.write('a/b/naïve file.txt', 'grüße', { mode: '600' });
  assert.equal((await files.stat('a/b/naïve file.txt')).mode, '0600');
  assert.equal(entry.size, 7);
  assert.equal(await files.read('a/b/naïve file.txt'), 'grüße');
  assert.deepEqual([...(await files.read('a/b/naïve file.txt', { format: 'bytes', offset: 0, length: 2 }))], [103, 114]);
  await files.write('a/b/naïve file.txt', '!', { append: true });
  await files.rename('a/b/naïve file.txt', 'a/plain');
  await files.copy('a/plain', 'a/second');
  assert.equal(await files.read('a/second'), 'grüße!');
  assert.deepEqual((await files.list('a')).map((one) => one.name).sort(), ['b', 'plain', 'second']);
  assert.equal(await files.exists('a/plain'), true);
  await assert.rejects(files.write('a/plain', 'x', { noReplace: true }), ConflictError);
  assert.ok((await files.remove('a', { recursive: true })) >= 3);
  assert.equal(await files.exists('a/plain'), false);
  await assert.rejects(files.read('a/plain'), NotFoundError);
  await files.mkdir('deep/er');
  assert.equal((await files.stat('deep/er')).type, 'directory');
});

test('streams go in and out without being held', async () => {
  const pieces = async function* () {
    for (let i = 0; i < 64; i++) yield new Uint8Array(65536).fill(i);
  };
  await sandbox.files.write('large', pieces());
  let size = 0;
  for await (const piece of await sandbox.files.read('large', { format: 'stream' })) size += piece.length;
  assert.equal(size, 64 * 65536);
  await sandbox.files.download('large', join(folder, 'large'));
  const local = await readFile(join(folder, 'large'));
  assert.equal(local[65536 * 5], 5);
  await sandbox.files.upload(join(folder, 'large'), 'again');
  assert.equal((await sandbox.commands.run('cmp large again')).exitCode, 0);
  await assert.rejects(sandbox.files.download('none', join(folder, 'none')), NotFoundError);
  assert.deepEqual((await readdir(folder)).filter((name) => name !== 'large'), []);
});

test('a folder goes through a tar', async () => {
  await sandbox.commands.run('mkdir -p tree/in && echo 1 >tree/in/one && ln -s in/one tree/link');
  const tar = await sandbox.files.archive('tree');
  await sandbox.files.extract('copied', tar);
  assert.equal((await sandbox.commands.run('diff -r tree copied && readlink copied/link')).stdout, 'in/one\n');
});

test('changes of a folder are told', async () => {
  await sandbox.files.mkdir('watched');
  const stop = new AbortController();
  const seen = [];
  for await (const change of sandbox.files.watch('watched', {
    signal: stop.signal,
    onReady: () => sandbox.files.write('watched/new', 'x'),
  })) {
    seen.push(change.event);
    if (change.path.endsWith('new')) stop.abort();
  }
  assert.ok(seen.length >= 1);
});

test('code keeps its variables and has results', async () => {
  const seen = [];
  const { code } = sandbox;
  const first = await code.run("x = 20\nprint('hi')\nx + 1", {
    onStdout: (text) => seen.push(text),
    onResult: (result) => seen.push(result.text),
  });
  assert.deepEqual([first.ok, first.text, first.stdout, first.error, seen], [true, '21', 'hi\n', null, ['hi\n', '21']]);
  assert.deepEqual(first.results, [{ is_main: true, text: '21' }]);
  const second = await code.run("class T:\n  def _repr_html_(self): return f'<b>{x}</b>'\ndisplay(T())\n1 / 0");
  assert.equal(second.results[0].html, '<b>20</b>');
  assert.equal(second.executionCount, first.executionCount + 1);
  assert.deepEqual([second.ok, second.error.name, second.context], [false, 'ZeroDivisionError', 'default-python']);
  assert.match(second.error.traceback, /1 \/ 0/);
  const limited = await code.run('import time; time.sleep(60)', { timeoutMs: 300 });
  assert.deepEqual([limited.timedOut, (await code.run('x')).text], [true, '20']);
  const stop = new AbortController();
  await assert.rejects(code.run("print('on', flush=True)\nimport time; time.sleep(60)", { signal: stop.signal, onStdout: () => stop.abort() }));
  assert.equal((await code.run('x + 2', { timeoutMs: 20000 })).text, '22');
});

test('code runs in a process of its own without a context', async () => {
  await sandbox.code.run('kept = 1');
  const alone = await sandbox.code.run("print('kept' in globals(), input())", { context: null, stdin: 'read\n' });
  assert.deepEqual([alone.stdout, alone.results, alone.context], ['False read\n', [], null]);
  const handle = await sandbox.code.run('print(6 * 7)', { context: null, background: true });
  assert.equal((await handle.wait()).stdout, '42\n');
  await assert.rejects(sandbox.code.run('1', { background: true }), /context: null/);
});

test('contexts are created, interrupted, restarted and removed', async () => {
  const { contexts } = sandbox.code;
  const own = await contexts.create({ language: 'bash', cwd: '/tmp' });
  assert.equal((await sandbox.code.run('a=1; pwd', { context: own })).stdout, '/tmp\n');
  assert.ok((await contexts.list()).some(({ id }) => id === own.id));
  await contexts.restart(own);
  assert.equal((await sandbox.code.run('echo -$a', { language: 'bash', context: own.id })).stdout, '-\n');
  await contexts.remove(own);
  await assert.rejects(contexts.get(own.id), NotFoundError);
  const other = await contexts.create();
  const options = { context: other, onStdout: () => contexts.interrupt(other) };
  const stopped = await sandbox.code.run("import time\nprint('on', flush=True)\ntime.sleep(60)", options);
  assert.equal(stopped.error.name, 'KeyboardInterrupt');
  await contexts.remove(other);
});

test('code runs', async () => {
  assert.equal((await sandbox.code.run('print(6 * 7)')).stdout, '42\n');
  assert.equal((await sandbox.code.run('echo $((6*7))', { language: 'bash' })).stdout, '42\n');
});

test('a sandbox is paused, resumed, kept, snapshotted, forked, rolled back and compared', async () => {
  await sandbox.commands.run('echo before >state');
  assert.equal((await sandbox.pause()).state, 'paused');
  assert.equal((await sandbox.resume()).state, 'started');
  assert.ok((await sandbox.keepAlive(60000)).awake_until);
  const snapshot = await sandbox.snapshot({ name: `sdk-js-${Date.now()}` });
  await sandbox.commands.run('echo after >state');
  assert.match(await sandbox.diff({ base: snapshot.id, path: '/home/user/project/state' }), /-before\n\+after/);
  const { sandboxes } = await sandbox.fork();
  assert.equal(await sandboxes[0].files.read('state'), 'after\n');
  await sandboxes[0].kill();
  await sandbox.rollback(snapshot.id);
  assert.equal(await sandbox.files.read('state'), 'before\n');
});

test('a command tells the limit that ended it', async () => {
  const { exitCode, cause } = await sandbox.commands.run('kill -XFSZ $$');
  assert.deepEqual([exitCode, cause], [153, 'file_size']);
  assert.equal((await sandbox.commands.run('sleep 20', { timeoutMs: 100 })).cause, 'timeout');
});

test('a sandbox that is killed with keep comes back', async () => {
  const made = await Sandbox.create({ template: 'host', internet: false });
  await made.files.write('kept.txt', 'kept');
  assert.equal(await made.kill({ keep: true }), true);
  assert.ok((await Sandbox.trash()).some(({ id, reason }) => id === made.id && reason === 'deleted'));
  const again = await Sandbox.undelete(made.id);
  assert.equal(again.info.state, 'stopped');
  await again.start();
  assert.equal(await again.files.read('kept.txt'), 'kept');
  assert.equal(await again.kill(), true);
  await assert.rejects(new Atoll().sandboxes.undelete(made.id), NotFoundError);
});

test('an error says what, and for whom to ask', async () => {
  await assert.rejects(Sandbox.create({ template: 'no-such' }), (error) => {
    assert.equal(error.code, 'not_found');
    assert.match(error.message, /no-such/);
    assert.ok(error.requestId);
    return error instanceof NotFoundError;
  });
  await assert.rejects(Sandbox.connect('none'), SandboxNotFoundError);
  await assert.rejects(sandbox.commands.run('true', { timeoutMs: -1 }), InvalidRequestError);
  await assert.rejects(Sandbox.list({ apiKey: 'wrong' }), UnauthenticatedError);
  await assert.rejects(Sandbox.list({ apiUrl: 'http://127.0.0.1:1', retries: 0 }), (error) => {
    assert.match(error.message, /to http:\/\/127\.0\.0\.1:1 failed/);
    assert.match(String(error), /running.*ATOLL_API_URL/);
    return error instanceof ConnectionError;
  });
  assert.throws(() => new Atoll({ apiUrl: 'ftp://x' }), /http/);
});

test('the kind of a missing object tells its error, not the text', () => {
  const sandbox = errorOf('not_found', 'gone', { resource: 'sandbox' });
  assert.equal(sandbox.constructor, SandboxNotFoundError);
  assert.equal(sandbox.code, 'sandbox_not_found');
  assert.equal(errorOf('not_found', "no sandbox 'x'", {}).constructor, NotFoundError);
  const template = errorOf('not_found', 'gone', { resource: 'template' });
  assert.equal(template.constructor, NotFoundError);
  assert.equal(template.resource, 'template');
});

test('a call on a sandbox that was killed says so', async () => {
  const gone = await Sandbox.create({ template: 'host', internet: false });
  await assert.rejects(gone.files.read("no sandbox 'x'"), (error) => error.constructor === NotFoundError);
  await gone.kill();
  const calls = [
    () => gone.commands.run('true'),
    () => gone.commands.run('true', { background: true }),
    () => gone.code.run('1'),
    () => gone.files.read('a'),
    () => gone.pause(),
  ];
  for (const call of calls) await assert.rejects(call(), SandboxNotFoundError);
});

test('work in a lease that has lost its sandbox is done once more, once', async () => {
  const ids = [];
  const options = { template: 'host', internet: false };
  await withSandbox('sdk-js', async (mine) => ids.push(mine.id), options);
  await withSandbox('sdk-js', async (mine) => ids.push(mine.id), options);
  assert.equal(ids[0], ids[1]);
  await Sandbox.kill(ids[0]);
  const output = await withSandbox('sdk-js', async (mine) => {
    ids.push(mine.id);
    return (await mine.commands.run('echo again')).stdout;
  }, options);
  assert.equal(output, 'again\n');
  assert.equal(ids.length, 4);
  assert.notEqual(ids[3], ids[0]);
  let calls = 0;
  await assert.rejects(withSandbox('sdk-js', async (mine) => {
    calls++;
    await mine.files.read('no-such-file');
  }, options), NotFoundError);
  assert.equal(calls, 1);
  calls = 0;
  await assert.rejects(withSandbox('sdk-js', async () => {
    calls++;
    throw Object.assign(new Error('gone'), { code: 'sandbox_not_found' });
  }, options), /gone/);
  assert.equal(calls, 2);
  await new Atoll().leases.delete('sdk-js');
});

test('an artifact outlives its sandbox', async () => {
  const atoll = new Atoll();
  const gone = await Sandbox.create({ template: 'host', internet: false });
  await gone.files.write('kept.csv', 'a,b\n');
  const { id, media_type } = await gone.keepArtifact('kept.csv');
  const told = [];
  const result = await gone.commands.run('mkdir out; echo 1 >out/made.txt; sleep .05', {
    artifacts: '.',
    onArtifact: (artifact) => told.push(artifact.name),
  });
  assert.ok(told.includes('made.txt'), told.join());
  assert.deepEqual(result.artifacts.map((one) => one.name), told);
  await gone.kill();
  for (const one of result.artifacts) await atoll.artifacts.delete(one.id);
  assert.equal(media_type, 'text/csv');
  assert.equal(new TextDecoder().decode(await atoll.artifacts.bytes(id)), 'a,b\n');
  assert.equal(await (await fetch(await atoll.artifacts.url(id, 60))).text(), 'a,b\n');
  assert.deepEqual((await atoll.artifacts.list({ sandbox: gone.id })).map((one) => one.id), [id]);
  await atoll.artifacts.delete(id);
});

test('jobs, tools, previews and terminals are there', async () => {
  const atoll = new Atoll();
  const job = await sandbox.commands.run('echo from a job; sleep .1', { background: true, conversation: 'c1' });
  assert.equal((await job.wait()).stdout, 'from a job\n');
  assert.equal((await atoll.jobs.get(job.resultId, { conversation: 'c1' })).resultId, job.resultId);
  assert.ok((await atoll.jobs.list({ conversation: 'c1' })).some((one) => one.resultId === job.resultId));
  assert.match((await atoll.jobs.logs(job.resultId, { conversation: 'c1' })).stdout, /from a job/);
  assert.ok((await atoll.tools()).some((tool) => tool.name === 'bash'));
  const told = await sandbox.tool('bash', { command: 'echo by a tool' });
  assert.match(JSON.stringify(told), /by a tool/);
  assert.equal(typeof (await sandbox.preview()).enabled, 'boolean');
  assert.equal((await sandbox.setPreview({ public: false })).public, false);
  const terminal = await sandbox.openTerminal({ rows: 10, cols: 40 });
  assert.match(terminal.path, new RegExp(terminal.sessionId));
});

test('volumes, templates, usage and events are there', async () => {
  const atoll = new Atoll();
  const volume = await atoll.volumes.create({ name: 'sdk-js' });
  assert.equal((await atoll.volumes.get('sdk-js')).id, volume.id);
  await atoll.volumes.delete('sdk-js');
  assert.ok((await atoll.templates.list()).some((one) => one.name === 'host'));
  assert.ok(Array.isArray((await atoll.usage({ group_by: 'sandbox' })).items));
  const stop = new AbortController();
  const kinds = [];
  const between = await proxy((request) => (request.url.includes('stream=sse') ? 150 : 0));
  const watching = (async () => {
    for await (const event of new Atoll({ apiUrl: between.url }).events({ kind: 'volume.*', signal: stop.signal })) {
      kinds.push(event.kind);
      if (kinds.length === 4) stop.abort();
    }
  })();
  while (!between.requests.some((line) => line.includes('/v1/events?') && line.includes('stream=sse')))
    await new Promise((resolve) => setTimeout(resolve, 5));
  for (const name of ['sdk-e1', 'sdk-e2']) {
    await atoll.volumes.create({ name });
    await atoll.volumes.delete(name);
  }
  await watching;
  between.close();
  assert.deepEqual(kinds, ['volume.created', 'volume.deleted', 'volume.created', 'volume.deleted']);
});

test('users and organisations are made, listed and removed', async () => {
  const atoll = new Atoll();
  const email = `ts-${process.pid}@example.com`;
  assert.ok((await atoll.users.create({ email, name: 'Ts' })).link);
  assert.ok((await atoll.users.list()).some((user) => user.email === email));
  assert.equal((await atoll.users.update(email, { name: 'Other' })).name, 'Other');
  assert.deepEqual(await atoll.users.sessions(email), []);
  await atoll.users.signOut(email);
  const acme = await atoll.organizations.create({ name: 'Acme', owner: email });
  assert.equal((await atoll.organizations.setMember(acme.id, 'second@example.com', 'member')).role, 'member');
  assert.equal((await atoll.organizations.members(acme.id)).length, 2);
  await atoll.organizations.removeMember(acme.id, 'second@example.com');
  assert.equal((await atoll.organizations.update(acme.id, { name: 'Ajax' })).name, 'Ajax');
  assert.ok((await atoll.organizations.list()).some(({ id }) => id === acme.id));
  await atoll.organizations.delete(acme.id);
  await atoll.users.delete(email);
  await assert.rejects(atoll.users.get(email));
});

test('budgets are made, changed and deleted', async () => {
  const { budgets } = new Atoll();
  const made = await budgets.create({ limit_usd: 2, scope: 'conversation', subject: 'sdk-talk', window: 'day' });
  assert.deepEqual([made.scope, made.subject, made.level], ['conversation', 'sdk-talk', 'fine']);
  assert.equal((await budgets.update(made.id, { limit_usd: 3 })).limit_usd, 3);
  assert.ok((await budgets.list()).some(({ id }) => id === made.id));
  await budgets.delete(made.id);
  assert.equal((await budgets.list()).some(({ id }) => id === made.id), false);
});

test('the audit is read in pages and exported, and quotas are listed', async () => {
  const atoll = new Atoll();
  for (const name of ['sdk-js-1', 'sdk-js-2']) {
    await atoll.credentials.create({ name, hosts: ['api.example.com'], fields: { token: 's3cr3t' } });
    await atoll.credentials.delete(name);
  }
  while ((await atoll.audit.list({ action: 'credentials.delete' })).items.length < 2) await new Promise((resolve) => setTimeout(resolve, 50));
  const rows = [];
  for await (const row of atoll.audit.rows({ action: 'credentials.*', limit: 1 })) rows.push(row.sequence);
  const forward = [];
  for await (const row of atoll.audit.rows({ action: 'credentials.*', limit: 3, after: 0 })) forward.push(row.sequence);
  assert.deepEqual(forward, rows.reverse());
  let exported = '';
  for await (const piece of atoll.audit.export()) exported += new TextDecoder().decode(piece);
  assert.ok(exported.includes('credentials.delete') && !exported.includes('s3cr3t'));
  assert.equal((await atoll.audit.key()).key.length, 64);
  assert.ok((await atoll.quotas.list()).some(({ scope }) => scope === 'project'));
  assert.deepEqual(await atoll.consents.list({ credential: 'none' }), []);
  assert.deepEqual(await atoll.approvals.list({ limit: 1 }), []);
  await assert.rejects(atoll.consents.revoke('none', {}), TypeError);
});

test('files of a volume, webhooks and builds are there', async () => {
  const atoll = new Atoll();
  await atoll.volumes.create({ name: 'sdk-js-files' });
  const files = atoll.volumes.files('sdk-js-files');
  await files.write('a/one.txt', 'first\n');
  await files.write('a/one.txt', 'second\n', { append: true });
  await files.rename('a/one.txt', 'two.txt');
  assert.equal(await files.read('two.txt'), 'first\nsecond\n');
  assert.ok((await files.remove('a', { recursive: true })) >= 1);
  assert.deepEqual((await files.list()).map(({ name }) => name), ['two.txt']);
  await atoll.volumes.delete('sdk-js-files');

  const made = await atoll.credentials.create({ name: 'sdk-js', hosts: ['api.example.com'], fields: { token: 's3cr3t' } });
  assert.deepEqual(made.field_names, ['token']);
  assert.equal((await atoll.credentials.update('sdk-js', { consent: 'conversation', about: 'by the SDK' })).about, 'by the SDK');
  assert.ok((await atoll.credentials.list()).some(({ name }) => name === 'sdk-js'));
  await atoll.credentials.delete('sdk-js');
  assert.ok((await atoll.connects.presets()).some(({ name }) => name === 'github'));
  assert.deepEqual(await atoll.connects.list(), []);
  const hook = await atoll.webhooks.create({ url: 'https://example.com/', enabled: false });
  assert.ok(hook.secret);
  assert.deepEqual((await atoll.webhooks.update(hook.id, { events: ['volume.*'] })).events, ['volume.*']);
  assert.ok((await atoll.webhooks.list()).some(({ id }) => id === hook.id));
  assert.deepEqual(await atoll.webhooks.deliveries(hook.id), []);
  assert.deepEqual(await atoll.webhooks.retryDead(hook.id), { retried: 0, dead: 0 });
  await atoll.webhooks.delete(hook.id);

  const told = [];
  const steps = [{ type: 'run', command: 'echo built in JavaScript' }];
  const begun = await atoll.builds.create({ name: 'sdk-js-built', from: 'host', internet: false, steps });
  const done = await atoll.builds.wait(begun.id, { timeoutMs: 60000, onLog: ({ text }) => told.push(text) });
  assert.equal(done.status, 'ready');
  assert.ok(told.includes('built in JavaScript'), told.join());
  await atoll.templates.delete('sdk-js-built');
  await atoll.builds.delete(begun.id);
});

test('a call without a sandbox has one of its own, and a workspace keeps its files', async () => {
  const atoll = new Atoll();
  const options = { workspace: 'of-sdk-js', sandbox: { template: 'host', internet: false } };
  try {
    const done = await atoll.ephemeral.run('echo hi > a; pwd', options);
    assert.equal(done.stdout, '/mnt/workspaces/of-sdk-js\n');
    const code = await atoll.ephemeral.runCode('cat a', { ...options, language: 'bash' });
    assert.equal(code.stdout, 'hi\n');
    const read = await atoll.ephemeral.tool('read', { path: 'a' }, options);
    assert.ok(JSON.stringify(read).includes('hi'), JSON.stringify(read));
    await assert.rejects(atoll.ephemeral.tool('read', { path: 'a' }, { sandbox: options.sandbox }), InvalidRequestError);
    assert.ok((await atoll.workspaces.list()).some(({ name }) => name === options.workspace));
  } finally {
    const isFree = async () => (await atoll.workspaces.get(options.workspace)).sandboxes === 0;
    for (let i = 0; i < 100 && !(await isFree()); i++) await new Promise((go) => setTimeout(go, 100));
    await atoll.workspaces.delete(options.workspace);
  }
});

test('events are cut wherever the network cuts them', () => {
  const text = ': hello\nid: 1.0\nevent: stdout\ndata: {"a":\ndata: 1}\n\nevent: exit\r\ndata: x\r\n\r\n';
  for (let at = 0; at <= text.length; at++) {
    const parser = new EventParser();
    const found = [...parser.add(text.slice(0, at)), ...parser.add(text.slice(at))];
    assert.deepEqual(found, [
      { id: '1.0', event: 'stdout', data: '{"a":\n1}' },
      { id: '1.0', event: 'exit', data: 'x' },
    ]);
  }
});

// SPDX-License-Identifier: Apache-2.0
// The official Daytona client against a server (DAYTONA_API_URL, DAYTONA_API_KEY): one line of JSON per test,
// {"name":…,"ok":…,"error":…}. Tests run in order and share one sandbox. Their names are read by test_83_daytona.py.
import assert from 'node:assert/strict';
import { Daytona, DaytonaError, DaytonaNotFoundError, DaytonaProcessExecutionTimeoutError, DaytonaValidationError } from '@daytona/sdk';

const daytona = new Daytona();
const tests = [];
const test = (name, run) => tests.push({ name, run });
const made = [];
async function create(options = {}) {
  const sandbox = await daytona.create({ networkBlockAll: true, ...options });
  made.push(sandbox);
  return sandbox;
}
const failsAs = (type, promise, pattern) => assert.rejects(promise, (error) => {
  assert.ok(error instanceof type, `${error.constructor.name}: ${error.message}`);
  if (pattern) assert.match(error.message, pattern);
  return true;
});
let box;

// ---- sandboxes ----

test('create', async () => {
  box = await create({ labels: { purpose: 'test' }, envVars: { GREETING: 'hello' } });
  assert.equal(box.state, 'started');
  assert.match(box.id, /^[a-z2-7]{20}$/);
  assert.equal(box.name, box.id);
  assert.equal(box.labels.purpose, 'test');
  assert.equal(box.labels['code-toolbox-language'], 'python');
  assert.deepEqual(box.env, { GREETING: 'hello' });
  assert.equal(box.networkBlockAll, true);
  assert.equal(box.autoStopInterval, 15);
  assert.equal(box.autoDeleteInterval, -1);
  assert.equal(box.toolboxProxyUrl, `${process.env.DAYTONA_API_URL.replace(/\/api$/, '')}/toolbox`);
});
test('get', async () => {
  const same = await daytona.get(box.id);
  assert.equal(same.id, box.id);
  assert.equal(same.state, 'started');
  assert.equal((await daytona.get(box.name)).id, box.id);
  await failsAs(DaytonaNotFoundError, daytona.get('nosuch'), /nosuch/);
});
test('list', async () => {
  const other = await create({ labels: { purpose: 'other' } });
  const ids = async (query) => {
    const found = [];
    for await (const sandbox of daytona.list(query)) found.push(sandbox.id);
    return found;
  };
  assert.deepEqual(await ids({ labels: { purpose: 'test' } }), [box.id]);
  assert.deepEqual((await ids({ limit: 1 })).sort(), [box.id, other.id].sort());
  assert.deepEqual(await ids({ states: ['stopped'] }), []);
  assert.equal((await ids({ states: ['started'] })).length, 2);
  await other.delete();
  assert.deepEqual(await ids(), [box.id]);
});
test('setLabels', async () => {
  assert.deepEqual(await box.setLabels({ a: 'b', 'code-toolbox-language': 'python' }), { a: 'b', 'code-toolbox-language': 'python' });
  await box.refreshData();
  assert.equal(box.labels.a, 'b');
  assert.equal(box.labels.purpose, undefined);
});
test('stop and start', async () => {
  const sandbox = await create();
  await sandbox.process.executeCommand('echo kept > kept');
  await sandbox.stop();
  assert.equal(sandbox.state, 'stopped');
  await failsAs(DaytonaError, sandbox.process.executeCommand('true'), /stopped/);
  await sandbox.start();
  assert.equal(sandbox.state, 'started');
  assert.equal((await sandbox.process.executeCommand('cat kept')).result, 'kept\n');
  await sandbox.delete();
});
test('pause', async () => {
  const sandbox = await create();
  await sandbox.pause();
  assert.equal(sandbox.state, 'paused');
  assert.equal((await sandbox.process.executeCommand('echo awake')).result, 'awake\n');
  await sandbox.refreshData();
  assert.equal(sandbox.state, 'started');
  await sandbox.delete();
});
test('recover', async () => {
  const sandbox = await create();
  await sandbox.stop();
  await sandbox.recover();
  assert.equal(sandbox.state, 'started');
  await sandbox.delete();
});
test('archive', async () => {
  const sandbox = await create();
  await sandbox.process.executeCommand('echo kept > kept');
  await sandbox.stop();
  await sandbox.archive();
  await sandbox.refreshData();
  assert.equal(sandbox.state, 'archived');
  assert.equal(sandbox.backupState, 'Completed');
  await sandbox.start();
  assert.equal((await sandbox.process.executeCommand('cat kept')).result, 'kept\n');
  await sandbox.delete();
});
test('delete', async () => {
  const sandbox = await create();
  await daytona.delete(sandbox, 60, true);
  await failsAs(DaytonaNotFoundError, daytona.get(sandbox.id));
});
test('setAutostopInterval', async () => {
  await box.setAutostopInterval(30);
  await box.refreshData();
  assert.equal(box.autoStopInterval, 30);
  await box.setAutostopInterval(0);
  await box.refreshData();
  assert.equal(box.autoStopInterval, 0);
});
test('setAutoPauseInterval', async () => {
  await box.setAutoPauseInterval(45);
  await box.refreshData();
  assert.equal(box.autoPauseInterval, 45);
});
test('setAutoArchiveInterval', async () => {
  await box.setAutoArchiveInterval(60);
  await box.refreshData();
  assert.equal(box.autoArchiveInterval, 60);
});
test('setAutoDeleteInterval', async () => {
  for (const minutes of [60, 0, -1]) {
    await box.setAutoDeleteInterval(minutes);
    await box.refreshData();
    assert.equal(box.autoDeleteInterval, minutes);
  }
});
test('setTtl', async () => {
  await box.setTtl(90);
  await box.refreshData();
  assert.equal(new Date(box.autoDestroyAt) - new Date(box.createdAt), 90 * 60 * 1000);
  await box.setTtl(0);
  await box.refreshData();
  assert.equal(box.autoDestroyAt, undefined);
});
test('an ephemeral sandbox goes when it is stopped', async () => {
  const sandbox = await create({ ephemeral: true });
  assert.equal(sandbox.autoDeleteInterval, 0);
  await sandbox.stop();
  for (let i = 0; i < 200; i++) {
    try {
      await daytona.get(sandbox.id);
    } catch (error) {
      assert.ok(error instanceof DaytonaNotFoundError);
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.fail('it is still there');
});
test('refreshActivity', async () => {
  await box.refreshActivity();
});
test('what cannot be done is refused by name', async () => {
  await failsAs(DaytonaError, create({ networkAllowList: '10.0.0.0/8' }), /networkAllowList/);
  await failsAs(DaytonaError, create({ user: 'nobody' }), /user/);
  await failsAs(DaytonaNotFoundError, create({ snapshot: 'nosuch' }), /nosuch/);
});

// ---- commands ----

test('executeCommand', async () => {
  const { exitCode, result, artifacts } = await box.process.executeCommand('echo out; echo err >&2; echo again; exit 3');
  assert.equal(exitCode, 3);
  assert.equal(result, 'out\nerr\nagain\n');
  assert.equal(artifacts.stdout, result);
});
test('executeCommand has environment and folder', async () => {
  assert.equal((await box.process.executeCommand('echo $GREETING $MORE; pwd', '/tmp', { MORE: 'there' })).result, 'hello there\n/tmp\n');
});
test('executeCommand ends in time', async () => {
  await failsAs(DaytonaProcessExecutionTimeoutError, box.process.executeCommand('sleep 60', undefined, undefined, 1), /timeout/);
});
test('executeCommand refuses nonsense', async () => {
  await failsAs(DaytonaValidationError, box.process.executeCommand('true', undefined, undefined, -1), /timeout/);
});

for (const { name, run } of tests) {
  const started = Date.now();
  const result = { name };
  try {
    await run();
    result.ok = true;
  } catch (error) {
    Object.assign(result, { ok: false, error: `${error.stack ?? error}` });
  }
  console.log(JSON.stringify({ ...result, ms: Date.now() - started }));
}
for (const sandbox of made) await sandbox.delete().catch(() => {});
await daytona[Symbol.asyncDispose]();
process.exit(0);

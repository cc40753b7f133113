// SPDX-License-Identifier: Apache-2.0
// The official Daytona client against a server (DAYTONA_API_URL, DAYTONA_API_KEY): one line of JSON per test,
// {"name":…,"ok":…,"error":…}. Tests run in order and share one sandbox. Their names are read by test_daytona.py.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import * as sdk from '@daytona/sdk';
import {
  Daytona, Image, DaytonaCommandAlreadyCompletedError, DaytonaConflictError, DaytonaError, DaytonaFileNotFoundError,
  DaytonaGitBranchExistsError, DaytonaGitBranchNotFoundError, DaytonaGitMergeConflictError, DaytonaGitPushRejectedError,
  DaytonaGitRepoNotFoundError, DaytonaNotFoundError, DaytonaProcessExecutionTimeoutError, DaytonaSessionEndedError, DaytonaTimeoutError,
  DaytonaValidationError,
} from '@daytona/sdk';
import { uncalled, watch } from './calls.mjs';
import { describeError } from './failure.mjs';

watch(Daytona, Image, sdk.Sandbox, sdk.FileSystem, sdk.Git, sdk.Process, sdk.PtyHandle, sdk.ComputerUse, sdk.Mouse, sdk.Keyboard, sdk.Screenshot, sdk.Display, sdk.Accessibility);
const daytona = new Daytona();
const classOf = (part) => Object.getPrototypeOf(part).constructor;
watch(...[daytona.volume, daytona.snapshot, daytona.warmPool, daytona.secret].map(classOf));
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
  watch(...[box.codeInterpreter, box.computerUse.recording, await box.createLspServer('python', 'src')].map(classOf));
  assert.equal(box.state, 'started');
  assert.match(box.id, /^[a-z2-7]{20}$/);
  assert.equal(box.name, box.id);
  assert.equal(box.labels.purpose, 'test');
  assert.equal(box.labels['code-toolbox-language'], 'python');
  assert.deepEqual(box.env, { GREETING: 'hello' });
  assert.equal(box.networkBlockAll, true);
  assert.deepEqual([box.cpu, box.memory, box.disk], [0.5, 1, 1]);
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
  assert.deepEqual(await ids({ sort: 'createdAt', order: 'asc' }), [box.id, other.id]);
  assert.deepEqual(await ids({ sort: 'createdAt', order: 'desc', limit: 1 }), [other.id, box.id]);
  assert.deepEqual(await ids({ id: box.id.slice(0, 12).toUpperCase() }), [box.id]);
  const created = new Date(box.createdAt);
  const [before, after] = [new Date(created - 1), new Date(created.valueOf() + 1)];
  await box.setTtl(600);
  for (const [query, count] of [[{ minCpu: box.cpu, maxCpu: box.cpu }, 2], [{ minCpu: box.cpu + 1 }, 0], [{ maxMemoryGib: box.memory }, 2], [{ minMemoryGib: box.memory + 1 }, 0],
    [{ minDiskGib: box.disk }, 2], [{ maxDiskGib: 0 }, 0], [{ isPublic: false }, 2], [{ isPublic: true }, 0], [{ isRecoverable: true }, 0], [{ isRecoverable: false }, 2],
    [{ targets: ['local'] }, 2], [{ targets: ['moon'] }, 0], [{ createdAtAfter: before, createdAtBefore: after }, 1], [{ createdAtBefore: before }, 0],
    [{ lastActivityAfter: before }, 2], [{ lastActivityBefore: before }, 0], [{ autoDestroyAtAfter: after }, 1], [{ autoDestroyAtBefore: after }, 0]]) {
    assert.equal((await ids(query)).length, count, JSON.stringify(query));
  }
  await box.setTtl(0);
  await assert.rejects(ids({ sort: 'cpu' }), /by createdAt/);
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
  await sandbox.process.executeCommand('echo kept > kept; echo gone > /tmp/gone');
  await sandbox.process.createSession('gone');
  await sandbox.stop();
  await sandbox.waitUntilStopped(20);
  assert.equal(sandbox.state, 'stopped');
  await failsAs(DaytonaError, sandbox.process.executeCommand('true'), /stopped/);
  await sandbox.start();
  await sandbox.waitUntilStarted(20);
  assert.equal(sandbox.state, 'started');
  assert.equal((await sandbox.process.executeCommand('cat kept; ls /tmp')).result, 'kept\n');
  await failsAs(DaytonaNotFoundError, sandbox.process.getSession('gone'));
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
test('create: as the user daytona, with its home', async () => {
  const named = await create({ user: 'daytona' });
  const told = await named.process.executeCommand('echo x > /home/daytona/x && cat ~/x && stat -c %U ~daytona/x && git --version');
  assert.match(told.result, /^x\nuser\ngit version/);
  assert.equal((await named.fs.downloadFile('/home/daytona/x')).toString(), 'x\n');
  await named.delete();
});
test('what cannot be done is refused by name', async () => {
  await failsAs(DaytonaError, create({ networkBlockAll: false, domainAllowList: '198.51.100.7' }), /domainAllowList/);
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
  const late = [];
  for (let i = 0; i < 10; i++) {
    const begun = performance.now();
    await failsAs(DaytonaProcessExecutionTimeoutError, box.process.executeCommand('sleep 986 & sleep 985', undefined, undefined, 1), /timeout/);
    late.push(performance.now() - begun - 1000);
  }
  assert.ok(late.sort((a, b) => a - b)[5] < 100, `ms after its time: ${late}`);
  assert.equal((await box.process.executeCommand('pgrep -f "^sleep 98[56]" || true')).result, '');
});
test('executeCommand tells text, and the first and the last half of much', async () => {
  assert.equal((await box.process.executeCommand("printf 'a\\377b'")).result, 'a\ufffdb');
  const { result } = await box.process.executeCommand("printf first; head -c 17000000 /dev/zero | tr '\\0' x; printf last");
  assert.ok(result.startsWith('firstxx') && result.endsWith('xxlast') && result.length < 16.1 * 1024 ** 2);
});
test('executeCommand refuses nonsense', async () => {
  await failsAs(DaytonaValidationError, box.process.executeCommand('true', undefined, undefined, -1), /timeout/);
});

// ---- code ----

test('codeRun', async () => {
  const { exitCode, result, artifacts } = await box.process.codeRun('import sys\nprint(6 * 7)\nprint("err", file=sys.stderr)\nsys.exit(2)');
  assert.equal(exitCode, 2);
  assert.equal(result, '42\nerr\n');
  assert.deepEqual(artifacts.charts, []);
});
test('codeRun has arguments and environment', async () => {
  const params = { argv: ['a', 'b c'], env: { GREETING: 'bye' } };
  assert.equal((await box.process.codeRun('import os, sys; print(sys.argv[1:], os.environ["GREETING"])', params)).result, "['a', 'b c'] bye\n");
});
test('codeRun ends in time', async () => {
  await failsAs(DaytonaProcessExecutionTimeoutError, box.process.codeRun('import time; time.sleep(60)', undefined, 1));
});
test('codeRun in JavaScript and TypeScript', async () => {
  const typed = await create({ language: 'typescript' });
  const { exitCode, result } = await typed.process.codeRun('const n: number = 2;\nconsole.log(n + 1)');
  // An image's node that knows no types says so itself.
  assert.ok(exitCode === 0 ? result === '3\n' : /SyntaxError|--input-type/.test(result), result);
  await typed.delete();
  const sandbox = await create({ language: 'javascript' });
  assert.equal((await sandbox.process.codeRun('console.log([1, 2, 3].length)')).result, '3\n');
  await sandbox.delete();
});

// ---- interpreter ----

test('codeInterpreter.runCode', async () => {
  const out = [];
  const { stdout, stderr, error } = await box.codeInterpreter.runCode('import sys\nx = 41\nprint("one")\nprint("two", file=sys.stderr)', { onStdout: ({ output }) => out.push(output) });
  assert.equal(stdout, 'one\n');
  assert.equal(stderr, 'two\n');
  assert.equal(error, undefined);
  assert.equal(out.join(''), stdout);
  assert.equal((await box.codeInterpreter.runCode('print(x + 1)')).stdout, '42\n');
  const failed = await box.codeInterpreter.runCode('1 / 0');
  assert.equal(failed.error.name, 'ZeroDivisionError');
  assert.match(failed.error.traceback, /1 \/ 0/);
});
test('codeInterpreter contexts', async () => {
  const context = await box.codeInterpreter.createContext('/tmp');
  assert.equal(context.cwd, '/tmp');
  assert.equal((await box.codeInterpreter.runCode('import os; print(os.getcwd(), "x" in globals(), os.environ.get("A"))', { context, envs: { A: 'b' } })).stdout, '/tmp False b\n');
  assert.ok((await box.codeInterpreter.listContexts()).some(({ id }) => id === context.id));
  await box.codeInterpreter.deleteContext(context);
  assert.ok(!(await box.codeInterpreter.listContexts()).some(({ id }) => id === context.id));
  await assert.rejects(box.codeInterpreter.runCode('print(1)', { context }), /no context/);
});
test('codeInterpreter ends in time', async () => {
  await failsAs(DaytonaTimeoutError, box.codeInterpreter.runCode('import time\ntime.sleep(60)', { timeout: 1 }));
  assert.equal((await box.codeInterpreter.runCode('print(x)')).stdout, '41\n');
});

// ---- sessions ----

const run = (session, command, options) => box.process.executeSessionCommand(session, { command, ...options });
const until = async (condition) => {
  for (let i = 0; i < 600; i++) {
    const value = await condition();
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return assert.fail('it has not come about');
};
test('createSession', async () => {
  await box.process.createSession('work');
  await failsAs(DaytonaConflictError, box.process.createSession('work'), /work/);
  await failsAs(DaytonaValidationError, box.process.createSession('no/slash'));
  assert.deepEqual(await box.process.getSession('work'), { sessionId: 'work', commands: [] });
  await failsAs(DaytonaNotFoundError, box.process.getSession('nosuch'));
});
test('executeSessionCommand', async () => {
  const first = await run('work', 'cd /tmp; export FOO=bar; f() { echo "f $1"; }; echo out; echo err >&2');
  assert.equal(first.exitCode, 0);
  assert.equal(first.stdout, 'out\n');
  assert.equal(first.stderr, 'err\n');
  assert.ok(first.cmdId);
  assert.equal((await run('work', `pwd; echo "$FOO's"; f 1; printf 'no line feed'`)).stdout, "/tmp\nbar's\nf 1\nno line feed");
  assert.equal((await run('work', 'false')).exitCode, 1);
  assert.equal((await run('work', '(exit 7)')).exitCode, 7);
});
test('a command that is no command ends no session', async () => {
  assert.notEqual((await run('work', 'if then fi')).exitCode, 0);
  assert.notEqual((await run('work', 'echo "unclosed')).exitCode, 0);
  assert.equal((await run('work', 'echo $FOO')).stdout, 'bar\n');
});
test('getSession and getSessionCommand', async () => {
  const { commands } = await box.process.getSession('work');
  assert.equal(commands.length, 7);
  assert.equal(commands[3].command, '(exit 7)');
  assert.equal(commands[3].exitCode, 7);
  assert.deepEqual(await box.process.getSessionCommand('work', commands[3].id), commands[3]);
  await failsAs(DaytonaNotFoundError, box.process.getSessionCommand('work', 'nosuch'));
  assert.ok((await box.process.listSessions()).some(({ sessionId }) => sessionId === 'work'));
});
test('an asynchronous command, and its logs as they come', async () => {
  const { cmdId, exitCode } = await run('work', 'for i in 1 2 3; do echo out $i; echo err $i >&2; sleep 0.1; done; exit_with() { return 4; }; exit_with', { runAsync: true });
  assert.equal(exitCode, undefined);
  let out = '', errors = '';
  await box.process.getSessionCommandLogs('work', cmdId, (chunk) => { out += chunk; }, (chunk) => { errors += chunk; });
  assert.equal(out, 'out 1\nout 2\nout 3\n');
  assert.equal(errors, 'err 1\nerr 2\nerr 3\n');
  assert.equal((await until(async () => (await box.process.getSessionCommand('work', cmdId)).exitCode)), 4);
  const logs = await box.process.getSessionCommandLogs('work', cmdId);
  assert.equal(logs.stdout, out);
  assert.equal(logs.stderr, errors);
  assert.equal(logs.output.length, out.length + errors.length);
  let again = '';
  await box.process.getSessionCommandLogs('work', cmdId, (chunk) => { again += chunk; }, () => {});
  assert.equal(again, out);
});
test('a command that waits for the one before it is known', async () => {
  const first = await run('work', 'read -r line', { runAsync: true });
  const second = await run('work', 'echo second', { runAsync: true });
  assert.deepEqual(await box.process.getSessionCommand('work', second.cmdId), { id: second.cmdId, command: 'echo second' });
  assert.deepEqual((await box.process.getSession('work')).commands.slice(-2).map(({ id }) => id), [first.cmdId, second.cmdId]);
  assert.equal((await box.process.getSessionCommandLogs('work', second.cmdId)).output, '');
  await failsAs(DaytonaConflictError, box.process.sendSessionCommandInput('work', second.cmdId, 'x\n'), /has not begun/);
  let out = '';
  const followed = box.process.getSessionCommandLogs('work', second.cmdId, (chunk) => { out += chunk; }, () => {});
  await box.process.sendSessionCommandInput('work', first.cmdId, 'go on\n');
  await followed;
  assert.equal(out, 'second\n');
  assert.equal(await until(async () => (await box.process.getSessionCommand('work', second.cmdId)).exitCode !== undefined), true);
});
test('sendSessionCommandInput', async () => {
  const { cmdId } = await run('work', 'read -r line; echo "got $line"', { runAsync: true });
  await box.process.sendSessionCommandInput('work', cmdId, 'a line\n');
  await until(async () => (await box.process.getSessionCommand('work', cmdId)).exitCode === 0);
  assert.equal((await box.process.getSessionCommandLogs('work', cmdId)).stdout, 'got a line\n');
  await failsAs(DaytonaCommandAlreadyCompletedError, box.process.sendSessionCommandInput('work', cmdId, 'more\n'));
});
test('input to a command that is just ending waits for nobody', async () => {
  await box.process.createSession('ending');
  // Its pipe is still there, and nobody has it open, for as long as this takes.
  await run('ending', 'rm() { sleep 2; command rm "$@"; }', {});
  const { cmdId } = await run('ending', 'read -r line', { runAsync: true });
  await box.process.sendSessionCommandInput('ending', cmdId, 'a line\n');
  const begun = Date.now();
  await box.process.sendSessionCommandInput('ending', cmdId, 'more\n').catch((error) => assert.ok(error instanceof DaytonaError));
  assert.ok(Date.now() - begun < 20000);
  await box.process.deleteSession('ending');
});
test('a session that has written more than is kept takes input', async () => {
  await box.process.createSession('long');
  await run('long', 'head -c 5M /dev/zero | tr "\\0" x; head -c 5M /dev/zero | tr "\\0" y >&2', { runAsync: true });
  const { cmdId } = await run('long', 'echo ready; read -r line; echo "got $line"', { runAsync: true });
  await until(async () => (await box.process.getSessionCommandLogs('long', cmdId)).stdout === 'ready\n');
  await box.process.sendSessionCommandInput('long', cmdId, 'a line\n');
  await until(async () => (await box.process.getSessionCommand('long', cmdId)).exitCode === 0);
  assert.equal((await box.process.getSessionCommandLogs('long', cmdId)).stdout, 'ready\ngot a line\n');
  await box.process.deleteSession('long');
});
test('a long command is told in part, and a longer one is refused', async () => {
  await box.process.createSession('words');
  await run('words', `: ${'x'.repeat(5000)}`);
  assert.equal((await box.process.getSession('words')).commands[0].command.length, 4096);
  await failsAs(DaytonaError, run('words', `: ${'x'.repeat(64 * 1024)}`), /command/);
  await box.process.deleteSession('words');
});
test('a session that ends itself', async () => {
  await box.process.createSession('short');
  const { exitCode, stdout } = await run('short', 'echo last; exit 5');
  assert.equal(exitCode, 5);
  assert.equal(stdout, 'last\n');
  await failsAs(DaytonaSessionEndedError, run('short', 'true'));
  assert.equal((await box.process.getSession('short')).commands[0].exitCode, 5);
  await box.process.deleteSession('short');
});
test('deleteSession ends what runs in it', async () => {
  await run('work', 'sleep 987 & true');
  await run('work', 'sleep 988', { runAsync: true });
  await box.process.deleteSession('work');
  await failsAs(DaytonaNotFoundError, box.process.getSession('work'));
  await until(async () => (await box.process.executeCommand('pgrep -f "^sleep 98[78]" || true')).result === '');
});
test('a sandbox without a program of its own has no entrypoint session', async () => {
  await failsAs(DaytonaNotFoundError, box.process.getEntrypointSession());
  await failsAs(DaytonaNotFoundError, box.process.getEntrypointLogs());
});

// ---- PTY ----

const seen = () => {
  const decoder = new TextDecoder();
  const all = { text: '', onData: (bytes) => { all.text += decoder.decode(bytes, { stream: true }); } };
  return all;
};
let pty;
test('createPty', async () => {
  const screen = seen();
  pty = await box.process.createPty({ id: '6f1c3a52-9d1b-4a0e-9b59-8a5b0f8f3a11', cols: 100, rows: 30, cwd: '/tmp', envs: { FOO: 'bär' }, onData: screen.onData });
  await pty.waitForConnection();
  await pty.sendInput('echo $FOO-$((6*7)); pwd; stty size\n');
  await until(() => screen.text.includes('bär-42') && screen.text.includes('/tmp') && screen.text.includes('30 100'));
});
test('listPtySessions and getPtySessionInfo', async () => {
  const [info] = await box.process.listPtySessions();
  assert.equal(info.id, '6f1c3a52-9d1b-4a0e-9b59-8a5b0f8f3a11');
  assert.deepEqual([info.cols, info.rows, info.cwd, info.active], [100, 30, '/tmp', true]);
  assert.deepEqual(info.envs, {});
  assert.deepEqual(await box.process.getPtySessionInfo(info.id), info);
  await failsAs(DaytonaNotFoundError, box.process.getPtySessionInfo('nosuch'));
});
test('resizePtySession', async () => {
  assert.equal(pty.isConnected(), true);
  assert.equal((await box.process.resizePtySession(pty.sessionId, 110, 35)).cols, 110);
  const info = await pty.resize(120, 40);
  assert.deepEqual([info.cols, info.rows], [120, 40]);
});
test('connectPty', async () => {
  const screen = seen();
  const other = await box.process.connectPty(pty.sessionId, { onData: screen.onData });
  await other.sendInput('stty size; echo two-$((1+1))\n');
  await until(() => screen.text.includes('40 120') && screen.text.includes('two-2'));
  await other.disconnect();
});
test('a PTY tells how it ended', async () => {
  await pty.sendInput('exit 3\n');
  assert.equal((await pty.wait()).exitCode, 3);
  assert.deepEqual([pty.exitCode, pty.error, pty.isConnected()], [3, undefined, false]);
  await pty.disconnect();
  assert.deepEqual(await box.process.listPtySessions(), []);
});
test('killPtySession', async () => {
  const handle = await box.process.createPty({ id: 'second', onData: () => {} });
  await assert.rejects(box.process.createPty({ id: 'second', onData: () => {} }));
  await handle.kill();
  assert.equal((await handle.wait()).exitCode, 137);
  await handle.disconnect();
  const third = await box.process.createPty({ id: 'third', onData: () => {} });
  await box.process.killPtySession('third');
  assert.equal((await third.wait()).exitCode, 137);
  await third.disconnect();
  await failsAs(DaytonaNotFoundError, box.process.killPtySession('nosuch'));
});

// ---- files ----

test('getUserHomeDir and getWorkDir', async () => {
  const home = await box.getUserHomeDir();
  assert.match(home, /^\//);
  assert.equal(await box.getUserRootDir(), home);
  assert.equal(`${await box.getWorkDir()}\n`, (await box.process.executeCommand('pwd')).result);
});
test('createFolder', async () => {
  await box.fs.createFolder('files/deep', '0750');
  const details = await box.fs.getFileDetails('files/deep');
  assert.equal(details.isDir, true);
  assert.equal(details.permissions, '0750');
  assert.equal(details.mode, 'drwxr-x---');
  assert.ok(Date.now() - new Date(details.modifiedAt) < 60000);
});
test('uploadFile and downloadFile', async () => {
  await box.fs.uploadFile(Buffer.from('hello world'), 'files/hello.txt');
  assert.equal((await box.fs.downloadFile('files/hello.txt')).toString(), 'hello world');
  assert.equal((await box.fs.downloadFile(`${await box.getWorkDir()}/files/hello.txt`)).toString(), 'hello world');
});
test('uploadFile of a local file, downloadFile to one', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'daytona-'));
  try {
    const bytes = randomBytes(3 * 1024 * 1024);
    await writeFile(join(folder, 'up'), bytes);
    await box.fs.uploadFile(join(folder, 'up'), 'files/big');
    await box.fs.downloadFile('files/big', join(folder, 'down'));
    assert.ok(bytes.equals(await readFile(join(folder, 'down'))));
  } finally {
    await rm(folder, { recursive: true });
  }
});
test('uploadFiles and downloadFiles', async () => {
  const names = ['files/a.txt', 'files/größe "x".txt', 'files/empty'];
  await box.fs.uploadFiles(names.map((destination, i) => ({ source: Buffer.from('x'.repeat(2 - i)), destination })));
  const results = await box.fs.downloadFiles([...names.slice(0, 2), 'files/nosuch'].map((source) => ({ source })));
  assert.deepEqual(results.map(({ source, result }) => [source, result?.toString()]),
    [[names[0], 'xx'], [names[1], 'x'], ['files/nosuch', undefined]]);
  assert.equal(results[2].errorDetails.code, 'FILE_NOT_FOUND');
  assert.equal((await box.fs.getFileDetails('files/empty')).size, 0);
});
test('uploadFileStream and downloadFileStream', async () => {
  const sent = [];
  await box.fs.uploadFileStream(Readable.from(['one ', 'two']), 'files/streamed', { onProgress: ({ bytesSent }) => sent.push(bytesSent) });
  const stream = await box.fs.downloadFileStream('files/streamed');
  let text = '';
  for await (const chunk of stream) text += chunk;
  assert.equal(text, 'one two');
  await failsAs(DaytonaFileNotFoundError, box.fs.downloadFileStream('files/nosuch'));
});
test('a file that is not there', async () => {
  await failsAs(DaytonaFileNotFoundError, box.fs.downloadFile('files/nosuch'));
  await failsAs(DaytonaFileNotFoundError, box.fs.getFileDetails('files/nosuch'));
  await failsAs(DaytonaFileNotFoundError, box.fs.listFiles('files/nosuch'));
  await failsAs(DaytonaFileNotFoundError, box.fs.setFilePermissions('files/nosuch', { mode: '600' }));
});
test('listFiles', async () => {
  const names = (await box.fs.listFiles('files')).map(({ name }) => name);
  assert.ok(names.includes('hello.txt') && names.includes('deep'));
  await box.fs.uploadFile(Buffer.from('inner'), 'files/deep/inner.txt');
  const deep = await box.fs.listFiles('files', { depth: 2 });
  assert.ok(deep.some(({ name, size, isDir }) => name === 'inner.txt' && size === 5 && !isDir));
});
test('searchFiles', async () => {
  const { files } = await box.fs.searchFiles('files', '*.txt');
  assert.ok(files.some((path) => path.endsWith('/files/hello.txt')));
  assert.ok(files.some((path) => path.endsWith('/files/deep/inner.txt')));
});
test('findFiles', async () => {
  await box.fs.uploadFile(Buffer.from('one\ntwo (2)\n'), 'files/find.txt');
  const found = await box.fs.findFiles('files', 'two (2)');
  assert.equal(found.length, 1);
  assert.match(found[0].file, /\/files\/find\.txt$/);
  assert.equal(found[0].line, 2);
  assert.equal(found[0].content, 'two (2)');
  assert.equal((await box.fs.findFiles('files/find.txt', 'one')).length, 1);
});
test('replaceInFiles', async () => {
  const results = await box.fs.replaceInFiles(['files/find.txt', 'files/nosuch'], 'two (2)', '2');
  assert.equal(results[0].success, true);
  assert.equal(results[1].success, false);
  assert.match(results[1].error, /nosuch|no such/i);
  assert.equal((await box.fs.downloadFile('files/find.txt')).toString(), 'one\n2\n');
});
test('setFilePermissions', async () => {
  await box.fs.setFilePermissions('files/find.txt', { mode: '600' });
  const { permissions, owner, group } = await box.fs.getFileDetails('files/find.txt');
  assert.deepEqual([permissions, owner, group], ['0600', '1000', '1000']);
  await failsAs(DaytonaError, box.fs.setFilePermissions('files/find.txt', { mode: '9' }), /mode/);
  await failsAs(DaytonaError, box.fs.setFilePermissions('files/find.txt', { owner: 'no body' }), /owner/);
});
test('uploadUrl, downloadUrl and rotateSigningKey', async () => {
  const form = new FormData();
  form.append('file', new Blob(['signed']), 'whatever.txt');
  const up = await fetch(await box.uploadUrl('files/signed.txt', 60), { method: 'POST', body: form });
  assert.equal(up.status, 200);
  assert.equal((await up.json()).name, 'signed.txt');
  const url = await box.downloadUrl('files/signed.txt');
  assert.equal(await (await fetch(url)).text(), 'signed');
  assert.equal(await (await fetch(await box.downloadUrl('files/signed.txt', 0))).text(), 'signed');
  for (const wrong of [url.replace('signed.txt', 'hello.txt'), url.replace(/expires=\d+/, 'expires=9999999999'), url.replace(/expires=\d+/, 'expires=1'),
    url.replace(/v1_./, 'v1_~'), url.replace('v1_', ''), url.replace('/download', '/upload-v2'), url.replace(box.id, 'nosuch')]) {
    const answer = await fetch(wrong, { method: wrong.includes('upload') ? 'POST' : 'GET', body: wrong.includes('upload') ? form : undefined });
    assert.equal(answer.status, 401, wrong);
  }
  await box.rotateSigningKey();
  assert.equal((await fetch(url)).status, 401);
  assert.equal(await (await fetch(await box.downloadUrl('files/signed.txt'))).text(), 'signed');
});
test('moveFiles', async () => {
  await box.fs.moveFiles('files/find.txt', 'files/moved.txt');
  assert.equal((await box.fs.downloadFile('files/moved.txt')).toString(), 'one\n2\n');
});
test('deleteFile', async () => {
  await box.fs.deleteFile('files/moved.txt');
  await failsAs(DaytonaFileNotFoundError, box.fs.getFileDetails('files/moved.txt'));
  await failsAs(DaytonaError, box.fs.deleteFile('files'));
  await box.fs.deleteFile('files', true);
  await failsAs(DaytonaFileNotFoundError, box.fs.getFileDetails('files'));
});

// ---- git ----

const repository = 'git/work';
test('git.init, configureUser, setConfig and getConfig', async () => {
  await box.git.configureUser('Tester', 'tester@example.com');
  assert.equal(await box.git.getConfig('user.name'), 'Tester');
  assert.equal(await box.git.getConfig('user.nosuch'), undefined);
  await box.git.init('git/bare.git', true);
  await box.git.init(repository, false, 'main');
  await box.git.setConfig('core.autocrlf', 'false', 'local', repository);
  assert.equal(await box.git.getConfig('core.autocrlf', 'local', repository), 'false');
});
test('git.status, add and commit', async () => {
  await box.fs.uploadFile(Buffer.from('one\n'), `${repository}/one`);
  let status = await box.git.status(repository);
  assert.equal(status.currentBranch, 'main');
  assert.deepEqual(status.fileStatus, [{ name: 'one', staging: 'Untracked', worktree: 'Untracked', extra: '' }]);
  await box.git.add(repository, ['one']);
  status = await box.git.status(repository);
  assert.equal(status.fileStatus[0].staging, 'Added');
  const { sha } = await box.git.commit(repository, 'first', 'An Author', 'author@example.com');
  assert.match(sha, /^[0-9a-f]{40}$/);
  assert.deepEqual((await box.git.status(repository)).fileStatus, []);
  await failsAs(DaytonaConflictError, box.git.commit(repository, 'nothing', 'A', 'a@b'), /nothing to commit|clean/);
  assert.notEqual((await box.git.commit(repository, 'empty', 'A', 'a@b', true)).sha, sha);
});
test('git.createBranch, branches, checkoutBranch and deleteBranch', async () => {
  await box.git.createBranch(repository, 'feature');
  assert.deepEqual(await box.git.branches(repository), { current: 'feature', branches: ['feature', 'main'] });
  await failsAs(DaytonaGitBranchExistsError, box.git.createBranch(repository, 'feature'));
  await box.git.checkoutBranch(repository, 'main');
  await box.git.deleteBranch(repository, 'feature');
  assert.deepEqual((await box.git.branches(repository)).branches, ['main']);
  await failsAs(DaytonaGitBranchNotFoundError, box.git.checkoutBranch(repository, 'nosuch'));
});
test('git.remoteAdd, remotes, remoteGet, push, clone and pull', async () => {
  const bare = `${await box.getWorkDir()}/git/bare.git`.replace('//', '/');
  await box.git.remoteAdd(repository, 'origin', bare);
  assert.equal(await box.git.remoteGet(repository, 'origin'), bare);
  assert.deepEqual((await box.git.remotes(repository)).remotes, [{ name: 'origin', url: bare }]);
  await failsAs(DaytonaConflictError, box.git.remoteAdd(repository, 'origin', bare));
  await box.git.push(repository, undefined, undefined, undefined, undefined, true);
  await box.git.clone(bare, 'git/clone', 'main', undefined, undefined, undefined, undefined, 1);
  await box.fs.uploadFile(Buffer.from('two\n'), `${repository}/two`);
  await box.git.add(repository, ['.']);
  const { sha } = await box.git.commit(repository, 'second', 'A', 'a@b');
  assert.equal((await box.git.status(repository)).ahead, 1);
  await box.git.push(repository);
  assert.equal((await box.git.status(repository)).ahead, 0);
  await box.git.pull('git/clone');
  assert.equal((await box.fs.downloadFile('git/clone/two')).toString(), 'two\n');
  await box.git.clone(bare, 'git/at', undefined, sha);
  assert.equal((await box.git.status('git/at')).detached, true);
  assert.equal((await box.git.status('git/clone')).branchPublished, true);
});
test('git.push that is rejected, pull that conflicts', async () => {
  for (const [path, text] of [[repository, 'here'], ['git/clone', 'there']]) {
    await box.fs.uploadFile(Buffer.from(text), `${path}/clash`);
    await box.git.add(path, ['clash']);
    await box.git.commit(path, text, 'A', 'a@b');
  }
  await box.git.push(repository);
  await failsAs(DaytonaGitPushRejectedError, box.git.push('git/clone'));
  await failsAs(DaytonaGitMergeConflictError, box.git.pull('git/clone'));
  assert.ok((await box.git.status('git/clone')).fileStatus.some(({ name, staging }) => name === 'clash' && staging === 'Updated but unmerged'));
});
test('git.reset and restore', async () => {
  await box.git.reset('git/clone', 'hard', 'HEAD');
  assert.deepEqual((await box.git.status('git/clone')).fileStatus, []);
  await box.fs.uploadFile(Buffer.from('changed'), `${repository}/one`);
  await box.git.add(repository, ['one']);
  await box.git.reset(repository, undefined, undefined, ['one']);
  assert.equal((await box.git.status(repository)).fileStatus[0].worktree, 'Modified');
  await box.git.restore(repository, ['one']);
  assert.deepEqual((await box.git.status(repository)).fileStatus, []);
});
test('git of what is no repository', async () => {
  await failsAs(DaytonaGitRepoNotFoundError, box.git.status('/etc'));
  await failsAs(DaytonaGitRepoNotFoundError, box.git.branches('git/nosuch'));
});
test('git.dangerouslyAuthenticate keeps a login in memory', async () => {
  await box.git.dangerouslyAuthenticate('me', 'kept-s3cret', 'example.com');
  const filled = await box.process.executeCommand("printf 'protocol=https\\nhost=example.com\\n\\n' | git credential fill");
  assert.match(filled.result, /password=kept-s3cret/);
  assert.equal((await box.process.executeCommand('grep -rl kept-s3cret ~/.git* ~/.config 2>/dev/null || true')).result, '');
});

// ---- previews ----

test('getPreviewLink', async () => {
  const sandbox = await create({ networkBlockAll: false });
  await sandbox.process.executeCommand('mkdir -p www/sub && echo seen > www/sub/page && cd www && (python3 -m http.server 3000 >/dev/null 2>&1 &) && sleep 0.1');
  const { url, token } = await sandbox.getPreviewLink(3000);
  const see = async (address, options) => {
    for (let i = 0; i < 300; i++) {
      const answer = await fetch(address, options);
      if (answer.status < 502) return answer;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return assert.fail('no server');
  };
  const headers = { 'X-Daytona-Preview-Token': token };
  assert.equal(await (await see(`${url}/sub/page`, { headers })).text(), 'seen\n');
  assert.equal((await see(`${url}`, { headers })).status, 200);
  assert.equal(await (await see(`${url}/sub/page?DAYTONA_SANDBOX_AUTH_KEY=${token}`)).text(), 'seen\n');
  assert.equal(await (await see(`${url}/sub/page`, { headers: { Cookie: `daytona-sandbox-auth-${sandbox.id}=${token}` } })).text(), 'seen\n');
  assert.equal(await (await see(`${url}/sub/page`, { headers: { Authorization: `Bearer ${process.env.DAYTONA_API_KEY}` } })).text(), 'seen\n');
  assert.equal((await see(`${url}/sub/page`)).status, 401);
  assert.equal((await see(url.replace('/3000', '/5173') + '/sub/page', { headers })).status, 401);

  const [signed, other] = [await sandbox.getSignedPreviewUrl(3000, 300), await sandbox.getSignedPreviewUrl(3000, 200)];
  for (const one of [signed, other]) assert.equal(await (await see(`${one.url}sub/page`)).text(), 'seen\n');
  await sandbox.expireSignedPreviewUrl(3000, signed.token);
  for (const one of [signed, other]) assert.ok((await see(`${one.url}sub/page`)).status >= 400);
  await failsAs(DaytonaError, sandbox.getPreviewLink(99), /99/);
  await failsAs(DaytonaError, box.getPreviewLink(3000), /network/);
  await sandbox.delete();
});

// ---- volumes ----

test('volumes', async () => {
  const volume = await daytona.volume.create('shared');
  assert.equal(volume.state, 'ready');
  assert.equal((await daytona.volume.get('shared')).id, volume.id);
  assert.equal((await daytona.volume.get('other', true)).name, 'other');
  assert.deepEqual((await daytona.volume.list()).map(({ name }) => name).sort(), ['other', 'shared']);
  await failsAs(DaytonaNotFoundError, daytona.volume.get('nosuch'));
  const sandbox = await create({ volumes: [{ volumeId: volume.id, mountPath: '/data' }] });
  assert.deepEqual(sandbox.volumes, [{ volumeId: volume.id, mountPath: '/data' }]);
  await sandbox.process.executeCommand('echo kept > /data/kept');
  await failsAs(DaytonaError, daytona.volume.delete(volume), /shared|attached|in use/);
  await failsAs(DaytonaConflictError, create({ volumes: [{ volumeId: volume.id, mountPath: '/data' }] }), /shared/);
  const parts = await create({ volumes: [{ volumeId: 'other', mountPath: '/other', subpath: 'users/alice' }] });
  assert.equal(parts.volumes[0].subpath, 'users/alice');
  await parts.process.executeCommand('echo hers > /other/own');
  await parts.delete();
  const other = await create({ volumes: [{ volumeId: 'other', mountPath: '/other' }] });
  assert.equal((await other.process.executeCommand('cat /other/users/alice/own')).result, 'hers\n');
  await other.delete();
  await failsAs(DaytonaValidationError, create({ volumes: [{ volumeId: 'other', mountPath: '/other', subpath: '../up' }] }), /not a folder of a volume/);
  await sandbox.delete();
  const next = await create({ volumes: [{ volumeId: 'shared', mountPath: '/data' }] });
  assert.equal((await next.process.executeCommand('cat /data/kept')).result, 'kept\n');
  await next.delete();
  await daytona.volume.delete(volume);
  await failsAs(DaytonaNotFoundError, daytona.volume.get('shared'));
});

// ---- snapshots and forks ----

test('createSnapshot, and create from it', async () => {
  await box.process.executeCommand('echo taken > taken');
  await box.createSnapshot('first');
  const snapshot = await daytona.snapshot.get('first');
  assert.equal(snapshot.state, 'active');
  assert.equal(snapshot.sourceSandboxId, box.id);
  const page = await daytona.snapshot.list();
  assert.ok(page.items.some(({ name }) => name === 'first') && page.items.some(({ name, general }) => name === 'host' && general));
  assert.equal(page.total, page.items.length);
  assert.deepEqual((await daytona.snapshot.list({ sourceSandboxId: box.id })).items.map(({ name }) => name), ['first']);
  assert.equal((await daytona.snapshot.list(2, 1)).items.length, 1);
  const sandbox = await create({ snapshot: 'first' });
  assert.equal((await sandbox.process.executeCommand('cat taken')).result, 'taken\n');
  await sandbox.delete();
  assert.equal((await daytona.snapshot.activate(snapshot)).state, 'active');
  await daytona.snapshot.delete(snapshot);
  await failsAs(DaytonaNotFoundError, daytona.snapshot.get('first'));
});
test('create from a template by name', async () => {
  const sandbox = await create({ snapshot: 'host' });
  assert.equal(sandbox.snapshot, 'host');
  await sandbox.delete();
});
test('fork', async () => {
  await box.process.executeCommand('echo before > forked');
  const fork = await box.fork({ name: 'forked' });
  made.push(fork);
  assert.equal(fork.name, 'forked');
  assert.equal((await fork.process.executeCommand('cat forked; echo after > forked')).result, 'before\n');
  assert.equal((await box.process.executeCommand('cat forked')).result, 'before\n');
  await fork.delete();
  const other = await daytona.fork(box, { name: 'other-fork' });
  made.push(other);
  assert.equal((await other.process.executeCommand('cat forked')).result, 'before\n');
  await daytona.stop(other);
  await daytona.start(other);
  assert.equal(other.state, 'started');
  await other.delete();
});
test('warmPool', async () => {
  const snapshot = await daytona.snapshot.create({ name: 'pooled', image: Image.base('host').runCommands('true') });
  const pool = await daytona.warmPool.create({ snapshot: 'pooled', pool: 1 });
  assert.deepEqual([pool.snapshot, pool.pool, pool.target, pool.env], ['pooled', 1, 'local', {}]);
  assert.ok(pool.cpu > 0 && pool.mem > 0 && pool.disk > 0 && pool.osUser);
  await failsAs(DaytonaConflictError, daytona.warmPool.create({ snapshot: 'pooled', pool: 2 }), /pooled/);
  await failsAs(DaytonaNotFoundError, daytona.warmPool.create({ snapshot: 'nosuch', pool: 1 }), /nosuch/);
  await failsAs(DaytonaValidationError, daytona.warmPool.create({ snapshot: 'pooled', pool: 1000 }), /pool/);
  await failsAs(DaytonaValidationError, daytona.warmPool.create({ snapshot: 'host', pool: 1, target: 'moon' }), /target/);
  await until(async () => (await daytona.warmPool.list()).find(({ id }) => id === pool.id)?.currentSize === 1);
  assert.equal((await daytona.warmPool.update(pool.id, { pool: 2 })).pool, 2);
  await daytona.warmPool.delete(pool.id);
  assert.ok(!(await daytona.warmPool.list()).some(({ id }) => id === pool.id));
  await failsAs(DaytonaNotFoundError, daytona.warmPool.delete(pool.id), /no warm pool/);
  await daytona.snapshot.delete(snapshot);
});
test('resize', async () => {
  const sandbox = await create({ image: 'host', resources: { cpu: 1, memory: 1 } });
  await sandbox.resize({ cpu: 2, memory: 2 });
  assert.equal(sandbox.cpu, 2);
  assert.equal(sandbox.memory, 2);
  assert.equal((await sandbox.getMetricsLatest()).memTotal, 2 * 1024 ** 3);
  await sandbox.process.executeCommand('head -c 60M /dev/zero > /tmp/held');
  await failsAs(DaytonaConflictError, sandbox.resize({ memory: 0.03125 }), /uses \d+ MiB/);
  const { disk } = sandbox;
  await failsAs(DaytonaConflictError, sandbox.resize({ disk: disk + 1 }), /while it is stopped/);
  await failsAs(DaytonaError, sandbox.resize({ cpu: 2000 }), /cpu/);
  await sandbox.stop();
  await failsAs(DaytonaConflictError, sandbox.resize({ disk: disk / 2 }), /only grows/);
  await sandbox.resize({ cpu: 1, disk: disk + 1 });
  assert.equal(sandbox.disk, disk + 1);
  await sandbox.start();
  await sandbox.refreshData();
  assert.equal(sandbox.cpu, 1);
  assert.equal(sandbox.memory, 2);
  assert.equal(sandbox.disk, disk + 1);
  await sandbox.delete();
});
test('updateEnv', async () => {
  const sandbox = await create({ envVars: { A: 'a', B: 'b' } });
  await sandbox.process.createSession('before');
  await sandbox.updateEnv({ B: 'new', C: 'c' }, { unset: ['A'] });
  const told = 'echo "$A-$B-$C"';
  assert.equal((await sandbox.process.executeCommand(told)).result, '-new-c\n');
  assert.equal((await sandbox.process.executeSessionCommand('before', { command: told })).stdout, 'a-b-\n');
  await sandbox.process.createSession('after');
  assert.equal((await sandbox.process.executeSessionCommand('after', { command: told })).stdout, '-new-c\n');
  await sandbox.refreshData();
  assert.deepEqual(sandbox.env, { B: 'new', C: 'c' });
  await sandbox.stop();
  await sandbox.start();
  assert.equal((await sandbox.process.executeCommand(told)).result, '-new-c\n');
  await failsAs(DaytonaValidationError, sandbox.updateEnv({ 'no=name': 'x' }));
  await sandbox.delete();
});

// ---- language servers ----

test('a language server of the image', async () => {
  const sandbox = await create({ envVars: { PATH: '/home/user/bin:/usr/bin:/bin' } });
  const server = await sandbox.createLspServer('python', 'src');
  await sandbox.fs.createFolder('src', '755');
  // The machine may have Debian's, which test_daytona.py talks to.
  const isThere = (await sandbox.process.executeCommand('command -v pylsp')).exitCode === 0;
  if (!isThere) await failsAs(DaytonaError, server.start(), /no language server 'pylsp'/);
  await failsAs(DaytonaNotFoundError, server.documentSymbols('src/a b.py'), /start it first/);
  await sandbox.fs.uploadFile(await readFile(new URL('language_server.py', import.meta.url)), '/home/user/bin/pylsp');
  await sandbox.fs.setFilePermissions('/home/user/bin/pylsp', { mode: '755' });
  const path = `${await sandbox.getWorkDir()}/src/a b.py`;
  await sandbox.fs.uploadFile(Buffer.from(`def outer():\n    def inner(): pass\n${'# a long line\n'.repeat(5000)}`), path);
  await Promise.all([server.start(), server.start(), server.start()]);
  await server.start();
  assert.equal((await sandbox.process.executeCommand('pgrep -fc "^python3 .*/bin/pyls[p]"')).result, '1\n');
  await failsAs(DaytonaConflictError, server.documentSymbols(path), /no document file:\/\/.*a%20b.py/);
  await server.didOpen(path);
  const symbols = await server.documentSymbols(path);
  assert.deepEqual(symbols.map(({ name, kind, location }) => [name, kind, location.range.start.line]), [['outer', 12, 0], ['inner', 12, 1]]);
  assert.match(symbols[1].location.uri, /^file:\/\/.*\/src\/a%20b\.py$/);
  assert.deepEqual((await server.sandboxSymbols('inn')).map(({ name }) => name), ['inner']);
  assert.deepEqual((await server.workspaceSymbols('out')).map(({ name }) => name), ['outer']);
  assert.deepEqual(await server.completions(path, { line: 7, character: 2 }), { isIncomplete: false, items: [{ label: 'outer', kind: 3, detail: 'at 7' }, { label: 'inner', kind: 3, detail: 'at 7' }] });
  await sandbox.fs.uploadFile(Buffer.alloc(129 * 1024, 'x'), 'src/long.py');
  await failsAs(DaytonaError, server.didOpen(`${await sandbox.getWorkDir()}/src/long.py`), /long\.py/);
  await server.didClose(path);
  await failsAs(DaytonaConflictError, server.completions(path, { line: 0, character: 0 }), /no document/);
  await server.stop();
  await failsAs(DaytonaNotFoundError, server.sandboxSymbols('x'), /start it first/);
  await sandbox.delete();
});

// ---- images ----

test('snapshot.create builds an image', async () => {
  const image = Image.base('host').env({ FROM_IMAGE: 'yes' }).runCommands('echo built > /home/user/built', 'echo said by a step').workdir('/home/user');
  const logs = [];
  const snapshot = await daytona.snapshot.create({ name: 'built', image, resources: { cpu: 1, memory: 1, disk: 1 } }, { onLogs: (chunk) => logs.push(chunk) });
  assert.equal(snapshot.state, 'active');
  assert.match(logs.join('\n'), /said by a step/);
  const sandbox = await create({ snapshot: 'built' });
  assert.equal((await sandbox.process.executeCommand('cat built; echo $FROM_IMAGE')).result, 'built\nyes\n');
  assert.equal(sandbox.snapshot, 'built');
  await failsAs(DaytonaConflictError, daytona.snapshot.create({ name: 'built', image }), /built/);
  await failsAs(DaytonaValidationError, daytona.snapshot.create({ name: 'Built:1', image }), /name/);
  await sandbox.delete();
  await daytona.snapshot.delete(snapshot);
  await failsAs(DaytonaNotFoundError, daytona.snapshot.get('built'));
});
test('an image that installs packages of Python', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'daytona-'));
  try {
    await writeFile(join(folder, 'pyproject.toml'), '[project]\nname = "x"\nversion = "1"\ndependencies = ["second"]\n');
    // No package index is here: what the image has for a Python says what it was asked for.
    const image = Image.base('host').env({ PATH: '/home/user/bin:/usr/bin:/bin' })
      .runCommands('mkdir /home/user/bin', 'printf \'#!/bin/sh\\necho "$*" >>/home/user/asked\\n\' >/home/user/bin/python', 'chmod +x /home/user/bin/python')
      .pipInstall(['first'], { pre: true }).pipInstallFromPyproject(join(folder, 'pyproject.toml'));
    const sandbox = await create({ image });
    assert.equal((await sandbox.process.executeCommand('cat /home/user/asked')).result, '-m pip install first --pre\n-m pip install second\n');
    await sandbox.delete();
  } finally {
    await rm(folder, { recursive: true });
  }
  assert.match(Image.debianSlim('3.12').dockerfile, /^FROM python:3\.12[^\n]*-slim-bookworm\n/);
});
test('an image of a Dockerfile, with a program of its own', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'daytona-'));
  try {
    await writeFile(join(folder, 'Dockerfile'), 'FROM host\nRUN echo from a file > /home/user/from\n');
    const image = Image.fromDockerfile(join(folder, 'Dockerfile')).dockerfileCommands(['ENV MORE=yes']).entrypoint(['sh', '-c']).cmd(['echo the program says $MORE; sleep 1000']);
    const sandbox = await create({ image });
    assert.equal((await sandbox.process.executeCommand('cat /home/user/from')).result, 'from a file\n');
    const { sessionId, commands } = await sandbox.process.getEntrypointSession();
    assert.equal(sessionId, 'entrypoint');
    assert.match(commands[0].command, /the program says/);
    await until(async () => (await sandbox.process.getEntrypointLogs()).stdout === 'the program says yes\n');
    await sandbox.delete();
    await writeFile(join(folder, 'requirements.txt'), 'x\n');
    for (const refused of [Image.base('host').pipInstallFromRequirements(join(folder, 'requirements.txt')), Image.base('host').addLocalDir(folder, '/x')]) {
      await failsAs(DaytonaError, create({ image: refused }), /files of an image/);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});
test('snapshot.create tells why an image cannot be built', async () => {
  await assert.rejects(daytona.snapshot.create({ name: 'broken', image: Image.base('host').runCommands('exit 3') }), /Reason: .*3/);
  const broken = await daytona.snapshot.get('broken');
  assert.equal(broken.state, 'build_failed');
  await daytona.snapshot.delete(broken);
  await failsAs(DaytonaNotFoundError, daytona.snapshot.get('broken'));
  await failsAs(DaytonaError, daytona.snapshot.create({ name: 'x', image: Image.base('host').addLocalFile('package.json', '/x') }), /files of an image/);
});
test('create with an image', async () => {
  const image = Image.base('host').runCommands('echo said by its step; echo image > /home/user/of');
  const logs = [];
  const sandbox = await daytona.create({ image, networkBlockAll: true, labels: { of: 'image' } }, { timeout: 60, onSnapshotCreateLogs: (chunk) => logs.push(chunk) });
  made.push(sandbox);
  assert.equal(sandbox.state, 'started');
  assert.equal(sandbox.labels.of, 'image');
  assert.equal((await sandbox.process.executeCommand('cat /home/user/of')).result, 'image\n');
  assert.match(logs.join('\n'), /said by its step/);
  assert.match(sandbox.snapshot, /^daytona-/);
  const again = await create({ image });
  assert.equal(again.snapshot, sandbox.snapshot);
  await again.delete();
  await sandbox.delete();
  await assert.rejects(create({ image: Image.base('host').runCommands('exit 4') }), /build/i);
});
test('updateNetworkSettings', async () => {
  await box.updateNetworkSettings({ networkBlockAll: true });
  await failsAs(DaytonaError, box.updateNetworkSettings({ networkBlockAll: false }), /without a network/);
  const sandbox = await create({ networkBlockAll: false, networkAllowList: '198.51.100.0/24, 203.0.113.7' });
  assert.equal(sandbox.networkAllowList, '198.51.100.0/24,203.0.113.7');
  assert.equal(sandbox.networkBlockAll, false);
  await sandbox.updateNetworkSettings({ networkBlockAll: true });
  assert.equal(sandbox.networkBlockAll, true);
  assert.equal(sandbox.networkAllowList, undefined);
  await sandbox.updateNetworkSettings({ networkAllowList: '192.0.2.1' });
  assert.equal(sandbox.networkBlockAll, false);
  assert.equal(sandbox.networkAllowList, '192.0.2.1');
  await sandbox.updateNetworkSettings({ networkBlockAll: false, networkAllowList: '' });
  await sandbox.refreshData();
  assert.equal(sandbox.networkBlockAll, false);
  assert.equal(sandbox.networkAllowList, undefined);
  await failsAs(DaytonaError, sandbox.updateNetworkSettings({ networkAllowList: 'example.com' }), /networkAllowList/);
  await sandbox.updateNetworkSettings({ domainAllowList: 'example.com, *.example.org', networkAllowList: '192.0.2.1' });
  await sandbox.refreshData();
  assert.equal(sandbox.networkAllowList, '192.0.2.1');
  assert.equal(sandbox.domainAllowList, 'example.com,*.example.org');
  await failsAs(DaytonaError, sandbox.updateNetworkSettings({ domainAllowList: '192.0.2.1' }), /domainAllowList/);
  await sandbox.delete();
});
test('getMetricsLatest and getMetrics', async () => {
  const latest = await box.getMetricsLatest();
  assert.ok(latest.memTotal > 0 && latest.memUsed > 0 && latest.cpuCount > 0);
  const points = await box.getMetrics();
  assert.ok(points.length > 0 && points.every(({ memTotal, cpuCount }) => memTotal > 0 && cpuCount > 0));
});
test('secret.*: kept, listed, replaced, deleted, and never told', async () => {
  const { secret } = daytona;
  const first = await secret.create({ name: 'FIRST_key', value: 'hidden-value', description: 'one', hosts: ['api.example.com', '*.example.com'] });
  assert.equal(first.placeholder, `dtn_secret_${first.id}`);
  assert.deepEqual(first.hosts, ['api.example.com', '*.example.com']);
  await failsAs(DaytonaConflictError, secret.create({ name: 'FIRST_key', value: 'x' }));
  await failsAs(DaytonaValidationError, secret.create({ name: '1st', value: 'x' }), /name/);
  await failsAs(DaytonaValidationError, secret.create({ name: 'ports', value: 'x', hosts: ['example.com:80'] }), /hosts/);
  const second = await secret.create({ name: 'second', value: 'y' });
  assert.deepEqual(second.hosts, []);
  const changed = await secret.update(first.id, { description: 'other' });
  assert.equal(changed.description, 'other');
  assert.deepEqual((await secret.update(first.id, { value: 'hidden-too', hosts: [] })).hosts, []);
  assert.equal((await secret.get(first.id)).description, 'other');
  const page = await secret.list({ limit: 1, sort: 'name', order: 'asc' });
  assert.deepEqual([page.items.map(({ name }) => name), page.total], [['FIRST_key'], 2]);
  const rest = await secret.list({ limit: 1, sort: 'name', order: 'asc', cursor: page.nextCursor });
  assert.deepEqual([rest.items.map(({ name }) => name), rest.nextCursor], [['second'], null]);
  const all = await secret.list();
  assert.deepEqual(all.items.map(({ name }) => name), ['second', 'FIRST_key']);
  assert.ok(!JSON.stringify(all).includes('hidden'));
  assert.deepEqual((await secret.list({ name: 'first' })).items.map(({ id }) => id), [first.id]);
  for (const { id } of [first, second]) await secret.delete(id);
  for (const call of ['get', 'delete']) await failsAs(DaytonaNotFoundError, secret[call](first.id));
});
test('secrets of a sandbox: attached, replaced, detached', async () => {
  const { secret } = daytona;
  const one = await secret.create({ name: 'attached-one', value: 'hidden-value', hosts: ['api.example.com'] });
  const two = await secret.create({ name: 'attached-two', value: 'hidden-value', hosts: ['*.example.com'] });
  const sandbox = await create({ secrets: { ONE: 'attached-one' } });
  const told = async () => (await sandbox.process.executeCommand('echo "$ONE-$TWO"')).result.trim();
  assert.equal(await told(), `${one.placeholder}-`);
  await sandbox.updateSecrets({ TWO: 'attached-two' });
  assert.equal(await told(), `-${two.placeholder}`);
  await sandbox.updateSecrets({});
  assert.equal(await told(), '-');
  await failsAs(DaytonaNotFoundError, sandbox.updateSecrets({ A: 'no-such' }), /no-such/);
  await failsAs(DaytonaNotFoundError, create({ secrets: { A: 'no-such' } }), /no-such/);
  for (const { id } of [one, two]) await secret.delete(id);
});
test('ssh and computer use are refused by name', async () => {
  for (const [name, options] of Object.entries({ gpu: { image: 'host', resources: { gpu: 1 } }, linkedSandbox: { linkedSandbox: box.id }, outboundProxyUrl: { outboundProxyUrl: 'http://198.51.100.7' } })) {
    await assert.rejects(create(options), (error) => error.statusCode === 501 && error.message.includes(name));
  }
  await failsAs(DaytonaError, box.createSshAccess(), /ssh/);
  await failsAs(DaytonaError, box.validateSshAccess('token'), /ssh/);
  await failsAs(DaytonaError, box.revokeSshAccess('token'), /ssh/);
  const { mouse, keyboard, screenshot, display, accessibility, recording } = box.computerUse;
  let calls = 0;
  for (const part of [box.computerUse, mouse, keyboard, screenshot, display, accessibility, recording]) {
    for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(part)).filter((member) => member !== 'constructor')) {
      // Of what it would have streamed into a file it reads no error.
      await failsAs(DaytonaError, part[name]({ x: 1, y: 1, width: 1, height: 1 }, '2', '3', '4'), name === 'download' ? undefined : /desktop/);
      calls++;
    }
  }
  assert.ok(calls >= 30, `${calls} calls`);
});
test('every method of the client has been called', async () => {
  const others = {
    'Daytona._experimental_fork': 'the old name of fork',
    'Sandbox._experimental_fork': 'the old name of fork',
    'Sandbox._experimental_createSnapshot': 'the old name of createSnapshot',
    'ObjectStorage.upload': 'files of an image, which are refused before',
  };
  const missing = await uncalled(new URL('node_modules/@daytona/sdk/esm/', import.meta.url));
  assert.deepEqual(missing.filter((name) => !(name in others)), []);
});

for (const { name, run } of tests) {
  const started = Date.now();
  const result = { name };
  try {
    await run();
    result.ok = true;
  } catch (error) {
    Object.assign(result, { ok: false, error: describeError(error) });
  }
  console.log(JSON.stringify({ ...result, ms: Date.now() - started }));
}
for (const sandbox of made) await sandbox.delete().catch(() => {});
await daytona[Symbol.asyncDispose]();
process.exit(0);

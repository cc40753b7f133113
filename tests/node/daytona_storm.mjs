// SPDX-License-Identifier: Apache-2.0
// One client with many sandboxes at once: node daytona_storm.mjs NAME COUNT. It makes them, follows a command of each, breaks off the
// terminal of every fourth from here, and says "ready"; when it has read a line the streams have been broken off, and all of it must
// still be there. Says what it found.
import { once } from 'node:events';
import { Daytona } from '@daytona/sdk';

const [name, count] = [process.argv[2], Number(process.argv[3])];
const daytona = new Daytona();
const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const pause = () => new Promise((resolve) => setTimeout(resolve, 20));
// What takes longer hangs. A call has no limit of its own (0): on a busy machine its turn may come late.
const soon = (promise) => Promise.race([promise, new Promise((_, fail) => setTimeout(() => fail(new Error('it hangs')), 220_000))]);

let breakOff;
const brokenEarly = new Promise((_, fail) => { breakOff = fail; });

const follow = async (sandbox) => {
  await sandbox.process.createSession('storm');
  const { cmdId } = await sandbox.process.executeSessionCommand('storm', { command: 'echo begun; sleep 1000', runAsync: true });
  let ended;
  await new Promise((begun) => {
    ended = sandbox.process.getSessionCommandLogs('storm', cmdId, begun, () => {}).then(() => 'ended', (error) => error)
      .then((why) => breakOff(new Error(`${sandbox.id}: its stream is over: ${why}`)));
  });
  await sandbox.fs.uploadFile(Buffer.from(`${name} ${sandbox.id}`), 'storm.txt');
  return { sandbox, cmdId, ended };
};
const leaveTerminal = async ({ sandbox }) => {
  let text = '';
  const terminal = await sandbox.process.createPty({ id: 'broken', onData: (data) => { text += Buffer.from(data).toString(); } });
  await terminal.waitForConnection();
  await terminal.sendInput('left=behind\n');
  while (!text.includes('left=behind')) await pause();
  await terminal.disconnect();
};
const isThere = async ({ sandbox, cmdId }) => {
  const { commands } = await sandbox.process.getSession('storm');
  const logs = await sandbox.process.getSessionCommandLogs('storm', cmdId);
  const file = (await sandbox.fs.downloadFile('storm.txt')).toString();
  return commands.length === 1 && commands[0].exitCode === undefined && logs.stdout === 'begun\n' && file === `${name} ${sandbox.id}`;
};
const findTerminal = async ({ sandbox }) => {
  let text = '';
  const terminal = await sandbox.process.connectPty('broken', { onData: (data) => { text += Buffer.from(data).toString(); } });
  await terminal.waitForConnection();
  await terminal.sendInput('echo "<$left>"; exit 3\n');
  const { exitCode } = await terminal.wait();
  return exitCode === 3 && text.includes('<behind>');
};

const begin = async () => {
  const create = () => daytona.create({ networkBlockAll: true, labels: { storm: name } }, { timeout: 0 });
  const made = await Promise.all(Array.from({ length: count }, create));
  const followed = await Promise.all(made.map(follow));
  const left = followed.filter((_, i) => i % 4 === 0);
  await Promise.all(left.map(leaveTerminal));
  return { followed, left };
};
const goOn = async ({ followed, left }) => {
  const all = (of, run) => Promise.all(of.map(run));
  const countOf = async (of, run) => (await all(of, run)).filter(Boolean).length;
  await all(followed, ({ ended }) => ended);
  const kept = await countOf(followed, isThere);
  const terminals = await countOf(left, findTerminal);
  const ids = new Set(followed.map(({ sandbox }) => sandbox.id));
  let listed = 0;
  for await (const { id } of daytona.list({ labels: { storm: name } })) listed += ids.has(id);
  await all(followed, ({ sandbox }) => sandbox.delete(0));
  return { made: ids.size, kept, terminals, listed };
};

const begun = await soon(Promise.race([begin(), brokenEarly]));
say('ready');
await once(process.stdin, 'data');
say(await soon(goOn(begun)));
process.exit(0);

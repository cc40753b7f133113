// SPDX-License-Identifier: Apache-2.0
// One client with many sandboxes at once: node daytona_storm.mjs NAME COUNT. It makes them, follows a command of each, breaks off the
// terminal of every fourth from here, and says "ready"; when it has read a line the streams have been broken off, and all of it must
// still be there. Prints what it found.
import { once } from 'node:events';
import { Daytona } from '@daytona/sdk';

const [name, count] = [process.argv[2], Number(process.argv[3])];
const daytona = new Daytona();
const each = (run) => Promise.all(made.map(run));
const pause = () => new Promise((resolve) => setTimeout(resolve, 20));
const soon = (promise) => Promise.race([promise, new Promise((_, fail) => setTimeout(() => fail(new Error('it hangs')), 110_000))]);

const made = await Promise.all(Array.from({ length: count }, () => daytona.create({ networkBlockAll: true, labels: { storm: name } })));
const seen = new Set();
const followed = await each(async (sandbox) => {
  await sandbox.process.createSession('storm');
  const { cmdId } = await sandbox.process.executeSessionCommand('storm', { command: 'echo begun; sleep 1000', runAsync: true });
  const ended = sandbox.process.getSessionCommandLogs('storm', cmdId, () => seen.add(sandbox.id), () => {}).then(() => 'ended', () => 'broken');
  await sandbox.fs.uploadFile(Buffer.from(`${name} ${sandbox.id}`), 'storm.txt');
  return { cmdId, ended };
});
const withTerminal = made.filter((_, i) => i % 4 === 0);
await Promise.all(withTerminal.map(async (sandbox) => {
  let text = '';
  const terminal = await sandbox.process.createPty({ id: 'broken', onData: (data) => { text += Buffer.from(data).toString(); } });
  await terminal.waitForConnection();
  await terminal.sendInput('left=behind\n');
  while (!text.includes('left=behind')) await pause();
  await terminal.disconnect();
}));
while (seen.size < count) await pause();
console.log('ready');
await once(process.stdin, 'data');

let kept = 0;
await soon(Promise.all(followed.map(({ ended }) => ended)));
await soon(each(async (sandbox, i) => {
  const { commands } = await sandbox.process.getSession('storm');
  const logs = await sandbox.process.getSessionCommandLogs('storm', followed[i].cmdId);
  const file = (await sandbox.fs.downloadFile('storm.txt')).toString();
  kept += commands.length === 1 && commands[0].exitCode === undefined && logs.stdout === 'begun\n' && file === `${name} ${sandbox.id}`;
}));
let terminals = 0;
await soon(Promise.all(withTerminal.map(async (sandbox) => {
  let text = '';
  const terminal = await sandbox.process.connectPty('broken', { onData: (data) => { text += Buffer.from(data).toString(); } });
  await terminal.waitForConnection();
  await terminal.sendInput('echo "<$left>"; exit 3\n');
  const { exitCode } = await terminal.wait();
  terminals += exitCode === 3 && text.includes('<behind>');
})));
let listed = 0;
for await (const sandbox of daytona.list({ labels: { storm: name } })) listed += made.some(({ id }) => id === sandbox.id);
await soon(each((sandbox) => sandbox.delete()));
console.log(JSON.stringify({ made: new Set(made.map(({ id }) => id)).size, kept, terminals, listed }));
process.exit(0);

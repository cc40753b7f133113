// SPDX-License-Identifier: Apache-2.0
// A client with many sandboxes whose streams break: node e2b_breakage.mjs NAME COUNT. A command and a watcher go on in each; every
// fourth command is broken off from here. It says "ready", waits until the server has gone, says {"broken":…}, waits for a line on
// its standard input, lists, pauses, resumes, uses and ends all of its sandboxes, and says what it has seen.
import { createInterface } from 'node:readline'
import { Sandbox } from 'e2b'

const [name, count] = [process.argv[2], Number(process.argv[3])]
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`)
const metadata = { breakage: name }
// Who runs it says how long a step of all may take; one call has no limit of its own: on a busy machine its turn may come late.
const requestTimeoutMs = 0

const boxes = await Promise.all(Array.from({ length: count }, async () => {
  const sandbox = await Sandbox.create('host', { allowInternetAccess: false, timeoutMs: 300_000, metadata, requestTimeoutMs })
  const command = await sandbox.commands.run('sleep 300', { background: true, timeoutMs: 0 })
  let end
  const watched = new Promise((resolve) => { end = resolve })
  await sandbox.files.watchDir('/tmp', () => {}, { timeoutMs: 0, onExit: end })
  return { sandbox, command, watched, ended: command.wait().then(() => 'ended', () => 'broken') }
}))
for (let i = 0; i < count; i += 4) await boxes[i].command.disconnect()
say('ready')
await Promise.all(boxes.flatMap(({ ended, watched }) => [ended, watched]))
say({ broken: boxes.length })

await lines.next()
const listed = new Set()
for (const pages = Sandbox.list({ query: { metadata }, limit: 7, requestTimeoutMs }); pages.hasNext;) for (const { sandboxId } of await pages.nextItems()) listed.add(sandboxId)
await Promise.all(boxes.map(({ sandbox }) => sandbox.pause()))
await Promise.all(boxes.map(({ sandbox }) => Sandbox.connect(sandbox.sandboxId, { requestTimeoutMs })))
const seen = await Promise.all(boxes.map(async ({ sandbox, command }) => {
  const processes = await sandbox.commands.list()
  const goesOn = processes.some(({ pid }) => pid === command.pid)
  const { stdout } = await sandbox.commands.run('echo again')
  return { goesOn, works: stdout === 'again\n', killed: await sandbox.kill() }
}))
const countOf = (what) => [what, seen.filter((one) => one[what]).length]
say({ listed: listed.size, ...Object.fromEntries(['goesOn', 'works', 'killed'].map(countOf)) })
process.exit(0)

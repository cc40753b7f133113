// SPDX-License-Identifier: Apache-2.0
// What E2B's surface and its SDK cost beside the native API: node e2b_bench.mjs ROUNDS. See tests/bench/e2b.py.
// Each of the three has its turn in each round, and goes first in every third: who comes after a delete pays for it.
import { Sandbox } from 'e2b'

const origin = process.env.E2B_API_URL
const rounds = Number(process.argv[2])
const headers = { 'X-API-KEY': process.env.E2B_API_KEY, 'Content-Type': 'application/json' }
const template = process.env.BENCH_TEMPLATE
const user = process.env.BENCH_USER || undefined
const series = {}

async function call(method, path, body) {
  const answer = await fetch(origin + path, { method, headers, body: body && JSON.stringify(body) })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
  return text && JSON.parse(text)
}

// What commands.run does, without the SDK: one message, and frames until the last.
async function start({ sandboxID, envdAccessToken }, process) {
  const message = Buffer.from(JSON.stringify({ process, stdin: false }))
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  const answer = await fetch(`${origin}/process.Process/Start`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/connect+json', 'Connect-Protocol-Version': '1', 'X-Access-Token': envdAccessToken,
      'E2b-Sandbox-Id': sandboxID, 'E2b-Sandbox-Port': '49983' },
    body: Buffer.concat([head, message]),
  })
  const said = Buffer.from(await answer.arrayBuffer()).toString('latin1')
  if (!said.includes('"exit status 0"')) throw new Error(`Start: ${answer.status} ${said}`)
}

async function timed(name, work) {
  const begun = performance.now()
  const result = await work()
  ;(series[name] ??= []).push(performance.now() - begun)
  return result
}

const sum = (name, begun) => (series[name] ??= []).push(performance.now() - begun)

const turns = [
  async () => {
    const both = performance.now()
    const { id } = await timed('native: create', () => call('POST', '/api/sandbox/instances', { template, internet: false, timeout_ms: 60000 }))
    await timed('native: exec bash -l -c true', () => call('POST', `/api/sandbox/instances/${id}/exec`, { cmd: '/bin/bash', args: ['-l', '-c', 'true'] }))
    sum('native: create + exec', both)
    await timed('native: get', () => call('GET', `/api/sandbox/instances/${id}`))
    await timed('native: delete', () => call('DELETE', `/api/sandbox/instances/${id}`))
  },
  async () => {
    const both = performance.now()
    const made = await timed('E2B, by fetch: create', () => call('POST', '/v2/sandboxes', { templateID: template, allow_internet_access: false, timeout: 60 }))
    const { sandboxID } = made
    await timed('E2B, by fetch: Start bash -l -c true', () => start(made, { cmd: '/bin/bash', args: ['-l', '-c', 'true'] }))
    sum('E2B, by fetch: create + Start', both)
    await timed('E2B, by fetch: get', () => call('GET', `/sandboxes/${sandboxID}`))
    await timed('E2B, by fetch: delete', () => call('DELETE', `/sandboxes/${sandboxID}`))
  },
  async () => {
    const both = performance.now()
    const sandbox = await timed('SDK: Sandbox.create', () => Sandbox.create(template, { allowInternetAccess: false, timeoutMs: 60_000 }))
    await timed("SDK: commands.run('true')", () => sandbox.commands.run('true', { user }))
    sum("SDK: create + commands.run('true')", both)
    await timed('SDK: kill', () => sandbox.kill())
  },
]

for (let i = -3; i < rounds; i++) {
  if (i === 0) for (const name of Object.keys(series)) delete series[name]
  for (let turn = 0; turn < turns.length; turn++) await turns[(i + 3 + turn) % turns.length]()
}
console.log(JSON.stringify(series))

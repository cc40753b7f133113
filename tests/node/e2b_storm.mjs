// SPDX-License-Identifier: Apache-2.0
// One client with many sandboxes at once: node e2b_storm.mjs NAME COUNT. Prints how many it had and how many it ended.
import { Sandbox } from 'e2b'

const [name, count] = [process.argv[2], Number(process.argv[3])]
const metadata = { storm: name }
const made = await Promise.all(Array.from({ length: count }, () => Sandbox.create('host', { allowInternetAccess: false, timeoutMs: 120_000, metadata })))
const listed = []
for (const pages = Sandbox.list({ query: { metadata }, limit: 7 }); pages.hasNext;) listed.push(...await pages.nextItems())
await Promise.all(made.map((sandbox) => sandbox.pause()))
await Promise.all(made.map((sandbox) => Sandbox.connect(sandbox.sandboxId)))
const killed = await Promise.all(made.map((sandbox) => sandbox.kill()))
console.log(JSON.stringify({ made: new Set(made.map((s) => s.sandboxId)).size, listed: new Set(listed.map((s) => s.sandboxId)).size, killed: killed.filter(Boolean).length }))

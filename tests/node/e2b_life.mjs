// SPDX-License-Identifier: Apache-2.0
// The life of a sandbox by E2B's own SDK, for tests that listen: node e2b_life.mjs TEMPLATE
import { Sandbox, Volume } from 'e2b'

const sandbox = await Sandbox.create(process.argv[2], { allowInternetAccess: true, timeoutMs: 120_000, metadata: { life: 'recorded' } })
await sandbox.setTimeout(90_000)
await sandbox.files.write('/root/file', 'text', { user: 'root', useOctetStream: true })
await sandbox.commands.run('true', { user: 'root' })
await sandbox.getInfo()
const pages = Sandbox.list({ query: { metadata: { life: 'recorded' }, state: ['running', 'paused'] } })
await pages.nextItems()
await Volume.list()
await sandbox.updateNetwork({ allowOut: [], denyOut: ["10.0.0.0/8"] })
const snapshot = await sandbox.createSnapshot({ name: 'life' })
await Sandbox.listSnapshots().nextItems()
await sandbox.pause()
await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 90_000 })
await Sandbox.deleteSnapshot(snapshot.snapshotId)
await sandbox.kill()

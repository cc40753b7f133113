// SPDX-License-Identifier: Apache-2.0
// The life of a sandbox by Daytona's own SDK, for tests that listen: node daytona_life.mjs SNAPSHOT
import { Daytona } from '@daytona/sdk'

const daytona = new Daytona()
const sandbox = await daytona.create({ snapshot: process.argv[2], labels: { life: 'recorded' } })
await sandbox.fs.uploadFile(Buffer.from('text'), '/root/file')
await sandbox.process.executeCommand('true')
await sandbox.getPreviewLink(49990)
await sandbox.refreshActivity()
for await (const item of daytona.list({ labels: { life: 'recorded' } })) void item
await sandbox.pause()
await sandbox.start()
await sandbox.stop()
await sandbox.start()
await sandbox.createSnapshot('life')
const snapshot = await daytona.snapshot.get('life')
await daytona.snapshot.list()
await daytona.volume.list()
await daytona.snapshot.delete(snapshot)
await sandbox.delete()
process.exit(0) // its socket for events would go on

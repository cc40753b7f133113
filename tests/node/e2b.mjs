// SPDX-License-Identifier: Apache-2.0
// The control plane of E2B's API, driven by E2B's own SDK: node e2b.mjs [PACKAGE].
// One line per check: {"name":…,"ok":true} or {"name":…,"ok":false,"error":…}. See tests/system/test_e2b.py.
import assert from 'node:assert/strict'

import { existsSync, mkdtempSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeError } from './failure.mjs'

/** @type {typeof import('e2b')} */
const sdk = await import(process.argv[2] ?? 'e2b')
const {
  BuildError, ConnectionConfig, E2B, LogEntry, LogEntryEnd, LogEntryStart, Sandbox, SandboxError, SandboxNotFoundError, Secret,
  SecretError, SecretNotFoundError, Template, TemplateError, Volume, VolumeError, VolumeNotFoundError, waitForFile, waitForPort,
} = sdk
const isNewest = (process.argv[2] ?? 'e2b') === 'e2b'
const template = 'host'
const plain = { allowInternetAccess: false, timeoutMs: 120_000 }
const made = []

/** @param {import('e2b').SandboxOpts} options */
async function create(options = {}) {
  const sandbox = await Sandbox.create(template, { ...plain, ...options })
  made.push(sandbox.sandboxId)
  return sandbox
}

/** @template T @param {{hasNext: boolean, nextItems(): Promise<T[]>}} paginator @returns {Promise<T[]>} */
async function all(paginator) {
  const items = []
  while (paginator.hasNext) items.push(...await paginator.nextItems())
  return items
}

const ask = async (path) => (await fetch(`${new ConnectionConfig().apiUrl}${path}`, { headers: { 'X-API-Key': process.env.E2B_API_KEY } })).json()
const near = (date, seconds) => assert.ok(Math.abs(date.getTime() - Date.now() - seconds * 1000) < 5000, `${date.toISOString()} is not in ${seconds} s`)
const until = async (question, what) => {
  for (let i = 0; i < 300; i++) {
    if (await question()) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  assert.fail(`not within 30 s: ${what}`)
}

const checks = {
  async create() {
    const sandbox = await create()
    assert.match(sandbox.sandboxId, /^[a-z0-9]+$/)
  },
  async 'create: a template that is not there'() {
    await assert.rejects(Sandbox.create('no-such-template'), /404.*no-such-template/)
  },
  async 'create: a key that is not valid'() {
    await assert.rejects(Sandbox.create(template, { apiKey: 'e2b_00' }), { name: 'AuthenticationError' })
  },
  async 'create: what cannot be done is refused by name'() {
    const refused = (/** @type {import('e2b').SandboxOpts} */ options, /** @type {RegExp} */ name) => assert.rejects(Sandbox.create(template, { ...plain, allowInternetAccess: true, ...options }), name)
    await refused({ network: { allowOut: ['*.example.com'] } }, /400.*allowOut.*\*\.example\.com/)
    if (!isNewest) return
    await refused({ network: { rules: { 'example.com': [{ transform: { headers: { Authorization: Secret.fill('no-such') } } }] } } }, /404.*no-such/)
    await refused({ network: { egressProxy: { address: '198.51.100.7:1080', username: 'a', password: 'b' } } }, /501.*network\.egressProxy/)
    await refused({ network: { httpsPorts: [3000] } }, /501.*network\.httpsPorts/)
    await refused({ iam: { tokens: { one: Secret.iamToken({ audience: 'a', tokenType: 'jwt' }) } } }, /501.*iam/)
    await assert.rejects(Sandbox.create({ ...plain, mcp: { exa: {} } }), /404.*mcp-gateway/)
  },
  async getInfo() {
    const sandbox = await create({ metadata: { kind: 'info' }, envs: { A: 'b' } })
    const info = await sandbox.getInfo()
    assert.equal(info.sandboxId, sandbox.sandboxId)
    assert.equal(info.name, template)
    assert.deepEqual(info.metadata, { kind: 'info' })
    assert.equal(info.state, 'running')
    assert.equal(info.allowInternetAccess, false)
    assert.ok(info.cpuCount >= 1 && info.memoryMB >= 128)
    near(info.endAt, 120)
    assert.ok(Math.abs(info.startedAt.getTime() - Date.now()) < 10_000)
    await assert.rejects(Sandbox.getInfo('nosuchsandbox'), SandboxNotFoundError)
  },
  async 'kill: true once, then false'() {
    const sandbox = await create()
    assert.equal(await sandbox.kill(), true)
    assert.equal(await Sandbox.kill(sandbox.sandboxId), false)
    assert.equal(await Sandbox.kill('nosuchsandbox'), false)
  },
  async setTimeout() {
    const sandbox = await create()
    await sandbox.setTimeout(600_000)
    near((await sandbox.getInfo()).endAt, 600)
    await sandbox.setTimeout(60_000)
    near((await sandbox.getInfo()).endAt, 60)
    await assert.rejects(Sandbox.setTimeout('nosuchsandbox', 1000), SandboxNotFoundError)
  },
  async 'its timeout kills it'() {
    const sandbox = await create({ timeoutMs: 1000 })
    await until(async () => {
      try {
        await sandbox.getInfo()
        return false
      } catch (error) {
        return error instanceof SandboxNotFoundError
      }
    }, 'it is gone')
  },
  async 'list: by metadata of any characters'() {
    const metadata = { user: 'a b&c=d/ü', other: '100%' }
    const sandbox = await create({ metadata })
    await create({ metadata: { user: 'somebody else', other: '100%' } })
    const found = await all(Sandbox.list({ query: { metadata } }))
    assert.deepEqual(found.map((s) => s.sandboxId), [sandbox.sandboxId])
    assert.deepEqual(found[0].metadata, metadata)
  },
  async 'list: in pages, newest first'() {
    const metadata = { kind: 'pages' }
    const ids = []
    for (let i = 0; i < 3; i++) ids.unshift((await create({ metadata })).sandboxId)
    const pages = Sandbox.list({ query: { metadata }, limit: 2 })
    assert.deepEqual((await pages.nextItems()).map((s) => s.sandboxId), ids.slice(0, 2))
    assert.equal(pages.hasNext, true)
    assert.deepEqual((await pages.nextItems()).map((s) => s.sandboxId), ids.slice(2))
    assert.equal(pages.hasNext, false)
  },
  async 'list: by template and time, oldest first, from a page on'() {
    const begun = Date.now()
    const ids = [(await create()).sandboxId, (await Sandbox.create({ ...plain, template, secure: true })).sandboxId]
    made.push(ids[1])
    const listed = async (/** @type {import('e2b').SandboxListOpts} */ options) => (await all(Sandbox.list(options))).map((s) => s.sandboxId)
    assert.deepEqual(await listed({ query: { template: 'no-such-template' } }), [])
    if (!isNewest) return
    assert.deepEqual(await listed({ query: { template, startedAfter: new Date(begun) }, order: 'asc' }), ids)
    assert.deepEqual(await listed({ query: { startedAfter: new Date(Date.now() + 60_000) } }), [])
    const { startedAt } = await Sandbox.getInfo(ids[1])
    assert.ok((await listed({ query: { startedAfter: startedAt } })).includes(ids[1]))
    assert.ok(!(await listed({ query: { startedAfter: new Date(startedAt.getTime() + 1) } })).includes(ids[1]))
    const first = Sandbox.list({ query: { startedAfter: new Date(begun) }, limit: 1 })
    assert.deepEqual((await first.nextItems()).map((s) => s.sandboxId), [ids[1]])
    assert.deepEqual(await listed({ query: { startedAfter: new Date(begun) }, limit: 1, nextToken: first.nextToken }), [ids[0]])
    await assert.rejects(Sandbox.list({ nextToken: 'none of ours' }).nextItems(), (error) => error instanceof SandboxError && /^400/.test(error.message))
  },
  async 'list: by state'() {
    const metadata = { kind: 'states' }
    const [running, paused] = [await create({ metadata }), await create({ metadata })]
    await paused.pause()
    const ids = async (state) => (await all(Sandbox.list({ query: { metadata, ...(state && { state }) } }))).map((s) => s.sandboxId)
    assert.deepEqual(await ids(['running']), [running.sandboxId])
    assert.deepEqual(await ids(['paused']), [paused.sandboxId])
    assert.deepEqual(await ids(), [paused.sandboxId, running.sandboxId])
  },
  async 'pause: true once, then false; connect resumes'() {
    const sandbox = await create()
    assert.equal(await sandbox.pause(), true)
    assert.equal((await sandbox.getInfo()).state, 'paused')
    assert.equal(await Sandbox.pause(sandbox.sandboxId), false)
    await assert.rejects(Sandbox.pause('nosuchsandbox'), SandboxNotFoundError)
    const again = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 90_000 })
    assert.equal(again.sandboxId, sandbox.sandboxId)
    const info = await again.getInfo()
    assert.equal(info.state, 'running')
    near(info.endAt, 90)
  },
  async 'pause and connect: without its memory'() {
    const sandbox = await create()
    const begin = () => sandbox.commands.run('echo kept > kept; sleep 99 &')
    const found = async () => (await sandbox.commands.run('cat kept; pgrep -c sleep || true')).stdout
    await begin()
    assert.equal(await sandbox.pause({ keepMemory: false }), true)
    await sandbox.connect()
    if (isNewest) assert.equal(await found(), 'kept\n0\n')
    await begin()
    await sandbox.pause()
    await sandbox.connect({ onResume: 'restore', timeoutMs: 90_000 })
    assert.equal(await found(), 'kept\n1\n')
    if (!isNewest) return
    await sandbox.connect({ onResume: 'reboot' })
    assert.equal(await found(), 'kept\n1\n')
    await sandbox.pause()
    await sandbox.connect({ onResume: 'reboot', timeoutMs: 200_000 })
    assert.equal(await found(), 'kept\n0\n')
    near((await sandbox.getInfo()).endAt, 200)
  },
  async 'connect: never shortens'() {
    const sandbox = await create()
    await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 10_000 })
    near((await sandbox.getInfo()).endAt, 120)
    await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 400_000 })
    near((await sandbox.getInfo()).endAt, 400)
    await assert.rejects(Sandbox.connect('nosuchsandbox'), SandboxNotFoundError)
  },
  async 'auto-pause: its timeout pauses it, and it keeps its id'() {
    const sandbox = await create({ timeoutMs: 1000, ...(isNewest ? { lifecycle: { onTimeout: 'pause' } } : { lifecycle: { onTimeout: 'pause' }, autoPause: true }) })
    await until(async () => (await sandbox.getInfo()).state === 'paused', 'it is paused')
    const again = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 60_000 })
    assert.equal((await again.getInfo()).state, 'running')
    if (!isNewest) return
    const told = async (/** @type {import('e2b').SandboxLifecycle} */ lifecycle) => (await (await create({ lifecycle })).getInfo()).lifecycle
    assert.deepEqual(await told({ onTimeout: 'pause', autoResume: true }), { onTimeout: 'pause', autoResume: true })
    assert.deepEqual(await told({ onTimeout: { action: 'pause', keepMemory: false } }), { onTimeout: 'pause', autoResume: false })
    assert.deepEqual(await told({ onTimeout: 'kill' }), { onTimeout: 'kill', autoResume: false })
  },
  async 'updateNetwork: what it has is fine, what cannot be done is named'() {
    const sandbox = await create()
    await sandbox.updateNetwork({ denyOut: ['0.0.0.0/0'] })
    await assert.rejects(sandbox.updateNetwork({ denyOut: ['example.com'] }), /denyOut\[0\]/)
    await assert.rejects(sandbox.updateNetwork({ denyOut: ['10.0.0.0/8'] }), /cannot be switched on/)
    await assert.rejects(sandbox.updateNetwork({}), /cannot be switched on/)
  },
  async 'network: its rules are kept, shown and replaced'() {
    const network = { allowOut: ['198.51.100.7', 'example.com', '*.example.org'], denyOut: ['0.0.0.0/0'] }
    const sandbox = await create({ allowInternetAccess: true, network })
    const shown = async () => (await ask(`/sandboxes/${sandbox.sandboxId}`)).network
    assert.deepEqual(await shown(), network)
    await sandbox.updateNetwork({ denyOut: ['203.0.113.0/24'] })
    assert.deepEqual(await shown(), { denyOut: ['203.0.113.0/24'] })
    await sandbox.updateNetwork({ allowInternetAccess: false })
    assert.deepEqual(await shown(), { denyOut: ['0.0.0.0/0'] })
    const closed = await create({ network: { allowOut: network.allowOut } })
    const { allowOut, denyOut } = (await closed.getInfo()).network
    assert.deepEqual({ allowOut, denyOut }, network)
    if (!isNewest) return
    const wanted = { allowOut: ['198.51.100.8'], denyOut: ['0.0.0.0/0'] }
    await Sandbox.updateNetwork(sandbox.sandboxId, { allowOut: wanted.allowOut, denyOut: ({ allTraffic }) => [allTraffic] })
    assert.deepEqual(await shown(), wanted)
    const refused = (/** @type {import('e2b').SandboxNetworkUpdate} */ update, /** @type {RegExp} */ name) => assert.rejects(sandbox.updateNetwork(update), name)
    await refused({ egressProxy: { address: '198.51.100.7:1080' } }, /501.*network\.egressProxy/)
    await refused({ rules: { 'example.com': [{ transform: { headers: { Host: 'b' } } }] } }, /400.*header/)
    assert.deepEqual(await shown(), wanted)
    const rule = (/** @type {string} */ value) => ({ 'example.com': [{ transform: { headers: { A: value } } }] })
    await sandbox.updateNetwork({ ...wanted, allowOut: ['example.com'], rules: rule('b') })
    assert.deepEqual(await shown(), { ...wanted, allowOut: ['example.com'], rules: rule('***') })
    const name = `filled-${Date.now()}`
    await Secret.create(name, 'hunter2')
    const ruled = await create({ network: { rules: rule(`x ${Secret.fill(name)}`) }, allowInternetAccess: true })
    assert.deepEqual((await ask(`/sandboxes/${ruled.sandboxId}`)).network, { rules: rule(`x \${e2b.secrets.${name}}`) })
    await ruled.updateNetwork({})
    assert.equal((await ask(`/sandboxes/${ruled.sandboxId}`)).network, undefined)
    await Secret.destroy(name)
    const guarded = await create({ network: { denyOut: wanted.denyOut, allowPublicTraffic: false, maskRequestHost: 'app.example:${PORT}' } })
    assert.match(guarded.trafficAccessToken, /^[0-9a-f]{64}$/)
    const { allowPublicTraffic, maskRequestHost } = (await guarded.getInfo()).network
    assert.deepEqual([allowPublicTraffic, maskRequestHost], [false, 'app.example:${PORT}'])
  },
  async getMetrics() {
    const sandbox = await create()
    const [metric] = await sandbox.getMetrics()
    assert.ok(metric.timestamp instanceof Date && Math.abs(metric.timestamp - Date.now()) < 10_000)
    assert.ok(metric.cpuCount >= 1 && metric.cpuUsedPct >= 0)
    assert.ok(metric.memUsed > 0 && metric.memTotal >= metric.memUsed)
    assert.deepEqual(await sandbox.getMetrics({ start: new Date(0), end: new Date(1000) }), [])
    await assert.rejects(Sandbox.getMetrics('nosuchsandbox'), SandboxNotFoundError)
  },
  async 'the same by its other names'() {
    const sandbox = await create({ metadata: { kind: 'other names' } })
    assert.equal((await Sandbox.getFullInfo(sandbox.sandboxId)).sandboxId, sandbox.sandboxId)
    assert.equal(await sandbox.betaPause(), true)
    assert.equal(await Sandbox.betaPause(sandbox.sandboxId), false)
    assert.equal((await sandbox.connect({ timeoutMs: 300_000 })).sandboxId, sandbox.sandboxId)
    near((await sandbox.getInfo()).endAt, 300)
    const ids = [await sandbox.createSnapshot(), await sandbox.createSnapshot()].map((s) => s.snapshotId)
    const pages = sandbox.listSnapshots({ limit: 1 })
    assert.deepEqual([await pages.nextItems(), await pages.nextItems()].map(([s]) => s.snapshotId), ids.reverse())
    assert.equal(pages.hasNext, false)
    const named = await Sandbox.createSnapshot(sandbox.sandboxId, { name: `other-${sandbox.sandboxId}` })
    assert.deepEqual((await all(Sandbox.listSnapshots({ name: `other-${sandbox.sandboxId}` }))).map((s) => s.snapshotId), [named.snapshotId])
    const first = Sandbox.listSnapshots({ sandboxId: sandbox.sandboxId, limit: 1 })
    await first.nextItems()
    assert.deepEqual((await all(Sandbox.listSnapshots({ sandboxId: sandbox.sandboxId, nextToken: first.nextToken }))).map((s) => s.snapshotId), ids)
    for (const id of [...ids, named.snapshotId]) await Sandbox.deleteSnapshot(id)
    if (!Sandbox.fork) return
    const [fork] = await Sandbox.fork(sandbox.sandboxId, { timeoutMs: 60_000 })
    assert.deepEqual((await fork.getInfo()).metadata, { kind: 'other names' })
    assert.equal(await fork.kill(), true)
  },
  async 'snapshots: made, listed, made into a sandbox, deleted'() {
    const sandbox = await create()
    const named = `kept-${sandbox.sandboxId}`
    const first = await sandbox.createSnapshot({ name: named })
    const second = await sandbox.createSnapshot()
    assert.deepEqual(first.names, [`${named}:default`])
    await assert.rejects(sandbox.createSnapshot({ name: named }), /409/)
    assert.deepEqual((await all(Sandbox.listSnapshots({ sandboxId: sandbox.sandboxId }))).map((s) => s.snapshotId), [second.snapshotId, first.snapshotId])
    const copy = await Sandbox.create(first.snapshotId, plain)
    made.push(copy.sandboxId)
    assert.equal((await copy.getInfo()).state, 'running')
    assert.equal(await copy.kill(), true)
    for (const each of [first, second]) {
      assert.equal(await Sandbox.deleteSnapshot(each.snapshotId), true)
      assert.equal(await Sandbox.deleteSnapshot(each.snapshotId), false)
    }
    assert.deepEqual(await all(Sandbox.listSnapshots({ sandboxId: sandbox.sandboxId })), [])
  },
  async fork() {
    const sandbox = await create({ metadata: { kind: 'forked' } })
    if (!sandbox.fork) return 'this generation has no fork'
    await sandbox.commands.run('echo kept > kept; sleep 99 &')
    const forks = await sandbox.fork({ count: 2, timeoutMs: 60_000 })
    assert.equal(forks.length, 2)
    for (const outcome of forks) {
      const fork = outcome.sandbox ?? outcome
      made.push(fork.sandboxId)
      const info = await fork.getInfo()
      assert.equal(info.state, 'running')
      assert.deepEqual(info.metadata, { kind: 'forked' })
      near(info.endAt, 60)
      assert.equal((await fork.commands.run('cat kept; pgrep -c sleep || true')).stdout, 'kept\n0\n')
    }
    assert.deepEqual(await all(Sandbox.listSnapshots({ sandboxId: sandbox.sandboxId })), [])
  },
  async 'secrets: made, changed, listed, removed'() {
    if (!Secret) return 'this generation has no secrets'
    const name = `Token_${process.pid}`
    const secret = await Secret.create(name, 'hunter2', { metadata: { kind: 'test' } })
    assert.match(secret.secretId, /^sec_/)
    assert.equal(secret.name, name.toLowerCase())
    assert.equal((await Secret.update(name, 'hunter3')).version, 2)
    assert.deepEqual((await Secret.getInfo(secret.secretId)).metadata, { kind: 'test' })
    assert.deepEqual((await Secret.update(name, 'hunter4', { metadata: { kind: 'other' } })).metadata, { kind: 'other' })
    assert.ok((await all(Secret.list())).some((s) => s.secretId === secret.secretId))
    const other = await Secret.create(`${name}_2`, 'x')
    const page = Secret.list({ limit: 1 })
    const [first] = await page.nextItems()
    const rest = await all(Secret.list({ limit: 1, nextToken: page.nextToken }))
    assert.ok([first, ...rest].filter((s) => [secret.secretId, other.secretId].includes(s.secretId)).length === 2 && !rest.some((s) => s.secretId === first.secretId))
    assert.equal(await Secret.destroy(other.secretId), true)
    await assert.rejects(Secret.create(name, 'again'), (error) => error instanceof SecretError && /409/.test(error.message))
    await assert.rejects(Secret.create('no name', 'x'), SecretError)
    await assert.rejects(Secret.getInfo('none'), SecretNotFoundError)
    await assert.rejects(Secret.update('none', 'x'), SecretNotFoundError)
    assert.equal(await Secret.exists(name), true)
    assert.equal(await Secret.destroy(name), true)
    assert.equal(await Secret.destroy(name), false)
    assert.equal(await Secret.exists(name), false)
  },
  async 'volumes: made, found, in a sandbox, removed'() {
    const volume = await Volume.create(`volume-${process.pid}`)
    assert.deepEqual((await Volume.list()).filter((v) => v.volumeId === volume.volumeId).map((v) => v.name), [`volume-${process.pid}`])
    assert.equal((await Volume.getInfo(volume.volumeId)).name, `volume-${process.pid}`)
    const sandbox = await create({ volumeMounts: { '/data': volume } })
    assert.deepEqual((await sandbox.getInfo()).volumeMounts, [{ name: `volume-${process.pid}`, path: '/data' }])
    const taken = new RegExp(`409.*volume-${process.pid}`)
    await assert.rejects(create({ volumeMounts: { '/data': volume } }), taken)
    await assert.rejects(volume.writeFile('/x', 'y'), /409/)
    await sandbox.kill()
    assert.equal(await Volume.destroy(volume.volumeId), true)
    assert.equal(await Volume.destroy(volume.volumeId), false)
    await assert.rejects(Volume.getInfo(volume.volumeId), VolumeNotFoundError)
    await assert.rejects(Volume.connect(volume.volumeId), VolumeNotFoundError)
    await assert.rejects(Volume.create('no name'), VolumeError)
  },
  async 'volumes: their files'() {
    const volume = await Volume.create(`files-${process.pid}`)
    try {
      assert.deepEqual(await volume.list('/'), [])
      const folder = await volume.makeDir('/a/b', { force: true, mode: 0o750 })
      assert.equal(folder.type, 'directory')
      assert.equal(folder.mode & 0o777, 0o750)
      const file = await volume.writeFile('/a/b/c.txt', 'grüße', { mode: 0o600 })
      assert.equal(file.path, '/a/b/c.txt')
      assert.equal(file.name, 'c.txt')
      assert.equal(file.size, 7)
      assert.equal(await volume.readFile('/a/b/c.txt'), 'grüße')
      assert.deepEqual((await volume.list('/', { depth: 3 })).map((e) => e.path).sort(), ['/a', '/a/b', '/a/b/c.txt'])
      assert.equal(await volume.exists('/a/b/c.txt'), true)
      assert.equal(await (await Volume.connect(volume.volumeId)).readFile('/a/b/c.txt'), 'grüße')
      const changed = await volume.updateMetadata('/a/b/c.txt', { uid: 1000, gid: 1000, mode: 0o644 })
      assert.deepEqual([changed.uid, changed.gid, changed.mode & 0o777], [1000, 1000, 0o644])
      assert.deepEqual([changed.atime, changed.ctime], [changed.mtime, changed.mtime])
      await volume.remove('/a')
      assert.equal(await volume.exists('/a/b/c.txt'), false)
      await assert.rejects(volume.readFile('/none'), { name: 'VolumePathNotFoundError' })
      await assert.rejects(volume.list('/../../etc'), /400|\.\./)
    } finally {
      await Volume.destroy(volume.volumeId)
    }
  },
  async 'templates: built with files, tagged, used, deleted'() {
    const folder = mkdtempSync(join(tmpdir(), 'e2b-template-'))
    const name = `built-${process.pid}`
    try {
      mkdirSync(join(folder, 'src'))
      writeFileSync(join(folder, 'src/a.txt'), 'a')
      writeFileSync(join(folder, 'one.txt'), 'one')
      const steps = Template({ fileContextPath: folder }).fromTemplate(template)
        .setEnvs({ MODE: 'built' }).setWorkdir('/opt/app').copy('src', '/opt/app/src').copy('one.txt', 'two.txt', { mode: 0o600, user: 'user', forceUpload: true, gzip: true })
        .runCmd('test "$(cat src/a.txt)" = a && test "$(stat -c %a:%U two.txt)" = 600:user && echo "mode is $MODE" && ! test -e /.atoll-copy # ' + process.pid, { user: 'root' })
      assert.equal(await Template.exists(name), false)
      const lines = []
      const kinds = [LogEntryStart, LogEntry, LogEntryEnd]
      const built = await Template.build(steps, `${name}:v1`, { tags: ['stable'], cpuCount: 1, memoryMB: 256, minFreeDiskMb: 100, onBuildLogs: (line) => {
        assert.ok(kinds.some((kind) => line instanceof kind) && line.toString().includes(line.message))
        lines.push(line.message)
      } })
      assert.ok(lines.some((line) => line.includes('mode is built')), lines.join('\n'))
      assert.equal(await Template.exists(`${name}:v1`), true)
      assert.deepEqual((await Template.getTags(built.templateId)).map((t) => t.tag).sort(), ['stable', 'v1'])
      assert.equal((await ask(`/api/sandbox/templates/${name}..stable`)).name, `${name}..stable`)
      await Template.assignTags(`${name}:v1`, ['default', 'next'])
      await Template.removeTags(name, ['next'])
      const sandbox = await Sandbox.create(name, plain)
      assert.equal((await sandbox.getInfo()).memoryMB, 256)
      await sandbox.kill()
      const again = await Template.build(steps, `${name}:v1`, { cpuCount: 1, memoryMB: 256 })
      assert.notEqual(again.buildId, built.buildId)
      for (const tag of ['default', 'stable', 'v1']) await Template.removeTags(name, [tag])
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
  async 'templates: each kind of step, in the background'() {
    const folder = mkdtempSync(join(tmpdir(), 'e2b-template-'))
    const name = `steps-${process.pid}`
    try {
      writeFileSync(join(folder, 'x.txt'), 'x')
      writeFileSync(join(folder, 'left-out.log'), 'x')
      symlinkSync('x.txt', join(folder, 'to-x'))
      const steps = Template({ fileContextPath: folder, fileIgnorePatterns: ['*.log'] }).skipCache().fromTemplate(template).setUser('root').setWorkdir('/opt')
        .makeDir(['/opt/a/b', '/opt/c'], { mode: 0o750, user: 'root' })
        .runCmd(['echo 1 > one', 'git init -q -b main /opt/origin', 'git -C /opt/origin -c user.name=a -c user.email=b commit -q --allow-empty -m first'], { user: 'root' })
        .copyItems([{ src: 'x.txt', dest: 'y/', mode: 0o640, user: 'user', forceUpload: true, gzip: false, resolveSymlinks: false }]).copy('*', 'z/').copy('to-x', 'real', { resolveSymlinks: true })
        .rename('one', 'a/first', { force: true, user: 'root' }).makeSymlink('/opt/a/first', 'link', { force: true, user: 'root' }).remove('c', { recursive: true, force: true, user: 'root' })
        .gitClone('file:///opt/origin', '/opt/cloned', { branch: 'main', depth: 1, user: 'root' }).skipCache()
        .runCmd('test "$(cat link y/x.txt)" = "$(printf "1\\nx")" && test ! -e c && test -d cloned/.git && test "$(stat -c %a a/b)" = 750')
        .runCmd('test "$(stat -c %a:%U y/x.txt)" = 640:user && test "$(readlink z/to-x)" = x.txt && test ! -e z/left-out.log && test -f real -a ! -L real')
        .setReadyCmd(waitForFile('/opt/link'))
      const data = await Template.buildInBackground(steps, { alias: name, cpuCount: 1, memoryMB: 256 })
      let told
      await until(async () => { told = await Template.getBuildStatus(data); return /ready|error/.test(told.status) }, 'its end')
      assert.equal(told.status, 'ready', JSON.stringify(told.reason))
      assert.ok(told.logEntries.length > 1)
      assert.deepEqual((await Template.getBuildStatus(data, { logsOffset: 1 })).logEntries[0], told.logEntries[1])
      assert.equal(await Template.aliasExists(name), true)
      await Template.removeTags(name, ['default'])
      assert.equal(await Template.aliasExists(name), false)
      const rest = Template().fromTemplate(template).aptInstall('a', { noInstallRecommends: true, fixMissing: true }).pipInstall('b', { g: false })
        .npmInstall('c', { g: true, dev: false }).bunInstall('d', { g: false, dev: true })
      assert.deepEqual(JSON.parse(await Template.toJSON(rest)).steps.map((step) => step.type), Array(4).fill('RUN'))
      const of = [Template().fromDebianImage(), Template().fromUbuntuImage(), Template().fromFedoraImage(), Template().fromAlpineImage(), Template().fromArchImage(),
        Template().fromPythonImage('3.12'), Template().fromNodeImage(), Template().fromBunImage(), Template().fromBaseImage()]
      for (const each of of) assert.match(JSON.parse(await Template.toJSON(each)).fromImage, /^[a-z0-9/]+(:|$)/)
      assert.match(Template.toDockerfile(Template().fromPythonImage('3.12').runCmd('true')), /^FROM python:3\.12\nRUN true/)
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
  async 'templates: of a Dockerfile'() {
    const sizes = { cpuCount: 1, memoryMB: 256 }
    const [base, name] = [`from-${process.pid}`, `file-${process.pid}`]
    await Template.build(Template().fromTemplate(template).runCmd('echo > /opt/of-base'), base, sizes)
    const text = `FROM ${base}\nENV A=b\nWORKDIR /opt\nRUN test "$A" = b && test "$(pwd)" = /opt && test -e of-base\nWORKDIR /`
    await Template.build(Template().fromDockerfile(text), name, sizes)
    for (const each of [name, base]) await Template.removeTags(each, ['default'])
  },
  async 'templates: what they start is there, at an address of its own'() {
    if (!existsSync('/usr/bin/python3')) return "the host's /usr has no python3"
    const name = `starts-${process.pid}`
    const steps = Template().fromTemplate(template).setStartCmd('python3 -m http.server 8123 --directory /etc', waitForPort(8123))
    await Template.build(steps, name, { cpuCount: 1, memoryMB: 256 })
    const sandbox = await Sandbox.create(name, plain)
    made.push(sandbox.sandboxId)
    // By name where names lead here, by headers where only an address does.
    const [url, headers] = process.env.E2B_SANDBOX_URL
      ? [process.env.E2B_SANDBOX_URL, { 'E2b-Sandbox-Id': sandbox.sandboxId, 'E2b-Sandbox-Port': '8123' }] : [`https://${sandbox.getHost(8123)}`, {}]
    await until(async () => (await fetch(`${url}/passwd`, { headers })).status === 200, 'what it started')
    assert.match(await (await fetch(`${url}/passwd`, { headers })).text(), /root:/)
    await sandbox.kill()
    assert.equal((await fetch(`${url}/passwd`, { headers })).status, 502)
    await Template.removeTags(name, ['default'])
  },
  async 'templates: what they cannot be made of is refused by name'() {
    const refused = (/** @type {import('e2b').TemplateClass} */ steps, /** @type {RegExp} */ name) => assert.rejects(Template.build(steps, `refused-${process.pid}`, { cpuCount: 1, memoryMB: 256 }), name)
    await refused(Template().fromImage('127.0.0.1:1/x:1', { username: 'a:b', password: 'c' }), /400.*fromImageRegistry: username/)
    await refused(Template().fromAWSRegistry('127.0.0.1:1/x:1', { accessKeyId: 'a', secretAccessKey: 'b', region: 'c' }), /501.*fromImageRegistry/)
    await refused(Template().fromTemplate('mcp-gateway').addMcpServer('exa'), /404.*mcp-gateway/)
    await refused(Template().fromTemplate('devcontainer').betaDevContainerPrebuild('/x').betaSetDevContainerStart('/x'), /404.*devcontainer/)
    await refused(Template().fromGCPRegistry('127.0.0.1:1/x:1', { serviceAccountJSON: { type: 'service_account' } }), /127\.0\.0\.1:1/)
    await assert.rejects(Template.getTags(`refused-${process.pid}`), TemplateError)
    if (isNewest) assert.throws(() => Template().fromTemplate(template).copy('../x', 'x'), TemplateError)
  },
  async 'the client that is told all itself'() {
    if (!isNewest) return 'this generation has no such client'
    const said = []
    const say = (...words) => { said.push(words) }
    const passed = []
    const proxy = createServer().on('connect', (request, client, head) => {
      const [host, port] = request.url.split(':')
      passed.push(request.url)
      const server = connect(Number(port), host, () => { client.write('HTTP/1.1 200 OK\r\n\r\n'); server.write(head); server.pipe(client).pipe(server) })
      server.on('error', () => client.destroy())
      client.on('error', () => server.destroy())
    })
    await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    proxy.unref()
    const { E2B_API_KEY: apiKey, E2B_DOMAIN: domain } = process.env
    const client = new E2B({ apiKey, domain, validateApiKey: true, retries: 0, logger: { debug: say, info: say, warn: say, error: say }, requestTimeoutMs: 20_000 })
    assert.ok(Array.isArray(await client.Sandbox.list({ headers: { 'X-Other': 'a' }, apiHeaders: { 'X-Mine': 'b' } }).nextItems()))
    assert.ok(said.length > 0)
    assert.equal(await client.Template.exists('no-such-template'), false)
    assert.ok(Array.isArray(await client.Volume.list()))
    assert.ok(Array.isArray(await client.Secret.list().nextItems()))
    const { port } = /** @type {import('node:net').AddressInfo} */ (proxy.address())
    const sandbox = await Sandbox.create(template, { ...plain, sandboxUrl: process.env.E2B_SANDBOX_URL, proxy: `http://127.0.0.1:${port}` })
    made.push(sandbox.sandboxId)
    assert.equal((await sandbox.commands.run('echo by proxy')).stdout, 'by proxy\n')
    assert.ok(passed.length > 0)
    await assert.rejects(client.Sandbox.getInfo(sandbox.sandboxId, { signal: AbortSignal.abort() }), { name: 'AbortError' })
  },
  async 'templates: a step that fails is told with its log'() {
    const steps = Template().fromTemplate(template).runCmd('test "$(id -un)" = root').runCmd('echo it is broken; exit 3')
    await assert.rejects(Template.build(steps, `broken-${process.pid}`, { skipCache: true }), BuildError)
    await assert.rejects(Template.build(Template().fromImage('127.0.0.1:1/no/such:image'), `broken-${process.pid}`), /pull image '127\.0\.0\.1:1\/no\/such:image'/)
  },
}

const only = process.env.ATOLL_CHECKS?.split('\n')
for (const [name, check] of Object.entries(checks).filter(([name]) => only?.includes(name) ?? true)) {
  try {
    const skip = await check()
    console.log(JSON.stringify({ name, ok: true, ...(skip && { skip }) }))
  } catch (error) {
    console.log(JSON.stringify({ name, ok: false, error: describeError(error) }))
  }
}
await Promise.all(made.map((id) => Sandbox.kill(id).catch(() => false)))
// Connections through the proxy are kept open.
process.exit(0)

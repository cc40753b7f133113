// SPDX-License-Identifier: Apache-2.0
// The control plane of E2B's API, driven by E2B's own SDK: node e2b.mjs [PACKAGE].
// One line per check: {"name":…,"ok":true} or {"name":…,"ok":false,"error":…}. See tests/system/test_81_e2b.py.
import assert from 'node:assert/strict'

const { Sandbox, SandboxNotFoundError } = await import(process.argv[2] ?? 'e2b')
const isNewest = (process.argv[2] ?? 'e2b') === 'e2b'
const template = 'host'
const plain = { allowInternetAccess: false, timeoutMs: 120_000 }
const made = []

async function create(options = {}) {
  const sandbox = await Sandbox.create(template, { ...plain, ...options })
  made.push(sandbox.sandboxId)
  return sandbox
}

async function all(paginator) {
  const items = []
  while (paginator.hasNext) items.push(...await paginator.nextItems())
  return items
}

const near = (date, seconds) => assert.ok(Math.abs(date.getTime() - Date.now() - seconds * 1000) < 5000, `${date.toISOString()} is not in ${seconds} s`)
const until = async (question, what) => {
  for (let i = 0; i < 150; i++) {
    if (await question()) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  assert.fail(`not within 15 s: ${what}`)
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
    await assert.rejects(Sandbox.create(template, { network: { allowOut: ['8.8.8.8'], denyOut: ['0.0.0.0/0'] } }), /allowOut/)
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
  },
}

for (const [name, check] of Object.entries(checks)) {
  try {
    await check()
    console.log(JSON.stringify({ name, ok: true }))
  } catch (error) {
    console.log(JSON.stringify({ name, ok: false, error: String(error?.stack ?? error) }))
  }
}
await Promise.all(made.map((id) => Sandbox.kill(id).catch(() => false)))

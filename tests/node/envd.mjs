// SPDX-License-Identifier: Apache-2.0
// The inside of a sandbox, by E2B's own SDK: node envd.mjs ID TOKEN. Where the server is, E2B_* say.
// One line per check: {"name":…,"ok":true} or {"name":…,"ok":false,"error":…}. See tests/system/test_envd.py.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import {
  CommandExitError, FileNotFoundError, FilesystemEventType, FileType, getSignature, GitAuthError, GitUpstreamError, InvalidArgumentError,
  NotEnoughSpaceError, NotFoundError, Sandbox, SandboxError, TimeoutError, waitForFile, waitForProcess, waitForTimeout, waitForURL,
} from 'e2b'
import { describeError } from './failure.mjs'

const [sandboxId, envdAccessToken] = process.argv.slice(2)
const sandbox = new Sandbox({ sandboxId, envdAccessToken, envdVersion: '0.6.13', requestTimeoutMs: 20_000 })
const { commands, files, pty } = sandbox
const home = '/home/user'

const until = async (question, what) => {
  for (let i = 0; i < 600; i++) {
    if (await question()) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  assert.fail(`not within 30 s: ${what}`)
}
const fails = (promise, kind, message) => assert.rejects(promise, (error) => {
  assert.ok(error instanceof kind, `${error.constructor.name}: ${error.message}`)
  if (message) assert.match(error.message, message)
  return true
})

const checks = {
  async 'isRunning'() {
    assert.equal(await sandbox.isRunning(), true)
  },

  // ---- commands ----
  async 'commands.run: output, exit code, order'() {
    const done = await commands.run('echo out; echo err >&2; echo more')
    assert.deepEqual([done.exitCode, done.stdout, done.stderr], [0, 'out\nmore\n', 'err\n'])
  },
  async 'commands.run: an exit code that is not 0'() {
    let seen = ''
    await assert.rejects(commands.run('echo no >&2; exit 3', { onStderr: (text) => { seen += text } }), (error) => error instanceof CommandExitError
      && error.exitCode === 3 && error.stderr === 'no\n' && error.error === 'exit status 3')
    assert.equal(seen, 'no\n')
  },
  async 'commands.run: callbacks, UTF-8 and much output'() {
    let seen = ''
    const done = await commands.run('for i in $(seq 20000); do echo "zeile $i ü€😀"; done', { onStdout: (text) => { seen += text } })
    assert.equal(done.stdout.split('\n').length, 20001)
    assert.equal(seen, done.stdout)
    assert.ok(done.stdout.endsWith('zeile 20000 ü€😀\n'))
  },
  async 'commands.run: envs, and those of the sandbox'() {
    const done = await commands.run('echo "$A|$E2B_SANDBOX|$E2B_SANDBOX_ID|$HOME|$USER|$LOGNAME"', { envs: { A: 'b c' } })
    assert.equal(done.stdout, `b c|true|${sandboxId}|${home}|user|user\n`)
  },
  async 'commands.run: cwd, absolute, relative, missing'() {
    assert.equal((await commands.run('pwd')).stdout, `${home}\n`)
    assert.equal((await commands.run('pwd', { cwd: '/tmp' })).stdout, '/tmp\n')
    await files.makeDir('some/where')
    assert.equal((await commands.run('pwd', { cwd: 'some/where' })).stdout, `${home}/some/where\n`)
    await fails(commands.run('true', { cwd: '/no/such/folder' }), InvalidArgumentError, /cwd '\/no\/such\/folder' does not exist/)
  },
  async 'commands.run: user'() {
    assert.equal((await commands.run('whoami')).stdout, 'user\n')
    assert.equal((await commands.run('whoami; pwd', { user: 'root' })).stdout, 'root\n/root\n')
    await assert.rejects(commands.run('true', { user: 'nobody-here' }), { name: 'AuthenticationError' })
  },
  async 'commands.run: a timeout ends the process'() {
    const begun = Date.now()
    await fails(commands.run('sleep 31.7', { timeoutMs: 700 }), TimeoutError)
    const late = []
    for (let i = 0; i < 10; i++) {
      const begun = performance.now()
      await fails(commands.run('sleep 31.7', { timeoutMs: 200 }), TimeoutError)
      late.push(performance.now() - begun - 200)
    }
    assert.ok(late.sort((a, b) => a - b)[5] < 100, `ms after its time: ${late}`)
    assert.ok(Date.now() - begun < 25000)
    await until(async () => (await commands.run('pgrep -f "sleep 31[.]7" || true')).stdout === '', 'the end of sleep')
  },
  async 'commands.run: in the background, wait'() {
    const handle = await commands.run('sleep 0.3; echo late', { background: true })
    assert.ok(handle.pid > 0)
    assert.equal((await handle.wait()).stdout, 'late\n')
  },
  async 'commands: pid is the one inside'() {
    const handle = await commands.run('sleep 30', { background: true })
    await commands.run(`kill -0 ${handle.pid}`)
    assert.equal(await handle.kill(), true)
  },
  async 'commands.sendStdin and closeStdin'() {
    const handle = await commands.run('cat', { background: true, stdin: true })
    await commands.sendStdin(handle.pid, 'one\n')
    await handle.sendStdin('two\n')
    await commands.closeStdin(handle.pid)
    assert.equal((await handle.wait()).stdout, 'one\ntwo\n')
    assert.equal(commands.supportsStdinClose, true)
    const other = await commands.run('cat', { background: true, stdin: true })
    await other.closeStdin()
    assert.equal((await other.wait()).stdout, '')
    await assert.rejects(commands.sendStdin(handle.pid, 'three'))
  },
  async 'commands.list'() {
    const handle = await commands.run('sleep 20', { background: true, envs: { A: 'b' } })
    const found = (await commands.list()).find((one) => one.pid === handle.pid)
    assert.equal(found.cmd, '/bin/bash')
    assert.deepEqual(found.args, ['-l', '-c', 'sleep 20'])
    assert.equal(await commands.kill(handle.pid), true)
    await until(async () => !(await commands.list()).some((one) => one.pid === handle.pid), 'the process leaves the list')
  },
  async 'commands.kill: true once, then false'() {
    const handle = await commands.run('sleep 20', { background: true })
    assert.equal(await commands.kill(handle.pid), true)
    await assert.rejects(handle.wait(), (error) => error.exitCode === -1 && /signal: killed/.test(error.error))
    assert.equal(await commands.kill(999999), false)
  },
  async 'commands.connect: output from then on'() {
    const handle = await commands.run('echo before; read -r line; echo after', { background: true, stdin: true })
    await until(() => handle.stdout.includes('before'), 'the first line')
    const second = await commands.connect(handle.pid)
    assert.equal(second.pid, handle.pid)
    await commands.sendStdin(handle.pid, 'go on\n')
    assert.equal((await second.wait()).stdout, 'after\n')
    await handle.wait()
    await assert.rejects(commands.connect(999999), NotFoundError)
  },
  async 'commands: disconnect leaves the process'() {
    const handle = await commands.run('sleep 20', { background: true })
    await handle.disconnect()
    await commands.run(`kill -0 ${handle.pid}`)
    assert.equal(await commands.kill(handle.pid), true)
  },
  async 'commands.run: 20 at once'() {
    const all = await Promise.all(Array.from({ length: 20 }, (_, i) => commands.run(`echo ${i}`)))
    assert.deepEqual(all.map((one) => one.stdout), Array.from({ length: 20 }, (_, i) => `${i}\n`))
  },

  // ---- terminals ----
  async 'pty: create, sendInput, resize, kill'() {
    let seen = ''
    const decoder = new TextDecoder()
    const terminal = await pty.create({ cols: 80, rows: 24, onData: (data) => { seen += decoder.decode(data) }, envs: { PS1: '$ ' }, cwd: '/tmp' })
    const say = (text) => pty.sendInput(terminal.pid, new TextEncoder().encode(text))
    await say('stty size; pwd\n')
    await until(() => /24 80\s+\/tmp/.test(seen), 'the first size')
    await pty.resize(terminal.pid, { cols: 100, rows: 30 })
    await say('stty size\n')
    await until(() => seen.includes('30 100'), 'the second size')
    assert.equal(await pty.kill(terminal.pid), true)
    await assert.rejects(terminal.wait(), (error) => error.exitCode === -1)
    assert.equal(await pty.kill(999999), false)
  },
  async 'pty: as root, with a time'() {
    let seen = ''
    const terminal = await pty.create({ cols: 80, rows: 24, user: 'root', onData: (data) => { seen += new TextDecoder().decode(data) } })
    await pty.sendInput(terminal.pid, new TextEncoder().encode('echo "$(id -un)-in-$PWD"\n'))
    await until(() => seen.includes('root-in-/root'), 'who it is')
    await terminal.kill()
    const timed = await pty.create({ cols: 80, rows: 24, timeoutMs: 500, onData: () => {} })
    await fails(timed.wait(), TimeoutError)
    await until(async () => !(await commands.list()).some(({ pid }) => pid === timed.pid), 'its end')
  },
  async 'pty: without a size'() {
    let seen = ''
    const terminal = await pty.create({ cols: 0, rows: 0, onData: (data) => { seen += new TextDecoder().decode(data) } })
    await pty.sendInput(terminal.pid, new TextEncoder().encode('stty size\n'))
    await until(() => seen.includes('24 80'), 'the usual size')
    await pty.resize(terminal.pid, { cols: 0, rows: 0 })
    await pty.sendInput(terminal.pid, new TextEncoder().encode('echo "still: $(stty size)"; exit\n'))
    await until(() => seen.includes('still: 24 80'), 'the size that it had')
    await terminal.wait()
  },
  async 'pty: its end'() {
    const terminal = await pty.create({ cols: 80, rows: 24, onData: () => {} })
    await pty.sendInput(terminal.pid, new TextEncoder().encode('exit 7\n'))
    await assert.rejects(terminal.wait(), (error) => error.exitCode === 7)
  },
  async 'pty.connect'() {
    const terminal = await pty.create({ cols: 80, rows: 24, onData: () => {} })
    let seen = ''
    const second = await pty.connect(terminal.pid, { onData: (data) => { seen += new TextDecoder().decode(data) } })
    await pty.sendInput(terminal.pid, new TextEncoder().encode('echo to-$((40 + 2))\n'))
    await until(() => seen.includes('to-42'), 'what the second one sees')
    await second.kill()
  },

  // ---- files ----
  async 'files.write and read: text, bytes, blob, stream'() {
    const info = await files.write('a.txt', 'hällo')
    assert.deepEqual([info.name, info.path, info.type], ['a.txt', `${home}/a.txt`, 'file'])
    assert.equal(await files.read('a.txt'), 'hällo')
    await files.write('/tmp/deep/er/b.bin', new Uint8Array([0, 255, 10, 13]).buffer)
    assert.deepEqual([...await files.read('/tmp/deep/er/b.bin', { format: 'bytes' })], [0, 255, 10, 13])
    await files.write('c', new Blob(['blob']))
    assert.equal(await (await files.read('c', { format: 'blob' })).text(), 'blob')
    await files.write('d', new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode('stream')); c.close() } }))
    let text = ''
    for await (const chunk of await files.read('d', { format: 'stream', streamIdleTimeoutMs: 10_000 })) text += new TextDecoder().decode(chunk)
    assert.equal(text, 'stream')
    assert.equal((await commands.run('stat -c "%U %G %a" a.txt /tmp/deep /tmp/deep/er')).stdout, 'user user 644\nuser user 755\nuser user 755\n')
  },
  async 'files.write: an empty file, and one of 20 MB'() {
    await files.write('empty', '')
    assert.equal(await files.read('empty'), '')
    const big = new Uint8Array(20_000_000).map((_, i) => (i * 7 + (i >> 8)) & 255)
    await files.write('big', big.buffer)
    assert.ok(Buffer.from(big).equals(Buffer.from(await files.read('big', { format: 'bytes' }))))
  },
  async 'files.write: several at once, gzip, metadata'() {
    assert.deepEqual((await files.writeFiles([{ path: 'many/0', data: 'zero' }])).map((one) => one.name), ['0'])
    const infos = await files.write([{ path: 'many/1', data: 'one' }, { path: '/tmp/many-2', data: 'two' }])
    assert.deepEqual(infos.map((one) => one.path), [`${home}/many/1`, '/tmp/many-2'])
    assert.equal(await files.read('/tmp/many-2'), 'two')
    const written = await files.write('zipped', 'packed '.repeat(5000), { gzip: true, useOctetStream: true, metadata: { Kind: 'x', b: 'c d' } })
    assert.deepEqual(written.metadata, { kind: 'x', b: 'c d' })
    assert.equal(await files.read('zipped', { gzip: true }), 'packed '.repeat(5000))
    assert.deepEqual((await files.getInfo('zipped')).metadata, { kind: 'x', b: 'c d' })
    await files.write('zipped', 'plain')
    assert.ok(!(await files.getInfo('zipped')).metadata)
  },
  async 'files.write: as root, over a folder, as nobody'() {
    await files.write('/root/secret', 'x', { user: 'root' })
    assert.equal((await commands.run('stat -c %U /root/secret', { user: 'root' })).stdout, 'root\n')
    await fails(files.write('/tmp', 'x'), InvalidArgumentError)
    await fails(sandbox.getMcpToken(), FileNotFoundError, /mcp-gateway/)
    await files.write('/etc/mcp-gateway/.token', 'of a gateway', { user: 'root' })
    assert.equal(await sandbox.getMcpToken(), 'of a gateway')
    assert.ok(sandbox.getMcpUrl().startsWith(`https://50005-${sandboxId}.`))
    await assert.rejects(files.write('x', 'x', { user: 'nobody-here' }), { name: 'AuthenticationError' })
  },
  async 'files.write: where there is no space'() {
    await commands.run('fallocate -l "$(df -B1 --output=avail /dev/shm | tail -1)" /dev/shm/all')
    for (const useOctetStream of [false, true]) await fails(files.write('/dev/shm/more', 'x'.repeat(100_000), { useOctetStream }), NotEnoughSpaceError)
    await commands.run('rm /dev/shm/all /dev/shm/more')
  },
  async 'files.read: missing, a folder'() {
    await fails(files.read('/no/such'), FileNotFoundError)
    await fails(files.write('/etc/passwd/x', 'x'), SandboxError)
    await fails(files.read('/tmp'), InvalidArgumentError, /folder/)
  },
  async 'files.exists and getInfo'() {
    await files.write('info', '12345')
    await commands.run('chmod 640 info; ln -sf info link; ln -sf /no/where broken')
    assert.equal(await files.exists('info'), true)
    assert.equal(await files.exists('/no/such'), false)
    const info = await files.getInfo('info')
    assert.deepEqual([info.name, info.type, info.path, info.size, info.mode, info.permissions, info.owner, info.group],
      ['info', FileType.FILE, `${home}/info`, 5, 0o640, '-rw-r-----', 'user', 'user'])
    assert.ok(Math.abs(info.modifiedTime.getTime() - Date.now()) < 20_000)
    const link = await files.getInfo('link')
    assert.deepEqual([link.type, link.symlinkTarget, link.permissions[0]], [FileType.FILE, `${home}/info`, 'L'])
    assert.equal((await files.getInfo('broken')).symlinkTarget, `${home}/broken`)
    await fails(files.getInfo('/no/such'), FileNotFoundError)
  },
  async 'files.makeDir: true, then false'() {
    assert.equal(await files.makeDir('new/dir/here'), true)
    assert.equal(await files.makeDir('new/dir/here'), false)
    assert.equal((await files.getInfo('new/dir/here')).type, FileType.DIR)
  },
  async 'files.list: depth'() {
    await commands.run('mkdir -p tree/a/b/c; touch tree/f tree/a/g tree/a/b/h')
    const names = async (depth) => (await files.list('tree', { depth })).map((one) => one.path.slice(`${home}/tree/`.length)).sort()
    assert.deepEqual(await names(), ['a', 'f'])
    assert.deepEqual(await names(2), ['a', 'a/b', 'a/g', 'f'])
    assert.deepEqual(await names(9), ['a', 'a/b', 'a/b/c', 'a/b/h', 'a/g', 'f'])
    await fails(files.list('/no/such'), NotFoundError)
    await fails(files.list('tree/f'), InvalidArgumentError)
  },
  async 'files.rename'() {
    await files.write('old', 'x')
    const info = await files.rename('old', 'other/place')
    assert.equal(info.path, `${home}/other/place`)
    assert.equal(await files.exists('old'), false)
    assert.equal(await files.read('other/place'), 'x')
    await fails(files.rename('/no/such', 'y'), NotFoundError)
  },
  async 'files.remove'() {
    await commands.run('mkdir -p gone/a; touch gone/a/b')
    await files.remove('gone')
    assert.equal(await files.exists('gone'), false)
    await files.remove('gone')
  },
  async 'files.watchDir: what happens, and its entries'() {
    await files.makeDir('watched/below')
    await files.write('watched/old', 'x')
    const seen = []
    const handle = await files.watchDir('watched', (event) => { seen.push(event) }, { recursive: true, includeEntry: true, allowNetworkMounts: true })
    const has = (type, name) => seen.some((event) => event.type === type && event.name === name)
    await files.write('watched/old', 'new text')
    await until(() => has(FilesystemEventType.WRITE, 'old'), 'a write')
    await files.write('watched/below/new', 'x')
    await until(() => has(FilesystemEventType.CREATE, 'below/new'), 'a create')
    const entry = seen.find((event) => event.type === FilesystemEventType.WRITE && event.name === 'old').entry
    assert.deepEqual([entry.name, entry.path, entry.type], ['old', `${home}/watched/old`, FileType.FILE])
    await files.rename('watched/old', 'watched/moved')
    await until(() => has(FilesystemEventType.RENAME, 'old') && has(FilesystemEventType.CREATE, 'moved'), 'a rename')
    await commands.run('chmod 600 watched/moved')
    await until(() => has(FilesystemEventType.CHMOD, 'moved'), 'a chmod')
    await files.remove('watched/moved')
    await until(() => has(FilesystemEventType.REMOVE, 'moved'), 'a remove')
    await handle.stop()
    const count = seen.length
    await files.write('watched/after', 'x')
    await commands.run('true')
    assert.equal(seen.length, count)
    await fails(files.watchDir('/no/such', () => {}), NotFoundError)
    await fails(files.watchDir('watched/after', () => {}), InvalidArgumentError)
  },
  async 'files.watchDir: without entries, and its time'() {
    await files.makeDir('timed')
    let ended
    const seen = []
    await files.watchDir('timed', (event) => { seen.push(event) }, { timeoutMs: 3000, onExit: (error) => { ended = error ?? null } })
    await files.write('timed/x', 'x')
    await until(() => seen.length > 0, 'an event')
    assert.ok(seen.every((event) => !event.entry))
    await until(() => ended !== undefined, 'its end')
    assert.ok(ended instanceof TimeoutError, String(ended))
  },
  async 'files: signed addresses'() {
    const write = await sandbox.uploadUrl('signed.txt', { useSignatureExpiration: 60 })
    const form = new FormData()
    form.append('file', new Blob(['by address']), 'signed.txt')
    assert.equal((await fetch(write, { method: 'POST', body: form })).status, 200)
    assert.equal(await files.read('signed.txt'), 'by address')
    const read = await sandbox.downloadUrl('signed.txt', { useSignatureExpiration: 60 })
    assert.equal(await (await fetch(read)).text(), 'by address')
    assert.equal((await fetch(read, { headers: { Range: 'bytes=3-5' } })).status, 206)
    assert.equal((await fetch(read.replace('signed.txt', 'a.txt'))).status, 401)
    assert.equal((await fetch(read.replace('v1_', 'v1_A'))).status, 401)
    assert.equal((await fetch(read.replace(/signature_expiration=\d+/, 'signature_expiration=1'))).status, 401)
    const late = await sandbox.downloadUrl('signed.txt', { useSignatureExpiration: -10 })
    assert.match(await (await fetch(late)).text(), /expired/)
    assert.equal(await (await fetch(await sandbox.downloadUrl('signed.txt', { user: 'root' }))).status, 404)
    const path = `${home}/signed.txt`
    const own = await getSignature({ path, operation: 'read', user: 'user', expirationInSeconds: 60, envdAccessToken })
    const query = new URLSearchParams({ path, username: 'user', signature: own.signature, signature_expiration: String(own.expiration) })
    assert.equal(await (await fetch(`${new URL(read).origin}/files?${query}`)).text(), 'by address')
  },

  // ---- git ----

  async 'git: all that the SDK has for it'() {
    const { git } = sandbox
    const [origin, work, other] = ['origin.git', 'git-work', 'git-other'].map((name) => `${home}/${name}`)
    await git.configureUser('Tester', 'tester@example.com')
    await git.setConfig('init.defaultBranch', 'main')
    assert.equal(await git.getConfig('user.name'), 'Tester')
    await git.init(origin, { bare: true, initialBranch: 'main' })
    await git.init(work, { initialBranch: 'main' })
    await files.write(`${work}/a.txt`, 'one')
    assert.deepEqual((await git.status(work)).fileStatus.map(({ name }) => name), ['a.txt'])
    await git.add(work)
    await git.commit(work, 'first')
    await git.remoteAdd(work, 'origin', origin)
    assert.equal(await git.remoteGet(work, 'origin'), origin)
    await git.push(work, { remote: 'origin', branch: 'main' })
    await git.clone(origin, { path: other })
    assert.equal(await files.read(`${other}/a.txt`), 'one')
    await git.createBranch(work, 'side')
    await files.write(`${work}/b.txt`, 'two')
    await git.add(work, { files: ['b.txt'] })
    await git.reset(work, { paths: ['b.txt'] })
    await git.add(work)
    await git.commit(work, 'second', { authorName: 'Other', authorEmail: 'other@example.com' })
    const { branches, currentBranch } = await git.branches(work)
    assert.deepEqual([branches.sort(), currentBranch], [['main', 'side'], 'side'])
    await files.write(`${work}/a.txt`, 'changed')
    await git.restore(work, { paths: ['a.txt'] })
    assert.equal(await files.read(`${work}/a.txt`), 'one')
    await git.checkoutBranch(work, 'main')
    await git.deleteBranch(work, 'side', { force: true })
    await files.write(`${work}/a.txt`, 'three')
    await git.add(work)
    await git.commit(work, 'third')
    await git.push(work)
    await git.pull(other)
    assert.equal(await files.read(`${other}/a.txt`), 'three')
    await assert.rejects(git.clone(`${home}/none.git`, { path: `${home}/never` }), { name: 'CommandExitError' })
  },
  async 'git: its options'() {
    const { git } = sandbox
    const [origin, work] = [`${home}/options.git`, `${home}/git-options`]
    await git.init(origin, { bare: true, initialBranch: 'main' })
    await git.init(work, { initialBranch: 'main' })
    await git.setConfig('user.name', 'Local', { scope: 'local', path: work })
    await git.configureUser('Local', 'local@example.com', { scope: 'local', path: work })
    assert.equal(await git.getConfig('user.email', { scope: 'local', path: work }), 'local@example.com')
    assert.equal(await git.getConfig('no.such'), undefined)
    for (const text of ['one', 'two']) {
      await files.write(`${work}/a.txt`, text)
      await git.add(work, { all: true })
      await git.commit(work, text)
    }
    await git.commit(work, 'nothing', { allowEmpty: true })
    await fails(git.push(work, { setUpstream: false }), SandboxError)
    await fails(git.pull(work), GitUpstreamError)
    await git.remoteAdd(work, 'origin', `${home}/elsewhere`)
    await git.remoteAdd(work, 'origin', origin, { overwrite: true, fetch: true })
    await fails(git.push(work, { setUpstream: false }), GitUpstreamError)
    await git.push(work, { remote: 'origin', branch: 'main', setUpstream: true })
    await git.pull(work, { remote: 'origin', branch: 'main' })
    await git.createBranch(work, 'side')
    await git.push(work, { remote: 'origin', branch: 'side' })
    assert.equal((await git.status(work)).upstream, 'origin/side')
    await git.reset(work, { mode: 'hard', target: 'HEAD~2' })
    assert.equal(await files.read(`${work}/a.txt`), 'one')
    await files.write(`${work}/a.txt`, 'three')
    await git.add(work)
    await git.restore(work, { paths: ['a.txt'], staged: true })
    assert.equal((await git.status(work)).hasStaged, false)
    await git.restore(work, { paths: ['a.txt'], staged: true, worktree: true, source: 'main' })
    assert.equal(await files.read(`${work}/a.txt`), 'two')
    await git.clone(`file://${origin}`, { path: `${home}/shallow`, branch: 'side', depth: 1 })
    assert.deepEqual([(await git.status(`${home}/shallow`)).currentBranch, (await commands.run('git rev-list --count HEAD', { cwd: 'shallow' })).stdout], ['side', '1\n'])
  },
  async 'git: a server that wants a login, which stays nowhere'() {
    const { git } = sandbox
    const [login, url] = [{ username: 'me', password: 's3cret-p4ss' }, 'http://127.0.0.1:4801/p.git']
    const stored = async (path) => (await commands.run(`grep -rlF ${login.password} ${path} ~/.gitconfig ~/.git-credentials 2>/dev/null || true`)).stdout
    await files.write('git_server.py', readFileSync(`${process.env.ATOLL_TESTS}/git_server.py`, 'utf8'))
    await commands.run('mkdir -p srv && git init -q --bare srv/p.git && git -C srv/p.git config http.receivepack true && git -C srv/p.git symbolic-ref HEAD refs/heads/main')
    const server = await commands.run(`exec python3 git_server.py $PWD/srv me:${login.password} 4801 $PWD/srv/log http://localhost:1`, { background: true, timeoutMs: 0 })
    await commands.run(`for i in $(seq 200); do test "$(curl -s -o /dev/null -w '%{http_code}' ${url})" = 401 && exit; sleep 0.1; done; exit 1`)
    await fails(git.clone(url, { path: 'login' }), GitAuthError, /requires credentials/)
    await fails(git.clone(url, { path: 'login', username: 'me', password: 'wrong' }), GitAuthError)
    await fails(git.clone(url, { path: 'login', password: 'x' }), InvalidArgumentError)
    await git.clone(url, { path: 'login', ...login })
    assert.equal(await git.remoteGet('login', 'origin'), url)
    await git.configureUser('Tester', 'tester@example.com', { scope: 'local', path: `${home}/login` })
    await git.commit('login', 'first', { allowEmpty: true })
    await fails(git.push('login', { remote: 'origin', branch: 'main' }), GitAuthError)
    await git.push('login', { remote: 'origin', branch: 'main', username: 'me', password: login.password })
    await fails(git.pull('login', { remote: 'origin', branch: 'main' }), GitAuthError)
    await git.pull('login', { remote: 'origin', branch: 'main', username: 'me', password: login.password })
    assert.equal(await stored('login'), '')
    await git.clone(url, { path: 'with-login', ...login, dangerouslyStoreCredentials: true })
    assert.equal(await stored('with-login'), 'with-login/.git/config\n')
    await git.dangerouslyAuthenticate({ username: 'me', password: login.password, host: '127.0.0.1:4801', protocol: 'http' })
    await git.pull('login', { remote: 'origin', branch: 'main' })
    assert.match(await files.read('.git-credentials'), /^http:\/\/me:s3cret-p4ss@127\.0\.0\.1/)
    await commands.run('rm -r .git-credentials login with-login; git config --global --unset credential.helper')
    await server.kill()
  },
  async 'what a template waits for is there to wait with'() {
    const ready = (/** @type {import('e2b').ReadyCmd} */ command) => commands.run(`for i in $(seq 100); do ${command.getCmd()} && exit; sleep 0.1; done; exit 1`)
    await ready(waitForTimeout(0))
    await ready(waitForFile(`${home}/a.txt`))
    const server = await commands.run('exec python3 -m http.server 8321 --bind 127.0.0.1', { background: true })
    await ready(waitForURL('http://127.0.0.1:8321/'))
    await ready(waitForProcess('python3'))
    await server.kill()
  },
  async 'requests without a token, or with another'() {
    await assert.rejects(new Sandbox({ sandboxId, envdVersion: '0.6.13', envdAccessToken: 'x' }).commands.run('true'), { name: 'AuthenticationError' })
    await assert.rejects(new Sandbox({ sandboxId, envdVersion: '0.6.13' }).files.list('/'), { name: 'AuthenticationError' })
  },
}

const only = process.env.ATOLL_CHECKS?.split('\n')
for (const [name, check] of Object.entries(checks).filter(([name]) => only?.includes(name) ?? true)) {
  const begun = Date.now()
  try {
    await check()
    console.log(JSON.stringify({ name, ok: true, ms: Date.now() - begun }))
  } catch (error) {
    console.log(JSON.stringify({ name, ok: false, error: describeError(error) }))
  }
}
process.exit(0)

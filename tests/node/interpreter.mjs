// SPDX-License-Identifier: Apache-2.0
// E2B's code interpreter, driven by its own SDK: node interpreter.mjs.
// One line per check: {"name":…,"ok":true}, {"name":…,"ok":false,"error":…} or {"name":…,"skip":reason}.
// See tests/system/test_interpreter.py.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { E2B, NotFoundError, Sandbox, TimeoutError } from '@e2b/code-interpreter'
import { describeError } from './failure.mjs'

const made = []

/** @param {import('@e2b/code-interpreter').SandboxOpts} options */
async function create(options = {}) {
  const sandbox = await Sandbox.create({ allowInternetAccess: false, timeoutMs: 120_000, ...options })
  made.push(sandbox)
  return sandbox
}

const shared = await create()
const run = shared.runCode.bind(shared)
const png = /^iVBORw0KGgo/

// The host's matplotlib looks for its defaults in /etc, which the template does not have.
await shared.commands.run('touch /etc/matplotlibrc', { user: 'root' })
const hasPlots = !(await run('import matplotlib, pandas')).error

/** Programs of the host that look for their settings in /etc, which the template does not have. */
async function bringSettings(program, folders) {
  if ((await shared.commands.run(`command -v ${program} || true`)).stdout === '') return false
  const packed = spawnSync('sh', ['-c', `cd / && tar -c etc/${folders}`], { maxBuffer: 64 << 20 }).stdout
  await shared.files.write('/tmp/etc.tar', new Blob([packed]))
  await shared.commands.run('tar -C / -xf /tmp/etc.tar', { user: 'root' })
  return true
}

const checks = {
  async 'create: the default template'() {
    assert.match(shared.sandboxId, /^[a-z0-9]+$/)
    assert.ok(await shared.isRunning())
  },
  async 'runCode: the last expression is the text'() {
    const execution = await run('x = 1; x')
    assert.equal(execution.text, '1')
    assert.equal(execution.results.length, 1)
    assert.equal(execution.results[0].isMainResult, true)
    assert.equal(execution.toJSON().results[0].toJSON().text, '1')
    assert.equal((await run('"a text"')).text, 'a text')
    assert.equal((await run('None')).text, undefined)
  },
  async 'runCode: state is kept'() {
    await run('y = 41')
    assert.equal((await run('y + 1')).text, '42')
    await run('def f(): return y')
    assert.equal((await run('f()')).text, '41')
  },
  async 'runCode: executionCount counts'() {
    const sandbox = await create()
    assert.equal((await sandbox.runCode('1')).executionCount, 1)
    assert.equal((await sandbox.runCode('2')).executionCount, 2)
    await sandbox.kill()
  },
  async 'runCode: logs and their callbacks'() {
    const seen = []
    const tell = (kind) => (message) => seen.push([kind, message.line, message.error])
    const execution = await run('import sys\nprint("out")\nprint("bad", file=sys.stderr)\nprint("end")\n7', {
      onStdout: (message) => { assert.equal(`${message}`, message.toString()); tell('stdout')(message) }, onStderr: tell('stderr'),
      onResult: (result) => seen.push(['result', result.text]), onError: tell('error'),
    })
    assert.equal(execution.logs.stdout.join(''), 'out\nend\n')
    assert.equal(execution.logs.stderr.join(''), 'bad\n')
    assert.deepEqual(seen, [['stdout', 'out\n', false], ['stderr', 'bad\n', true], ['stdout', 'end\n', false], ['result', '7']])
  },
  async 'runCode: output comes while the code runs'() {
    const at = []
    await run('import time\nfor i in range(3):\n    print(i)\n    time.sleep(0.8)', { onStdout: () => at.push(Date.now()) })
    assert.equal(at.length, 3)
    assert.ok(at[2] - at[0] > 400, `${at}`)
  },
  async 'runCode: an error has its traceback'() {
    let told
    const execution = await run('nope()', { onError: (error) => { told = error } })
    assert.equal(execution.error.name, 'NameError')
    assert.match(execution.error.value, /nope/)
    assert.match(execution.error.traceback, /line 1/)
    assert.equal(told.name, 'NameError')
    assert.equal((await run('1')).text, '1')
  },
  async 'runCode: display and formats'() {
    const { results } = await run('from IPython.display import display, HTML, Markdown, Latex, JSON, SVG, Javascript\n'
      + 'for v in (HTML("<b>"), Markdown("**b**"), Latex("$x$"), JSON({"a": 1}), SVG("<svg/>"), Javascript("1")): display(v)')
    assert.deepEqual(results.map((r) => r.formats().filter((f) => f !== 'text')[0]), ['html', 'markdown', 'latex', 'json', 'svg', 'javascript'])
    assert.equal(results[0].html, '<b>')
    assert.deepEqual(results[3].json, { a: 1 })
  },
  async 'runCode: figures and charts'() {
    if (!hasPlots) return 'the sandbox has no matplotlib and pandas'
    const { results: [line] } = await run('import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4], label="a"); plt.xlabel("T (s)"); plt.ylabel("V"); plt.title("t"); plt.show()')
    assert.match(line.png, png)
    assert.equal(line.chart.type, 'line')
    assert.deepEqual(line.chart.elements, [{ label: 'a', points: [[1, 3], [2, 4]] }])
    assert.deepEqual([line.chart.title, line.chart.x_label, line.chart.x_unit, line.chart.y_label], ['t', 'T (s)', 's', 'V'])
    assert.ok(line.chart.x_ticks.length > 1 && line.chart.x_tick_labels.length === line.chart.x_ticks.length)
    assert.equal(line.chart.x_scale, 'linear')
    const { results } = await run(
      'plt.bar(["a", "b"], [1, 2]); plt.show()\nplt.pie([1, 3], labels=["p", "q"]); plt.show()\nplt.scatter([1], [2]); plt.show()\n'
      + 'plt.boxplot([[1, 2, 3]]); plt.show()\nplt.subplots(1, 2)[1][0].plot([1, 2]); plt.gcf().axes[1].plot([1, 2]); plt.show()')
    const charts = results.filter((r) => r.png).map((r) => r.chart?.type)
    assert.deepEqual(charts, ['bar', 'pie', 'scatter', 'box_and_whisker', 'superchart'])
  },
  async 'runCode: a table is data'() {
    if (!hasPlots) return 'the sandbox has no matplotlib and pandas'
    const execution = await run('import pandas as pd\npd.DataFrame({"a": [1, 2], "b": ["x", "y"]})')
    assert.deepEqual(execution.results[0].data, { a: [1, 2], b: ['x', 'y'] })
    assert.match(execution.results[0].html, /<table/)
    assert.ok(execution.text.includes('a'))
  },
  async 'runCode: TypeScript'() {
    if ((await run('1', { language: 'js' }).catch(() => ({ error: true }))).error) return 'the sandbox has no node'
    const folder = new URL(import.meta.resolve('typescript/package.json'))
    for (const name of ['package.json', 'lib/typescript.js']) {
      await shared.files.write(`/home/user/node_modules/typescript/${name}`, (await readFile(new URL(name, folder))).toString())
    }
    assert.equal((await run('interface Point { x: number }\nconst at: Point = { x: 41 }\nat.x + 1', { language: 'typescript' })).text, '42')
    assert.equal((await run('at.x as number', { language: 'ts' })).text, '41')
    const context = await shared.createCodeContext({ language: 'typescript' })
    assert.equal(context.language, 'typescript')
    const { error } = await run('at', { context })
    assert.equal(error.name, 'ReferenceError')
    assert.equal((await run('let x: = 1', { language: 'ts' })).error.name, 'SyntaxError')
    await shared.removeCodeContext(context)
  },
  async 'runCode: R'() {
    if (!await bringSettings('R', 'R')) return 'the sandbox has no R'
    const execution = await run('x <- "hello"\nprint(x)\nSys.getenv("FOO")', { language: 'r', envs: { FOO: 'bar' } })
    assert.deepEqual([execution.logs.stdout.join(''), execution.text], ['[1] "hello"\n', '[1] "bar"'])
  },
  async 'runCode: Java'() {
    if (!await bringSettings('jshell', 'java-*')) return 'the sandbox has no jshell'
    const execution = await run('System.out.println("Hello");\nSystem.getProperty("FOO")', { language: 'java', envs: { FOO: 'bar' } })
    assert.deepEqual([execution.logs.stdout.join(''), execution.text], ['Hello\n', 'bar'])
  },
  async 'runCode: variables of one execution'() {
    assert.equal((await run('import os; os.environ["FOO"]', { envs: { FOO: 'bar' } })).text, 'bar')
    assert.equal((await run('os.environ.get("FOO", "gone")')).text, 'gone')
    const sandbox = await create({ envs: { BAZ: 'qux' } })
    assert.equal((await sandbox.runCode('import os; os.environ["BAZ"]')).text, 'qux')
    assert.equal((await sandbox.runCode('echo $BAZ', { language: 'bash' })).logs.stdout.join(''), 'qux\n')
    await sandbox.kill()
  },
  async 'runCode: await, and lines for the shell'() {
    assert.equal((await run('import asyncio\nawait asyncio.sleep(0, 9)')).text, '9')
    assert.equal((await run('!echo from the shell')).logs.stdout.join(''), 'from the shell\n')
  },
  async 'runCode: javascript'() {
    if ((await shared.commands.run('command -v node || true')).stdout === '') return 'the sandbox has no node'
    const execution = await run('console.log("hi"); const a = 6; a * 7', { language: 'javascript' })
    assert.equal(execution.text, '42')
    assert.equal(execution.logs.stdout.join(''), 'hi\n')
    assert.equal((await run('const a = 7; await Promise.resolve(a)', { language: 'js' })).text, '7')
    assert.equal((await run('throw new TypeError("bad")', { language: 'javascript' })).error.name, 'TypeError')
  },
  async 'runCode: bash'() {
    await run('cd /tmp; v=5', { language: 'bash' })
    const execution = await run('pwd; echo $v; false', { language: 'bash' })
    assert.equal(execution.logs.stdout.join(''), '/tmp\n5\n')
    assert.equal(execution.error.value, '1')
    assert.equal((await run('true', { language: 'bash' })).error, undefined)
  },
  async 'runCode: a language that is none'() {
    await assert.rejects(run('1', { language: 'cobol' }), /4\d\d|501/)
  },
  async 'runCode: past its time, and the next one runs'() {
    const sandbox = await create()
    await sandbox.runCode('kept = 3')
    await assert.rejects(sandbox.runCode('import time\ntime.sleep(60)', { timeoutMs: 700 }), TimeoutError)
    assert.equal((await sandbox.runCode('kept', { timeoutMs: 20_000, requestTimeoutMs: 20_000 })).text, '3')
    await assert.rejects(sandbox.runCode('while True: pass', { timeoutMs: 700 }), TimeoutError)
    assert.equal((await sandbox.runCode('kept', { timeoutMs: 20_000 })).text, '3')
    await sandbox.kill()
  },
  async 'runCode: an interpreter that ends comes back'() {
    const sandbox = await create()
    assert.equal((await sandbox.runCode('import os; os._exit(1)')).error.name, 'KernelEnded')
    assert.equal((await sandbox.runCode('1 + 1')).text, '2')
    await sandbox.kill()
  },
  async 'runCode: much output'() {
    const execution = await run('for i in range(20000): print("x" * 50)')
    assert.equal(execution.logs.stdout.join('').length, 20000 * 51)
  },
  async 'createCodeContext: folders and languages'() {
    const context = await shared.createCodeContext({ cwd: '/tmp', language: 'python', requestTimeoutMs: 20_000 })
    assert.deepEqual([context.language, context.cwd], ['python', '/tmp'])
    assert.equal((await run('import os; os.getcwd()', { context })).text, '/tmp')
    await run('own = 1', { context })
    assert.equal((await run('own')).error.name, 'NameError')
    assert.equal((await run('own', { context })).text, '1')
    const bash = await shared.createCodeContext({ language: 'bash' })
    assert.equal((await run('echo hi', { context: bash })).logs.stdout.join(''), 'hi\n')
    await shared.removeCodeContext(context)
    await shared.removeCodeContext(bash.id)
  },
  async 'listCodeContexts: the default ones and those that were made'() {
    const sandbox = await create()
    assert.deepEqual((await sandbox.listCodeContexts()).map((c) => c.language), ['python', 'javascript'])
    const context = await sandbox.createCodeContext()
    const contexts = await sandbox.listCodeContexts()
    assert.deepEqual(contexts.at(-1), { id: context.id, language: 'python', cwd: context.cwd })
    await sandbox.kill()
  },
  async 'removeCodeContext: it is gone'() {
    const context = await shared.createCodeContext()
    await shared.removeCodeContext(context)
    await assert.rejects(run('1', { context }), NotFoundError)
    await assert.rejects(shared.removeCodeContext(context), NotFoundError)
  },
  async 'restartCodeContext: its state is gone'() {
    const context = await shared.createCodeContext()
    await run('x = 1', { context })
    await shared.restartCodeContext(context.id)
    assert.equal((await run('x', { context })).error.name, 'NameError')
    await shared.removeCodeContext(context)
    await assert.rejects(shared.restartCodeContext('none'), NotFoundError)
  },
  async 'contexts: at once'() {
    const contexts = await Promise.all([1, 2, 3].map(() => shared.createCodeContext()))
    const texts = await Promise.all(contexts.map((context, i) => run(`import time; time.sleep(0.2); ${i}`, { context })))
    assert.deepEqual(texts.map((e) => e.text), ['0', '1', '2'])
    await Promise.all(contexts.map((context) => shared.removeCodeContext(context)))
  },
  async 'one context: many at once run one after the other'() {
    const context = await shared.createCodeContext()
    const executions = await Promise.all(Array.from({ length: 8 }, (_, i) => run(`${i}`, { context })))
    assert.deepEqual(executions.map((e) => e.text), ['0', '1', '2', '3', '4', '5', '6', '7'])
    assert.deepEqual(executions.map((e) => e.executionCount).sort(), [1, 2, 3, 4, 5, 6, 7, 8])
    await shared.removeCodeContext(context)
  },
  async 'pause and connect: the state is kept'() {
    const sandbox = await create()
    await sandbox.runCode('kept = 8')
    await sandbox.pause()
    const again = await Sandbox.connect(sandbox.sandboxId)
    assert.equal((await again.runCode('kept')).text, '8')
    await again.kill()
  },
  async 'a sandbox that was killed'() {
    const sandbox = await create()
    await sandbox.kill()
    await assert.rejects(sandbox.runCode('1'), TimeoutError)
  },
  async 'by a client of its own'() {
    const { Sandbox: Own, Template } = new E2B({ apiKey: process.env.E2B_API_KEY })
    const sandbox = await Own.create({ allowInternetAccess: false, timeoutMs: 60_000 })
    made.push(sandbox)
    assert.equal((await sandbox.runCode('6 * 7')).text, '42')
    assert.equal(await Template.exists('no-such-template'), false)
  },
  async 'files and code meet'() {
    await shared.files.write('/tmp/met.txt', 'hello')
    assert.equal((await run('open("/tmp/met.txt").read()')).text, 'hello')
  },
}

const only = process.env.ATOLL_CHECKS?.split('\n')
for (const [name, check] of Object.entries(checks).filter(([name]) => only?.includes(name) ?? true)) {
  try {
    const skip = await check()
    console.log(JSON.stringify(skip ? { name, skip } : { name, ok: true }))
  } catch (error) {
    console.log(JSON.stringify({ name, ok: false, error: describeError(error).slice(0, 4000) }))
  }
}
await Promise.all(made.map((sandbox) => sandbox.kill().catch(() => {})))
// Its SDK leaves a timer of a minute behind for each answer that is an error.
process.exit(0)

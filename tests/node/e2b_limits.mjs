// SPDX-License-Identifier: Apache-2.0
// A sandbox that has as many requests as it may, by E2B's own SDK: node e2b_limits.mjs ID TOKEN. See tests/system/test_e2b_server.py.
import assert from 'node:assert/strict'
import { RateLimitError, Sandbox } from 'e2b'

const [sandboxId, envdAccessToken] = process.argv.slice(2)
const { commands, files } = new Sandbox({ sandboxId, envdAccessToken, envdVersion: '0.6.13', requestTimeoutMs: 20_000 })
await assert.rejects(commands.run('true'), RateLimitError)
await assert.rejects(commands.list(), RateLimitError)
await assert.rejects(files.read('/etc/passwd'), RateLimitError)
await assert.rejects(files.write('/tmp/x', 'x'), RateLimitError)

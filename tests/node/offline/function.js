// SPDX-License-Identifier: Apache-2.0
// A function of serverless-offline that is the program of deploy/lambda: the program runs beside this handler and takes its
// invocations from a Runtime API here, as it does at AWS Lambda. serverless-offline itself starts programs of this kind in
// containers only.
const http = require('node:http')
const { spawn } = require('node:child_process')

const PREFIX = '/2018-06-01/runtime/invocation/'
const waiting = []
let asked = null // the program's open call for its next invocation
let current = null
let program = null

function giveNext() {
  if (!asked || !waiting.length) return
  current = waiting.shift()
  asked.writeHead(200, {
    'Content-Type': 'application/json', 'Lambda-Runtime-Aws-Request-Id': current.id, 'Lambda-Runtime-Deadline-Ms': String(current.deadline),
  })
  asked.end(current.payload)
  asked = null
}

function failAll(type, message) {
  for (const invocation of [current, ...waiting.splice(0)]) {
    if (invocation) invocation.reject(Object.assign(new Error(message), { name: type }))
  }
  current = null
}

async function answer(request, response) {
  if (request.method === 'GET' && request.url === `${PREFIX}next` && !current) {
    asked = response
    return giveNext()
  }
  let body = ''
  for await (const piece of request) body += piece
  const kind = current && ['response', 'error'].find(name => request.url === PREFIX + current.id + '/' + name)
  response.writeHead(kind ? 202 : 403, { 'Content-Length': 0 }).end()
  if (!kind) return
  const { resolve, reject } = current
  const said = JSON.parse(body)
  current = null
  if (kind === 'response') resolve(said)
  else reject(Object.assign(new Error(said.errorMessage), { name: said.errorType }))
}

const listening = new Promise((resolve) => {
  const server = http.createServer(answer).listen(0, '127.0.0.1', () => resolve(server.address().port))
  server.unref()
})

async function start() {
  const port = await listening
  const [command, ...words] = JSON.parse(process.env.ATOLL_FUNCTION_START)
  program = spawn(command, words, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      PATH: '/usr/bin:/bin', AWS_LAMBDA_RUNTIME_API: `127.0.0.1:${port}`, LAMBDA_TASK_ROOT: '/var/task', WORKSPACES: process.env.WORKSPACES ?? '',
      AWS_ACCESS_KEY_ID: 'ASIAOFTHEROLE', AWS_SECRET_ACCESS_KEY: 'secret-of-the-role', AWS_SESSION_TOKEN: 'token-of-the-role',
    },
  })
  program.on('exit', (status) => {
    program = asked = null
    failAll('Runtime.ExitError', `Runtime exited with error: exit status ${status}`)
  })
}

exports.handler = async (event, context) => {
  if (!program) await start()
  return new Promise((resolve, reject) => {
    waiting.push({
      id: context.awsRequestId, payload: JSON.stringify(event), deadline: Date.now() + context.getRemainingTimeInMillis(), resolve, reject,
    })
    giveNext()
  })
}

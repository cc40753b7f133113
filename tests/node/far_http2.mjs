// SPDX-License-Identifier: Apache-2.0
// A far server of HTTP/2 and HTTP/1.1, for tests/secured_http2.py: tells what came, as tests/secured.py does, and repeats it.
// far_http2.mjs CERTIFICATE ADDRESS PROTOCOLS (h2, http/1.1, or both with a comma)
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import http2 from 'node:http2'
import https from 'node:https'

const [certificate, address, protocols] = process.argv.slice(2)
const pem = readFileSync(certificate)
const tell = (...words) => process.stdout.write(words.join(' ') + '\n')
const bodyOf = async request => { const parts = []; for await (const part of request) parts.push(part); return Buffer.concat(parts) }

function note(request, size) {
  const fields = []
  for (let i = 0; i < request.rawHeaders.length; i += 2) fields.push([request.rawHeaders[i], request.rawHeaders[i + 1]])
  const host = request.headers[':authority'] ?? request.headers.host
  tell('came', address, host, request.method, request.url, JSON.stringify(fields).replaceAll(' ', '\u00a0'), size)
}

const ways = {
  '/upload': async (request, answer, query, body) => answer.end(`${body.length} ${createHash('sha256').update(body).digest('hex')}`),
  '/echo': async (request, answer, query, body) => answer.end(body),
  '/big': async (request, answer, query) => {
    const block = Buffer.from(Uint8Array.from({ length: 65536 }, (_, i) => i % 256))
    let size = Number(query.get('size'))
    answer.setHeader('content-length', size)
    answer.on('error', () => {})
    while (size > 0 && !answer.destroyed) {
      const piece = block.subarray(0, Math.min(size, block.length))
      size -= piece.length
      if (!answer.write(piece)) await new Promise(go => { answer.once('drain', go); answer.once('close', go) })
    }
    tell('sent', size)
    answer.end()
  },
  '/header': async (request, answer) => { answer.setHeader('x-echo', String(request.headers.authorization)); answer.end('x') },
  '/pieces': async (request, answer) => {
    for (const letter of `begin ${request.headers.authorization} end`) { answer.write(letter); await new Promise(go => setTimeout(go, 1)) }
    answer.end()
  },
  '/slow': async (request, answer) => {
    answer.setHeader('content-type', 'text/event-stream')
    answer.write('data: one\n\n')
    const timer = setInterval(() => answer.write('data: more\n\n'), 300)
    answer.on('close', () => { clearInterval(timer); tell('closed', request.url) })
  },
  '/grpc': async (request, answer, query, body) => {
    answer.setHeader('content-type', 'application/grpc')
    answer.setHeader('trailer', 'grpc-status')
    answer.addTrailers({ 'grpc-status': '0', 'grpc-message': 'said ' + request.headers.authorization, 'set-cookie': 'a=b' })
    answer.end(body)
  },
  '/cut': async (request, answer) => {
    answer.setHeader('content-length', 1000)
    answer.write('half')
    setTimeout(() => answer.stream ? answer.stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR) : answer.destroy(), 50)
  },
  '/refused': async (request, answer) => answer.stream.close(http2.constants.NGHTTP2_REFUSED_STREAM),
  '/goaway': async (request, answer) => { answer.end('last'); answer.stream?.session.goaway(0) },
  '/early': async (request, answer) => { answer.statusCode = 413; answer.end('no') },
  '/interim': async (request, answer) => { answer.writeEarlyHints({ link: '</x>; rel=preload' }); answer.end('final') },
}

async function serve(request, answer) {
  const url = new URL(request.url, 'https://x')
  request.on('error', () => {})
  if (url.pathname === '/early') { note(request, 0); return ways['/early'](request, answer) }
  const body = await bodyOf(request)
  note(request, body.length)
  if (ways[url.pathname]) return ways[url.pathname](request, answer, url.searchParams, body)
  answer.end(JSON.stringify({ version: request.httpVersion, headers: request.rawHeaders, size: body.length }))
}

const wanted = protocols.split(',')
const options = { key: pem, cert: pem, ALPNProtocols: wanted, allowHTTP1: wanted.includes('http/1.1') }
const server = wanted.includes('h2') ? http2.createSecureServer(options) : https.createServer(options)
const run = (request, answer) => serve(request, answer).catch(failure => tell('broken', String(failure).replaceAll(' ', '_')))
server.on('request', run)
server.on('checkContinue', (request, answer) => { answer.writeContinue(); run(request, answer) })
server.on('session', session => { tell('session', address); session.on('error', () => {}) })
server.on('secureConnection', socket => tell('connected', address, socket.alpnProtocol || 'none'))
server.listen(443, address, () => tell('listening', address))

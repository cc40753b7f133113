// SPDX-License-Identifier: Apache-2.0
// A provider of OpenID Connect: node oidc.mjs PORT ALGORITHM CALLBACK. PUT /person says who sits at the browser: {sub, email, …}, or null for
// a person who refuses. POST /keys replaces the signing key. Says "up" when it listens.
import { generateKeyPairSync } from 'node:crypto'

import Provider from 'oidc-provider'

const [port, algorithm, callback] = process.argv.slice(2)
const people = new Map()
let person = null
let serial = 0

function makeKey () {
  const pair = algorithm === 'ES256' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync('rsa', { modulusLength: 2048 })
  return { ...pair.privateKey.export({ format: 'jwk' }), kid: `key-${++serial}`, use: 'sig', alg: algorithm }
}

const makeProvider = () => new Provider(`http://127.0.0.1:${port}`, {
  clients: [{
    client_id: 'atoll', client_secret: 'a secret: with % and &', redirect_uris: [callback], grant_types: ['authorization_code'],
    response_types: ['code'], id_token_signed_response_alg: algorithm
  }],
  jwks: { keys: [makeKey()] },
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'], groups: ['groups'] },
  scopes: ['openid', 'email', 'profile', 'groups'],
  pkce: { required: () => true },
  features: { devInteractions: { enabled: false } },
  cookies: { keys: ['for tests only'] },
  interactions: { url: (context, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (context, id) => ({ accountId: id, claims: () => people.get(id) })
})

async function body (context) {
  const pieces = []
  for await (const piece of context.req) pieces.push(piece)
  return JSON.parse(Buffer.concat(pieces).toString() || 'null')
}

async function interact (provider, context) {
  const { prompt, params, session, grantId } = await provider.interactionDetails(context.req, context.res)
  if (!person) return provider.interactionFinished(context.req, context.res, { error: 'access_denied' })
  if (prompt.name === 'login') return provider.interactionFinished(context.req, context.res, { login: { accountId: person.sub } })
  const grant = grantId ? await provider.Grant.find(grantId) : new provider.Grant({ accountId: session.accountId, clientId: params.client_id })
  grant.addOIDCScope(params.scope)
  return provider.interactionFinished(context.req, context.res, { consent: { grantId: await grant.save() } })
}

let provider
function renew () {
  provider = makeProvider()
  const own = provider
  own.use(async (context, next) => {
    if (context.path.startsWith('/interaction/')) return interact(own, context)
    return next()
  })
}

renew()
const { createServer } = await import('node:http')
createServer(async (request, response) => {
  if (request.method === 'PUT' && request.url === '/person') {
    person = await body({ req: request })
    if (person) people.set(person.sub, person)
    response.end('{}')
  } else if (request.method === 'POST' && request.url === '/keys') {
    renew()
    response.end('{}')
  } else {
    provider.callback()(request, response)
  }
}).listen(+port, '127.0.0.1', () => console.log('up'))

// SPDX-License-Identifier: Apache-2.0
// An OAuth server: node oauth.mjs PORT CALLBACK. Its person agrees to everything, unless PUT /person says {"refuses": true}; PUT /person
// {"userCode": CODE} confirms a device. Tokens live for {"life": SECONDS}; {"forget": true} refuses refresh tokens. GET /calls tells which grants were asked for, and how they ended.
// Says "up" when it listens.
import { createServer } from 'node:http'

import Provider from 'oidc-provider'

const [port, callback] = process.argv.slice(2)
const issuer = `http://localhost:${port}`
const person = { refuses: false, forget: false, life: 3600 }
const calls = []
const grants = ['authorization_code', 'refresh_token', 'client_credentials', 'urn:ietf:params:oauth:grant-type:device_code']

const provider = new Provider(issuer, {
  clients: [
    { client_id: 'app', client_secret: 'a secret: with % and &', redirect_uris: [callback], grant_types: grants, response_types: ['code'] },
    { client_id: 'public', token_endpoint_auth_method: 'none', redirect_uris: [callback], grant_types: grants.filter((name) => name !== 'client_credentials'), response_types: ['code'] }
  ],
  scopes: ['openid', 'offline_access', 'repo'],
  clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
  pkce: { required: () => true },
  issueRefreshToken: () => true,
  rotateRefreshToken: () => true,
  ttl: { AccessToken: () => person.life, ClientCredentials: () => person.life, RefreshToken: 86400, Session: 3600, Grant: 86400, Interaction: 3600, DeviceCode: 600 },
  features: {
    devInteractions: { enabled: false }, deviceFlow: { enabled: true }, clientCredentials: { enabled: true }, revocation: { enabled: true },
    introspection: { enabled: true }
  },
  cookies: { keys: ['for tests only'] },
  interactions: { url: (context, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (context, id) => ({ accountId: id, claims: () => ({ sub: id }) })
})

async function interact (context) {
  const { prompt, params, session, grantId } = await provider.interactionDetails(context.req, context.res)
  if (person.refuses) return provider.interactionFinished(context.req, context.res, { error: 'access_denied' })
  if (prompt.name === 'login') return provider.interactionFinished(context.req, context.res, { login: { accountId: 'ann' } })
  const grant = grantId ? await provider.Grant.find(grantId) : new provider.Grant({ accountId: session.accountId, clientId: params.client_id })
  grant.addOIDCScope(params.scope)
  return provider.interactionFinished(context.req, context.res, { consent: { grantId: await grant.save() } })
}

// What the pages for devices do, without the pages.
async function confirmDevice (userCode) {
  const code = await provider.DeviceCode.findByUserCode(userCode.replaceAll('-', ''), { ignoreExpiration: true })
  const grant = new provider.Grant({ accountId: 'ann', clientId: code.clientId })
  grant.addOIDCScope(code.params.scope)
  Object.assign(code, { accountId: 'ann', grantId: await grant.save(), scope: code.params.scope })
  await code.save(600)
}

provider.use(async (context, next) => {
  if (context.path.startsWith('/interaction/')) return interact(context)
  if (person.forget && context.path === '/token') {
    context.status = 400
    context.body = { error: 'invalid_grant' }
    return
  }
  await next()
  if (context.path === '/token') calls.push({ grant: context.oidc?.params?.grant_type, status: context.status, error: context.body?.error ?? null, client: context.get('authorization') ? 'basic' : 'body' })
  if (context.path.startsWith('/token/revocation')) calls.push({ grant: 'revocation', status: context.status })
})

async function body (request) {
  const pieces = []
  for await (const piece of request) pieces.push(piece)
  return JSON.parse(Buffer.concat(pieces).toString() || 'null')
}

createServer(async (request, response) => {
  if (request.method === 'PUT' && request.url === '/person') {
    const change = await body(request)
    if (change.userCode) await confirmDevice(change.userCode)
    else Object.assign(person, change)
    response.end('{}')
  } else if (request.url === '/calls') {
    response.end(JSON.stringify(calls))
  } else {
    provider.callback()(request, response)
  }
}).listen(+port, () => console.log('up'))

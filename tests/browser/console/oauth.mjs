// SPDX-License-Identifier: Apache-2.0
// oauth.mjs: an OAuth service for journeys: metadata, the device flow, tokens, revocation. It agrees once its page for devices was opened.
import { createServer } from "node:http";

const CODE = "WDJB-MJHT";

function answer(response, status, body) {
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}

/** {issuer, revoked, close}; `revoked` holds the bodies of revocations, and `isAway` makes it answer 503. */
export async function startOAuth() {
  const service = { revoked: [], isAgreed: false, isAway: false };
  const routes = {
    "/.well-known/openid-configuration": (request, response) =>
      answer(response, 200, {
        issuer: service.issuer, authorization_endpoint: `${service.issuer}/authorize`, token_endpoint: `${service.issuer}/token`,
        device_authorization_endpoint: `${service.issuer}/device`, revocation_endpoint: `${service.issuer}/revoke`, code_challenge_methods_supported: ["S256"],
      }),
    "/device": (request, response) => answer(response, 200, { device_code: "device-secret", user_code: CODE, verification_uri: `${service.issuer}/activate`, expires_in: 600, interval: 1 }),
    "/activate": (request, response) => {
      service.isAgreed = true;
      response.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html><title>Agreed</title><h1>Agreed</h1>");
    },
    "/token": (request, response) =>
      service.isAgreed ? answer(response, 200, { access_token: "access-value", refresh_token: "refresh-value", token_type: "Bearer", expires_in: 3600, scope: "repo" }) : answer(response, 400, { error: "authorization_pending" }),
    "/revoke": (request, response, body) => {
      service.revoked.push(body);
      answer(response, service.isAway ? 503 : 200, {});
    },
  };
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const route = routes[request.url.split("?")[0]];
    if (route) route(request, response, body);
    else answer(response, 404, {});
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  service.issuer = `http://localhost:${server.address().port}`;
  service.close = () => server.close();
  return service;
}
export { CODE };

// Signs requests with AWS's own signer: a JSON object a line in, the value of the Authorization header out.
import { createHash, createHmac } from 'node:crypto';
import readline from 'node:readline';
import { SignatureV4 } from '@smithy/signature-v4';

class Sha256 {
  constructor(secret) { this.state = secret ? createHmac('sha256', secret) : createHash('sha256'); }
  update(bytes) { this.state.update(bytes); }
  async digest() { return new Uint8Array(this.state.digest()); }
  reset() {}
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  const headers = { host: asked.host, 'x-amz-content-sha256': createHash('sha256').update(asked.body).digest('hex') };
  for (const header of asked.headers) headers[header.slice(0, header.indexOf(':')).toLowerCase()] = header.slice(header.indexOf(':') + 1);
  const query = {};
  for (const [name, value] of asked.pairs) (query[name] ??= []).push(value);
  const signer = new SignatureV4({
    credentials: { accessKeyId: asked.id, secretAccessKey: asked.secret, sessionToken: asked.token || undefined },
    region: asked.region, service: asked.service, sha256: Sha256, applyChecksum: false, uriEscapePath: asked.service !== 's3',
  });
  const signed = await signer.sign(
    { method: asked.method, protocol: 'https:', hostname: asked.host, path: asked.path, query, headers, body: asked.body },
    { signingDate: new Date(asked.unix_ms), signableHeaders: new Set(Object.keys(headers)) });
  console.log(signed.headers.authorization);
}

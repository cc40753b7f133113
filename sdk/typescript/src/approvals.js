// SPDX-License-Identifier: Apache-2.0
// What waits for a person, and the consents to credentials that people gave.
import { path } from './http.js';

/** Tool calls, hosts and credentials that an agent asked for. */
export class Approvals {
  constructor(transport) {
    this.transport = transport;
  }

  async list(query = {}) {
    const found = [];
    let page;
    do {
      const answer = await this.transport.request('GET', '/v1/approvals', { query: { ...query, page } });
      found.push(...answer.items);
      page = answer.next_page;
    } while (page && query.limit === undefined);
    return found;
  }

  get(id) {
    return this.transport.request('GET', path`/v1/approvals/${id}`);
  }

  approve(id, note) {
    return this.transport.request('POST', path`/v1/approvals/${id}/approve`, { json: { note } });
  }

  refuse(id, note) {
    return this.transport.request('POST', path`/v1/approvals/${id}/refuse`, { json: { note } });
  }
}

/** People's consents to the use of credentials in sandboxes (docs/use/credentials.md). */
export class Consents {
  constructor(transport) {
    this.transport = transport;
  }

  async list(query = {}) {
    return (await this.transport.request('GET', '/v1/consents', { query })).items;
  }

  async revoke(credential, { conversation, sandbox } = {}) {
    if ((conversation === undefined) === (sandbox === undefined)) throw new TypeError('revoke takes a conversation or a sandbox');
    const where = sandbox === undefined
      ? path`/v1/conversations/${conversation}/credentials/${credential}/revoke`
      : path`/api/sandbox/instances/${sandbox}/credentials/${credential}/revoke`;
    return (await this.transport.request('POST', where)).revoked;
  }
}

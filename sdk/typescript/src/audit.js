// SPDX-License-Identifier: Apache-2.0
// Rows of the audit, and exports that verify without the server.
const BASE = '/v1/audit';

/** What was done, by which caller, with which result (docs/operate/audit.md). */
export class Audit {
  constructor(transport) {
    this.transport = transport;
  }

  list(query = {}) {
    return this.transport.request('GET', BASE, { query });
  }

  async *rows(query = {}) {
    const turn = query.after === undefined ? 'before' : 'after';
    for (let next = query[turn]; ; ) {
      const page = await this.list({ ...query, [turn]: next });
      yield* page.items;
      if (!page.next) return;
      next = page.next;
    }
  }

  key() {
    return this.transport.request('GET', `${BASE}/key`);
  }

  async *export(query = {}) {
    const where = `${BASE}/export`;
    let after;
    do {
      const { response, deadline } = await this.transport.open('GET', where, { query: { ...query, after } });
      let piece;
      try {
        piece = new Uint8Array(await response.arrayBuffer());
      } catch (error) {
        throw this.transport.failure(error, deadline, `GET ${where}`);
      } finally {
        deadline.stop();
      }
      yield piece;
      after = response.headers.get('Atoll-Next-Page') ?? undefined;
    } while (after !== undefined);
  }
}

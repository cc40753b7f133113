// SPDX-License-Identifier: Apache-2.0
import { path } from './http.js';

/** Commands that are kept running: restarted when they crash, and when the sandbox is started. */
export class Services {
  constructor(sandbox) {
    this.sandbox = sandbox;
  }

  call(method, name, rest = '', call = {}) {
    return this.sandbox.call(method, path`/services/${name}` + rest, call);
  }

  /** Creates or changes a service; one that is already so keeps running. */
  put(name, options) {
    return this.call('PUT', name, '', { json: options });
  }

  async list() {
    return (await this.sandbox.call('GET', '/services')).items;
  }

  get(name) {
    return this.call('GET', name);
  }

  /** The tail, or from `since_stdout` and `since_stderr` on. */
  logs(name, query = {}) {
    return this.call('GET', name, '/logs', { query });
  }

  start(name) {
    return this.call('POST', name, '/start');
  }

  stop(name) {
    return this.call('POST', name, '/stop');
  }

  restart(name) {
    return this.call('POST', name, '/restart');
  }

  async remove(name) {
    await this.call('DELETE', name);
  }
}

// SPDX-License-Identifier: Apache-2.0
// node --require: names below localhost are this machine, as browsers have it, whatever the resolver says.
const dns = require('node:dns')
const lookup = dns.lookup
dns.lookup = (name, options, done = options) => {
  const asked = typeof options === 'function' ? {} : typeof options === 'number' ? { family: options } : options ?? {}
  if (!/(^|\.)localhost$/.test(name)) return lookup(name, options, done)
  const found = { address: '127.0.0.1', family: 4 }
  process.nextTick(() => asked.all ? done(null, [found]) : done(null, found.address, found.family))
}

// SPDX-License-Identifier: Apache-2.0
'use strict';

const fs = require('node:fs');
const { summarize } = require('./weather');

module.exports = require('./weather');

if (require.main === module) {
  const path = process.argv[2];
  if (!path) {
    console.error('usage: node src/index.js FILE.csv');
    process.exit(2);
  }
  console.log(JSON.stringify(summarize(fs.readFileSync(path, 'utf8')), null, 2));
}

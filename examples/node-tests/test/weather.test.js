// SPDX-License-Identifier: Apache-2.0
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { execFileSync, spawnSync } = require('node:child_process');
const test = require('node:test');
const { csv, statistics } = require('../src/packages');
const { readDays, byMonth, longestDrySpell, summarize } = require('../src/weather');

const root = path.join(__dirname, '..');
const file = path.join(root, 'data', 'weather.csv');
const head = 'date,precipitation,temp_max,temp_min,wind,weather\n';
const day = (date, rain, low = 0, high = 10) => ({ date, rain, low, high });

test('the packages are there when their installation was asked for', () => {
  const expected = process.env.EXPECT_PACKAGES === '1';
  if (expected) assert.ok(csv.installed && statistics.installed);
});

test('rows become days with numbers', () => {
  assert.deepEqual(readDays(`${head}2012-01-01,1.5,12.8,-5.0,4.7,rain\n`), [day('2012-01-01', 1.5, -5, 12.8)]);
});

test('a word in place of a number is refused with its day', () => {
  assert.throws(() => readDays(`${head}2012-01-01,much,1,1,1,rain\n`), /2012-01-01: rain/);
});

test('a row that lacks a cell is refused', () => {
  assert.throws(() => readDays(`${head}2012-01-01,1\n`));
});

test('days are gathered by month', () => {
  const months = byMonth([day('2012-01-01', 1), day('2012-01-02', 2), day('2012-02-01', 4, 10, 20)]);
  assert.deepEqual(months, [{ month: '2012-01', mean: 5, rain: 3 }, { month: '2012-02', mean: 15, rain: 4 }]);
});

test('the longest dry spell is found, also at the end', () => {
  const days = [day('a', 0), day('b', 1), day('c', 0), day('d', 0)];
  assert.deepEqual(longestDrySpell(days), { days: 2, from: 'c', to: 'd' });
  assert.deepEqual(longestDrySpell([day('a', 1)]), { days: 0 });
});

test('correlation of a line with itself is 1', () => {
  assert.ok(Math.abs(statistics.sampleCorrelation([1, 2, 3, 5], [2, 4, 6, 10]) - 1) < 1e-12);
});

test('two real years: cold months are wet here', () => {
  const summary = summarize(fs.readFileSync(file, 'utf8'));
  assert.equal(summary.days, 731);
  assert.equal(summary.months.length, 24);
  assert.ok(summary.rainAgainstWarmth < -0.3);
  assert.ok(summary.driest.days >= 20);
});

test('the command prints JSON and refuses to run without a file', () => {
  const printed = execFileSync(process.execPath, ['src/index.js', file], { cwd: root, encoding: 'utf8' });
  assert.equal(JSON.parse(printed).days, 731);
  assert.equal(spawnSync(process.execPath, ['src/index.js'], { cwd: root }).status, 2);
});

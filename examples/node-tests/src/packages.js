// SPDX-License-Identifier: Apache-2.0
'use strict';

// The packages do the work where they could be installed; without a registry these few lines do,
// for plain files as ours.
function optional(name, fallback) {
  try {
    return { ...require(name), installed: true };
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error;
    return { ...fallback, installed: false };
  }
}

function parsePlain(text) {
  const [head, ...lines] = text.trim().split('\n');
  const names = head.split(',');
  return lines.map((line) => {
    const cells = line.split(',');
    if (cells.length !== names.length) throw new Error(`${cells.length} cells where ${names.length} are due: ${line}`);
    return Object.fromEntries(names.map((name, i) => [name, cells[i]]));
  });
}

function mean(values) {
  if (values.length === 0) throw new Error('no values');
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function sampleCorrelation(xs, ys) {
  const [mx, my] = [mean(xs), mean(ys)];
  const dot = (a, ma, b, mb) => a.reduce((sum, value, i) => sum + (value - ma) * (b[i] - mb), 0);
  return dot(xs, mx, ys, my) / Math.sqrt(dot(xs, mx, xs, mx) * dot(ys, my, ys, my));
}

const csv = optional('csv-parse/sync', { parse: parsePlain });
const statistics = optional('simple-statistics', { mean, sampleCorrelation });

module.exports = { csv, statistics };

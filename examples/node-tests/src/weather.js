// SPDX-License-Identifier: Apache-2.0
'use strict';

const { csv, statistics } = require('./packages');

function readDays(text) {
  return csv.parse(text, { columns: true, skip_empty_lines: true }).map((row) => {
    const day = { date: row.date, rain: Number(row.precipitation), low: Number(row.temp_min), high: Number(row.temp_max) };
    for (const [name, value] of Object.entries(day)) {
      if (name !== 'date' && !Number.isFinite(value)) throw new RangeError(`${day.date}: ${name} is no number`);
    }
    return day;
  });
}

function byMonth(days) {
  const months = new Map();
  for (const day of days) {
    const month = day.date.slice(0, 7);
    months.set(month, [...(months.get(month) ?? []), day]);
  }
  return [...months].map(([month, of]) => ({
    month,
    mean: statistics.mean(of.map((day) => (day.low + day.high) / 2)),
    rain: of.reduce((sum, day) => sum + day.rain, 0),
  }));
}

function longestDrySpell(days) {
  let longest = { days: 0 };
  let start = 0;
  days.forEach((day, i) => {
    if (day.rain > 0) start = i + 1;
    else if (i + 1 - start > longest.days) longest = { days: i + 1 - start, from: days[start].date, to: day.date };
  });
  return longest;
}

function summarize(text) {
  const days = readDays(text);
  const months = byMonth(days);
  return {
    days: days.length,
    driest: longestDrySpell(days),
    rainAgainstWarmth: statistics.sampleCorrelation(months.map((m) => m.mean), months.map((m) => m.rain)),
    months,
  };
}

module.exports = { readDays, byMonth, longestDrySpell, summarize };

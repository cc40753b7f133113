// SPDX-License-Identifier: Apache-2.0
// format.ts: numbers and times as every page shows them. null, undefined and -1 are "–": a value that is not known is never 0.
export const NOT_KNOWN = "–";

type Maybe = number | null | undefined;
const isKnown = (value: Maybe): value is number => value !== null && value !== undefined && Number.isFinite(value) && value >= 0;
const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** Three significant digits: "512 MiB", "1.46 GiB". */
export function formatBytes(bytes: Maybe): string {
  if (!isKnown(bytes)) return NOT_KNOWN;
  let value = bytes;
  let unit = 0;
  while (value >= 1023.5 && unit < BYTE_UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  const text = digits ? value.toFixed(digits).replace(/\.?0+$/, "") : value.toFixed(0);
  return `${text} ${BYTE_UNITS[unit]}`;
}

/** MiB, as limits are given. */
export const formatMib = (mib: Maybe): string => formatBytes(isKnown(mib) ? mib * 1024 * 1024 : mib);

/** Cores: "0.50". */
export const formatCores = (cores: Maybe): string => (isKnown(cores) ? cores.toFixed(2) : NOT_KNOWN);
export const formatPercent = (percent: Maybe): string => (isKnown(percent) ? `${Math.round(percent)} %` : NOT_KNOWN);
export const formatCount = (count: Maybe): string => (isKnown(count) ? count.toLocaleString("en") : NOT_KNOWN);

/** Four decimals below one cent, else two. */
export function formatMoney(amount: Maybe, currency = "$"): string {
  if (!isKnown(amount)) return NOT_KNOWN;
  if (amount === 0) return `${currency}0.00`;
  if (amount < 0.01) return amount < 0.00005 ? `< ${currency}0.0001` : `${currency}${amount.toFixed(4)}`;
  return `${currency}${amount.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A length of time with up to two units: "340 ms", "12 s", "3 m 20 s", "2 d 4 h". */
export function formatDuration(ms: Maybe): string {
  if (!isKnown(ms)) return NOT_KNOWN;
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1).replace(/\.0$/, "")} s`;
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  const [big, small, bigUnit, smallUnit] =
    ms < HOUR ? [MINUTE, SECOND, "m", "s"] as const : ms < DAY ? [HOUR, MINUTE, "h", "m"] as const : [DAY, HOUR, "d", "h"] as const;
  const rest = Math.floor((ms % big) / small);
  return `${Math.floor(ms / big)} ${bigUnit}${rest ? ` ${rest} ${smallUnit}` : ""}`;
}

/** How long ago, or in how long: "12 s", "4 min", "3 h 20 m", "2 d"; after 7 days the date. */
export function formatRelative(at: number, now: number): string {
  const ms = Math.abs(now - at);
  if (ms >= 7 * DAY) return formatDate(at);
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms >= DAY) return `${Math.floor(ms / DAY)} d`;
  return formatDuration(ms);
}

const two = (n: number): string => String(n).padStart(2, "0");

export function formatDate(at: number): string {
  const d = new Date(at);
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
}

export function formatClock(at: number): string {
  const d = new Date(at);
  return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

/** Local time with zone, then UTC: for tooltips and copies. */
export function formatFull(at: number): string {
  const minutes = -new Date(at).getTimezoneOffset();
  const zone = `${minutes < 0 ? "−" : "+"}${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
  return `${formatDate(at)} ${formatClock(at)} (UTC${zone}) · ${new Date(at).toISOString()}`;
}

export function parseTime(text: string | null | undefined): number | null {
  const at = text ? Date.parse(text) : NaN;
  return Number.isNaN(at) ? null : at;
}

/** "2026-11-01T10:00" of an input, which is in the reader's own time, as the API takes it; anything else: undefined. */
export function isoOfLocal(text: string): string | undefined {
  const at = text ? new Date(text) : null;
  return at && !Number.isNaN(at.getTime()) ? at.toISOString() : undefined;
}

/** The other way; "" for none. */
export function localOfIso(text: string | null | undefined): string {
  const at = parseTime(text);
  return at === null ? "" : `${formatDate(at)}T${formatClock(at).slice(0, 5)}`;
}

/** Cuts in the middle: "sb_1f…9c2d". */
export function cutMiddle(text: string, max = 12): string {
  if (text.length <= max) return text;
  const half = Math.floor((max - 1) / 2);
  return `${text.slice(0, max - 1 - half)}…${text.slice(text.length - half)}`;
}

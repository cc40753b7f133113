// SPDX-License-Identifier: Apache-2.0
// An error as text: its stack, and that of each error that caused it. "fetch failed" alone tells nothing.

export function describeError(error) {
  const texts = [];
  for (let cause = error; cause !== undefined && cause !== null && texts.length < 8; cause = cause.cause) {
    const code = cause.code === undefined ? '' : ` [${cause.code}]`;
    texts.push(`${cause.stack ?? cause}${code}`);
    for (const inner of cause.errors ?? []) texts.push(`one of its errors: ${inner.stack ?? inner}`);
  }
  return texts.join('\ncaused by: ');
}

// SPDX-License-Identifier: Apache-2.0
export const t = {
  linkTitle: "Open this link?",
  linkOpen: "Open",
  pasteTitle: (lines: number) => `Paste ${lines} lines?`,
  paste: "Paste",
};

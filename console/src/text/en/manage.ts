// SPDX-License-Identifier: Apache-2.0
// Words that the pages of keys, members, webhooks and settings share.
export const t = {
  forbidden: "Your role does not allow this page",
  forbiddenText: (scope: string) => `It needs the scope ${scope}. Ask an admin of the project for a role that has it.`,
  onceTitle: "Copy it now",
  onceText: "The server keeps only a hash of it. It is not shown again.",
  onceDone: "I have copied it",
};

// SPDX-License-Identifier: Apache-2.0
// change.ts: the change of a file that a call of the tools edit and write makes.

export interface Change {
  path: string;
  /** The text that the call replaces; null: the file's whole text. */
  before: string | null;
  after: string;
  /** Members of the input that the change shows. */
  members: readonly string[];
}

const isText = (value: unknown): value is string => typeof value === "string";

/** Null: the call changes no text that its input names. */
export function changeOf(tool: string, input: Record<string, unknown>): Change | null {
  const path = input["path"];
  if (!isText(path)) return null;
  const { old_string: before, new_string: after, content } = input;
  if (tool === "edit" && isText(before) && isText(after)) return { path, before, after, members: ["old_string", "new_string"] };
  if (tool === "write" && isText(content)) return { path, before: null, after: content, members: ["content"] };
  return null;
}

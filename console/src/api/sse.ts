// SPDX-License-Identifier: Apache-2.0
// sse.ts: parses server-sent events from pieces that are cut anywhere.

export interface SseMessage {
  event: string;
  data: string;
  id: string | null;
}

/** Feed it text as it comes; it returns the messages that are complete. A comment counts as a sign of life only. */
export class SseParser {
  private rest = "";
  private event = "";
  private data: string[] = [];
  private id: string | null = null;

  feed(text: string): SseMessage[] {
    const found: SseMessage[] = [];
    this.rest += text;
    // A "\r" at the very end may be the first half of "\r\n".
    const usable = this.rest.endsWith("\r") ? this.rest.length - 1 : this.rest.length;
    const lines = this.rest.slice(0, usable).split(/\r\n|\r|\n/);
    this.rest = (lines.pop() ?? "") + this.rest.slice(usable);
    for (const line of lines) {
      const message = this.takeLine(line);
      if (message) found.push(message);
    }
    return found;
  }

  private takeLine(line: string): SseMessage | null {
    if (line === "") return this.finish();
    if (line.startsWith(":")) return null;
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") this.event = value;
    else if (name === "data") this.data.push(value);
    else if (name === "id") this.id = value;
    return null;
  }

  private finish(): SseMessage | null {
    const message = { event: this.event || "message", data: this.data.join("\n"), id: this.id };
    const isEmpty = this.data.length === 0 && this.event === "";
    this.event = "";
    this.data = [];
    return isEmpty ? null : message;
  }
}

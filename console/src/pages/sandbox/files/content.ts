// SPDX-License-Identifier: Apache-2.0
// content.ts: reads a file, and says as what it is shown.
import { addressOf, fetchRaw } from "../../../api/call";
import { getApiSandboxInstancesIdFilesContent, type FileEntry } from "../../../api/generated";
import { extensionOf } from "./paths";

export type Shown =
  | { kind: "text"; text: string; isCut: boolean }
  | { kind: "bytes"; bytes: Uint8Array }
  | { kind: "image" | "pdf"; blob: Blob };

/** The type comes from this list, never from the file: a picture can be no page. */
const IMAGES: Readonly<Record<string, string>> = { png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp", svg: "image/svg+xml", ico: "image/x-icon", bmp: "image/bmp", avif: "image/avif" };
export const TEXT_MAX = 2 * 1024 * 1024;
export const HEX_MAX = 4096;
const BLOB_MAX = 64 * 1024 * 1024;
const PROBE = 8192;

async function readBytes(id: string, path: string, length: number, signal?: AbortSignal): Promise<Uint8Array> {
  const address = addressOf(getApiSandboxInstancesIdFilesContent.path, { id }, { path, length });
  return new Uint8Array(await (await fetchRaw("GET", address, { signal: signal ?? null })).arrayBuffer());
}

function textOf(bytes: Uint8Array, isCut: boolean): string | null {
  if (bytes.subarray(0, PROBE).includes(0)) return null;
  try {
    // A character that the cut went through is no fault of the file.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isCut });
  } catch {
    return null;
  }
}

export async function readContent(id: string, path: string, entry: FileEntry, signal?: AbortSignal): Promise<Shown> {
  const extension = extensionOf(path);
  const image = IMAGES[extension];
  const isBlob = entry.size <= BLOB_MAX && entry.size > 0;
  if (isBlob && (image || extension === "pdf")) {
    const bytes = await readBytes(id, path, entry.size, signal);
    return { kind: image ? "image" : "pdf", blob: new Blob([bytes as Uint8Array<ArrayBuffer>], { type: image ?? "application/pdf" }) };
  }
  const isCut = entry.size > TEXT_MAX;
  const bytes = entry.size === 0 ? new Uint8Array() : await readBytes(id, path, Math.min(entry.size, TEXT_MAX), signal);
  const text = textOf(bytes, isCut);
  return text === null ? { kind: "bytes", bytes: bytes.subarray(0, HEX_MAX) } : { kind: "text", text, isCut };
}

/** Lines of 16 bytes: offset, hex, and what is printable. */
export function hexOf(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const row = [...bytes.subarray(at, at + 16)];
    const hex = row.map((b) => b.toString(16).padStart(2, "0")).join(" ");
    const plain = row.map((b) => (b >= 32 && b < 127 ? String.fromCharCode(b) : ".")).join("");
    lines.push(`${at.toString(16).padStart(8, "0")}  ${hex.padEnd(48)} ${plain}`);
  }
  return lines.join("\n");
}

/** Rows and cells; quotes as in RFC 4180. */
export function parseCsv(text: string, separator: string, rowsMax: number): { rows: string[][]; left: number } {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let isQuoted = false;
  let left = 0;
  const end = (): void => {
    row.push(cell);
    cell = "";
    if (rows.length < rowsMax) rows.push(row);
    else left += 1;
    row = [];
  };
  for (let i = 0; i < text.length; i++) {
    const c = text[i] ?? "";
    if (isQuoted) {
      if (c !== '"') cell += c;
      else if (text[i + 1] === '"') {
        cell += '"';
        i++;
      } else isQuoted = false;
    } else if (c === '"' && cell === "") isQuoted = true;
    else if (c === separator) {
      row.push(cell);
      cell = "";
    } else if (c === "\n") end();
    else if (c !== "\r") cell += c;
  }
  if (cell !== "" || row.length) end();
  return { rows, left };
}

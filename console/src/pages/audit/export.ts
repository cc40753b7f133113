// SPDX-License-Identifier: Apache-2.0
// export.ts: the export of the audit as one file. The server answers in pieces; each names the next.
import { addressOf, fetchRaw } from "../../api/call";
import { getV1AuditExport } from "../../api/generated";
import type { Filter } from "./filter";

const NEXT = "Atoll-Next-Page";
/** A longer export is what `atoll audit export` is for: it writes to a disk. */
const BYTES_MAX = 256 * 1024 * 1024;

/** The pieces, and whether the export was cut at the limit. */
export async function readExport(filter: Filter, signal?: AbortSignal): Promise<{ parts: Blob[]; isCut: boolean }> {
  const parts: Blob[] = [];
  let size = 0;
  let after: string | null = null;
  do {
    const answer: Response = await fetchRaw("GET", addressOf(getV1AuditExport.path, {}, { ...filter, after: after ?? undefined }), { signal });
    const part = await answer.blob();
    parts.push(part);
    size += part.size;
    after = answer.headers.get(NEXT);
  } while (after && size < BYTES_MAX);
  return { parts, isCut: after !== null };
}

export function saveFile(parts: Blob[], name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(parts, { type: "application/x-ndjson" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

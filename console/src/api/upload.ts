// SPDX-License-Identifier: Apache-2.0
// upload.ts: sends a file with progress. fetch tells nothing about what it has sent, so this is an XMLHttpRequest.
import { headersOf } from "./call";
import { ApiError, errorOfBody } from "./errors";

export interface UploadOptions {
  signal?: AbortSignal;
  headers?: Record<string, string>;
  onProgress?: (sent: number, total: number) => void;
}

/** Resolves with the text of the answer. */
export function uploadFile(method: string, address: string, body: Blob, options: UploadOptions = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, address);
    const headers = { "Content-Type": "application/octet-stream", ...headersOf(method), ...options.headers };
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = (e) => options.onProgress?.(e.loaded, e.lengthComputable ? e.total : body.size);
    request.onload = () => {
      if (request.status >= 200 && request.status < 300) resolve(request.responseText);
      else reject(errorOfBody(request.status, request.responseText));
    };
    request.onerror = () => reject(new ApiError(0, "unreachable", "The connection broke during the upload.", "Try it again."));
    request.onabort = () => reject(new DOMException("aborted", "AbortError"));
    options.signal?.addEventListener("abort", () => request.abort());
    request.send(body);
  });
}

// SPDX-License-Identifier: Apache-2.0
// action_error.tsx: the error of a useAction, with its button to close it.
import { ErrorNote } from "../parts/notice";
import type { Action } from "./use_action";

export function ActionError({ of, what }: { of: Action; what?: string }) {
  return of.error ? <ErrorNote error={of.error} what={what} onClose={of.clear} /> : null;
}

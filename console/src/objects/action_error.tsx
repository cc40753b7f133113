// SPDX-License-Identifier: Apache-2.0
// action_error.tsx: the error of a useAction, with its button to close it.
import { ErrorNote } from "../parts/notice";
import { memberError, type Action } from "./use_action";

/** `beside`: members of the body whose errors stand at their fields (memberError), and not here. */
export function ActionError({ of, what, beside = [] }: { of: Action; what?: string; beside?: readonly string[] }) {
  if (!of.error || beside.some((member) => memberError(of, member) !== null)) return null;
  return <ErrorNote error={of.error} what={what} onClose={of.clear} />;
}

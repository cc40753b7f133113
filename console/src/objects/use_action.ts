// SPDX-License-Identifier: Apache-2.0
// use_action.ts: one call behind a button: whether it runs, and the error that stays beside the button.
import { useState } from "preact/hooks";
import { asApiError, type ApiError } from "../api/errors";
import { showHiddenLines } from "../parts/safe";

export interface Action {
  isBusy: boolean;
  error: ApiError | null;
  clear: () => void;
  /** Runs the call; false when it failed. */
  run: (act: () => Promise<unknown>) => Promise<boolean>;
}

export function useAction(): Action {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const run = async (act: () => Promise<unknown>): Promise<boolean> => {
    setBusy(true);
    setError(null);
    try {
      await act();
      return true;
    } catch (thrown) {
      setError(asApiError(thrown));
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, error, clear: () => setError(null), run };
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;

/** What the server says about one member of the body ("hosts: …" or "hosts[0]: …", with its hint), to stand at the member's field; null: nothing. */
export function memberError({ error }: Action, member: string): string | null {
  const [, named, text = ""] = /^(\w+)(?:\[\d+\])?: (.+)$/s.exec(error?.message ?? "") ?? [];
  if (named !== member) return null;
  return showHiddenLines([text, error?.hint ?? ""].filter(Boolean).map(sentence).join(" "));
}

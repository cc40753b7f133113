// SPDX-License-Identifier: Apache-2.0
// use_action.ts: one call behind a button: whether it runs, and the error that stays beside the button.
import { useState } from "preact/hooks";
import { asApiError, type ApiError } from "../api/errors";

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

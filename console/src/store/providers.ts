// SPDX-License-Identifier: Apache-2.0
// providers.ts: the providers of the server with their health: for their page, the banner and the create dialog.
import { computed, signal } from "@preact/signals";
import { call } from "../api/call";
import { asApiError, type ApiError } from "../api/errors";
import { onEvent, onLost } from "../api/events";
import { getV1Providers, type Provider } from "../api/generated";
import { missingScope } from "./session";

export const providers = signal<readonly Provider[] | null>(null);
export const providersError = signal<ApiError | null>(null);
/** Providers that make no sandboxes at the moment. */
export const troubled = computed(() => (providers.value ?? []).filter((p) => !p.healthy));

export async function loadProviders(): Promise<void> {
  if (missingScope(getV1Providers)) return;
  try {
    providers.value = (await call(getV1Providers)).items;
    providersError.value = null;
  } catch (thrown) {
    providersError.value = asApiError(thrown);
  }
}

/** Reads the providers now, and again when their health changes; returns what ends that. */
export function followProviders(): () => void {
  void loadProviders();
  const stops = [onEvent(["provider.*"], () => void loadProviders()), onLost(() => void loadProviders())];
  return () => stops.forEach((stop) => stop());
}

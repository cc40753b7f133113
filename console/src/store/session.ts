// SPDX-License-Identifier: Apache-2.0
// session.ts: who is signed in, the projects, and what the role allows.
import { computed, signal } from "@preact/signals";
import { call, handleSignedOut, setCredentials } from "../api/call";
import { asApiError, type ApiError } from "../api/errors";
import { startEvents, stopEvents } from "../api/events";
import { deleteV1Session, getV1Session, getV1SignIn, postV1Session, type LoginSession, type SignInWays as ApiSignInWays } from "../api/generated";
import type { Operation } from "../api/operation";

export type Session = LoginSession;
export type SignInWays = ApiSignInWays & { oidc?: { name: string } | null };

/** undefined: not asked yet; null: signed out. */
export const session = signal<Session | null | undefined>(undefined);
export const sessionError = signal<ApiError | null>(null);
/** The project that this tab shows; "" before it is known. */
export const projectId = signal("");
export const project = computed(() => session.value?.projects.find((p) => p.id === projectId.value) ?? null);
const scopes = computed(() => new Set(project.value?.scopes ?? session.value?.scopes ?? []));

const resets = new Set<() => void>();
/** Stores register here: their rows leave memory when the project or the user changes. */
export function onProjectChange(reset: () => void): void {
  resets.add(reset);
}

const ADMIN_SCOPES = ["admin", "*"];

/** The first scope of `operation` that the caller lacks, or null. */
export function missingScope(operation: Pick<Operation<never, never, never, never>, "scopes">): string | null {
  if (ADMIN_SCOPES.some((s) => scopes.value.has(s))) return null;
  return operation.scopes.find((s) => !scopes.value.has(s)) ?? null;
}

export function hasScope(scope: string): boolean {
  return missingScope({ scopes: [scope] }) === null;
}

export function selectProject(id: string): void {
  if (id === projectId.peek()) return;
  projectId.value = id;
  setCredentials({ project: id });
  for (const reset of resets) reset();
  if (id) startEvents(id);
  else stopEvents();
}

function accept(found: Session): void {
  setCredentials({ csrfToken: found.csrf_token });
  session.value = found;
}

/** Asks the server for the session of the cookie. */
export async function loadSession(): Promise<void> {
  sessionError.value = null;
  try {
    accept(await call(getV1Session));
  } catch (thrown) {
    const error = asApiError(thrown);
    if (error.status === 401) session.value = null;
    else sessionError.value = error;
  }
}

export type SignIn =
  | { email: string; password: string }
  | { key: string }
  | { setup_token: string; email: string; name: string; password: string }
  | { invitation: string; name: string; password: string };

export async function signIn(how: SignIn): Promise<void> {
  accept(await call(postV1Session, { body: how }));
  peers?.postMessage("signed-in");
}

/** The ways to sign in that the server offers. */
export function signInWays(): Promise<SignInWays> {
  return call(getV1SignIn);
}

function forget(): void {
  selectProject("");
  setCredentials({ csrfToken: null, project: null });
  session.value = null;
}

export async function signOut(): Promise<void> {
  await call(deleteV1Session).catch(() => undefined);
  forget();
  peers?.postMessage("signed-out");
}

// Sign-in and sign-out reach the other tabs.
const peers = typeof BroadcastChannel === "undefined" || typeof document === "undefined" ? null : new BroadcastChannel("atoll-session");
if (peers) {
  peers.onmessage = (e: MessageEvent<string>) => {
    if (e.data === "signed-out") forget();
    else void loadSession();
  };
}
handleSignedOut(() => {
  if (session.peek()) forget();
});

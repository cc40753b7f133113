// SPDX-License-Identifier: Apache-2.0
// own_sandbox.ts: the sandbox of this page. It is made on the first run and deleted with the page; its lifetime ends it should the
// browser be killed.
import { signal, type Signal } from "@preact/signals";
import { addressOf, call, headersOf } from "../../api/call";
import { deleteApiSandboxInstancesId, postApiSandboxInstances, type Sandbox } from "../../api/generated";

export const LIFETIME_MS = 15 * 60_000;

export class OwnSandbox {
  /** The id once it is made, and when it ends. */
  readonly made: Signal<{ id: string; endsAt: number } | null> = signal(null);
  readonly isMaking = signal(false);
  private making: Promise<string> | null = null;
  private hasLeft = false;
  template = "";

  /** The id; makes the sandbox when there is none. */
  ensure(): Promise<string> {
    this.making ??= this.make().catch((thrown: unknown) => {
      this.making = null;
      throw thrown;
    });
    return this.making;
  }

  private async make(): Promise<string> {
    this.isMaking.value = true;
    try {
      const body = { ...(this.template ? { template: this.template } : {}), lifetime_max_ms: LIFETIME_MS, labels: { "made-by": "playground" } };
      // A plan is the answer to ?dry_run only.
      const made = (await call(postApiSandboxInstances, { body })) as Sandbox;
      this.made.value = { id: made.id, endsAt: Date.now() + LIFETIME_MS };
      if (this.hasLeft) this.remove();
      return made.id;
    } finally {
      this.isMaking.value = false;
    }
  }

  /** Deletes it. The request outlives the page. */
  remove(): void {
    const id = this.made.peek()?.id;
    this.made.value = null;
    this.making = null;
    if (!id) return;
    const address = addressOf(deleteApiSandboxInstancesId.path, { id });
    void fetch(address, { method: "DELETE", headers: headersOf("DELETE"), credentials: "same-origin", keepalive: true }).catch(() => undefined);
  }

  leave(): void {
    this.hasLeft = true;
    this.remove();
  }
}

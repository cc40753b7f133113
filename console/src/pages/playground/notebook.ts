// SPDX-License-Identifier: Apache-2.0
// notebook.ts: the cells of the page and what runs.
import { signal, type Signal } from "@preact/signals";
import { call } from "../../api/call";
import { asApiError, type ApiError } from "../../api/errors";
import { postApiSandboxInstancesIdCodeContextsContextRestart } from "../../api/generated";
import { playground as t } from "../../text/en";
import { OwnSandbox } from "./own_sandbox";
import { Run } from "./run";

export interface Cell {
  id: number;
  /** "shell": a command. */
  language: string;
  text: string;
  run: Signal<Run | null>;
}

export class Notebook {
  readonly own = new OwnSandbox();
  readonly cells = signal<readonly Cell[]>([]);
  readonly error = signal<ApiError | null>(null);
  /** The chosen sandbox; "": this page's own. */
  sandbox = "";
  private newest = 0;

  add(language: string, after?: number): number {
    const cell: Cell = { id: ++this.newest, language, text: "", run: signal(null) };
    const list = [...this.cells.peek()];
    const i = list.findIndex((c) => c.id === after);
    list.splice(i < 0 ? list.length : i + 1, 0, cell);
    this.cells.value = list;
    return cell.id;
  }

  remove(cell: Cell): void {
    cell.run.peek()?.leave();
    this.cells.value = this.cells.peek().filter((c) => c !== cell);
  }

  async run(cell: Cell): Promise<void> {
    if (cell.run.peek()?.state.peek().isRunning || !cell.text.trim()) return;
    this.error.value = null;
    try {
      const sandbox = this.sandbox || (await this.own.ensure());
      const run = new Run(sandbox, cell.language, cell.text);
      cell.run.value = run;
      await run.go(t.brokenOff);
    } catch (thrown) {
      this.error.value = asApiError(thrown);
    }
  }

  async interrupt(cell: Cell): Promise<void> {
    await this.guard(async () => cell.run.peek()?.interrupt());
  }

  /** True when the interpreter of the language is new. */
  async restart(language: string): Promise<boolean> {
    const id = this.sandbox || this.own.made.peek()?.id;
    if (!id) return true;
    return this.guard(() => call(postApiSandboxInstancesIdCodeContextsContextRestart, { path: { id, context: `default-${language}` } }));
  }

  private async guard(act: () => Promise<unknown>): Promise<boolean> {
    this.error.value = null;
    try {
      await act();
      return true;
    } catch (thrown) {
      this.error.value = asApiError(thrown);
      return false;
    }
  }

  clear(): void {
    for (const cell of this.cells.peek()) if (!cell.run.peek()?.state.peek().isRunning) cell.run.value = null;
  }

  leave(): void {
    for (const cell of this.cells.peek()) cell.run.peek()?.leave();
    this.own.leave();
  }
}

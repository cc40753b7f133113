// SPDX-License-Identifier: Apache-2.0
// command.tsx: one command in words, how it ended, and what can be done with it.
import { call } from "../../../api/call";
import { deleteApiSandboxInstancesIdProcessesProcess, postApiSandboxInstancesIdProcessesProcessSignal, type Process } from "../../../api/generated";
import { sandboxHref } from "../../../objects/sandbox_actions";
import { Chip, StateChip } from "../../../parts/chip";
import { ask } from "../../../parts/dialog";
import type { MenuItem } from "../../../parts/menu";
import { showHidden } from "../../../parts/safe";
import { go } from "../../../router";
import type { Sandbox } from "../../../store/sandboxes";
import { missingScope } from "../../../store/session";
import { common as shared, sandboxProcesses as t } from "../../../text/en";

const WINDOW = "terminal:";

/** The name of the window that the process is, or null. */
export const windowOf = (p: Process): string | null => (p.tty && p.label.startsWith(WINDOW) ? p.label.slice(WINDOW.length) : null);

/** The command in one line, for tables. */
export const lineOf = (p: Process): string => commandOf(p).trim().replace(/\s*\n\s*/g, " ↵ ");

/** The line as it was typed: a shell around it is left out. */
export function commandOf(p: Process): string {
  const window = windowOf(p);
  if (window !== null) return `terminal ${window}`;
  const [shell = "", option = "", line, ...more] = p.args;
  if (/(^|\/)(ba|da)?sh$/.test(shell) && /^-[a-z]*c$/.test(option) && line !== undefined && more.length === 0) return line;
  return p.args.join(" ");
}

export function EndChip({ process: p }: { process: Process }) {
  if (p.state === "running") return <StateChip state="running" />;
  const cause = p.cause && t.causes[p.cause];
  if (cause) return <Chip tone={p.cause === "canceled" || p.cause === "sandbox_ended" ? "off" : "bad"}>{cause}</Chip>;
  if (p.signal) return <Chip tone="bad">{showHidden(p.signal, 20)}</Chip>;
  return <Chip tone={p.exit_code === 0 ? "good" : "bad"}>{t.endedWith(p.exit_code)}</Chip>;
}

export function sendSignal(sandbox: Sandbox, process: number, signal: string): Promise<unknown> {
  return call(postApiSandboxInstancesIdProcessesProcessSignal, { path: { id: sandbox.id, process: String(process) }, body: { signal, tree: true } });
}

export function signalMenu(sandbox: Sandbox, p: Process, onAct: (work: Promise<unknown>) => void): MenuItem[] {
  const scope = missingScope(postApiSandboxInstancesIdProcessesProcessSignal);
  const forbidden = scope && shared.missingScope(scope);
  const window = windowOf(p);
  const forget = async (): Promise<void> => {
    if (await ask({ title: t.forgetTitle, text: t.forgetText, yes: t.forget, isDangerous: true })) {
      onAct(call(deleteApiSandboxInstancesIdProcessesProcess, { path: { id: sandbox.id, process: String(p.process) } }));
    }
  };
  return [
    ...(window && p.state === "running" ? [{ label: t.openTerminal, icon: "terminal", run: () => go(`${sandboxHref(sandbox.id, "terminal")}?w=${encodeURIComponent(window)}`) }] : []),
    ...(p.state === "running" ? Object.entries(t.signals).map(([signal, about]) => ({ label: `${signal} · ${about}`, disabledBecause: forbidden, run: () => onAct(sendSignal(sandbox, p.process, signal)) })) : []),
    { label: t.forget, icon: "trash", isDangerous: true, isApart: true, disabledBecause: forbidden, run: () => void forget() },
  ];
}

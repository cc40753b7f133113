// SPDX-License-Identifier: Apache-2.0
// copy.tsx: texts to copy: a button, a line of a command, a block of code.
import { useState } from "preact/hooks";
import { common as t } from "../text/en";
import { Button } from "./button";

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text); // An address without TLS has no clipboard.
  }
}

function copyBySelection(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "off-screen";
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

export function CopyButton({ text, label = t.copy }: { text: string | (() => string); label?: string }) {
  const [said, say] = useState<string | null>(null);
  const copy = async (): Promise<void> => {
    const done = await copyText(typeof text === "string" ? text : text());
    say(done ? t.copied : t.copyFailed);
    setTimeout(() => say(null), 1500);
  };
  return (
    <span class="copy">
      <Button kind="quiet" isSmall icon={said === t.copied ? "check" : "copy"} label={said ?? label} onClick={(e) => (e.stopPropagation(), void copy())} />
      <span class="off-screen" role="status">
        {said}
      </span>
    </span>
  );
}

/** One line of a command, with its button. */
export function CopyLine({ text }: { text: string }) {
  return (
    <div class="copy-line">
      <code tabIndex={0}>{text}</code>
      <CopyButton text={text} />
    </div>
  );
}

export function CodeBlock({ text, label }: { text: string; label: string }) {
  return (
    <div class="code-block">
      <pre tabIndex={0} role="region" aria-label={label}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} />
    </div>
  );
}

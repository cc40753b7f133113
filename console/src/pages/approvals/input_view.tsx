// SPDX-License-Identifier: Apache-2.0
// input_view.tsx: the input of a call as text that a person reads: one row for each member, long ones as blocks.
import type { Approval } from "../../api/generated";
import { CodeBlock } from "../../parts/copy";
import { Note } from "../../parts/notice";
import { showHiddenLines } from "../../parts/safe";
import { approvals as t } from "../../text/en";
import { changeOf } from "./change";
import { ChangeView } from "./change_view";

/** The members of the input; null when its text is no whole JSON object. */
export function membersOf(input: string): [string, unknown][] | null {
  try {
    const value: unknown = JSON.parse(input);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? Object.entries(value) : null;
  } catch {
    return null;
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

export function InputView({ of, isRaw }: { of: Approval; isRaw: boolean }) {
  const input = of.input;
  const members = isRaw ? null : membersOf(input);
  if (!members) {
    return (
      <>
        {!isRaw && input && <Note>{t.rawCut}</Note>}
        <CodeBlock text={showHiddenLines(input)} label={t.input} />
      </>
    );
  }
  if (members.length === 0) return <p class="muted">{t.noInput}</p>;
  const change = changeOf(of.tool, Object.fromEntries(members));
  const shown = members.filter(([name]) => !change?.members.includes(name));
  return (
    <>
      <Members of={shown} />
      {change && <ChangeView of={change} approval={of} />}
    </>
  );
}

function Members({ of }: { of: [string, unknown][] }) {
  return (
    <dl class="approval-input">
      {of.map(([name, value]) => (
        <Member key={name} name={name} text={textOf(value)} />
      ))}
    </dl>
  );
}

function Member({ name, text }: { name: string; text: string }) {
  return (
    <>
      <dt>
        <bdi class="mono">{showHiddenLines(name)}</bdi>
      </dt>
      <dd>
        <pre tabIndex={0} role="region" aria-label={name}>
          {showHiddenLines(text)}
        </pre>
      </dd>
    </>
  );
}

// SPDX-License-Identifier: Apache-2.0
// rule_list.tsx: one list of rules, with an input that takes one or several.
import { useState } from "preact/hooks";
import { Button } from "../../../parts/button";
import { RemovableChip } from "../../../parts/chip";
import { TextField } from "../../../parts/field";
import { showHidden } from "../../../parts/safe";
import { common as shared, sandboxNetwork as t } from "../../../text/en";

export interface RuleListProps {
  title: string;
  help: string;
  inputLabel: string;
  none: string;
  rules: readonly string[];
  check: (rule: string) => string | null;
  onChange: (rules: string[]) => void;
}

export function RuleList(props: RuleListProps) {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const add = (): void => {
    const wanted = text.split(/[,;\n]+/).map((r) => r.trim()).filter(Boolean);
    const found = wanted.map((r) => props.check(r) ?? (props.rules.includes(r) ? t.twice : null)).find(Boolean) ?? null;
    setProblem(found);
    if (found || wanted.length === 0) return;
    props.onChange([...props.rules, ...new Set(wanted)]);
    setText("");
  };
  return (
    <form
      class="stack"
      noValidate
      onSubmit={(e) => {
        e.preventDefault();
        add();
      }}
    >
      <h3>{props.title}</h3>
      <div class="rule-input">
        <TextField label={props.inputLabel} isMono value={text} error={problem} help={props.help} onChange={(value) => (setText(value), setProblem(null))} />
        <Button type="submit" icon="plus">{shared.add}</Button>
      </div>
      {props.rules.length === 0 ? (
        <p class="muted">{props.none}</p>
      ) : (
        <ul class="rules" aria-label={props.title}>
          {props.rules.map((rule) => (
            <li key={rule}>
              <RemovableChip label={t.remove(showHidden(rule, 80))} onRemove={() => props.onChange(props.rules.filter((r) => r !== rule))}>
                <bdi class="mono">{showHidden(rule, 120)}</bdi>
              </RemovableChip>
            </li>
          ))}
        </ul>
      )}
    </form>
  );
}

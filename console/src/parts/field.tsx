// SPDX-License-Identifier: Apache-2.0
// field.tsx: one labelled input with its help and its error. Values are controlled: `value` and `onChange`.
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { common as t } from "../text/en";
import { Button } from "./button";
import { Icon } from "./icons";

export interface FieldFrame {
  label: string;
  help?: ComponentChildren;
  error?: string | null;
  isRequired?: boolean;
  /** Wrong, as a text says that stands elsewhere. */
  isWrong?: boolean;
  /** The label is for screen readers only. */
  isLabelHidden?: boolean;
}

/** Label, help and error around any input; `children` gets the attributes that tie them together. */
export function Field(props: FieldFrame & { children: (attributes: { id: string; "aria-describedby": string | undefined; "aria-invalid": boolean | undefined; "aria-required": boolean | undefined }) => ComponentChildren }) {
  const id = useId();
  const note = props.error ? `${id}-error` : props.help ? `${id}-help` : undefined;
  return (
    <div class={`field${props.error || props.isWrong ? " wrong" : ""}`}>
      <label class={props.isLabelHidden ? "off-screen" : "field-label"} for={id}>
        {props.label}
        {props.isRequired && <span aria-hidden="true"> *</span>}
      </label>
      {props.children({ id, "aria-describedby": note, "aria-invalid": props.error || props.isWrong ? true : undefined, "aria-required": props.isRequired || undefined })}
      {props.error ? (
        <p class="field-error" id={`${id}-error`}>
          {props.error}
        </p>
      ) : (
        props.help && (
          <p class="field-help" id={`${id}-help`}>
            {props.help}
          </p>
        )
      )}
    </div>
  );
}

export interface TextFieldProps extends FieldFrame {
  value: string;
  onChange: (value: string) => void;
  type?: "text" | "password" | "email" | "number" | "search" | "url" | "datetime-local" | "date";
  placeholder?: string;
  unit?: string;
  lines?: number;
  isMono?: boolean;
  autocomplete?: string;
  min?: number;
  max?: number;
  step?: number | "any";
  maxLength?: number;
  isDisabled?: boolean;
  hasFocus?: boolean;
  list?: readonly string[];
}

export function TextField(props: TextFieldProps) {
  const listId = useId();
  return (
    <Field {...props}>
      {(attributes) => {
        const shared = {
          ...attributes,
          class: `input${props.isMono ? " mono" : ""}`,
          value: props.value,
          placeholder: props.placeholder,
          disabled: props.isDisabled,
          maxLength: props.maxLength,
          autoFocus: props.hasFocus,
          spellcheck: false,
          onInput: (e: { currentTarget: { value: string } }) => props.onChange(e.currentTarget.value),
        };
        if (props.lines) return <textarea {...shared} rows={props.lines} />;
        return (
          <span class="input-row">
            <input
              {...shared}
              type={(props.type ?? "text") as "text"}
              autocomplete={props.autocomplete ?? "off"}
              min={props.min}
              max={props.max}
              step={props.step}
              {...(props.list ? { list: listId as unknown as undefined } : {})}
            />
            {props.unit && <span class="input-unit">{props.unit}</span>}
            {props.list && (
              <datalist id={listId}>
                {props.list.map((value) => (
                  <option key={value} value={value} />
                ))}
              </datalist>
            )}
          </span>
        );
      }}
    </Field>
  );
}

export interface Choice {
  value: string;
  label: string;
  isDisabled?: boolean;
}

export function SelectField(props: FieldFrame & { value: string; onChange: (value: string) => void; choices: readonly Choice[]; isDisabled?: boolean }) {
  // A value that is no choice any more is shown, and not swapped for another.
  const isKnown = props.choices.some((c) => c.value === props.value);
  return (
    <Field {...props}>
      {(attributes) => (
        <span class="select">
          <select {...attributes} class="input" value={props.value} disabled={props.isDisabled} onChange={(e) => props.onChange(e.currentTarget.value)}>
            {!isKnown && <option value={props.value}>{props.value}</option>}
            {props.choices.map((c) => (
              <option key={c.value} value={c.value} disabled={c.isDisabled}>
                {c.label}
              </option>
            ))}
          </select>
          <Icon name="down" />
        </span>
      )}
    </Field>
  );
}

export function CheckField(props: { label: ComponentChildren; help?: ComponentChildren; value: boolean; onChange: (value: boolean) => void; disabledBecause?: string | null; isSwitch?: boolean }) {
  const id = useId();
  const off = Boolean(props.disabledBecause);
  const note = props.disabledBecause ?? props.help;
  return (
    <div class="check-field">
      <input
        type="checkbox"
        role={props.isSwitch ? "switch" : undefined}
        class={props.isSwitch ? "switch" : "check"}
        id={id}
        checked={props.value}
        disabled={off}
        aria-describedby={note ? `${id}-help` : undefined}
        onChange={(e) => props.onChange(e.currentTarget.checked)}
      />
      <label for={id}>{props.label}</label>
      {note && (
        <p class="field-help" id={`${id}-help`}>
          {note}
        </p>
      )}
    </div>
  );
}

/** One of a few, as buttons beside each other. */
export function Segmented(props: { label: string; value: string; onChange: (value: string) => void; choices: readonly Choice[] }) {
  const name = useId();
  return (
    <fieldset class="segmented">
      <legend class="off-screen">{props.label}</legend>
      {props.choices.map((c) => (
        <label key={c.value} class={c.value === props.value ? "chosen" : ""}>
          <input type="radio" name={name} checked={c.value === props.value} disabled={c.isDisabled} onChange={() => props.onChange(c.value)} />
          {c.label}
        </label>
      ))}
    </fieldset>
  );
}

export interface Pair {
  key: string;
  value: string;
}

/** Rows of names and values: labels, environment. Text of several lines pasted into a name becomes rows (".env"). */
export function PairsField(props: { label: string; help?: string; pairs: Pair[]; onChange: (pairs: Pair[]) => void; keyLabel: string; valueLabel: string; isSecret?: boolean; max?: number }) {
  const set = (i: number, change: Partial<Pair>): void => props.onChange(props.pairs.map((p, j) => (i === j ? { ...p, ...change } : p)));
  const paste = (e: ClipboardEvent, i: number): void => {
    const found = parsePairs(e.clipboardData?.getData("text") ?? "");
    if (found.length < 2 && !found.some((p) => p.value)) return;
    e.preventDefault();
    props.onChange([...props.pairs.slice(0, i), ...found, ...props.pairs.slice(i + 1)]);
  };
  return (
    <fieldset class="pairs">
      <legend class="field-label">{props.label}</legend>
      {props.pairs.map((pair, i) => (
        <div class="pair" key={i}>
          <input class="input mono" aria-label={`${props.keyLabel} ${i + 1}`} placeholder={props.keyLabel} value={pair.key} spellcheck={false} onInput={(e) => set(i, { key: e.currentTarget.value })} onPaste={(e) => paste(e, i)} />
          <input class="input mono" aria-label={`${props.valueLabel} ${i + 1}`} placeholder={props.valueLabel} value={pair.value} spellcheck={false} type={(props.isSecret ? "password" : "text") as "text"} autocomplete="off" onInput={(e) => set(i, { value: e.currentTarget.value })} />
          <Button kind="quiet" icon="close" label={`${t.remove} ${pair.key || i + 1}`} onClick={() => props.onChange(props.pairs.filter((_, j) => j !== i))} />
        </div>
      ))}
      <div class="row">
        <Button isSmall icon="plus" isDisabled={props.max !== undefined && props.pairs.length >= props.max} onClick={() => props.onChange([...props.pairs, { key: "", value: "" }])}>
          {t.add}
        </Button>
        {props.help && <span class="field-help">{props.help}</span>}
      </div>
    </fieldset>
  );
}

/** Lines of a ".env" file. */
export function parsePairs(text: string): Pair[] {
  const pairs: Pair[] = [];
  for (const line of text.split(/\r?\n/)) {
    const m = /^\s*(?:export\s+)?([\w.\-/]+)\s*=\s*(.*?)\s*$/.exec(line);
    if (!m) continue;
    const value = m[2] ?? "";
    const quoted = /^(["'])(.*)\1$/.exec(value);
    pairs.push({ key: m[1] ?? "", value: quoted ? (quoted[2] ?? "") : value });
  }
  return pairs;
}

export function pairsToObject(pairs: readonly Pair[]): Record<string, string> {
  return Object.fromEntries(pairs.filter((p) => p.key !== "").map((p) => [p.key, p.value]));
}

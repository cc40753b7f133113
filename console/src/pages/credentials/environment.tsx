// SPDX-License-Identifier: Apache-2.0
// environment.tsx: variables of terminal windows, and the value of the credential that each gets.
import { useId, useRef } from "preact/hooks";
import { Button } from "../../parts/button";
import { SelectField, TextField } from "../../parts/field";
import { showHidden } from "../../parts/safe";
import { common as words, credentials as t } from "../../text/en";
import { canHaveVariables, fieldNamesOf, variableProblems, VARIABLES_MAX, type EnvironmentForm, type Variable } from "./fields";

interface Props {
  form: EnvironmentForm;
  onChange: (variables: Variable[]) => void;
  /** Whether the user has tried to send the form: before, nothing that is not typed yet is called wrong. */
  isTried: boolean;
  /** What the server says about the member. */
  error: string | null;
}

export function EnvironmentField({ form, onChange, isTried, error }: Props) {
  const id = useId();
  const group = useRef<HTMLFieldSetElement>(null);
  const { variables } = form;
  if (!canHaveVariables(form.kind) && variables.length === 0) return null;
  const problems = variableProblems(form);
  const names = fieldNamesOf(form);
  const set = (i: number, change: Partial<Variable>): void => onChange(variables.map((v, j) => (i === j ? { ...v, ...change } : v)));
  const shownOf = (i: number): { name: string | null; field: string | null } => {
    const problem = problems.rows[i];
    const isShown = isTried || variables[i]?.name !== "";
    return { name: (isShown && problem?.name) || null, field: (isTried && problem?.field) || null };
  };
  const wrong = problems.whole ?? error;
  const add = (): void => {
    onChange([...variables, { name: "", field: names.length === 1 ? (names[0] ?? "") : "" }]);
    requestAnimationFrame(() => [...(group.current?.querySelectorAll<HTMLElement>(".variable input") ?? [])].at(-1)?.focus());
  };
  return (
    <fieldset ref={group} class={`pairs${wrong ? " wrong" : ""}`} aria-describedby={`${id}-help${wrong ? ` ${id}-error` : ""}`}>
      <legend class="field-label">{t.environment}</legend>
      <p class="field-help" id={`${id}-help`}>
        {t.environmentHelp}
      </p>
      {variables.map((variable, i) => (
        <div class="pair variable" key={i}>
          <TextField
            label={t.variable(i + 1)}
            isLabelHidden
            isMono
            placeholder={t.variablePlaceholder}
            value={variable.name}
            onChange={(name) => set(i, { name })}
            error={shownOf(i).name}
          />
          <SelectField
            label={t.variableField(i + 1)}
            isLabelHidden
            value={variable.field}
            onChange={(field) => set(i, { field })}
            choices={[...(variable.field === "" ? [{ value: "", label: t.chooseField }] : []), ...names.map((name) => ({ value: name, label: t.fieldNames[name] ?? showHidden(name, 40) }))]}
            error={shownOf(i).field}
          />
          <Button kind="quiet" icon="close" label={`${words.remove} ${showHidden(variable.name, 70) || t.variable(i + 1)}`} onClick={() => onChange(variables.filter((_, j) => j !== i))} />
        </div>
      ))}
      {wrong && (
        <p class="field-error" id={`${id}-error`} role="alert">
          {wrong}
        </p>
      )}
      <div class="row">
        <Button isSmall icon="plus" disabledBecause={variables.length >= VARIABLES_MAX ? t.variablesMax(VARIABLES_MAX) : null} onClick={add}>
          {t.addVariable}
        </Button>
      </div>
    </fieldset>
  );
}

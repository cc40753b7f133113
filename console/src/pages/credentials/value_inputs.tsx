// SPDX-License-Identifier: Apache-2.0
// value_inputs.tsx: inputs for the values of a credential. What they hold leaves the page only in the request.
import { useId, useState } from "preact/hooks";
import { PairsField, pairsToObject, TextField, type Pair } from "../../parts/field";
import { credentials as t } from "../../text/en";
import { fieldsOf, type ValueField } from "./fields";

const FIELDS_MAX = 8;
const VALUE_MAX = 8192;

interface Props {
  kind: string;
  names?: readonly string[];
  values: Record<string, string>;
  onChange: (values: Record<string, string>) => void;
  /** What is wrong with the values as a whole. */
  error: string | null;
}

export function ValueInputs({ kind, names, values, onChange, error }: Props) {
  const id = useId();
  const fields = fieldsOf(kind);
  return (
    <div class="stack" role="group" aria-label={t.values} aria-describedby={error ? id : undefined}>
      {fields ? <KnownInputs fields={fields} values={values} onChange={onChange} isWrong={Boolean(error)} /> : <CustomInputs names={names ?? []} onChange={onChange} />}
      {error && (
        <p class="field-error" id={id} role="alert">
          {error}
        </p>
      )}
    </div>
  );
}

function KnownInputs({ fields, values, onChange, isWrong }: Pick<Props, "values" | "onChange"> & { fields: readonly ValueField[]; isWrong: boolean }) {
  return (
    <>
      {fields.map((f) => (
        <TextField
          key={f.name}
          label={t.fieldNames[f.name] ?? f.name}
          type={f.isPlain ? "text" : "password"}
          autocomplete={f.isPlain ? "off" : "new-password"}
          isMono
          isRequired={f.isRequired}
          maxLength={VALUE_MAX}
          value={values[f.name] ?? ""}
          isWrong={isWrong && f.isRequired && !values[f.name]}
          onChange={(value) => onChange({ ...values, [f.name]: value })}
        />
      ))}
    </>
  );
}

function CustomInputs({ names, onChange }: { names: readonly string[]; onChange: (values: Record<string, string>) => void }) {
  const [pairs, setPairs] = useState<Pair[]>((names.length ? names : [""]).map((key) => ({ key, value: "" })));
  const set = (next: Pair[]): void => {
    setPairs(next);
    onChange(pairsToObject(next));
  };
  return <PairsField label={t.values} keyLabel={t.valueName} valueLabel={t.value} isSecret max={FIELDS_MAX} pairs={pairs} onChange={set} />;
}

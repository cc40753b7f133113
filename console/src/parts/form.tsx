// SPDX-License-Identifier: Apache-2.0
// form.tsx: forms as data. A field names a member of a schema of src/api/schemas.ts, from which bounds, choices and help come.
import { useState } from "preact/hooks";
import { asApiError, type ApiError } from "../api/errors";
import type { Schema, SchemaField } from "../api/operation";
import { common as t } from "../text/en";
import { CheckField, SelectField, TextField, type Choice } from "./field";

export type FormValues = Record<string, string | boolean>;

export interface FormField {
  /** The member of the schema, and of the values. */
  name: string;
  label: string;
  /** Instead of the schema's description; "" for none. */
  help?: string;
  unit?: string;
  placeholder?: string;
  isRequired?: boolean;
  lines?: number;
  isMono?: boolean;
  /** Instead of the schema's enum. */
  choices?: readonly Choice[];
  isSecret?: boolean;
  /** False: not shown, and not sent. */
  isShown?: (values: FormValues) => boolean;
}

export interface FormState {
  values: FormValues;
  set: (name: string, value: string | boolean) => void;
  errors: Record<string, string>;
  error: ApiError | null;
  isBusy: boolean;
  isChanged: boolean;
  reset: (values?: FormValues) => void;
  /** Checks all fields, then runs `send` with the body; an error of the API goes to its field, else above the buttons. */
  submit: (send: (body: Record<string, unknown>) => Promise<unknown>) => Promise<boolean>;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Why a value does not do, or null. */
export function checkValue(value: string | boolean | undefined, schema: SchemaField, isRequired: boolean): string | null {
  if (value === undefined || value === "") return isRequired ? t.required : null;
  if (typeof value === "boolean") return null;
  if (schema.type === "integer" || schema.type === "number") {
    const n = Number(value);
    if (Number.isNaN(n)) return t.notANumber;
    if (schema.type === "integer" && !Number.isInteger(n)) return t.notWhole;
    if (schema.minimum !== undefined && n < schema.minimum) return t.tooSmall(schema.minimum);
    if (schema.maximum !== undefined && n > schema.maximum) return t.tooLarge(schema.maximum);
    return null;
  }
  if (schema.maxLength !== undefined && value.length > schema.maxLength) return t.tooLong(schema.maxLength);
  if (schema.minLength !== undefined && value.length < schema.minLength) return t.tooShort(schema.minLength);
  return null;
}

/** The member of a body that a value stands for; undefined: it is left out. */
export function valueToSend(value: string | boolean | undefined, schema: SchemaField): unknown {
  if (value === undefined || value === "") return undefined;
  if (schema.type === "integer" || schema.type === "number") return Number(value);
  if (schema.type === "boolean") return value === true || value === "true";
  return value;
}

export function useForm(fields: readonly FormField[], schema: Schema, initial: FormValues = {}): FormState {
  const [first, setFirst] = useState(initial);
  const [values, setValues] = useState(initial);
  const [errors, setErrors] = useState<Record<string, string>>({});
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const shown = fields.filter((f) => f.isShown?.(values) ?? true);
  const findErrors = (): Record<string, string> => {
    const found = shown.map((f) => [f.name, checkValue(values[f.name], schema[f.name] ?? {}, f.isRequired ?? false)] as const);
    return Object.fromEntries(found.filter((e): e is [string, string] => e[1] !== null));
  };
  const submit: FormState["submit"] = async (send) => {
    const found = findErrors();
    setErrors(found);
    setError(null);
    if (Object.keys(found).length) {
      requestAnimationFrame(() => document.querySelector<HTMLElement>("[aria-invalid=true]")?.focus());
      return false;
    }
    setBusy(true);
    try {
      await send(Object.fromEntries(shown.map((f) => [f.name, valueToSend(values[f.name], schema[f.name] ?? {})]).filter((e) => e[1] !== undefined)));
      setFirst(values);
      return true;
    } catch (thrown) {
      const failure = asApiError(thrown);
      // "name: is already taken", or a message that begins with the member's name.
      const field = shown.find((f) => failure.message.startsWith(`${f.name}:`) || failure.message.startsWith(`${f.name} `));
      if (field) setErrors({ [field.name]: failure.hint ? `${failure.message} ${failure.hint}` : failure.message });
      else setError(failure);
      return false;
    } finally {
      setBusy(false);
    }
  };
  return {
    values,
    set: (name, value) => {
      setValues((old) => ({ ...old, [name]: value }));
      setErrors(({ [name]: _, ...rest }) => rest);
    },
    errors,
    error,
    isBusy,
    isChanged: Object.keys({ ...first, ...values }).some((k) => (first[k] ?? "") !== (values[k] ?? "")),
    reset: (next) => {
      setFirst(next ?? first);
      setValues(next ?? first);
      setErrors({});
      setError(null);
    },
    submit,
  };
}

/** The inputs of a form. */
export function FormFields({ form, fields, schema }: { form: FormState; fields: readonly FormField[]; schema: Schema }) {
  return (
    <>
      {fields
        .filter((f) => f.isShown?.(form.values) ?? true)
        .map((f) => (
          <OneField key={f.name} field={f} schema={schema[f.name] ?? {}} form={form} />
        ))}
    </>
  );
}

function OneField({ field, schema, form }: { field: FormField; schema: SchemaField; form: FormState }) {
  const value = form.values[field.name];
  const help = field.help ?? (schema.description ? `${capital(schema.description)}.` : undefined);
  const shared = { label: field.label, help, error: form.errors[field.name], isRequired: field.isRequired };
  const onChange = (next: string | boolean): void => form.set(field.name, next);
  const choices = field.choices ?? schema.enum?.filter((v) => v !== null).map((v) => ({ value: String(v), label: String(v) }));
  if (schema.type === "boolean") return <CheckField label={field.label} help={help} value={value === true} onChange={onChange} />;
  if (choices) {
    const all = field.isRequired ? choices : [{ value: "", label: t.inherited }, ...choices];
    return <SelectField {...shared} value={String(value ?? "")} choices={all} onChange={onChange} />;
  }
  const isNumber = schema.type === "integer" || schema.type === "number";
  return (
    <TextField
      {...shared}
      value={String(value ?? "")}
      onChange={onChange}
      type={field.isSecret ? "password" : isNumber ? "number" : "text"}
      step={schema.type === "number" ? "any" : undefined}
      min={schema.minimum}
      max={schema.maximum}
      maxLength={schema.maxLength}
      unit={field.unit}
      lines={field.lines}
      isMono={field.isMono}
      placeholder={field.placeholder ?? (schema.example === undefined ? undefined : String(schema.example))}
    />
  );
}

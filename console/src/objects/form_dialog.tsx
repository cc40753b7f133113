// SPDX-License-Identifier: Apache-2.0
// form_dialog.tsx: a dialog around a form of a schema: it checks, sends, shows the error beside its field, and closes when it worked.
import type { ComponentChildren } from "preact";
import type { Schema } from "../api/operation";
import { Button } from "../parts/button";
import { Dialog } from "../parts/dialog";
import { FormFields, useForm, type FormField, type FormValues } from "../parts/form";
import { ErrorNote } from "../parts/notice";
import { common as t } from "../text/en";

export interface FormDialogProps {
  title: string;
  fields: readonly FormField[];
  schema: Schema;
  initial?: FormValues;
  /** The word of the button. */
  yes: string;
  about?: ComponentChildren;
  /** Sends the body; what it throws is shown. */
  send: (body: Record<string, unknown>) => Promise<unknown>;
  onClose: () => void;
}

export function FormDialog(props: FormDialogProps) {
  const form = useForm(props.fields, props.schema, props.initial);
  const submit = async (): Promise<void> => {
    if (await form.submit(props.send)) props.onClose();
  };
  return (
    <Dialog
      title={props.title}
      onClose={props.onClose}
      onSubmit={() => void submit()}
      footer={
        <>
          <Button onClick={props.onClose}>{t.cancel}</Button>
          <Button type="submit" kind="primary" isBusy={form.isBusy}>
            {props.yes}
          </Button>
        </>
      }
    >
      {form.error && <ErrorNote error={form.error} />}
      {props.about && <p class="muted">{props.about}</p>}
      <FormFields form={form} fields={props.fields} schema={props.schema} />
    </Dialog>
  );
}

// SPDX-License-Identifier: Apache-2.0
// Asks for a name or a path, sends it, and shows the refusal beside the field.
import { useState } from "preact/hooks";
import { asApiError } from "../../../api/errors";
import { Button } from "../../../parts/button";
import { Dialog } from "../../../parts/dialog";
import { TextField } from "../../../parts/field";
import { common as shared, sandboxFiles as t } from "../../../text/en";

export interface NameQuestion {
  title: string;
  label: string;
  initial: string;
  /** A path may hold slashes. */
  isPath?: boolean;
  send: (value: string) => Promise<unknown>;
}

export function NameDialog({ question, onClose }: { question: NameQuestion; onClose: () => void }) {
  const [value, setValue] = useState(question.initial);
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = (): void => {
    if (value === "" || value === "." || value === ".." || (!question.isPath && value.includes("/"))) {
      setError(t.badName);
      return;
    }
    setBusy(true);
    question.send(value).then(onClose, (thrown: unknown) => {
      const failure = asApiError(thrown);
      setError(failure.hint ? `${failure.message} ${failure.hint}` : failure.message);
      setBusy(false);
    });
  };
  return (
    <Dialog title={question.title} onClose={onClose} onSubmit={submit} kind="narrow" footer={
      <>
        <Button onClick={onClose}>{shared.cancel}</Button>
        <Button kind="primary" type="submit" isBusy={isBusy}>{question.title}</Button>
      </>
    }>
      <TextField label={question.label} value={value} onChange={setValue} error={error} hasFocus isMono maxLength={question.isPath ? 4096 : 255} />
    </Dialog>
  );
}

// SPDX-License-Identifier: Apache-2.0
// create_sandbox.tsx: the create dialog: form on the left, on the right the same request as code. It loads by itself (Lazy).
import { useEffect, useState } from "preact/hooks";
import { call } from "../api/call";
import { asApiError, type ApiError } from "../api/errors";
import { postApiSandboxInstances } from "../api/generated";
import { Button } from "../parts/button";
import { CodeBlock } from "../parts/copy";
import { Dialog } from "../parts/dialog";
import { Segmented } from "../parts/field";
import { ErrorNote } from "../parts/notice";
import { queryOf } from "../router";
import { snapshots, templates, volumes } from "../store/lists";
import { sandboxes } from "../store/sandboxes";
import { common as shared, createSandbox as t } from "../text/en";
import { codeOf, type CodeKind } from "./create_code";
import { CreateFields } from "./create_fields";
import { bodyOf, draft, EMPTY, findErrors, type Draft } from "./create_form";
import { CreateProgress } from "./create_progress";
import { Effective } from "./effective";
import "./create_sandbox.css";

const KINDS: readonly CodeKind[] = ["curl", "cli", "python", "typescript"];

export default function CreateSandbox({ onClose }: { onClose: () => void }) {
  const [errors, setErrors] = useState<Partial<Record<keyof Draft, string>>>({});
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [made, setMade] = useState<string | null>(null);
  useEffect(() => {
    for (const list of [templates, volumes, snapshots]) list.ensure();
    const [template, snapshot] = [queryOf("template"), queryOf("snapshot")];
    if (template) draft.value = { ...draft.peek(), source: "template", template };
    if (snapshot) draft.value = { ...draft.peek(), source: "snapshot", snapshot };
  }, []);
  const create = async (): Promise<void> => {
    const found = findErrors(draft.peek());
    setErrors(found);
    setError(null);
    if (Object.keys(found).length) {
      requestAnimationFrame(() => document.querySelector<HTMLElement>("dialog [aria-invalid=true]")?.focus());
      return;
    }
    setBusy(true);
    try {
      const answer = await call(postApiSandboxInstances, { query: { wait: false }, body: bodyOf(draft.peek()) });
      sandboxes.reveal(answer);
      draft.value = EMPTY;
      setMade(answer.id);
    } catch (thrown) {
      const failure = asApiError(thrown);
      const { name } = bodyOf(draft.peek());
      if (failure.code === "conflict" && name && failure.message.includes(name)) setErrors({ name: failure.message });
      else setError(failure);
    } finally {
      setBusy(false);
    }
  };
  if (made) return <CreateProgress id={made} onClose={onClose} onAnother={() => setMade(null)} />;
  return (
    <Dialog
      title={t.title}
      kind="wide"
      onClose={onClose}
      onSubmit={() => void create()}
      footer={
        <>
          {error && (
            <div class="grow">
              <ErrorNote error={error} />
            </div>
          )}
          <Button onClick={onClose}>{shared.cancel}</Button>
          <Button kind="primary" type="submit" isBusy={isBusy}>
            {t.create}
          </Button>
        </>
      }
    >
      <div class="create">
        <CreateFields errors={errors} onChange={(name) => setErrors(({ [name]: _, ...rest }) => rest)} />
        <SameRequest />
      </div>
    </Dialog>
  );
}

function SameRequest() {
  const [kind, setKind] = useState<CodeKind>("curl");
  const body = bodyOf(draft.value);
  return (
    <aside class="create-side stack" aria-label={t.sameRequest}>
      <div class="row">
        <h3 class="grow">{t.sameRequest}</h3>
      </div>
      <Segmented label={t.sameRequest} value={kind} onChange={(v) => setKind(v as CodeKind)} choices={KINDS.map((value) => ({ value, label: t.kinds[value] }))} />
      <CodeBlock label={t.kinds[kind]} text={codeOf(kind, body)} />
      <Effective body={body} />
    </aside>
  );
}

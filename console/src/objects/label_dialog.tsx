// SPDX-License-Identifier: Apache-2.0
// label_dialog.tsx: labels of one sandbox or of many. Of many, the given ones are added; those with the same name are replaced.
import { useState } from "preact/hooks";
import { call } from "../api/call";
import { asApiError, type ApiError } from "../api/errors";
import { patchApiSandboxInstancesId } from "../api/generated";
import { Button } from "../parts/button";
import { Dialog } from "../parts/dialog";
import { PairsField, pairsToObject, type Pair } from "../parts/field";
import { ErrorNote } from "../parts/notice";
import { mergeAnswer, sandboxes, type Sandbox } from "../store/sandboxes";
import { runBulk } from "../store/tray";
import { common as shared, sandbox as t } from "../text/en";

const LABELS_MAX = 64;
const labelsOf = (s: Sandbox): Record<string, string> => (s.labels as Record<string, string> | null) ?? {};
/** The server sets these itself. */
const isOwn = ([key]: [string, string]): boolean => !key.startsWith("atoll.");

async function setLabels(id: string, labels: Record<string, string>, signal?: AbortSignal): Promise<void> {
  mergeAnswer(await call(patchApiSandboxInstancesId, { path: { id }, body: { labels }, signal }));
}

export function LabelDialog({ list, onClose }: { list: readonly Sandbox[]; onClose: () => void }) {
  const single = list.length === 1 ? list[0] : undefined;
  const [pairs, setPairs] = useState<Pair[]>(() => (single ? Object.entries(labelsOf(single)).filter(isOwn).map(([key, value]) => ({ key, value })) : [{ key: "", value: "" }]));
  const [error, setError] = useState<ApiError | null>(null);
  const save = async (): Promise<void> => {
    const given = pairsToObject(pairs);
    if (!single) {
      onClose();
      await runBulk(t.labelsTitle(list.length), list.map((s) => s.id), (id, signal) => {
        const now = sandboxes.peek(id);
        return setLabels(id, { ...(now ? Object.fromEntries(Object.entries(labelsOf(now)).filter(isOwn)) : {}), ...given }, signal);
      });
      return;
    }
    try {
      await setLabels(single.id, given);
      onClose();
    } catch (thrown) {
      setError(asApiError(thrown));
    }
  };
  return (
    <Dialog
      title={t.labelsTitle(list.length)}
      onClose={onClose}
      onSubmit={() => void save()}
      footer={
        <>
          <Button onClick={onClose}>{shared.cancel}</Button>
          <Button kind="primary" type="submit">
            {shared.save}
          </Button>
        </>
      }
    >
      <PairsField label={t.labels} keyLabel={t.labelName} valueLabel={t.labelValue} pairs={pairs} max={LABELS_MAX} help={single ? undefined : t.labelsAdded} onChange={setPairs} />
      {error && <ErrorNote error={error} />}
    </Dialog>
  );
}

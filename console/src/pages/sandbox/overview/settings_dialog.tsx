// SPDX-License-Identifier: Apache-2.0
// Name, times and persistence of a sandbox, changed in place.
import { useState } from "preact/hooks";
import { call } from "../../../api/call";
import { asApiError, type ApiError } from "../../../api/errors";
import { patchApiSandboxInstancesId, type SandboxUpdate } from "../../../api/generated";
import { Button } from "../../../parts/button";
import { Dialog } from "../../../parts/dialog";
import { CheckField, TextField } from "../../../parts/field";
import { ErrorNote } from "../../../parts/notice";
import { mergeAnswer, type Sandbox } from "../../../store/sandboxes";
import { common as shared, sandboxOverview as t } from "../../../text/en";

export const TIMES = ["autoPauseMs", "autoStopMs", "idle_reap_ms", "autoArchiveMs", "autoDeleteMs", "lifetime_max_ms"] as const;
type TimeName = (typeof TIMES)[number];
const MINUTE = 60_000;
const NAME_MAX = 63;

export const minutesOf = (ms: number): string => String(Math.max(0, Math.round((ms / MINUTE) * 100) / 100));

/** What differs from the sandbox; a text that is no time gives an error by its name. */
function changesOf(sandbox: Sandbox, name: string, isPersistent: boolean, minutes: Record<TimeName, string>): { body: SandboxUpdate; errors: Partial<Record<TimeName, string>> } {
  const body: SandboxUpdate = {};
  const errors: Partial<Record<TimeName, string>> = {};
  if (name !== sandbox.name) body.name = name;
  if (isPersistent !== sandbox.persistent) body.persistent = isPersistent;
  for (const time of TIMES) {
    if (minutes[time] === minutesOf(sandbox[time])) continue;
    const value = Number(minutes[time]);
    if (minutes[time].trim() === "" || !Number.isFinite(value) || value < 0) errors[time] = t.badMinutes;
    else body[time] = Math.round(value * MINUTE);
  }
  return { body, errors };
}

export function SettingsDialog({ sandbox, onClose }: { sandbox: Sandbox; onClose: () => void }) {
  const [before] = useState(sandbox);
  const [name, setName] = useState(before.name);
  const [isPersistent, setPersistent] = useState(before.persistent);
  const [minutes, setMinutes] = useState(() => Object.fromEntries(TIMES.map((time) => [time, minutesOf(before[time])])) as Record<TimeName, string>);
  const [errors, setErrors] = useState<Partial<Record<TimeName, string>>>({});
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const save = async (): Promise<void> => {
    const { body, errors: found } = changesOf(before, name, isPersistent, minutes);
    setErrors(found);
    if (Object.keys(found).length) return;
    if (Object.keys(body).length === 0) return onClose();
    setBusy(true);
    try {
      mergeAnswer(await call(patchApiSandboxInstancesId, { path: { id: before.id }, body }));
      onClose();
    } catch (thrown) {
      setError(asApiError(thrown));
      setBusy(false);
    }
  };
  return (
    <Dialog title={t.editTitle} onClose={onClose} onSubmit={() => void save()} footer={
      <>
        <Button onClick={onClose}>{shared.cancel}</Button>
        <Button kind="primary" type="submit" isBusy={isBusy}>{shared.save}</Button>
      </>
    }>
      <div class="stack">
        <TextField label={t.name} value={name} onChange={setName} maxLength={NAME_MAX} hasFocus />
        <CheckField label={t.keepPersistent} value={isPersistent} onChange={setPersistent} />
        <div class="fields">
          {TIMES.filter((time) => !(isPersistent && time === "idle_reap_ms")).map((time) => (
            <TextField key={time} label={t.timesOf[time] ?? time} type="number" min={0} step="any" unit={t.minutes} help={t.minutesHelp} error={errors[time]} value={minutes[time]} onChange={(value) => setMinutes({ ...minutes, [time]: value })} />
          ))}
        </div>
        {error && <ErrorNote error={error} />}
      </div>
    </Dialog>
  );
}

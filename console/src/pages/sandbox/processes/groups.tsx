// SPDX-License-Identifier: Apache-2.0
// Services, which are kept running, and background jobs of conversations. A group without rows is not shown.
import { call } from "../../../api/call";
import { asApiError, type ApiError } from "../../../api/errors";
import {
  getApiSandboxInstancesIdServices, getV1Jobs, postApiSandboxInstancesIdServicesServiceRestart, postApiSandboxInstancesIdServicesServiceStart,
  postApiSandboxInstancesIdServicesServiceStop, postV1JobsJobStop, type JobItem, type Service,
} from "../../../api/generated";
import { Button } from "../../../parts/button";
import { StateChip } from "../../../parts/chip";
import { formatDuration } from "../../../parts/format";
import { Card } from "../../../parts/layout";
import { ErrorNote } from "../../../parts/notice";
import { Safe, Time } from "../../../parts/text";
import { useResource } from "../../../store/resource";
import type { Sandbox } from "../../../store/sandboxes";
import { missingScope } from "../../../store/session";
import { common as shared, sandboxProcesses as t } from "../../../text/en";

interface GroupProps {
  sandbox: Sandbox;
  onOpen: (process: number) => void;
  onError: (error: ApiError | null) => void;
}

/** A service changes its state a moment after the answer. */
const SETTLES_MS = 400;
const lineOf = (s: Service): string => s.command ?? (Array.isArray(s.args) ? s.args.join(" ") : "");

export function Services({ sandbox, onOpen, onError }: GroupProps) {
  const services = useResource(`services ${sandbox.id}`, (signal) => call(getApiSandboxInstancesIdServices, { path: { id: sandbox.id }, signal }), { kinds: ["service.*"], sandbox: sandbox.id, onFocus: true });
  const scope = missingScope(postApiSandboxInstancesIdServicesServiceStop);
  const forbidden = scope && shared.missingScope(scope);
  const act = (operation: typeof postApiSandboxInstancesIdServicesServiceStop, service: string) => () => {
    onError(null);
    call(operation, { path: { id: sandbox.id, service } }).then(() => setTimeout(services.reload, SETTLES_MS), (thrown: unknown) => onError(asApiError(thrown)));
  };
  const error = services.error.value;
  if (error) return <ErrorNote error={error} what={t.services} onRetry={services.reload} />;
  const items = services.data.value?.items ?? [];
  if (items.length === 0) return null;
  return (
    <Card isFlush title={t.services}>
      <div class="scrolls" tabIndex={0} role="region" aria-label={t.services}>
        <table class="plain-table">
          <tbody>
            {items.map((s) => (
              <tr key={s.name}>
                <td class="nowrap strong"><Safe text={s.name} max={40} /></td>
                <td><StateChip state={s.state} note={s.error} />{s.restart_in_ms > 0 && <span class="muted"> {t.restartIn(formatDuration(s.restart_in_ms))}</span>}</td>
                <td class="mono"><Safe text={lineOf(s)} max={120} /></td>
                <td class="nowrap muted">{t.restarts} {s.restarts}</td>
                <td class="nowrap"><Time at={s.started_at} /></td>
                <td class="end nowrap">
                  <Button isSmall kind="quiet" isDisabled={s.process <= 0} onClick={() => onOpen(s.process)}>{t.output}</Button>
                  {s.wanted
                    ? <><Button isSmall kind="quiet" icon="reload" label={t.restart} disabledBecause={forbidden} onClick={act(postApiSandboxInstancesIdServicesServiceRestart, s.name)} /><Button isSmall kind="quiet" icon="stop" label={t.stop} disabledBecause={forbidden} onClick={act(postApiSandboxInstancesIdServicesServiceStop, s.name)} /></>
                    : <Button isSmall kind="quiet" icon="play" label={t.start} disabledBecause={forbidden} onClick={act(postApiSandboxInstancesIdServicesServiceStart, s.name)} />}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

export function Jobs({ sandbox, onOpen, onError }: GroupProps) {
  const jobs = useResource(`jobs ${sandbox.id}`, (signal) => call(getV1Jobs, { query: { sandbox: sandbox.id, limit: 50 }, signal }), { kinds: ["job.*"], sandbox: sandbox.id });
  const scope = missingScope(postV1JobsJobStop);
  const stop = (job: JobItem) => () => {
    onError(null);
    call(postV1JobsJobStop, { path: { job: job.resultId } }).then(jobs.reload, (thrown: unknown) => onError(asApiError(thrown)));
  };
  const error = jobs.error.value;
  if (error) return <ErrorNote error={error} what={t.jobs} onRetry={jobs.reload} />;
  const items = jobs.data.value?.items ?? [];
  if (items.length === 0) return null;
  return (
    <Card isFlush title={t.jobs}>
      <div class="scrolls" tabIndex={0} role="region" aria-label={t.jobs}>
        <table class="plain-table">
          <tbody>
            {items.map((j) => (
              <tr key={j.resultId}>
                <td class="mono"><Safe text={j.command} max={120} /></td>
                <td><StateChip state={j.status} /></td>
                <td class="muted"><Safe text={j.conversation ?? ""} max={40} /></td>
                <td class="nowrap"><Time at={j.created_at} /></td>
                <td class="nowrap end">{formatDuration(j.duration_ms)}</td>
                <td class="end nowrap">
                  <Button isSmall kind="quiet" isDisabled={j.process <= 0} onClick={() => onOpen(j.process)}>{t.output}</Button>
                  {j.status === "running" && <Button isSmall kind="quiet" icon="stop" label={t.stop} disabledBecause={scope && shared.missingScope(scope)} onClick={stop(j)} />}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

// SPDX-License-Identifier: Apache-2.0
// build_page.tsx: one build: its steps on the left, its log on the right. Leaving the page ends nothing.
import { useEffect, useState } from "preact/hooks";
import { call } from "../../api/call";
import { asApiError, type ApiError } from "../../api/errors";
import { deleteApiSandboxTemplatesBuildsBuild, getApiSandboxTemplatesBuildsBuild, postApiSandboxTemplatesBuildsBuildCancel, type Build } from "../../api/generated";
import { Button, ButtonLink } from "../../parts/button";
import { StateChip } from "../../parts/chip";
import { ask } from "../../parts/dialog";
import { formatDuration } from "../../parts/format";
import { Icon } from "../../parts/icons";
import { Facts, Page } from "../../parts/layout";
import { Log } from "../../parts/log";
import { Empty, ErrorNote, Loaded, Note } from "../../parts/notice";
import { showHidden, showHiddenLines } from "../../parts/safe";
import { Id, Safe, Time } from "../../parts/text";
import { at, go, href } from "../../router";
import { builds } from "../../store/lists";
import { useResource } from "../../store/resource";
import { missingScope } from "../../store/session";
import { showToast } from "../../store/toasts";
import { builds as t, common as shared } from "../../text/en";
import { useBuildLog, type Step } from "./build_log";
import { Took } from "./took";

const isEnded = (build: Build): boolean => !["waiting", "building"].includes(build.status);

export function BuildPage({ id }: { id: string }) {
  const build = useResource<Build>(`build ${id}`, (signal) => call(getApiSandboxTemplatesBuildsBuild, { path: { build: id }, signal }), { kinds: ["build.*"] });
  const log = useBuildLog(id);
  const [goTo, setGoTo] = useState<number | undefined>(undefined);
  const [error, setError] = useState<ApiError | null>(null);
  const data = build.data.value;
  const steps = log.steps.value;
  const isDone = log.isDone.value;
  // The log moves the figures of the build: they are read again at each step and at the end.
  useEffect(() => {
    if (steps.length || isDone) build.reload();
  }, [steps.length, isDone]);
  if (!data && build.error.value?.status === 404) {
    return (
      <Page title={t.notFound}>
        <Empty icon="hammer" title={t.notFound} action={<ButtonLink href={href("builds")}>{t.title}</ButtonLink>}>{t.notFoundText}</Empty>
      </Page>
    );
  }
  const failing = steps.findLast((s) => s.hasError) ?? (data?.status === "error" ? steps.at(-1) : undefined);
  return (
    <Page title={data ? showHidden(data.name, 80) : t.title} actions={data && <Actions build={data} onError={setError} onChange={build.reload} failing={failing} onFailing={setGoTo} />} isFull>
      {error && <ErrorNote error={error} onClose={() => setError(null)} />}
      <Loaded of={build} lines={4}>
        {(found) => (
          <>
            <BuildFacts build={found} />
            {found.status === "waiting" && <Note>{t.waiting}</Note>}
            {found.message && <Note tone={found.status === "error" ? "bad" : "info"}>{showHiddenLines(found.message)}</Note>}
          </>
        )}
      </Loaded>
      {log.error.value && <ErrorNote what={t.logBroken} error={log.error.value} />}
      <div class="build-body">
        <nav class="build-steps" aria-label={t.stepList}>
          {steps.map((step) => (
            <StepButton key={`${step.number} ${step.firstLine}`} step={step} hasFailed={step === failing} isCurrent={goTo === step.firstLine} onGo={() => setGoTo(step.firstLine)} />
          ))}
        </nav>
        <Log lines={log.lines} label={t.log} goTo={goTo} empty={t.noLog} />
      </div>
    </Page>
  );
}

function StepButton({ step, hasFailed, isCurrent, onGo }: { step: Step; hasFailed: boolean; isCurrent: boolean; onGo: () => void }) {
  const took = step.begun !== null && step.last !== null ? formatDuration(step.last - step.begun) : "";
  return (
    <button type="button" class="build-step" aria-current={isCurrent ? "step" : undefined} onClick={onGo}>
      <span class={hasFailed ? "text-bad" : undefined}>
        {hasFailed && <Icon name="warning" />} {t.step(step.number)}
      </span>
      <span class="meta">{took}</span>
      <span class="mono"><Safe text={step.text} max={120} mono /></span>
    </button>
  );
}

function BuildFacts({ build }: { build: Build }) {
  return (
    <Facts
      facts={[
        [t.status, <StateChip state={build.status} />],
        [t.steps, t.progress(build.step, build.step_count)],
        [t.cached, String(build.cached_count)],
        [t.from, <Safe text={build.from} />],
        [t.took, <Took build={build} />],
        [t.started, <Time at={build.started_at ?? build.created_at} />],
        ["Id", <Id id={build.id} max={20} />],
      ]}
    />
  );
}

interface ActionsProps {
  build: Build;
  failing: Step | undefined;
  onFailing: (line: number) => void;
  onError: (error: ApiError | null) => void;
  onChange: () => void;
}

function Actions({ build, failing, onFailing, onError, onChange }: ActionsProps) {
  const scope = missingScope(postApiSandboxTemplatesBuildsBuildCancel);
  const why = scope && shared.missingScope(scope);
  const attempt = async (run: () => Promise<unknown>): Promise<boolean> => {
    onError(null);
    try {
      await run();
      return true;
    } catch (thrown) {
      onError(asApiError(thrown));
      return false;
    }
  };
  const cancel = async (): Promise<void> => {
    if (!(await ask({ title: t.cancelTitle, text: t.cancelText, yes: t.cancel, isDangerous: true }))) return;
    if (await attempt(async () => builds.put(await call(postApiSandboxTemplatesBuildsBuildCancel, { path: { build: build.id } })))) showToast({ kind: "done", text: t.cancelled });
    onChange();
  };
  const remove = async (): Promise<void> => {
    if (!(await ask({ title: t.deleteTitle, text: t.deleteText, yes: shared.delete, isDangerous: true }))) return;
    if (await attempt(() => call(deleteApiSandboxTemplatesBuildsBuild, { path: { build: build.id } }))) {
      builds.remove(build.id);
      go(href("builds"));
    }
  };
  return (
    <>
      {failing && <Button icon="down" onClick={() => onFailing(failing.firstLine + failing.lines - 1)}>{t.toFailure}</Button>}
      {build.template && <ButtonLink icon="layers" href={href(at`templates/${build.template}`)}>{t.openTemplate}</ButtonLink>}
      {isEnded(build) ? <Button icon="trash" label={t.delete} disabledBecause={why} onClick={() => void remove()} /> : <Button icon="stop" disabledBecause={why} onClick={() => void cancel()}>{t.cancel}</Button>}
    </>
  );
}

// SPDX-License-Identifier: Apache-2.0
// The providers of the server with their health and limits, a check of each, and the rules that choose them.
import { useEffect, useState } from "preact/hooks";
import { call } from "../../api/call";
import { asApiError, type ApiError } from "../../api/errors";
import { deleteV1ProvidersName, postV1Providers, postV1ProvidersNameCheck, type Provider } from "../../api/generated";
import { ListTable } from "../../objects/list_table";
import { Button } from "../../parts/button";
import { Chip, StateChip } from "../../parts/chip";
import { ask } from "../../parts/dialog";
import { formatCount, formatDuration } from "../../parts/format";
import { Page } from "../../parts/layout";
import { ErrorNote, Skeleton } from "../../parts/notice";
import { showHidden } from "../../parts/safe";
import type { Column } from "../../parts/table";
import { Safe, Time } from "../../parts/text";
import { loadProviders, providers, providersError } from "../../store/providers";
import { missingScope } from "../../store/session";
import { showToast } from "../../store/toasts";
import { common as shared, providers as t } from "../../text/en";
import { ProviderForm } from "./form";
import { RoutingRules } from "./rules";

function stateOf(p: Provider): string {
  if (!p.connected) return t.away;
  if (!p.healthy) return t.unhealthy;
  return p.draining ? t.draining : p.slow ? t.slow : t.healthy;
}

/** Of this month, or of today where only a day has a limit. */
function costOf(p: Provider): string {
  const isDay = p.max_cost_month === 0 && p.max_cost_day > 0;
  return isDay ? t.costOf(p.cost_day, p.max_cost_day) : t.costOf(p.cost_month, p.max_cost_month);
}

const COLUMNS: readonly Column<Provider>[] = [
  { id: "name", title: t.name, width: 150, grow: 1, isFixed: true, phone: "title", sort: (p) => p.name, cell: (p) => <span class="row tight nowrap"><Safe text={p.name} max={40} /> {p.primary && <Chip tip={t.primaryTip}>{t.primary}</Chip>}</span> },
  { id: "health", title: t.health, width: 106, phone: "side", sort: stateOf, cell: (p) => <StateChip state={stateOf(p)} /> },
  { id: "kind", title: t.kind, width: 68, phone: "meta", sort: (p) => p.kind, cell: (p) => <Safe text={p.kind} /> },
  { id: "isolation", title: t.isolation, width: 114, phone: "meta", sort: (p) => p.isolation, cell: (p) => <Chip>{showHidden(p.isolation, 40)}</Chip> },
  { id: "sandboxes", title: t.sandboxes, width: 86, sort: (p) => p.sandboxes, cell: (p) => (p.max_sandboxes > 0 ? t.of(p.sandboxes, p.max_sandboxes) : formatCount(p.sandboxes)) },
  { id: "cost", title: t.cost, width: 96, leaves: 1, sort: (p) => p.cost_month, cell: (p) => (p.price_hour > 0 ? <span class="nowrap" data-tip={t.costTip}>{costOf(p)}</span> : <span class="muted">–</span>) },
  { id: "warm", title: t.warm, width: 72, leaves: 3, sort: (p) => p.warm?.ready ?? -1, cell: (p) => (p.warm ? <span class="nowrap" data-tip={t.warmTip(p.warm.hits, p.warm.misses)}>{t.warmOf(p.warm.ready, p.warm.wanted)}</span> : <span class="muted">–</span>) },
  { id: "creates", title: t.creates, width: 68, leaves: 3, sort: (p) => p.creates, cell: (p) => <span data-tip={t.createsTip}>{formatCount(p.creates)}</span> },
  { id: "failures", title: t.failures, width: 72, leaves: 4, sort: (p) => p.failures, cell: (p) => <span class={p.failures > 0 ? "text-warn" : ""}>{formatCount(p.failures)}</span> },
  { id: "times", title: t.times, width: 104, leaves: 2, sort: (p) => p.p50_ms, cell: (p) => <span class="nowrap" data-tip={t.timesTip}>{p.p50_ms > 0 ? `${formatDuration(p.p50_ms)} / ${formatDuration(p.p99_ms)}` : "–"}</span> },
  { id: "unsupported", title: t.unsupported, width: 84, leaves: 1, sort: (p) => p.unsupported.length, cell: (p) => (p.unsupported.length ? <span data-tip={p.unsupported.join("\n")}>{t.lacks(p.unsupported.length)}</span> : <span class="muted">–</span>) },
  { id: "error", title: t.lastError, width: 110, grow: 2, leaves: 5, sort: (p) => p.failed_at, cell: (p) => <ErrorCell of={p} /> },
];

function ErrorCell({ of }: { of: Provider }) {
  if (!of.last_error) return <span class="muted">{t.never}</span>;
  return (
    <span class="cut" data-tip={showHidden(of.last_error, 400)}>
      <span class="muted">
        <Time at={of.failed_at} plain />
      </span>{" "}
      <Safe text={of.last_error} max={200} />
    </span>
  );
}

export default function ProvidersPage() {
  const [failed, setFailed] = useState<{ name: string; error: ApiError } | null>(null);
  const [checking, setChecking] = useState("");
  useEffect(() => void loadProviders(), []);
  const list = providers.value;
  const error = providersError.value;
  const [isAdding, setAdding] = useState(false);
  const lacks = missingScope(postV1ProvidersNameCheck);
  const check = async (p: Provider): Promise<void> => {
    setChecking(p.name);
    setFailed(null);
    try {
      const done = await call(postV1ProvidersNameCheck, { path: { name: p.name } });
      showToast({ kind: "done", text: t.checked(showHidden(done.name, 40), formatDuration(done.took_ms)) });
    } catch (thrown) {
      setFailed({ name: p.name, error: asApiError(thrown) });
    }
    setChecking("");
    await loadProviders();
  };
  const remove = async (p: Provider): Promise<void> => {
    const yes = await ask({ title: t.removeOf(showHidden(p.name, 40)), text: t.removeText, yes: shared.remove, isDangerous: true });
    if (!yes) return;
    setFailed(null);
    try {
      const done = await call(deleteV1ProvidersName, { path: { name: p.name }, query: { drain: true } });
      showToast({ kind: "done", text: done.removed ? t.removed(showHidden(p.name, 40)) : t.drains(showHidden(p.name, 40), done.sandboxes) });
    } catch (thrown) {
      setFailed({ name: p.name, error: asApiError(thrown) });
    }
    await loadProviders();
  };
  const add = (
    <Button kind="primary" icon="plus" disabledBecause={lacks && shared.missingScope(lacks)} onClick={() => setAdding(true)}>
      {t.add}
    </Button>
  );
  return (
    <Page title={t.title} about={t.about} actions={add} isFull>
      {isAdding && (
        <ProviderForm
          onClose={() => setAdding(false)}
          send={async (body) => {
            const done = await call(postV1Providers, { body });
            setAdding(false);
            showToast({ kind: "done", text: t.added(showHidden(done.name, 40)) });
            await loadProviders();
          }}
        />
      )}
      {error && <ErrorNote error={error} onRetry={() => void loadProviders()} />}
      {failed && <ErrorNote what={t.checkOf(showHidden(failed.name, 40))} error={failed.error} onClose={() => setFailed(null)} />}
      {list ? (
        <ProviderTable
          list={list}
          actionsOf={(p) => (
            <span class="row tight nowrap">
              <Button isSmall label={t.checkOf(p.name)} tip={t.checkTip} icon="pulse" isBusy={checking === p.name} disabledBecause={lacks && shared.missingScope(lacks)} onClick={() => void check(p)} />
              <Button isSmall label={t.removeOf(p.name)} icon="trash" disabledBecause={lacks ? shared.missingScope(lacks) : p.stored ? null : t.notStored} onClick={() => void remove(p)} />
            </span>
          )}
        />
      ) : (
        !error && <Skeleton lines={4} />
      )}
      <RoutingRules />
    </Page>
  );
}

function ProviderTable({ list, actionsOf }: { list: readonly Provider[]; actionsOf: (p: Provider) => preact.ComponentChild }) {
  return (
    <ListTable
      name="providers"
      label={t.title}
      items={list}
      idOf={(p) => p.name}
      columns={COLUMNS}
      nameOf={(p) => p.name}
      actionsOf={actionsOf}
      actionsWidth={92}
      empty={{ icon: "cpu", title: t.none, text: t.noneText }}
    />
  );
}

// SPDX-License-Identifier: Apache-2.0
// The providers of the server with their health, and a check of each.
import { useEffect, useState } from "preact/hooks";
import { call } from "../../api/call";
import { asApiError, type ApiError } from "../../api/errors";
import { postV1ProvidersNameCheck, type Provider } from "../../api/generated";
import { Button } from "../../parts/button";
import { Chip, StateChip } from "../../parts/chip";
import { formatCount, formatDuration } from "../../parts/format";
import { Page } from "../../parts/layout";
import { Empty, ErrorNote, Skeleton } from "../../parts/notice";
import { showHidden } from "../../parts/safe";
import { Table, type Column } from "../../parts/table";
import { Safe, Time } from "../../parts/text";
import { useItems } from "../../parts/view";
import { queryOf, setQuery } from "../../router";
import { loadProviders, providers, providersError } from "../../store/providers";
import { missingScope } from "../../store/session";
import { showToast } from "../../store/toasts";
import { common as shared, providers as t } from "../../text/en";

const stateOf = (p: Provider): string => (!p.connected ? t.away : p.healthy ? t.healthy : t.unhealthy);

const COLUMNS: readonly Column<Provider>[] = [
  { id: "name", title: t.name, width: 150, grow: 1, isFixed: true, phone: "title", sort: (p) => p.name, cell: (p) => <span class="row tight nowrap"><Safe text={p.name} max={40} /> {p.primary && <Chip tip={t.primaryTip}>{t.primary}</Chip>}</span> },
  { id: "health", title: t.health, width: 106, phone: "side", sort: stateOf, cell: (p) => <StateChip state={stateOf(p)} /> },
  { id: "kind", title: t.kind, width: 68, phone: "meta", sort: (p) => p.kind, cell: (p) => <Safe text={p.kind} /> },
  { id: "isolation", title: t.isolation, width: 114, phone: "meta", sort: (p) => p.isolation, cell: (p) => <Chip>{showHidden(p.isolation, 40)}</Chip> },
  { id: "sandboxes", title: t.sandboxes, width: 86, sort: (p) => p.sandboxes, cell: (p) => (p.max_sandboxes > 0 ? t.of(p.sandboxes, p.max_sandboxes) : formatCount(p.sandboxes)) },
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
  return (
    <Page title={t.title} about={t.about} isFull>
      {error && <ErrorNote error={error} onRetry={() => void loadProviders()} />}
      {failed && <ErrorNote what={t.checkOf(showHidden(failed.name, 40))} error={failed.error} onClose={() => setFailed(null)} />}
      {list ? (
        <ProviderTable
          list={list}
          actionsOf={(p) => (
            <Button isSmall label={t.checkOf(p.name)} tip={t.checkTip} icon="pulse" isBusy={checking === p.name} disabledBecause={lacks && shared.missingScope(lacks)} onClick={() => void check(p)} />
          )}
        />
      ) : (
        !error && <Skeleton lines={4} />
      )}
    </Page>
  );
}

function ProviderTable({ list, actionsOf }: { list: readonly Provider[]; actionsOf: (p: Provider) => preact.ComponentChild }) {
  const source = useItems(list, (p) => p.name);
  return (
    <Table
      name="providers"
      label={t.title}
      source={source}
      columns={COLUMNS}
      nameOf={(p) => p.name}
      sort={queryOf("sort")}
      onSort={(sort) => setQuery({ sort })}
      actionsOf={actionsOf}
      actionsWidth={56}
      empty={
        <Empty icon="cpu" title={t.none}>
          {t.noneText}
        </Empty>
      }
    />
  );
}

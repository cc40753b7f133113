// SPDX-License-Identifier: Apache-2.0
// All sandboxes of the project, live.
import { signal, type ReadonlySignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { SANDBOX_COLUMNS } from "../../objects/sandbox_columns";
import { sandboxHref, sandboxMenu } from "../../objects/sandbox_actions";
import { Page } from "../../parts/layout";
import { Empty, ErrorNote, Skeleton } from "../../parts/notice";
import { Table } from "../../parts/table";
import { go, queryOf, setQuery } from "../../router";
import { useFigures } from "../../store/figures";
import { sandboxes } from "../../store/sandboxes";
import { t } from "../../text/en/sandboxes";

export default function SandboxesPage() {
  useEffect(() => sandboxes.ensure(), []);
  useFigures();
  const selection = useMemo(() => signal<ReadonlySet<string>>(new Set()), []);
  const view = useMemo(() => signal<ReadonlySignal<readonly string[]> | null>(null), []);
  const error = sandboxes.error.value;
  const isLoading = sandboxes.status.value === "loading" && sandboxes.ids.value.length === 0;
  return (
    <Page title={t.title} isFull>
      {error && <ErrorNote error={error} onRetry={() => void sandboxes.load()} />}
      {isLoading ? (
        <Skeleton lines={10} />
      ) : (
        <Table
          name="sandboxes"
          label={t.title}
          source={sandboxes}
          columns={SANDBOX_COLUMNS}
          nameOf={(s) => s.name}
          sort={queryOf("sort") || "-last_activity"}
          onSort={(sort) => setQuery({ sort })}
          selection={selection}
          onOpen={(s) => go(sandboxHref(s.id))}
          menuOf={sandboxMenu}
          onView={(ids) => (view.value = ids)}
          empty={
            <Empty icon="box" title={t.none} command={t.noneCommand}>
              {t.noneText}
            </Empty>
          }
        />
      )}
    </Page>
  );
}

// SPDX-License-Identifier: Apache-2.0
// resource_table.tsx: where the resources of a sandbox without a request of its own come from.
import type { Limits, ResourceConfig } from "../../api/generated";
import { formatCount, formatMib } from "../../parts/format";
import { settings as t } from "../../text/en";

const ROWS = ["defaults", "platform", "effective", "maximums", "caps"] as const;

const cell = (value: number | undefined, format: (value: number) => string): string => (value ? format(value) : t.notSet);

export function ResourceTable({ config }: { config: ResourceConfig }) {
  return (
    <div class="resource-table" tabIndex={0} role="region" aria-label={t.table}>
      <table class="plain-table">
        <thead>
          <tr>
            <th scope="col">{t.table}</th>
            <th scope="col" class="end">{t.cpu}</th>
            <th scope="col" class="end">{t.memory_mb}</th>
            <th scope="col" class="end">{t.disk_mb}</th>
            <th scope="col" class="end">{t.pids}</th>
          </tr>
        </thead>
        <tbody>
          {ROWS.map((row) => (
            <LimitsRow key={row} name={t.rows[row] ?? row} limits={config[row]} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function LimitsRow({ name, limits }: { name: string; limits: Limits | undefined }) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td class="end">{cell(limits?.cpu, String)}</td>
      <td class="end">{cell(limits?.memory_mb, formatMib)}</td>
      <td class="end">{cell(limits?.disk_mb, formatMib)}</td>
      <td class="end">{cell(limits?.pids, formatCount)}</td>
    </tr>
  );
}

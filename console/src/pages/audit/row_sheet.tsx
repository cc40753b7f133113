// SPDX-License-Identifier: Apache-2.0
// row_sheet.tsx: one row of the audit, with what it changed.
import type { AuditRow } from "../../api/generated";
import { StateChip } from "../../parts/chip";
import { CodeBlock, CopyButton } from "../../parts/copy";
import { Dialog } from "../../parts/dialog";
import { Facts } from "../../parts/layout";
import { PlainTable } from "../../parts/plain_table";
import { showHidden, showHiddenLines } from "../../parts/safe";
import { Safe, Time } from "../../parts/text";
import { audit as t } from "../../text/en";
import { changesOf } from "./filter";

const TEXT_MAX = 512;

export function RowSheet({ of, onClose }: { of: AuditRow; onClose: () => void }) {
  const changes = changesOf(of);
  return (
    <Dialog title={showHidden(of.action)} kind="sheet" onClose={onClose}>
      <div class="stack">
        <Facts
          facts={[
            [t.result, <StateChip state={of.result} note={of.status ? String(of.status) : null} />],
            [t.at, <Time at={of.at} />],
            [t.user, <Safe text={of.user} mono max={128} />],
            [t.key, <Safe text={of.key} mono max={128} />],
            [t.via, <Safe text={of.via} />],
            [t.address, <Safe text={of.address} mono />],
            [t.agent, <Safe text={of.user_agent} max={256} />],
            [t.call, <Safe text={`${of.method} ${of.path}`} mono max={TEXT_MAX} />],
            [t.target, <Safe text={of.target && `${of.target_kind} ${of.target}`} mono max={256} />],
            of.conversation !== "" && [t.conversation, <Safe text={of.conversation} mono max={128} />],
            [t.request, <Safe text={of.request_id} mono max={64} />],
            [t.server, <Safe text={`${of.server} ${of.version}`} mono max={128} />],
            [t.sequence, <span class="mono">{of.sequence}</span>],
            [t.hash, <span class="mono wrap">{of.hash}</span>],
          ]}
        />
        <h3>{t.changes}</h3>
        {changes.length === 0 ? (
          <p class="muted">{t.noChanges}</p>
        ) : (
          <PlainTable label={t.changes} heads={[t.member, t.before, t.after]}>
            {changes.map(([name, before, after]) => (
              <tr key={name}>
                <td class="mono wrap">
                  <Safe text={name} max={TEXT_MAX} />
                </td>
                <td class="wrap">
                  <Safe text={before} mono max={TEXT_MAX} />
                </td>
                <td class="wrap">
                  <Safe text={after} mono max={TEXT_MAX} />
                </td>
              </tr>
            ))}
          </PlainTable>
        )}
        <div class="row">
          <h3 class="grow">{t.raw}</h3>
          <CopyButton text={() => location.href} label={t.copyLink} />
        </div>
        <CodeBlock text={showHiddenLines(JSON.stringify(of, null, 2))} label={t.raw} />
      </div>
    </Dialog>
  );
}

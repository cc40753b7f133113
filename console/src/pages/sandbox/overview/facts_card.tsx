// SPDX-License-Identifier: Apache-2.0
// The facts of a sandbox.
import { sandboxHref } from "../../../objects/sandbox_actions";
import { formatCores, formatCount, formatDuration, formatMib, parseTime } from "../../../parts/format";
import { Card, Facts } from "../../../parts/layout";
import { showHidden } from "../../../parts/safe";
import { Id, Safe, Time } from "../../../parts/text";
import { at, href } from "../../../router";
import { everySecond } from "../../../store/clock";
import type { Sandbox } from "../../../store/sandboxes";
import { sandbox as frame, sandboxOverview as t } from "../../../text/en";

function Origin({ sandbox }: { sandbox: Sandbox }) {
  const from = sandbox.made_from;
  if (from?.sandbox) return <a href={sandboxHref(from.sandbox)}>{t.forkOf(showHidden(from.sandbox_name ?? from.sandbox, 60))}</a>;
  if (from?.snapshot) return <a href={href(at`snapshots/${from.snapshot}`)}>{t.fromSnapshot(showHidden(from.snapshot_name ?? from.snapshot, 60))}</a>;
  return <a href={href(at`templates/${sandbox.template}`)}>{t.fromTemplate(showHidden(sandbox.template, 60))}</a>;
}

/** In the words of the cluster or of the account. */
function Place({ of }: { of: NonNullable<Sandbox["place"]> }) {
  const parts = [of.node && t.node(showHidden(of.node, 80)), of.region && t.inRegion(showHidden(of.region, 64)), of.object && showHidden(of.object, 130)];
  return <span class="mono">{parts.filter(Boolean).join(" · ")}</span>;
}

function Uptime({ sandbox }: { sandbox: Sandbox }) {
  const started = parseTime(sandbox.started_at);
  if (sandbox.state !== "started" || started === null) return <>–</>;
  return <>{formatDuration(everySecond.value - started)}</>;
}

export function FactsCard({ sandbox: s }: { sandbox: Sandbox }) {
  const reason = s.state !== "started" && frame.reasons[s.reason];
  const by = s.created_by;
  return (
    <Card title={t.facts}>
      <Facts facts={[
        [t.id, <Id id={s.id} max={40} />],
        [t.template, <a href={href(at`templates/${s.template}`)}><Safe text={s.template} max={60} /></a>],
        [t.origin, <Origin sandbox={s} />],
        [t.isolation, `${s.provider} · ${s.isolation}`],
        s.placed ? [t.placed, <Safe text={s.placed} max={400} />] : null,
        s.place ? [t.place, <Place of={s.place} />] : null,
        [t.region, <Safe text={s.region} />],
        [t.cpu, t.cores(formatCores(s.resources.cpu))],
        [t.memory, formatMib(s.resources.memory_mb)],
        [t.disk, formatMib(s.resources.disk_mb)],
        [t.processes, formatCount(s.resources.pids)],
        [t.network, <a href={sandboxHref(s.id, "network")}><Safe text={s.network} /></a>],
        [t.persistent, s.persistent ? t.yes : t.no],
        s.env_names.length > 0 && [t.environment, <span class="mono"><Safe text={s.env_names.join(", ")} max={400} /></span>],
        [t.created, <Time at={s.created_at} />],
        (by?.user || by?.key) ? [t.createdBy, <Safe text={by.user ?? t.byKey(by.key ?? "")} max={60} />] : null,
        [t.uptime, <Uptime sandbox={s} />],
        [t.lastUse, <Time at={s.last_activity_at} />],
        reason ? [t.reason, reason] : null,
      ]} />
    </Card>
  );
}

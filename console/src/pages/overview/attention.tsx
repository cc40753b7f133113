// SPDX-License-Identifier: Apache-2.0
// Objects that need attention: failed sandboxes, budgets over their warning, approvals that wait, deliveries that failed for good.
import { call } from "../../api/call";
import { getV1Webhooks } from "../../api/generated";
import { sandboxHref } from "../../objects/sandbox_actions";
import { formatMoney, parseTime } from "../../parts/format";
import { Icon } from "../../parts/icons";
import { Card } from "../../parts/layout";
import { showHidden } from "../../parts/safe";
import { Time } from "../../parts/text";
import { at, href } from "../../router";
import { everyHalfMinute } from "../../store/clock";
import { approvals, budgets } from "../../store/lists";
import { useResource } from "../../store/resource";
import { sandboxes } from "../../store/sandboxes";
import { overview as t } from "../../text/en";

interface Matter {
  id: string;
  text: string;
  href: string;
  tone: "bad" | "warn";
  at?: string | null;
}

const DAY_MS = 86_400_000;
const PATIENCE_MS = 60_000;
const SHOWN_MAX = 8;

function failedOnes(now: number): Matter[] {
  sandboxes.revision.value;
  return sandboxes.ids.value
    .map((id) => sandboxes.peek(id))
    .filter((s) => s !== undefined)
    .filter((s) => s.state === "failed" && now - (parseTime(s.last_event?.at) ?? now) < DAY_MS)
    .map((s) => ({ id: s.id, tone: "bad" as const, text: t.failed(showHidden(s.name, 60), showHidden(s.last_event?.text ?? "", 160)), href: sandboxHref(s.id), at: s.last_event?.at }));
}

function budgetsOver(): Matter[] {
  return budgets.items
    .filter((b) => b.level === "warned" || b.level === "exceeded")
    .map((b) => ({ id: b.id, tone: b.level === "exceeded" ? ("bad" as const) : ("warn" as const), text: t.spent(showHidden(b.scope === "project" ? b.scope : `${b.scope} ${b.subject}`, 80), formatMoney(b.spent_usd), formatMoney(b.limit_usd)), href: href("usage") }));
}

function waitingCalls(now: number): Matter[] {
  return approvals.items
    .filter((a) => now - (parseTime(a.createdAt) ?? now) > PATIENCE_MS)
    .map((a) => ({ id: a.id, tone: "warn" as const, text: t.waits(showHidden(a.tool, 60)), href: href(at`approvals/${a.id}`), at: a.createdAt }));
}

export function Attention() {
  const webhooks = useResource("webhooks", (signal) => call(getV1Webhooks, { signal }), { kinds: ["webhook.*"], onFocus: true });
  const now = everyHalfMinute.value;
  const dead: Matter[] = (webhooks.data.value?.items ?? []).filter((w) => w.dead > 0).map((w) => ({ id: w.id, tone: "warn", text: t.dead(w.dead, showHidden(w.url, 80)), href: href(at`webhooks/${w.id}`) }));
  const matters = [...failedOnes(now), ...budgetsOver(), ...waitingCalls(now), ...dead];
  return (
    <Card title={t.attention}>
      {matters.length === 0 ? (
        <p class="muted">
          <span class="text-good">
            <Icon name="check" />
          </span>{" "}
          {t.fine}
        </p>
      ) : (
        <ul class="matters">
          {matters.slice(0, SHOWN_MAX).map((m) => (
            <li key={m.id}>
              <span class={`text-${m.tone}`}>
                <Icon name="warning" />
              </span>
              <a class="grow" href={m.href}>
                {m.text}
              </a>
              {m.at && (
                <span class="meta">
                  <Time at={m.at} />
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

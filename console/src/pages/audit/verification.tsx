// SPDX-License-Identifier: Apache-2.0
// verification.tsx: how far the chain is signed, and how to verify it without trust in this server.
import { call, serverNow } from "../../api/call";
import { getV1AuditKey, type AuditKey } from "../../api/generated";
import { StateChip } from "../../parts/chip";
import { CopyLine } from "../../parts/copy";
import { parseTime } from "../../parts/format";
import { Card, Facts } from "../../parts/layout";
import { Loaded } from "../../parts/notice";
import { Time } from "../../parts/text";
import { useResource } from "../../store/resource";
import { hasScope } from "../../store/session";
import { audit as t } from "../../text/en";

/** The server signs after 60 s at most; rows that wait for three times as long are a fault. */
const LATE_MS = 180_000;

type State = "signed" | "waiting" | "late" | "empty";

/** Rows after the newest checkpoint wait for the next one. */
export function stateOf(key: AuditKey, now: number): State {
  if (key.sequence === 0) return "empty";
  if (key.checkpoint >= key.sequence) return "signed";
  const at = parseTime(key.checkpoint_at);
  return at !== null && now - at > LATE_MS ? "late" : "waiting";
}

const CHIPS: Record<State, string> = { signed: "ok", waiting: "pending", late: "warned", empty: "pending" };

export function Verification() {
  const resource = useResource("audit-key", (signal) => call(getV1AuditKey, { signal }), { onFocus: true });
  return (
    <Card title={t.verification}>
      <Loaded of={resource} lines={3}>
        {(key) => <Verified of={key} />}
      </Loaded>
    </Card>
  );
}

function Verified({ of }: { of: AuditKey }) {
  const state = stateOf(of, serverNow());
  return (
    <div class="stack">
      <div class="row">
        <StateChip state={CHIPS[state]} />
        <span>{t.states[state](of.sequence - of.checkpoint)}</span>
      </div>
      <Facts
        facts={[
          [t.newest, <span class="mono">{of.sequence}</span>],
          of.oldest > 0 && [t.dropped, <span class="mono">{of.oldest}</span>],
          of.checkpoint > 0 && [t.checkpoint, <><span class="mono">{of.checkpoint}</span> · <Time at={of.checkpoint_at} /></>],
          [t.publicKey, <span class="mono wrap">{of.key}</span>],
        ]}
      />
      {of.checkpoint > 0 && <CopyLine text={`atoll audit verify ${hasScope("admin") ? "--all " : ""}--key ${of.key} --checkpoint ${of.checkpoint}:${of.hash}`} />}
      <p class="meta">{t.verifyText}</p>
    </div>
  );
}

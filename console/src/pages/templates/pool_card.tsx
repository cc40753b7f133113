// SPDX-License-Identifier: Apache-2.0
// pool_card.tsx: the sandboxes of a template that are started ahead.
import { useEffect, useState } from "preact/hooks";
import { call } from "../../api/call";
import { putApiSandboxPoolsTemplate, type Pool, type Template } from "../../api/generated";
import { poolSizeSchema } from "../../api/schemas";
import { FormDialog } from "../../objects/form_dialog";
import { Button } from "../../parts/button";
import { Meter, StateChip } from "../../parts/chip";
import { formatPercent } from "../../parts/format";
import { Card, Facts } from "../../parts/layout";
import { Note } from "../../parts/notice";
import { showHidden } from "../../parts/safe";
import { pools } from "../../store/lists";
import { showToast } from "../../store/toasts";
import { common as shared, templates as t } from "../../text/en";

export function PoolCard({ template, why }: { template: Template; why: string | null }) {
  useEffect(() => pools.ensure(), []);
  const [isOpen, setOpen] = useState(false);
  const pool = pools.items.find((p) => p.template_id === template.id || p.template === template.name);
  return (
    <Card title={t.poolTitle} actions={<Button isSmall icon="edit" disabledBecause={why} onClick={() => setOpen(true)}>{t.poolEdit}</Button>}>
      <p class="meta">{t.poolAbout}</p>
      {pool && pool.target > 0 ? <PoolFigures pool={pool} /> : <p class="muted">{t.poolNone}</p>}
      {isOpen && (
        <FormDialog
          title={t.poolEditTitle(showHidden(template.name, 60))}
          yes={shared.save}
          schema={poolSizeSchema}
          fields={[{ name: "min", label: t.poolMin }, { name: "target", label: t.poolTarget, isRequired: true }, { name: "max", label: t.poolMax }]}
          initial={pool ? { min: String(pool.min), target: String(pool.target), max: String(pool.max) } : { target: "1" }}
          onClose={() => setOpen(false)}
          send={async (body) => {
            pools.put(await call(putApiSandboxPoolsTemplate, { path: { template: template.name }, body }));
            showToast({ kind: "done", text: t.poolSaved });
          }}
        />
      )}
    </Card>
  );
}

function PoolFigures({ pool }: { pool: Pool }) {
  return (
    <>
      {pool.problem && <Note tone="warn">{`${showHidden(pool.problem.message, 300)} ${showHidden(pool.problem.hint, 300)}`}</Note>}
      <Meter used={pool.ready} limit={pool.target} text={`${t.poolReady}: ${pool.ready} / ${pool.target}`} label={t.poolTip} />
      <Facts
        facts={[
          [t.state, <StateChip state={pool.state} />],
          [t.poolPreparing, String(pool.preparing)],
          [t.poolHits, pool.hits + pool.misses > 0 ? formatPercent(pool.hit_ratio * 100) : "–"],
        ]}
      />
    </>
  );
}

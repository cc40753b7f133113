// SPDX-License-Identifier: Apache-2.0
// budgets.tsx: the budgets of one sandbox, with their bars.
import { useEffect, useState } from "preact/hooks";
import { call } from "../../../api/call";
import { deleteV1BudgetsBudget, patchV1BudgetsBudget, postV1Budgets, type Budget } from "../../../api/generated";
import { budgetCreateSchema, budgetUpdateSchema } from "../../../api/schemas";
import { asApiError } from "../../../api/errors";
import { FormDialog } from "../../../objects/form_dialog";
import { Button } from "../../../parts/button";
import { Meter, StateChip } from "../../../parts/chip";
import { ask } from "../../../parts/dialog";
import type { FormField } from "../../../parts/form";
import { formatMoney } from "../../../parts/format";
import { Card } from "../../../parts/layout";
import { ErrorNote, Skeleton } from "../../../parts/notice";
import { budgets } from "../../../store/lists";
import type { Sandbox } from "../../../store/sandboxes";
import { showToast, toastError } from "../../../store/toasts";
import { common as shared, sandboxCost as t } from "../../../text/en";

const CHANGE_FIELDS: readonly FormField[] = [
  { name: "limit_usd", label: t.limit, unit: t.dollars, help: "", isRequired: true },
  { name: "warn_at", label: t.warnAt, help: t.warnHelp, placeholder: "0.8" },
];
const NEW_FIELDS: readonly FormField[] = [...CHANGE_FIELDS, { name: "window", label: t.window, isRequired: true, choices: Object.entries(t.windows).map(([value, label]) => ({ value, label })) }];

async function removeBudget(budget: Budget): Promise<void> {
  if (!(await ask({ title: t.removeTitle, text: t.removeText, yes: shared.remove, isDangerous: true }))) return;
  try {
    await call(deleteV1BudgetsBudget, { path: { budget: budget.id } });
    budgets.remove(budget.id);
    showToast({ kind: "done", text: t.removed });
  } catch (thrown) {
    toastError(asApiError(thrown));
  }
}

export function Budgets({ sandbox, lacks }: { sandbox: Sandbox; lacks: string | null }) {
  useEffect(() => budgets.ensure(), []);
  const [open, setOpen] = useState<Budget | "new" | null>(null);
  const mine = budgets.items.filter((b) => b.scope === "sandbox" && b.subject === sandbox.id);
  const why = lacks && shared.missingScope(lacks);
  const error = budgets.error.value;
  const isFirst = budgets.status.value === "loading" && mine.length === 0;
  return (
    <Card title={t.budgets} actions={<Button isSmall icon="plus" disabledBecause={why} onClick={() => setOpen("new")}>{t.setBudget}</Button>}>
      {error && <ErrorNote error={error} onRetry={() => void budgets.load()} />}
      {isFirst ? <Skeleton lines={2} /> : !error && mine.length === 0 && <p class="muted">{t.noBudget}</p>}
      {mine.map((budget) => (
        <div class="budget-row" key={budget.id}>
          <Meter used={budget.spent_usd} limit={budget.limit_usd} label={t.warnHelp} text={t.spent(formatMoney(budget.spent_usd), formatMoney(budget.limit_usd), t.windows[budget.window] ?? budget.window)} />
          <StateChip state={budget.level} />
          <span class="row tight">
            <Button isSmall icon="edit" label={t.change} disabledBecause={why} onClick={() => setOpen(budget)} />
            <Button isSmall icon="trash" label={shared.remove} disabledBecause={why} onClick={() => void removeBudget(budget)} />
          </span>
        </div>
      ))}
      {open === "new" && (
        <FormDialog
          title={t.newTitle}
          yes={t.setBudget}
          fields={NEW_FIELDS}
          schema={budgetCreateSchema}
          initial={{ window: "month" }}
          onClose={() => setOpen(null)}
          send={async (body) => budgets.put(await call(postV1Budgets, { body: { ...body, scope: "sandbox", subject: sandbox.id, limit_usd: Number(body["limit_usd"]) } }))}
        />
      )}
      {open && open !== "new" && (
        <FormDialog
          title={t.changeTitle}
          yes={shared.save}
          fields={CHANGE_FIELDS}
          schema={budgetUpdateSchema}
          initial={{ limit_usd: String(open.limit_usd), warn_at: String(open.warn_at) }}
          onClose={() => setOpen(null)}
          send={async (body) => budgets.put(await call(patchV1BudgetsBudget, { path: { budget: open.id }, body }))}
        />
      )}
    </Card>
  );
}

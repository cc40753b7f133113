// SPDX-License-Identifier: Apache-2.0
// budgets.tsx: budgets with what is spent, and where the period will end at this pace.
import { useEffect, useState } from "preact/hooks";
import { call, serverNow } from "../../api/call";
import { deleteV1BudgetsBudget, patchV1BudgetsBudget, postV1Budgets, type Budget, type BudgetCreate, type BudgetUpdate } from "../../api/generated";
import { budgetCreateSchema, budgetUpdateSchema } from "../../api/schemas";
import { ActionError } from "../../objects/action_error";
import { DialogFoot } from "../../objects/dialog_foot";
import { useAction } from "../../objects/use_action";
import { Button } from "../../parts/button";
import { Meter, StateChip } from "../../parts/chip";
import { ask, Dialog } from "../../parts/dialog";
import { FormFields, useForm, type FormField } from "../../parts/form";
import { formatMoney, parseTime } from "../../parts/format";
import { Card } from "../../parts/layout";
import { Empty, ErrorNote } from "../../parts/notice";
import { Table, type Column } from "../../parts/table";
import { Safe } from "../../parts/text";
import { budgets } from "../../store/lists";
import { missingScope } from "../../store/session";
import { common as words, usage as t } from "../../text/en";
import { DAY_MS } from "./range";

const ROWS_MAX = 8;
const SURE_SHARE = 0.02;

/** What the period will have cost at its end; null where it has no end or has just begun. */
export function forecastOf(b: Pick<Budget, "since" | "window" | "spent_usd">, now: number): number | null {
  const since = parseTime(b.since);
  if (since === null || b.window === "total") return null;
  const start = new Date(since);
  const end = b.window === "day" ? since + DAY_MS : Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 1);
  const share = (now - since) / (end - since);
  return share < SURE_SHARE ? null : b.spent_usd / Math.min(1, share);
}

function levelOf(b: Budget): string {
  return b.level === "fine" ? "ok" : b.level;
}

const COLUMNS: readonly Column<Budget>[] = [
  { id: "scope", title: t.scope, width: 130, isFixed: true, phone: "title", sort: (b) => b.scope, cell: (b) => t.scopes[b.scope] ?? b.scope },
  { id: "subject", title: t.subject, width: 130, grow: 1, sort: (b) => b.subject, cell: (b) => <Safe text={b.subject} mono max={40} /> },
  { id: "window", title: t.window, width: 100, phone: "meta", sort: (b) => b.window, cell: (b) => t.windows[b.window] ?? b.window },
  { id: "spent", title: t.spent, width: 180, phone: "meta", sort: (b) => b.spent_usd / Math.max(b.limit_usd, 1e-9), cell: (b) => <Meter used={b.spent_usd} limit={b.limit_usd} text={t.spentOf(formatMoney(b.spent_usd), formatMoney(b.limit_usd))} label={t.spent} /> },
  { id: "forecast", title: t.forecast, width: 100, align: "end", cell: (b) => <span data-tip={t.forecastTip}>{formatMoney(forecastOf(b, serverNow()))}</span> },
  { id: "level", title: t.level, width: 100, phone: "side", sort: (b) => b.level, cell: (b) => <StateChip state={levelOf(b)} /> },
];

export function Budgets() {
  useEffect(() => budgets.ensure(), []);
  const [edited, setEdited] = useState<Budget | "new" | null>(null);
  const action = useAction();
  const lacks = missingScope(postV1Budgets);
  const because = lacks && words.missingScope(lacks);
  const error = budgets.error.value;
  const remove = async (b: Budget): Promise<void> => {
    if (!(await ask({ title: t.deleteTitle, text: t.deleteText, yes: t.delete, isDangerous: true }))) return;
    if (await action.run(() => call(deleteV1BudgetsBudget, { path: { budget: b.id } }))) budgets.remove(b.id);
  };
  const button = (
    <Button icon="plus" disabledBecause={because} onClick={() => setEdited("new")}>
      {t.createBudget}
    </Button>
  );
  return (
    <Card title={t.budgets} actions={button} isFlush>
      <ActionError of={action} />
      {error && <ErrorNote error={error} onRetry={() => void budgets.load()} />}
      <Table
        name="budgets"
        label={t.budgets}
        source={budgets}
        columns={COLUMNS}
        nameOf={(b) => t.scopes[b.scope] ?? b.scope}
        sort="-spent"
        rowsMax={ROWS_MAX}
        menuOf={(b) => [
          { label: t.edit, icon: "edit", disabledBecause: because, run: () => setEdited(b) },
          { label: t.delete, icon: "trash", isDangerous: true, isApart: true, disabledBecause: because, run: () => void remove(b) },
        ]}
        empty={
          <Empty icon="dollar" title={t.noBudgets}>
            {t.noBudgetsText}
          </Empty>
        }
      />
      {edited === "new" && <CreateBudget onClose={() => setEdited(null)} />}
      {edited !== null && edited !== "new" && <EditBudget key={edited.id} of={edited} onClose={() => setEdited(null)} />}
    </Card>
  );
}

const LIMIT: FormField = { name: "limit_usd", label: t.limit, unit: t.usd, help: "", isRequired: true };
const WARN: FormField = { name: "warn_at", label: t.warnAt, help: t.warnHelp };
const choices = (texts: Record<string, string>) => Object.entries(texts).map(([value, label]) => ({ value, label }));
const CREATE_FIELDS: readonly FormField[] = [
  { name: "scope", label: t.scope, help: "", isRequired: true, choices: choices(t.scopes) },
  ...Object.entries(t.subjects).map(([scope, label]): FormField => ({ name: "subject", label, help: "", isRequired: true, isShown: (values) => values["scope"] === scope })),
  { name: "window", label: t.window, help: "", isRequired: true, choices: choices(t.windows) },
  LIMIT,
  WARN,
];
const EDIT_FIELDS: readonly FormField[] = [LIMIT, WARN];

function CreateBudget({ onClose }: { onClose: () => void }) {
  const form = useForm(CREATE_FIELDS, budgetCreateSchema, { scope: "project", window: "month", warn_at: "0.8" });
  const send = async (body: Record<string, unknown>): Promise<void> => {
    budgets.reveal(await call(postV1Budgets, { body: body as unknown as BudgetCreate }));
    onClose();
  };
  return (
    <Dialog title={t.createBudget} onClose={onClose} onSubmit={() => void form.submit(send)} footer={<DialogFoot isBusy={form.isBusy} yes={words.create} onClose={onClose} />}>
      <div class="stack">
        {form.error && <ErrorNote error={form.error} />}
        <FormFields form={form} fields={CREATE_FIELDS} schema={budgetCreateSchema} />
        <p class="field-help">{t.atLimit}</p>
      </div>
    </Dialog>
  );
}

function EditBudget({ of, onClose }: { of: Budget; onClose: () => void }) {
  const form = useForm(EDIT_FIELDS, budgetUpdateSchema, { limit_usd: String(of.limit_usd), warn_at: String(of.warn_at) });
  const send = async (body: Record<string, unknown>): Promise<void> => {
    budgets.put(await call(patchV1BudgetsBudget, { path: { budget: of.id }, body: body as BudgetUpdate }));
    onClose();
  };
  return (
    <Dialog title={t.edit} kind="narrow" onClose={onClose} onSubmit={() => void form.submit(send)} footer={<DialogFoot isBusy={form.isBusy} yes={words.save} onClose={onClose} />}>
      <div class="stack">
        {form.error && <ErrorNote error={form.error} />}
        <FormFields form={form} fields={EDIT_FIELDS} schema={budgetUpdateSchema} />
      </div>
    </Dialog>
  );
}

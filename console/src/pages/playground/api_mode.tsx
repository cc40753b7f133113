// SPDX-License-Identifier: Apache-2.0
// api_mode.tsx: a form for any call of the API, made of its OpenAPI document. The call runs as the user.
import { useState } from "preact/hooks";
import { addressOf, fetchRaw } from "../../api/call";
import { ActionError } from "../../objects/action_error";
import { curlOf } from "../../objects/sandbox_actions";
import { useAction } from "../../objects/use_action";
import { Button } from "../../parts/button";
import { Chip } from "../../parts/chip";
import { CodeBlock, CopyButton } from "../../parts/copy";
import { ask } from "../../parts/dialog";
import { SelectField, TextField } from "../../parts/field";
import { formatDuration } from "../../parts/format";
import { Card } from "../../parts/layout";
import { Loaded } from "../../parts/notice";
import { showHiddenLines } from "../../parts/safe";
import { queryOf, setQuery } from "../../router";
import { useResource } from "../../store/resource";
import { missingScope } from "../../store/session";
import { common as words, playground as t } from "../../text/en";
import { readCalls, type ApiCall, type Param } from "./api_document";

const ANSWER_MAX = 200_000;

export function ApiMode() {
  const resource = useResource("openapi", readCalls);
  return (
    <Loaded of={resource} lines={6}>
      {(calls) => <Chooser calls={calls} />}
    </Loaded>
  );
}

function Chooser({ calls }: { calls: readonly ApiCall[] }) {
  const [search, setSearch] = useState("");
  const wanted = search.toLowerCase();
  const found = calls.filter((c) => `${c.method} ${c.path} ${c.summary} ${c.tag}`.toLowerCase().includes(wanted));
  const chosen = calls.find((c) => c.id === queryOf("call")) ?? found[0];
  const choices = (chosen && !found.includes(chosen) ? [chosen, ...found] : found).map((c) => ({ value: c.id, label: `${c.method} ${c.path} – ${c.summary}` }));
  return (
    <>
      <p class="muted">{t.api.about}</p>
      <div class="call-choice">
        <TextField label={t.api.search} type="search" value={search} onChange={setSearch} />
        {chosen && <SelectField label={t.api.operation} value={chosen.id} onChange={(id) => setQuery({ call: id }, false)} choices={choices} />}
      </div>
      {chosen && <CallForm key={chosen.id} of={chosen} />}
    </>
  );
}

interface Answer {
  status: number;
  text: string;
  ms: number;
  isCut: boolean;
}

async function readAnswer(answer: Response, from: number): Promise<Answer> {
  const text = await answer.text();
  let shown = text;
  if ((answer.headers.get("Content-Type") ?? "").includes("json")) {
    try {
      shown = JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      shown = text;
    }
  }
  return { status: answer.status, text: shown.slice(0, ANSWER_MAX), ms: performance.now() - from, isCut: shown.length > ANSWER_MAX };
}

function parseBody(text: string): { value: unknown } | null {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return null;
  }
}

function CallForm({ of }: { of: ApiCall }) {
  const [values, setValues] = useState<Record<string, string>>({});
  const [body, setBody] = useState(of.body ?? "");
  const [isTried, setTried] = useState(false);
  const [answer, setAnswer] = useState<Answer | null>(null);
  const action = useAction();
  const lacks = missingScope(of);
  const parsed = of.body === null || body.trim() === "" ? { value: undefined } : parseBody(body);
  const named = (where: Param["in"]) => Object.fromEntries(of.params.filter((p) => p.in === where && values[p.name]).map((p) => [p.name, values[p.name] ?? ""]));
  const address = addressOf(of.path, named("path"), named("query"));
  const isMissing = of.params.some((p) => p.in === "path" && !values[p.name]);
  const send = async (): Promise<void> => {
    setTried(true);
    if (!parsed || isMissing) return;
    if (of.method === "DELETE" && !(await ask({ title: t.api.ask(`${of.method} ${of.path}`), text: t.api.askText, yes: t.api.send, isDangerous: true }))) return;
    const from = performance.now();
    setAnswer(null);
    await action.run(async () => setAnswer(await readAnswer(await fetchRaw(of.method, address, { body: parsed.value }), from)));
  };
  return (
    <form class="stack" noValidate onSubmit={(e) => (e.preventDefault(), void send())}>
      <Card title={of.summary}>
        <div class="row">
          <Chip>{of.method}</Chip>
          <code class="grow">{address}</code>
          {of.scopes.length > 0 && <span class="meta">{t.api.needs(of.scopes.join(", "))}</span>}
          <CopyButton text={() => curlOf(of.method, address, parsed?.value)} label={`${t.copyAs} curl`} />
        </div>
        <div class="call-fields">
          <div class="stack">
            {of.params.map((p) => (
              <ParamField key={`${p.in}-${p.name}`} of={p} value={values[p.name] ?? ""} error={isTried && p.in === "path" && !values[p.name] ? words.required : null} onChange={(value) => setValues((old) => ({ ...old, [p.name]: value }))} />
            ))}
          </div>
          {of.body !== null && <TextField label={t.api.body} value={body} onChange={setBody} lines={10} isMono error={parsed ? null : t.api.badBody} />}
        </div>
        <div class="row">
          <Button type="submit" kind="primary" icon="play" isBusy={action.isBusy} disabledBecause={lacks && words.missingScope(lacks)}>
            {t.api.send}
          </Button>
        </div>
      </Card>
      <ActionError of={action} />
      {answer && <AnswerView of={answer} />}
    </form>
  );
}

function ParamField({ of, value, error, onChange }: { of: Param; value: string; error: string | null; onChange: (value: string) => void }) {
  const shared = { label: of.name, help: of.description, isRequired: of.isRequired, error, value, onChange };
  return of.choices.length ? <SelectField {...shared} choices={["", ...of.choices].map((c) => ({ value: c, label: c }))} /> : <TextField {...shared} isMono />;
}

function AnswerView({ of }: { of: Answer }) {
  return (
    <Card title={t.api.answer} actions={<span class="meta">{`${of.status} · ${formatDuration(of.ms)}`}</span>}>
      {of.text === "" ? <p class="muted">{t.api.empty}</p> : <CodeBlock text={showHiddenLines(of.text)} label={t.api.answer} />}
      {of.isCut && <p class="meta">{t.api.tooLong}</p>}
    </Card>
  );
}

// SPDX-License-Identifier: Apache-2.0
// What a sandbox may reach: a mode and two lists, applied at once.
import { useEffect, useState } from "preact/hooks";
import { call } from "../../../api/call";
import { asApiError, type ApiError } from "../../../api/errors";
import { putApiSandboxInstancesIdEgress, type CredentialRule } from "../../../api/generated";
import { EgressChoices } from "../../../objects/egress_choices";
import { curlOf } from "../../../objects/sandbox_actions";
import { Button } from "../../../parts/button";
import { CodeBlock } from "../../../parts/copy";
import { RemovableChip } from "../../../parts/chip";
import { Segmented } from "../../../parts/field";
import { Card } from "../../../parts/layout";
import { ErrorNote, Note } from "../../../parts/notice";
import { showHidden } from "../../../parts/safe";
import { mergeAnswer, type Sandbox } from "../../../store/sandboxes";
import { missingScope } from "../../../store/session";
import { showToast } from "../../../store/toasts";
import { common as shared, sandboxNetwork as t } from "../../../text/en";
import type { TabProps } from "../tab";
import { Decisions } from "./decisions";
import { RuleList } from "./rule_list";
import { allowProblem, bodyOf, denyProblem, isSameRules, rulesOf, type Mode, type Refusal, type Rules } from "./rules";
import "./network.css";

export default function NetworkTab({ sandbox }: TabProps) {
  return <Editor key={sandbox.id} sandbox={sandbox} stored={rulesOf(sandbox.egress)} />;
}

function Editor({ sandbox, stored }: { sandbox: Sandbox; stored: Rules }) {
  const [rules, setRules] = useState(stored);
  // What the server had when the editing began. Rules that someone else stored come in unless they would undo edits.
  const [base, setBase] = useState(stored);
  useEffect(() => {
    if (isSameRules(rules, base)) setRules(stored);
    setBase(stored);
  }, [JSON.stringify(stored)]);
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const scope = missingScope(putApiSandboxInstancesIdEgress);
  const isBlocked = sandbox.network === "blocked";
  const problem = rules.mode === "open" ? rules.allow.filter((r) => allowProblem(r, "open")).length : 0;
  const save = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const answer = await call(putApiSandboxInstancesIdEgress, { path: { id: sandbox.id }, body: bodyOf(rules) });
      mergeAnswer(answer);
      // The answer has the hosts and rules that presets and credentials stand for.
      const held = rulesOf(answer.egress);
      setBase(held);
      setRules(held);
      showToast({ kind: "done", text: t.saved });
    } catch (thrown) {
      setError(asApiError(thrown));
    } finally {
      setBusy(false);
    }
  };
  const isChanged = !isSameRules(rules, base);
  return (
    <div class="stack network">
      {isBlocked && <Note>{t.blocked}</Note>}
      {sandbox.egress_cut && <Note tone="bad">{t.cut(showHidden(sandbox.egress_cut, 300))}</Note>}
      {error && <ErrorNote error={error} onClose={() => setError(null)} />}
      <Card
        title={t.title}
        actions={
          <>
            <Button isDisabled={!isChanged} onClick={() => setRules(base)}>{shared.discard}</Button>
            <Button kind="primary" isBusy={isBusy} isDisabled={!isChanged || problem > 0} disabledBecause={scope && shared.missingScope(scope)} onClick={() => void save()}>{t.save}</Button>
          </>
        }
      >
        <Segmented label={t.mode} value={rules.mode} onChange={(mode) => setRules({ ...rules, mode: mode as Mode })} choices={Object.entries(t.modes).map(([value, label]) => ({ value, label, isDisabled: isBlocked }))} />
        <p class="muted">{t.modeText[rules.mode]}</p>
        {problem > 0 && <Note tone="warn">{t.namesLost(problem)}</Note>}
        <div class="columns">
          {rules.mode !== "none" && (
            <RuleList title={t.allow} help={t.allowHelp} inputLabel={t.newAllow} none={rules.mode === "only" ? t.noAllow : t.noAllowOpen} rules={rules.allow} check={(rule) => allowProblem(rule, rules.mode)} onChange={(allow) => setRules({ ...rules, allow })} />
          )}
          {rules.mode === "open" && <RuleList title={t.deny} help={t.denyHelp} inputLabel={t.newDeny} none={t.noDeny} rules={rules.deny} check={denyProblem} onChange={(deny) => setRules({ ...rules, deny })} />}
        </div>
        {rules.mode === "only" && <EgressChoices value={rules} onChange={({ presets, credentials }) => setRules({ ...rules, presets, credentials })} />}
        {rules.rules.length > 0 && <CredentialRules rules={rules.rules} onChange={(kept) => setRules({ ...rules, rules: kept })} />}
        <h3 aria-hidden="true">{t.refusal}</h3>
        <Segmented label={t.refusal} value={rules.refusal} onChange={(refusal) => setRules({ ...rules, refusal: refusal as Refusal })} choices={Object.entries(t.refusals).map(([value, label]) => ({ value, label, isDisabled: isBlocked }))} />
        <p class="meta">{t.at}</p>
      </Card>
      {!isBlocked && <Decisions sandbox={sandbox} />}
      <Card title={t.command}>
        <CodeBlock label={t.command} text={curlOf("PUT", putApiSandboxInstancesIdEgress.path.replace("{id}", sandbox.id), bodyOf(rules))} />
      </Card>
    </div>
  );
}

function CredentialRules({ rules, onChange }: { rules: readonly CredentialRule[]; onChange: (rules: CredentialRule[]) => void }) {
  const nameOf = (rule: CredentialRule): string => showHidden(`${rule.id ?? ""} ${rule.action} ${rule.host}`.trim(), 120);
  return (
    <div class="stack">
      <h3>{t.credentialRules}</h3>
      <p class="field-help">{t.credentialRulesHelp}</p>
      <ul class="rules" aria-label={t.credentialRules}>
        {rules.map((rule, at) => (
          <li key={`${at} ${rule.id ?? ""}`}>
            <RemovableChip label={t.remove(nameOf(rule))} onRemove={() => onChange(rules.filter((r) => r !== rule))}>
              <bdi class="mono">{nameOf(rule)}</bdi>
            </RemovableChip>
          </li>
        ))}
      </ul>
    </div>
  );
}

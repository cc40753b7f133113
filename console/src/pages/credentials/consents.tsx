// SPDX-License-Identifier: Apache-2.0
// consents.tsx: requests of agents to use a credential, and the consents that people gave. The address can name one conversation or sandbox.
import { useEffect } from "preact/hooks";
import { call } from "../../api/call";
import {
  getV1Consents, postApiSandboxInstancesIdCredentialsCredentialRevoke, postV1ApprovalsApprovalApprove, postV1ApprovalsApprovalRefuse, postV1ConversationsConversationCredentialsCredentialRevoke,
  type Approval, type Consent,
} from "../../api/generated";
import { ActionError } from "../../objects/action_error";
import { ListTable } from "../../objects/list_table";
import { sandboxHref } from "../../objects/sandbox_actions";
import { useAction } from "../../objects/use_action";
import { Button } from "../../parts/button";
import { StateChip } from "../../parts/chip";
import { ask } from "../../parts/dialog";
import { TextField } from "../../parts/field";
import { Card, Facts } from "../../parts/layout";
import { ErrorNote, Loaded, Note } from "../../parts/notice";
import { showHidden } from "../../parts/safe";
import type { Column } from "../../parts/table";
import { Safe, Time } from "../../parts/text";
import { at, href, queryOf, setQuery } from "../../router";
import { approvals } from "../../store/lists";
import { useResource } from "../../store/resource";
import { missingScope, projectId } from "../../store/session";
import { showToast } from "../../store/toasts";
import { common as words, credentials as t } from "../../text/en";

const TOOL = "activate_credential";

/** What the server wrote into the request; the agent's reason is a quotation. */
function wordsOf(a: Approval): Record<string, string> {
  const given = a.inputObject;
  if (typeof given !== "object" || given === null) return {};
  return Object.fromEntries(Object.entries(given).filter((e): e is [string, string] => typeof e[1] === "string"));
}

export function Consents() {
  const conversation = queryOf("conversation");
  const sandbox = queryOf("sandbox");
  useEffect(() => approvals.ensure(), []);
  const fits = (a: { conversationId: string | null; sandboxId: string | null }): boolean => (!conversation || a.conversationId === conversation) && (!sandbox || a.sandboxId === sandbox);
  approvals.revision.value;
  const waiting = approvals.ids.value.length === 0 ? [] : approvals.items.filter((a) => a.tool === TOOL && fits(a));
  const query = { conversation: conversation || undefined, sandbox: sandbox || undefined };
  const resource = useResource(`consents-${projectId.value}-${conversation}-${sandbox}`, (signal) => call(getV1Consents, { query, signal }), { kinds: ["approval.*", "consent.*"], onFocus: true });
  const error = approvals.error.value;
  return (
    <>
      <div class="fields">
        <TextField label={t.onlyConversation} isMono value={conversation} onChange={(value) => setQuery({ conversation: value })} />
        <TextField label={t.onlySandbox} isMono value={sandbox} onChange={(value) => setQuery({ sandbox: value })} />
      </div>
      {error && <ErrorNote error={error} onRetry={() => void approvals.load()} />}
      {waiting.map((a) => (
        <Request key={a.id} of={a} onDone={resource.reload} />
      ))}
      <Loaded of={resource} lines={5}>
        {(list) => <ConsentTable items={list.items} isFiltered={Boolean(conversation || sandbox)} onChange={resource.reload} />}
      </Loaded>
    </>
  );
}

/** Members with which the server says what else than requests through the proxy can reach the value. */
const WARNINGS = ["environment", "unencrypted"];
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function Request({ of, onDone }: { of: Approval; onDone: () => void }) {
  const action = useAction();
  const lacks = missingScope(postV1ApprovalsApprovalApprove);
  const because = lacks && words.missingScope(lacks);
  const said = wordsOf(of);
  const name = showHidden(said["credential"] ?? "", 63);
  const decide = async (isAllowed: boolean): Promise<void> => {
    const operation = isAllowed ? postV1ApprovalsApprovalApprove : postV1ApprovalsApprovalRefuse;
    if (!(await action.run(() => call(operation, { path: { approval: of.id }, body: {} })))) return;
    approvals.remove(of.id);
    showToast({ kind: "done", text: (isAllowed ? t.allowed : t.denied)(name) });
    onDone();
  };
  return (
    <Card title={t.asked(name)} class="request">
      <div class="stack">
        <ActionError of={action} />
        {WARNINGS.map((member) => said[member] !== undefined && <Note key={member} tone="warn"><Safe text={capital(said[member] ?? "")} max={600} /></Note>)}
        <Facts
          facts={[
            [t.hosts, <Safe text={said["hosts"]} mono max={400} />],
            [t.until, <Safe text={said["until"]} />],
            said["reason"] ? [t.reason, <q><Safe text={said["reason"]} /></q>] : null,
            of.conversationId !== null && [t.conversation, <Safe text={of.conversationId} mono max={60} />],
            of.sandboxId !== null && [t.sandbox, <a href={sandboxHref(of.sandboxId)}><Safe text={of.sandboxId} mono max={40} /></a>],
            [t.askedAt, <Time at={of.createdAt} />],
          ]}
        />
        <div class="row">
          <Button kind="primary" icon="check" isBusy={action.isBusy} disabledBecause={because} onClick={() => void decide(true)}>
            {t.allow}
          </Button>
          <Button icon="close" disabledBecause={because} onClick={() => void decide(false)}>
            {t.deny}
          </Button>
          <a href={href(at`approvals/${of.id}`)}>{t.details}</a>
        </div>
      </div>
    </Card>
  );
}

const COLUMNS: readonly Column<Consent>[] = [
  { id: "credential", title: t.credential, width: 130, grow: 1, isFixed: true, phone: "title", sort: (c) => c.credential, cell: (c) => <Safe text={c.credential} mono /> },
  { id: "sandbox", title: t.sandbox, width: 130, grow: 1, sort: (c) => c.sandboxId, cell: (c) => <a href={sandboxHref(c.sandboxId)}><Safe text={c.sandboxId} mono max={24} /></a> },
  { id: "conversation", title: t.conversation, width: 130, grow: 1, phone: "meta", sort: (c) => c.conversationId, cell: (c) => <Safe text={c.conversationId} mono max={40} /> },
  { id: "hosts", title: t.hosts, width: 140, grow: 1, leaves: 1, cell: (c) => <span class="cut"><Safe text={c.hosts} mono /></span> },
  { id: "by", title: t.decidedBy, width: 110, leaves: 2, sort: (c) => c.decidedBy, cell: (c) => <Safe text={c.decidedBy} mono max={24} /> },
  { id: "created", title: t.given, width: 100, sort: (c) => c.createdAt, cell: (c) => <Time at={c.createdAt} /> },
  { id: "expires", title: t.expires, width: 110, sort: (c) => c.expiresAt, cell: (c) => (c.expiresAt ? <Time at={c.expiresAt} /> : <span class="muted">{t.whenRevoked}</span>) },
  { id: "state", title: t.state, width: 100, phone: "side", sort: (c) => c.state, cell: (c) => <StateChip state={t.consentStates[c.state] ?? c.state} /> },
];

const revoke = (c: Consent): Promise<unknown> =>
  c.conversationId
    ? call(postV1ConversationsConversationCredentialsCredentialRevoke, { path: { conversation: c.conversationId, credential: c.credential } })
    : call(postApiSandboxInstancesIdCredentialsCredentialRevoke, { path: { id: c.sandboxId, credential: c.credential } });

function ConsentTable({ items, isFiltered, onChange }: { items: Consent[]; isFiltered: boolean; onChange: () => void }) {
  const action = useAction();
  const lacks = missingScope(postV1ConversationsConversationCredentialsCredentialRevoke);
  const end = async (c: Consent): Promise<void> => {
    const where = c.conversationId ? t.revokeConversation : t.revokeSandbox;
    if (!(await ask({ title: t.revokeTitle(showHidden(c.credential)), text: where, yes: t.revoke, isDangerous: true }))) return;
    if (await action.run(() => revoke(c))) showToast({ kind: "done", text: t.revoked(showHidden(c.credential)) });
    onChange();
  };
  return (
    <>
      <ActionError of={action} />
      <ListTable
        name="consents"
        label={t.tabs.consents}
        items={items}
        idOf={(c) => c.id}
        columns={COLUMNS}
        nameOf={(c) => c.credential}
        sort="-created"
        menuOf={(c) => (c.state === "active" ? [{ label: t.revoke, icon: "close", isDangerous: true, disabledBecause: lacks && words.missingScope(lacks), run: () => void end(c) }] : [])}
        empty={isFiltered ? { icon: "search", title: t.noneMatches, text: t.noneMatchesText } : { icon: "check", title: t.noConsents, text: t.noConsentsText }}
      />
    </>
  );
}

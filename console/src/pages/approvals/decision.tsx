// SPDX-License-Identifier: Apache-2.0
// decision.tsx: one call with its input, and the two answers. Approve and refuse never share a key.
import { useState } from "preact/hooks";
import { call } from "../../api/call";
import { getV1ApprovalsApproval, postV1ApprovalsApprovalApprove, postV1ApprovalsApprovalRefuse, type Approval, type ApprovalDecision } from "../../api/generated";
import { ActionError } from "../../objects/action_error";
import { sandboxHref } from "../../objects/sandbox_actions";
import { useAction } from "../../objects/use_action";
import { Button, ButtonLink } from "../../parts/button";
import { StateChip } from "../../parts/chip";
import { Dialog } from "../../parts/dialog";
import { TextField } from "../../parts/field";
import { useCommands } from "../../parts/keys";
import { Card, Facts } from "../../parts/layout";
import { Loaded } from "../../parts/notice";
import { showHidden } from "../../parts/safe";
import { Keys, Safe, Time } from "../../parts/text";
import { go, href } from "../../router";
import { approvals } from "../../store/lists";
import { useResource } from "../../store/resource";
import { missingScope } from "../../store/session";
import { showToast } from "../../store/toasts";
import { approvals as t, common as words } from "../../text/en";
import { InputView } from "./input_view";
import { TimeLeft } from "./time_left";

const NOTE_MAX = 500;

export function Decision({ id }: { id: string }) {
  const resource = useResource(`approval-${id}`, (signal) => call(getV1ApprovalsApproval, { path: { approval: id }, signal }), { kinds: ["approval.*"] });
  return (
    <Card>
      <Loaded of={resource} lines={6}>
        {(approval) => <Opened approval={approval} onChange={resource.reload} />}
      </Loaded>
    </Card>
  );
}

function Opened({ approval, onChange }: { approval: Approval; onChange: () => void }) {
  const [isRefusing, setRefusing] = useState(false);
  const [isRaw, setRaw] = useState(false);
  const action = useAction();
  const lacks = missingScope(postV1ApprovalsApprovalApprove);
  const because = lacks && words.missingScope(lacks);
  const isPending = approval.state === "pending";
  const decide = async (isApproved: boolean, note?: string): Promise<void> => {
    const operation = isApproved ? postV1ApprovalsApprovalApprove : postV1ApprovalsApprovalRefuse;
    const body: ApprovalDecision = note ? { note } : {};
    const isDone = await action.run(() => call(operation, { path: { approval: approval.id }, body }));
    if (!isDone) return onChange();
    setRefusing(false);
    approvals.remove(approval.id);
    showToast({ kind: "done", text: (isApproved ? t.approvedToast : t.refusedToast)(showHidden(approval.tool)) });
    go(href("approvals"), true);
  };
  const canDecide = (): boolean => isPending && lacks === null && !action.isBusy;
  useCommands([
    { id: "approvals.approve", title: t.approve, keys: "a", section: t.title, icon: "check", isOffered: canDecide, run: () => void decide(true) },
    { id: "approvals.refuse", title: t.refuse, keys: "r", section: t.title, icon: "close", isOffered: canDecide, run: () => setRefusing(true) },
  ]);
  return (
    <>
      <div class="row">
        <h2 class="mono">
          <Safe text={approval.tool} />
        </h2>
        <StateChip state={approval.state} />
        <span class="grow" />
        <Button kind="quiet" isSmall isPressed={isRaw} onClick={() => setRaw(!isRaw)}>
          {t.raw}
        </Button>
      </div>
      <ActionError of={action} />
      <InputView of={approval} isRaw={isRaw} />
      <ApprovalFacts of={approval} />
      {isPending && (
        <div class="stack">
          <div class="row">
            <Button kind="primary" icon="check" isBusy={action.isBusy} disabledBecause={because} onClick={() => void decide(true)}>
              {t.approve} <Keys keys="a" />
            </Button>
            <Button icon="close" disabledBecause={because} onClick={() => setRefusing(true)}>
              {t.refuse} <Keys keys="r" />
            </Button>
            {approval.sandboxId && (
              <ButtonLink kind="quiet" icon="terminal" href={sandboxHref(approval.sandboxId, "terminal")}>
                {t.watch}
              </ButtonLink>
            )}
          </div>
          <p class="meta">{t.ownKey}</p>
        </div>
      )}
      {isRefusing && <Refuse tool={approval.tool} isBusy={action.isBusy} onClose={() => setRefusing(false)} onYes={(note) => void decide(false, note)} />}
    </>
  );
}

function ApprovalFacts({ of }: { of: Approval }) {
  const isPending = of.state === "pending";
  return (
    <Facts
      facts={[
        of.sandboxId !== null && [t.sandbox, <a href={sandboxHref(of.sandboxId)}><Safe text={of.sandboxId} mono max={40} /></a>],
        [t.conversation, <Safe text={of.conversationId} />],
        [t.key, <Safe text={of.keyId} mono max={40} />],
        [t.waiting, <Time at={of.createdAt} />],
        isPending && [t.expires, <TimeLeft of={of} />],
        !isPending && [t.decided, <Time at={of.decidedAt} />],
        !isPending && [t.decidedBy, <Safe text={of.decidedBy} mono max={40} />],
        !isPending && of.note !== null && [t.note, <Safe text={of.note} max={NOTE_MAX} />],
      ]}
    />
  );
}

function Refuse({ tool, isBusy, onClose, onYes }: { tool: string; isBusy: boolean; onClose: () => void; onYes: (note: string) => void }) {
  const [note, setNote] = useState("");
  const foot = (
    <>
      <span class="grow" />
      <Button onClick={onClose}>{words.cancel}</Button>
      <Button type="submit" kind="danger" isBusy={isBusy}>
        {t.refuse}
      </Button>
    </>
  );
  return (
    <Dialog title={t.refuseTitle(showHidden(tool))} kind="narrow" onClose={onClose} onSubmit={() => onYes(note)} footer={foot}>
      <TextField label={t.note} help={t.refuseHelp} value={note} onChange={setNote} lines={3} maxLength={NOTE_MAX} hasFocus />
    </Dialog>
  );
}

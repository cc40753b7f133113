// SPDX-License-Identifier: Apache-2.0
// The head of a sandbox: name, state, what happens next, and the action that the state calls for.
import { Button, ButtonLink } from "../../parts/button";
import { Chip, StateChip } from "../../parts/chip";
import { CopyButton } from "../../parts/copy";
import { MenuButton } from "../../parts/menu";
import { Safe, Time } from "../../parts/text";
import { canTake, type Sandbox } from "../../store/sandboxes";
import { forbids, iconOfAction, pendingText, primaryAction, runAction, sandboxHref, sandboxMenu } from "../../objects/sandbox_actions";
import { common as shared, sandbox as t } from "../../text/en";

export function Head({ sandbox }: { sandbox: Sandbox }) {
  const doing = pendingText(sandbox.id);
  const reason = sandbox.state !== "started" ? t.reasons[sandbox.reason] : undefined;
  return (
    <span class="sandbox-head">
      <Safe text={sandbox.name} max={80} />
      <StateChip state={sandbox.state} note={reason} />
      {sandbox.egress_cut && (
        <a href={sandboxHref(sandbox.id, "network")}>
          <Chip tone="bad" icon="globe" tip={t.networkCutTip}>{t.networkCut}</Chip>
        </a>
      )}
      {doing && <span class="muted head-note">{doing}</span>}
      {!doing && sandbox.desired_state && isMovingOn(sandbox) && (
        <span class="muted head-note">
          {sandbox.state} → {sandbox.desired_state}
        </span>
      )}
      {reason && <span class="muted head-note">{reason}</span>}
      <span class="head-note mono muted">{sandbox.id}</span>
      <CopyButton text={sandbox.id} label={t.actions.copyId} />
      {sandbox.last_event?.at && (
        <span class="muted head-note">
          <Time at={sandbox.last_event.at} />
        </span>
      )}
    </span>
  );
}

function isMovingOn(sandbox: Sandbox): boolean {
  return sandbox.desired_state !== sandbox.state && ["pending", "creating", "stopping", "deleting"].includes(sandbox.state);
}

export function HeadActions({ sandbox }: { sandbox: Sandbox }) {
  const primary = primaryAction(sandbox);
  const isBusy = pendingText(sandbox.id) !== null;
  return (
    <>
      {canTake(sandbox, "pause") && (
        <Button icon="pause" disabledBecause={forbids("pause")} onClick={() => void runAction(sandbox, "pause")}>
          {t.actions.pause}
        </Button>
      )}
      {canTake(sandbox, "exec") && (
        <ButtonLink icon="terminal" href={sandboxHref(sandbox.id, "terminal")}>
          {t.actions.terminal}
        </ButtonLink>
      )}
      {primary && (
        <Button kind={primary === "stop" ? "normal" : "primary"} icon={iconOfAction(primary)} isBusy={isBusy} disabledBecause={forbids(primary)} onClick={() => void runAction(sandbox, primary)}>
          {t.actions[primary]}
        </Button>
      )}
      <MenuButton items={() => sandboxMenu(sandbox)} label={shared.actions} />
    </>
  );
}

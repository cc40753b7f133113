// SPDX-License-Identifier: Apache-2.0
// The first-run guide. It notices the first sandbox by the event stream; dismissed, it comes back from the page's head.
import { useEffect, useState } from "preact/hooks";
import { onEvent } from "../../api/events";
import { Button, ButtonLink } from "../../parts/button";
import { CodeBlock } from "../../parts/copy";
import { Segmented } from "../../parts/field";
import { Icon } from "../../parts/icons";
import { Card } from "../../parts/layout";
import { href } from "../../router";
import { preference } from "../../store/preferences";
import { sandboxes } from "../../store/sandboxes";
import { overview as t } from "../../text/en";
import { environmentOf, guideCode, GUIDE_KINDS, type GuideKind } from "./guide_code";

export const isGuideOff = preference("guide-off", false, (v): v is boolean => typeof v === "boolean");

export function Guide() {
  const [kind, setKind] = useState<GuideKind>("cli");
  const [hasWorked, setWorked] = useState(false);
  useEffect(() => onEvent(["sandbox.created"], () => setWorked(true)), []);
  const isDone = hasWorked || sandboxes.ids.value.length > 0;
  const server = location.origin;
  return (
    <Card
      title={t.guide}
      actions={
        <>
          <span class={`guide-state${isDone ? " text-good" : " muted"}`} role="status">
            {isDone ? <Icon name="check" /> : <span class="spinner" aria-hidden="true" />} {isDone ? t.worked : t.waiting}
          </span>
          <Button kind="quiet" isSmall onClick={() => (isGuideOff.value = true)}>
            {t.dismiss}
          </Button>
        </>
      }
    >
      <p class="muted">{t.guideAbout}</p>
      <div class="row">
        <Segmented label={t.guide} value={kind} onChange={(v) => setKind(v as GuideKind)} choices={GUIDE_KINDS.map((value) => ({ value, label: t.kinds[value] }))} />
        <span class="grow" />
        <ButtonLink icon="key" href={href("keys", { new: "1" })}>
          {t.makeKey}
        </ButtonLink>
      </div>
      {kind !== "mcp" && (
        <>
          <p>{t.address}</p>
          <CodeBlock label={t.address} text={environmentOf(kind, server)} />
        </>
      )}
      <CodeBlock label={t.kinds[kind]} text={guideCode(kind, server)} />
    </Card>
  );
}

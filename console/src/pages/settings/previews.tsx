// SPDX-License-Identifier: Apache-2.0
// previews.tsx: the preview options of the server, which its configuration decides.
import { Card, Facts } from "../../parts/layout";
import { Loaded } from "../../parts/notice";
import { Safe } from "../../parts/text";
import { href } from "../../router";
import { useResource } from "../../store/resource";
import { readServer } from "../../store/server";
import { hasScope } from "../../store/session";
import { settings as t } from "../../text/en";

const VALUE_MAX = 120;

export function PreviewCard() {
  return (
    <Card title={t.cards.previews}>
      <p class="field-help">{t.cardHelp.previews}</p>
      {hasScope("admin") ? <PreviewOptions /> : <p>{t.previewAdmin}</p>}
    </Card>
  );
}

function PreviewOptions() {
  const resource = useResource("server-previews", readServer);
  return (
    <Loaded of={resource}>
      {(server) => (
        <>
          <Facts facts={(server?.configuration ?? []).filter((o) => o.name.includes("preview")).map((o) => [o.name, <Safe text={o.value} mono max={VALUE_MAX} />] as const)} />
          <a href={href("server", { q: "preview" })}>{t.toServer}</a>
        </>
      )}
    </Loaded>
  );
}

// SPDX-License-Identifier: Apache-2.0
// once.tsx: the text of a new key, with the lines that the SDKs read.
import type { KeyMade } from "../../api/generated";
import { ShownOnce } from "../../objects/shown_once";
import { CodeBlock } from "../../parts/copy";
import { showHidden } from "../../parts/safe";
import { keys as t } from "../../text/en";

export function KeyOnce({ made, onDone }: { made: KeyMade; onDone: () => void }) {
  const url = location.origin;
  const blocks = [
    [t.forAtoll, `export ATOLL_API_URL=${url}\nexport ATOLL_API_KEY=${made.key}`],
    [t.forE2b, `export E2B_API_URL=${url} E2B_SANDBOX_URL=${url}\nexport E2B_API_KEY=${made.e2b_key}`],
    [t.forDaytona, `export DAYTONA_API_URL=${url}/daytona/api\nexport DAYTONA_API_KEY=${made.key}`],
  ] as const;
  return (
    <ShownOnce title={t.made(showHidden(made.name))} secret={made.key} onDone={onDone}>
      {blocks.map(([title, text]) => (
        <div class="stack" key={title}>
          <h3>{title}</h3>
          <CodeBlock text={text} label={title} />
        </div>
      ))}
    </ShownOnce>
  );
}

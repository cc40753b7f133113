// SPDX-License-Identifier: Apache-2.0
// tray.tsx: the work in progress at the bottom right.
import type { Signal } from "@preact/signals";
import { Button } from "../parts/button";
import { Icon } from "../parts/icons";
import { ErrorNote } from "../parts/notice";
import { showHidden } from "../parts/safe";
import { href } from "../router";
import { removeTrayItem, tray, type TrayItem } from "../store/tray";
import { common as t } from "../text/en";

export function TrayView() {
  if (tray.value.length === 0) return null;
  return (
    <section class="tray" aria-label={t.tray.title}>
      {tray.value.map((row) => (
        <TrayRow key={row.peek().id} row={row} />
      ))}
    </section>
  );
}

function TrayRow({ row }: { row: Signal<TrayItem> }) {
  const item = row.value;
  const share = item.total > 0 ? Math.min(1, item.done / item.total) : null;
  const title = showHidden(item.title, 80);
  return (
    <div class={`tray-row ${item.state}`}>
      <div class="row">
        {item.state === "running" ? <span class="spinner" aria-hidden="true" /> : <Icon name={item.state === "done" ? "check" : item.state === "failed" ? "warning" : "close"} />}
        <span class="grow tray-title">{item.link ? <a href={href(item.link)}>{title}</a> : title}</span>
        {item.retry && (
          <Button isSmall onClick={item.retry}>
            {t.tray.retry}
          </Button>
        )}
        {item.cancel && item.state === "running" && (
          <Button isSmall onClick={item.cancel}>
            {t.cancel}
          </Button>
        )}
        {item.state !== "running" && <Button kind="quiet" isSmall icon="close" label={t.close} onClick={() => removeTrayItem(item.id)} />}
      </div>
      {item.state === "running" && <progress max={1} value={share ?? undefined} aria-label={title} />}
      <p class="meta">{item.text || (item.total > 0 ? t.tray.progress(item.done, item.total, item.failed) : "")}</p>
      {item.error && <ErrorNote error={item.error} />}
    </div>
  );
}

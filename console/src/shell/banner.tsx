// SPDX-License-Identifier: Apache-2.0
// banner.tsx: says when what is shown is not live, and when the server runs another version than this tab.
import { effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call } from "../api/call";
import { liveStatus } from "../api/events";
import { getHealthz } from "../api/generated";
import { Button } from "../parts/button";
import { formatClock } from "../parts/format";
import { Icon } from "../parts/icons";
import { everySecond } from "../store/clock";
import { common as t } from "../text/en";

/** A short break is not worth a word. */
const PATIENCE_MS = 3000;
const firstVersion = signal<string | null>(null);
const isOutdated = signal(false);

async function compareVersion(): Promise<void> {
  try {
    const { version } = await call(getHealthz);
    if (firstVersion.peek() === null) firstVersion.value = version;
    else if (firstVersion.peek() !== version) isOutdated.value = true;
  } catch {
    // The banner says already that the server is away.
  }
}

export function Banner() {
  useEffect(
    () =>
      effect(() => {
        if (liveStatus.value.state === "live") void compareVersion();
      }),
    [],
  );
  if (isOutdated.value) {
    return (
      <div class="banner" role="status">
        <Icon name="info" />
        <span class="grow">{t.live.newVersion}</span>
        <Button isSmall onClick={() => location.reload()}>
          {t.live.reload}
        </Button>
      </div>
    );
  }
  const { state, since } = liveStatus.value;
  if (state !== "down" || everySecond.value - since < PATIENCE_MS) return null;
  return (
    <div class="banner warn" role="status">
      <Icon name="warning" />
      {t.live.down(formatClock(since))}
    </div>
  );
}

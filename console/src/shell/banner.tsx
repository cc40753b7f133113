// SPDX-License-Identifier: Apache-2.0
// banner.tsx: says when what is shown is not live, when the server runs another version than this tab, and which providers fail.
import { effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call } from "../api/call";
import { liveStatus } from "../api/events";
import { getHealthz } from "../api/generated";
import { Button } from "../parts/button";
import { formatClock } from "../parts/format";
import { Icon } from "../parts/icons";
import { showHidden } from "../parts/safe";
import { href } from "../router";
import { everySecond } from "../store/clock";
import { followProviders, troubled } from "../store/providers";
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

/** Follows the health of the providers. */
export function ProviderBanner() {
  useEffect(followProviders, []);
  const failing = troubled.value;
  const first = failing[0];
  if (!first) return null;
  return (
    <div class="banner warn" role="status">
      <Icon name="warning" />
      <span class="grow">
        {t.providersFail(failing.map((p) => showHidden(p.name, 40)).join(", "))} {showHidden(first.connected ? (first.last_error ?? "") : t.providerAway, 200)}
      </span>
      <a href={href("providers")}>{t.pages["providers"]}</a>
    </div>
  );
}

// SPDX-License-Identifier: Apache-2.0
// The server: health for everyone, the rest for its admins.
import { call } from "../../api/call";
import { getHealthz, getReadyz, type Health, type Readiness } from "../../api/generated";
import { ApiError } from "../../api/errors";
import { ButtonLink } from "../../parts/button";
import { StateChip } from "../../parts/chip";
import { formatDuration } from "../../parts/format";
import { Card, Facts, Page } from "../../parts/layout";
import { Loaded, Note } from "../../parts/notice";
import { showHidden } from "../../parts/safe";
import { Safe, Time } from "../../parts/text";
import { useResource } from "../../store/resource";
import { readServer, type Server } from "../../store/server";
import { hasScope } from "../../store/session";
import { server as t } from "../../text/en";
import { Configuration } from "./configuration";
import { Figures } from "./figures";
import { Nodes } from "./nodes";
import "./server.css";

const TEXT_MAX = 1000;

export default function ServerPage() {
  const isAdmin = hasScope("admin");
  const link = isAdmin && (
    <ButtonLink href="/metrics" icon="open" isNewTab>
      {t.metricsLink}
    </ButtonLink>
  );
  return (
    <Page title={t.title} about={t.about} actions={link}>
      {isAdmin ? <Whole /> : <Note icon="shield">{t.limited}</Note>}
      <HealthCard />
    </Page>
  );
}

function Whole() {
  const resource = useResource("server", readServer, { kinds: ["node.*"], onFocus: true });
  return (
    <Loaded of={resource} lines={8}>
      {(server) =>
        server === null ? (
          <Note>{t.older}</Note>
        ) : (
          <>
            <Card>
              <ServerFacts of={server} />
            </Card>
            <Figures metrics={server.metrics} />
            <Nodes nodes={server.nodes} />
            <Configuration options={server.configuration} />
          </>
        )
      }
    </Loaded>
  );
}

function ServerFacts({ of }: { of: Server }) {
  return (
    <>
      {of.reason && (
        <Note tone="bad">
          <p class="note-title">{showHidden(of.reason, TEXT_MAX)}</p>
          {of.cure && <p>{showHidden(of.cure, TEXT_MAX)}</p>}
        </Note>
      )}
      <Facts
        facts={[
          [t.status, <StateChip state={of.readiness} />],
          [t.version, <Safe text={of.version} />],
          [t.build, <Safe text={of.build} mono />],
          [t.provider, <Safe text={of.provider} />],
          [t.node, <Safe text={of.node} mono />],
          [t.uptime, formatDuration(of.uptime_ms)],
          [t.started, <Time at={of.started_at} />],
          [t.checked, <Time at={of.checked_at} />],
        ]}
      />
    </>
  );
}

/** /readyz answers 503 with a body while the server is not ready: that is an answer here, and no failure. */
async function readHealth(signal: AbortSignal): Promise<{ health: Health; ready: Readiness | null; problem: string | null }> {
  const health = await call(getHealthz, { signal });
  try {
    return { health, ready: await call(getReadyz, { signal }), problem: null };
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.status === 503) return { health, ready: null, problem: thrown.hint ? `${thrown.message} ${thrown.hint}` : thrown.message };
    throw thrown;
  }
}

function HealthCard() {
  const resource = useResource("health", readHealth, { onFocus: true });
  return (
    <Card title={t.health}>
      <Loaded of={resource}>
        {({ health, ready, problem }) => (
          <>
            <div class="row">
              <StateChip state={health.status} />
              <StateChip state={ready ? ready.status : "failed"} />
              <span class="muted">
                {t.version} <Safe text={health.version} />
              </span>
            </div>
            {problem && <Note tone="bad">{showHidden(problem, TEXT_MAX)}</Note>}
            {(ready?.warnings ?? []).map((w) => (
              <Note key={w.code} tone="warn">
                <p class="note-title">{showHidden(w.message, TEXT_MAX)}</p>
                <p>{showHidden(w.hint, TEXT_MAX)}</p>
              </Note>
            ))}
            {ready && <Checks of={ready} />}
          </>
        )}
      </Loaded>
    </Card>
  );
}

function Checks({ of }: { of: Readiness }) {
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label={t.checks}>
      <table class="plain-table">
        <thead>
          <tr>
            <th scope="col">{t.check}</th>
            <th scope="col">{t.result}</th>
            <th scope="col" class="end">{t.took}</th>
          </tr>
        </thead>
        <tbody>
          {of.checks.map((c) => (
            <tr key={c.name}>
              <td class="mono">{showHidden(c.name)}</td>
              <td>
                <StateChip state={c.ok ? "ok" : "failed"} /> {c.reason && showHidden(c.reason, TEXT_MAX)} {c.cure && <span class="muted">{showHidden(c.cure, TEXT_MAX)}</span>}
              </td>
              <td class="end">{formatDuration(c.took_ms)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

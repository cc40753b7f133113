// SPDX-License-Identifier: Apache-2.0
// template_page.tsx: one template: facts, defaults, pool, builds.
import { useState } from "preact/hooks";
import { call } from "../../api/call";
import { getApiSandboxTemplatesBuilds, getApiSandboxTemplatesTemplate, patchApiSandboxTemplatesTemplate, type Template } from "../../api/generated";
import { BuildDialog } from "../../objects/build_dialog";
import { Button, ButtonLink } from "../../parts/button";
import { StateChip } from "../../parts/chip";
import { formatBytes, formatDuration, formatMib } from "../../parts/format";
import { Card, Facts, Page, type Fact } from "../../parts/layout";
import { Empty, Loaded, Note } from "../../parts/notice";
import { showHidden, showHiddenLines } from "../../parts/safe";
import { Id, Safe, Time } from "../../parts/text";
import { at, go, href } from "../../router";
import { useResource } from "../../store/resource";
import { missingScope } from "../../store/session";
import { common as shared, templates as t } from "../../text/en";
import { askDeleteTemplate, whyNotDelete } from "./delete_template";
import { EditDialog } from "./edit_dialog";
import { PoolCard } from "./pool_card";
import { TemplateState } from "./template_state";

const BUILDS = 10;

export function TemplatePage({ id }: { id: string }) {
  const template = useResource<Template & { sandboxes?: number }>(`template ${id}`, (signal) => call(getApiSandboxTemplatesTemplate, { path: { template: id }, signal }), { kinds: ["template.*", "build.*"] });
  const [open, setOpen] = useState<"edit" | "build" | null>(null);
  const data = template.data.value;
  const scope = missingScope(patchApiSandboxTemplatesTemplate);
  const why = scope && shared.missingScope(scope);
  if (!data && template.error.value?.status === 404) {
    return (
      <Page title={t.notFound}>
        <Empty icon="layers" title={t.notFound} action={<ButtonLink href={href("templates")}>{t.title}</ButtonLink>}>{t.notFoundText}</Empty>
      </Page>
    );
  }
  const actions = data && (
    <>
      <Button icon="trash" label={t.delete} disabledBecause={whyNotDelete(data)} onClick={() => void askDeleteTemplate(data).then((isGone) => isGone && go(href("templates")))} />
      <Button icon="hammer" disabledBecause={why} onClick={() => setOpen("build")}>{t.build}</Button>
      <ButtonLink kind="primary" icon="plus" href={href("sandboxes", { new: "1", template: data.name })}>{t.newSandbox}</ButtonLink>
    </>
  );
  return (
    <Page title={data ? showHidden(data.name, 80) : t.title} about={data?.description ? <Safe text={data.description} max={1000} /> : undefined} actions={actions}>
      <Loaded of={template} lines={8}>
        {(found) => (
          <>
            {found.state !== "ready" && found.state_text && <Note tone={found.state === "failed" ? "bad" : "info"}>{showHiddenLines(found.state_text)}</Note>}
            <Card><TemplateFacts template={found} /></Card>
            <Card title={t.defaults} actions={<Button isSmall icon="edit" disabledBecause={why} onClick={() => setOpen("edit")}>{t.edit}</Button>}>
              <Facts facts={defaultsOf(found)} />
            </Card>
            <div class="columns">
              <PoolCard template={found} why={why} />
              <Builds template={found} />
            </div>
          </>
        )}
      </Loaded>
      {open === "edit" && data && <EditDialog template={data} onClose={() => (setOpen(null), template.reload())} />}
      {open === "build" && data && <BuildDialog from={data.name} onClose={() => setOpen(null)} />}
    </Page>
  );
}

function TemplateFacts({ template }: { template: Template & { sandboxes?: number } }) {
  return (
    <Facts
      facts={[
        [t.state, <TemplateState template={template} />],
        [t.base, <Safe text={template.base_image} mono />],
        [t.isolation, <Safe text={template.isolation} />],
        template.runtime !== "" && [t.runtime, <Safe text={template.runtime} />],
        [t.size, template.size_bytes > 0 ? formatBytes(template.size_bytes) : "–"],
        template.sandboxes !== undefined && [t.uses, <a href={href("sandboxes", { q: `template:${template.name}` })}>{template.sandboxes}</a>],
        template.project === null && [t.public, t.shared],
        [t.created, <Time at={template.created_at} />],
        ["Id", <Id id={template.id} max={20} />],
      ]}
    />
  );
}

type Numbers = Record<string, number | undefined>;

function defaultsOf(template: Template): Fact[] {
  const resources = (template.resources ?? {}) as Numbers;
  const idle = (template.idle ?? {}) as Numbers;
  const env = Object.entries((template.env ?? {}) as Record<string, string>);
  const entrypoint = Array.isArray(template.entrypoint) ? (template.entrypoint as string[]) : [];
  const ports = Array.isArray(template.ports) ? (template.ports as number[]) : [];
  const amount = (n: number | undefined, format: (n: number) => string): string => (n ? format(n) : t.inherited);
  const time = (ms: number | undefined): string => (ms === -1 ? t.never : amount(ms, formatDuration));
  return [
    [t.cpu, amount(resources["cpu"], (n) => `${n} ${t.cores}`)],
    [t.memory, amount(resources["memory_mb"], formatMib)],
    [t.disk, amount(resources["disk_mb"], formatMib)],
    [t.pids, amount(resources["pids"], String)],
    [t.pause, time(idle["pause_ms"])],
    [t.stop, time(idle["stop_ms"])],
    [t.user, <Safe text={template.user} mono />],
    [t.workdir, <Safe text={template.workdir} mono />],
    ports.length > 0 && [t.ports, ports.join(", ")],
    entrypoint.length > 0 && [t.entrypoint, <Safe text={entrypoint.join(" ")} mono />],
    template.ready_command !== null && template.ready_command !== "" && [t.ready, <Safe text={template.ready_command} mono />],
    env.length > 0 && [t.env, <ul>{env.map(([name, value]) => <li key={name}><Safe text={`${name}=${value}`} mono max={120} /></li>)}</ul>],
  ];
}

function Builds({ template }: { template: Template }) {
  const found = useResource(`builds ${template.name}`, (signal) => call(getApiSandboxTemplatesBuilds, { query: { name: template.name, limit: BUILDS }, signal }), { kinds: ["build.*"] });
  return (
    <Card title={t.builds} actions={<ButtonLink isSmall href={href("builds", { q: template.name })}>{t.allBuilds}</ButtonLink>}>
      <Loaded of={found} lines={3}>
        {(page) =>
          page.items.length === 0 ? (
            <p class="muted">{t.noBuilds}</p>
          ) : (
            <ul class="stack">
              {page.items.map((build) => (
                <li key={build.id} class="row">
                  <a class="grow" href={href(at`builds/${build.id}`)}><Id id={build.id} max={20} /></a>
                  <StateChip state={build.status} />
                  <span class="meta"><Time at={build.created_at} /></span>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  );
}

// SPDX-License-Identifier: Apache-2.0
// Settings of the project: a form in cards, with one bar that saves all of them.
import { useEffect } from "preact/hooks";
import { call } from "../../api/call";
import {
  getApiSandboxResourceConfig, getApiSandboxSettings, getV1ProjectsProject, patchV1ProjectsProject, putApiSandboxResourceConfig, putApiSandboxSettings, type Project,
  type ResourceConfig, type Settings, type SettingsPut,
} from "../../api/generated";
import { projectChangeSchema, resourceConfigPutSchema, settingsPutSchema } from "../../api/schemas";
import { Forbidden } from "../../objects/forbidden";
import { Button } from "../../parts/button";
import { FormFields, useForm, type FormState, type FormValues } from "../../parts/form";
import { useCommands } from "../../parts/keys";
import { Card, Facts, Page } from "../../parts/layout";
import { ErrorNote, Loaded, Note } from "../../parts/notice";
import { useResource, type Resource } from "../../store/resource";
import { hasScope, missingScope, projectId } from "../../store/session";
import { showToast } from "../../store/toasts";
import { common as words, settings as t } from "../../text/en";
import { ARTIFACT_FIELDS, isolationFields, RESOURCE_FIELDS, SOURCE_FIELDS, TIME_FIELDS, valuesOf } from "./fields";
import { PreviewCard } from "./previews";
import { ResourceTable } from "./resource_table";
import "./settings.css";

interface Read {
  settings: Settings & { isolation_choices?: string[]; storage_choices?: string[] };
  resources: ResourceConfig;
  project: Project;
}

async function read(signal: AbortSignal): Promise<Read> {
  const [settings, resources, project] = await Promise.all([
    call(getApiSandboxSettings, { signal }), call(getApiSandboxResourceConfig, { signal }), call(getV1ProjectsProject, { path: { project: projectId.value }, signal }),
  ]);
  return { settings, resources, project };
}

export default function SettingsPage() {
  const lacks = missingScope(getApiSandboxSettings);
  const resource = useResource(`settings-${projectId.value}`, read, { kinds: ["settings.*", "project.*"] });
  return (
    <Page title={t.title} about={t.about}>
      {lacks ? <Forbidden scope={lacks} /> : <Loaded of={resource} lines={8}>{(data) => <SettingsForm key={projectId.value} data={data} resource={resource} />}</Loaded>}
    </Page>
  );
}

/** An empty text takes the address away. */
const saveSource = (address: string) => call(patchV1ProjectsProject, { path: { project: projectId.value }, body: { source_address: address } });

const EMPTY_RESOURCES = {};

function SettingsForm({ data, resource }: { data: Read; resource: Resource<Read> }) {
  const isolation = isolationFields(data.settings);
  const settings = useForm([...TIME_FIELDS, ...ARTIFACT_FIELDS, ...isolation], settingsPutSchema, valuesOf(data.settings));
  const resources = useForm(RESOURCE_FIELDS, resourceConfigPutSchema, valuesOf(data.resources.defaults ?? EMPTY_RESOURCES));
  const source = useForm(SOURCE_FIELDS, projectChangeSchema, { source_address: data.project.source_address ?? "" });
  const lacks = missingScope(putApiSandboxSettings);
  const isChanged = settings.isChanged || resources.isChanged || source.isChanged;
  useNewer(settings, data.settings);
  const save = async (): Promise<void> => {
    const parts = [
      !settings.isChanged || (await settings.submit((body) => call(putApiSandboxSettings, { body: body as SettingsPut }))),
      !resources.isChanged || (await resources.submit((body) => call(putApiSandboxResourceConfig, { body: body as Record<string, number> }))),
      !source.isChanged || (await source.submit((body) => saveSource(String(body["source_address"] ?? "")))),
    ];
    if (parts.every(Boolean)) showToast({ kind: "done", text: t.saved });
    resource.reload();
  };
  const discard = (): void => {
    settings.reset();
    resources.reset();
    source.reset();
  };
  useCommands([{ id: "settings.save", title: words.save, keys: "Ctrl+S", section: t.title, icon: "check", run: () => void (isChanged && lacks === null && save()) }]);
  useLeaveWarning(isChanged);
  return (
    <form class="settings stack wide" noValidate onSubmit={(e) => (e.preventDefault(), void save())}>
      {lacks && <Note icon="shield">{t.readOnly(lacks)}</Note>}
      <div class="columns">
        <Card title={t.cards.times}>
          <p class="field-help">{t.cardHelp.times}</p>
          <FormFields form={settings} fields={TIME_FIELDS} schema={settingsPutSchema} />
        </Card>
        <Card title={t.cards.resources}>
          <p class="field-help">{t.cardHelp.resources}</p>
          <FormFields form={resources} fields={RESOURCE_FIELDS} schema={resourceConfigPutSchema} />
          <ResourceTable config={data.resources} />
        </Card>
        <Card title={t.cards.isolation}>
          <FormFields form={settings} fields={isolation} schema={settingsPutSchema} />
        </Card>
        <Card title={t.cards.artifacts}>
          <FormFields form={settings} fields={ARTIFACT_FIELDS} schema={settingsPutSchema} />
        </Card>
        <Card title={t.cards.network}>
          <p class="field-help">{t.cardHelp.network}</p>
          {hasScope("admin") ? (
            <FormFields form={source} fields={SOURCE_FIELDS} schema={projectChangeSchema} />
          ) : (
            <Facts facts={[[t.source_address, data.project.source_address ?? t.anyAddress]]} />
          )}
        </Card>
        <PreviewCard />
      </div>
      {settings.error && <ErrorNote error={settings.error} />}
      {resources.error && <ErrorNote error={resources.error} />}
      {source.error && <ErrorNote error={source.error} />}
      {isChanged && lacks === null && <SaveBar isBusy={settings.isBusy || resources.isBusy || source.isBusy} onDiscard={discard} />}
    </form>
  );
}

/** Values that another tab saved replace those of a form without changes. */
function useNewer(form: FormState, settings: Settings): void {
  const text = JSON.stringify(settings);
  useEffect(() => {
    const values: FormValues = valuesOf(settings);
    if (!form.isChanged) form.reset(values);
  }, [text]);
}

function useLeaveWarning(isChanged: boolean): void {
  useEffect(() => {
    if (!isChanged) return;
    const warn = (e: BeforeUnloadEvent): void => e.preventDefault();
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, [isChanged]);
}

function SaveBar({ isBusy, onDiscard }: { isBusy: boolean; onDiscard: () => void }) {
  return (
    <div class="save-bar" role="region" aria-label={t.unsaved}>
      <span class="grow">{t.unsaved}</span>
      <Button onClick={onDiscard}>{words.discard}</Button>
      <Button type="submit" kind="primary" isBusy={isBusy}>
        {words.save}
      </Button>
    </div>
  );
}

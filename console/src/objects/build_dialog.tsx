// SPDX-License-Identifier: Apache-2.0
// build_dialog.tsx: builds a template from a Dockerfile or from commands. The server owns the build; its page shows the log.
import { useState } from "preact/hooks";
import { call } from "../api/call";
import { asApiError, type ApiError } from "../api/errors";
import { postApiSandboxTemplatesBuilds, type BuildCreate } from "../api/generated";
import { Button } from "../parts/button";
import { Dialog } from "../parts/dialog";
import { CheckField, Segmented, SelectField, TextField } from "../parts/field";
import { ErrorNote } from "../parts/notice";
import { showHidden } from "../parts/safe";
import { at, go, href } from "../router";
import { builds, templates } from "../store/lists";
import { common as shared, templates as t } from "../text/en";
import { parseDockerfile } from "./dockerfile";

const EXAMPLE = 'FROM base\nRUN apt-get update && apt-get install -y ripgrep\nENV EDITOR=vi\n';

interface Draft {
  way: string;
  name: string;
  dockerfile: string;
  commands: string;
  from: string;
  noCache: boolean;
}

/** The request, or the problems of each field. */
function requestOf(draft: Draft): { body: BuildCreate | null; problems: Record<string, string> } {
  const problems: Record<string, string> = {};
  if (!draft.name.trim()) problems["name"] = shared.required;
  const base = { name: draft.name.trim(), no_cache: draft.noCache || undefined };
  if (draft.way === "steps") {
    const commands = draft.commands.split("\n").map((c) => c.trim()).filter(Boolean);
    if (commands.length === 0) problems["text"] = t.noSteps;
    const steps = commands.map((command) => ({ type: "run" as const, command }));
    return { problems, body: Object.keys(problems).length ? null : { ...base, from: draft.from, steps } };
  }
  const parsed = parseDockerfile(draft.dockerfile);
  if (parsed.problems.length) problems["text"] = parsed.problems.join(" ");
  return { problems, body: Object.keys(problems).length ? null : { ...base, ...parsed.body } };
}

export function BuildDialog({ from = "base", onClose }: { from?: string; onClose: () => void }) {
  const [draft, setDraft] = useState<Draft>({ way: "dockerfile", name: "", dockerfile: EXAMPLE.replace("base", from), commands: "", from, noCache: false });
  const [problems, setProblems] = useState<Record<string, string>>({});
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const set = (change: Partial<Draft>): void => (setDraft({ ...draft, ...change }), setProblems({}));
  const submit = async (): Promise<void> => {
    const { body, problems: found } = requestOf(draft);
    setProblems(found);
    setError(null);
    if (!body) return;
    setBusy(true);
    try {
      const build = await call(postApiSandboxTemplatesBuilds, { body });
      builds.reveal(build);
      onClose();
      go(href(at`builds/${build.id}`));
    } catch (thrown) {
      setError(asApiError(thrown));
      setBusy(false);
    }
  };
  templates.ensure();
  return (
    <Dialog
      title={t.buildTitle}
      kind="wide"
      onClose={onClose}
      onSubmit={() => void submit()}
      footer={
        <>
          <Button onClick={onClose}>{shared.cancel}</Button>
          <Button type="submit" kind="primary" isBusy={isBusy}>{t.buildYes}</Button>
        </>
      }
    >
      {error && <ErrorNote error={error} />}
      <div class="fields">
        <TextField label={t.buildName} value={draft.name} error={problems["name"]} isRequired maxLength={63} onChange={(name) => set({ name })} />
        {draft.way === "steps" && (
          <SelectField label={t.fromTemplate} value={draft.from} onChange={(value) => set({ from: value })} choices={templates.items.map((x) => ({ value: x.name, label: showHidden(x.name, 60) }))} />
        )}
      </div>
      <div><Segmented label={t.buildFrom} value={draft.way} onChange={(way) => set({ way })} choices={Object.entries(t.buildWays).map(([value, label]) => ({ value, label }))} /></div>
      {draft.way === "steps" ? (
        <TextField label={t.commands} help={t.commandsHelp} error={problems["text"]} value={draft.commands} lines={10} isMono onChange={(commands) => set({ commands })} placeholder="apt-get update && apt-get install -y ripgrep" />
      ) : (
        <TextField label={t.dockerfile} help={t.dockerfileHelp} error={problems["text"]} value={draft.dockerfile} lines={12} isMono onChange={(dockerfile) => set({ dockerfile })} />
      )}
      <CheckField label={t.noCache} value={draft.noCache} onChange={(noCache) => set({ noCache })} />
    </Dialog>
  );
}

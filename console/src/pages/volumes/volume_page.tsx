// SPDX-License-Identifier: Apache-2.0
// volume_page.tsx: one volume: facts, who uses it, its files.
import { useState } from "preact/hooks";
import { call } from "../../api/call";
import { getApiSandboxVolumesVolume, type VolumeUsage } from "../../api/generated";
import { sandboxHref } from "../../objects/sandbox_actions";
import { askDeleteVolume, AttachVolumeDialog, detachVolume, GrowVolumeDialog, volumeForbids } from "../../objects/volume_actions";
import { Button, ButtonLink } from "../../parts/button";
import { Chip, StateChip } from "../../parts/chip";
import { formatBytes, formatMib } from "../../parts/format";
import { Card, Facts, Page } from "../../parts/layout";
import { Empty, Loaded } from "../../parts/notice";
import { showHidden } from "../../parts/safe";
import { Id, Safe, Time } from "../../parts/text";
import { go, href } from "../../router";
import { useResource } from "../../store/resource";
import { common as shared, volumes as t } from "../../text/en";
import { VolumeFiles } from "./files";

export function VolumePage({ id, rest }: { id: string; rest: string }) {
  const volume = useResource(`volume ${id}`, (signal) => call(getApiSandboxVolumesVolume, { path: { volume: id }, signal }), { kinds: ["volume.*", "sandbox.deleted"] });
  const data = volume.data.value;
  if (!data && volume.error.value?.status === 404) {
    return (
      <Page title={t.notFound}>
        <Empty icon="disk" title={t.notFound} action={<ButtonLink href={href("volumes")}>{t.title}</ButtonLink>}>{t.notFoundText}</Empty>
      </Page>
    );
  }
  const name = data ? showHidden(data.name, 80) : t.title;
  return (
    <Page title={name} actions={data && <Actions volume={data} onChange={volume.reload} />}>
      <Loaded of={volume} lines={6}>
        {(found) => (
          <>
            <Card><VolumeFacts volume={found} /></Card>
            <Mounts volume={found} onChange={volume.reload} />
            <VolumeFiles volume={found.id} path={rest} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Actions({ volume, onChange }: { volume: VolumeUsage; onChange: () => void }) {
  const [open, setOpen] = useState<"grow" | "attach" | null>(null);
  const why = volumeForbids();
  const holder = volume.attachments[0];
  const close = (): void => (setOpen(null), onChange());
  return (
    <>
      <Button icon="plus" disabledBecause={why} onClick={() => setOpen("attach")}>{t.attach}</Button>
      <Button icon="up" disabledBecause={why} onClick={() => setOpen("grow")}>{t.grow}</Button>
      <Button icon="trash" label={t.delete} disabledBecause={why ?? (holder ? t.heldBy(showHidden(holder.sandbox, 60)) : null)} onClick={() => void askDeleteVolume(volume).then((isGone) => isGone && go(href("volumes")))} />
      {open === "grow" && <GrowVolumeDialog volume={volume} onClose={close} />}
      {open === "attach" && <AttachVolumeDialog volume={volume} onClose={close} />}
    </>
  );
}

function VolumeFacts({ volume }: { volume: VolumeUsage }) {
  return (
    <Facts
      facts={[
        [t.state, <StateChip state={volume.state} />],
        [t.used, formatBytes(volume.used_bytes)],
        [t.size, <span data-tip={volume.size_advisory ? t.advisory : undefined}>{volume.size_mb > 0 ? formatMib(volume.size_mb) : t.noLimit}</span>],
        [t.provider, <Safe text={volume.provider} />],
        [t.created, <Time at={volume.created_at} />],
        ["Id", <Id id={volume.id} max={20} />],
      ]}
    />
  );
}

function Mounts({ volume, onChange }: { volume: VolumeUsage; onChange: () => void }) {
  const why = volumeForbids();
  return (
    <Card title={t.attachments} isFlush={volume.attachments.length > 0}>
      {volume.attachments.length === 0 ? (
        <p class="muted">{t.noAttachments}</p>
      ) : (
        <table class="plain-table">
          <thead>
            <tr>
              <th scope="col">{t.sandbox}</th>
              <th scope="col">{t.state}</th>
              <th scope="col">{t.mount}</th>
              <th scope="col"><span class="off-screen">{shared.actions}</span></th>
            </tr>
          </thead>
          <tbody>
            {volume.attachments.map((mount) => (
              <tr key={`${mount.sandbox_id} ${mount.path}`}>
                <td><a href={sandboxHref(mount.sandbox_id)}><Safe text={mount.sandbox} max={60} /></a></td>
                <td><StateChip state={mount.sandbox_state} /></td>
                <td><Safe text={mount.path} mono /> {mount.read_only && <Chip>{t.readOnly}</Chip>}</td>
                <td class="end"><Button isSmall disabledBecause={why} onClick={() => void detachVolume(mount).then(onChange)}>{t.detach}</Button></td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}

// SPDX-License-Identifier: Apache-2.0
// One window: its terminal, and above it who looks, who types, and what can be done.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { call } from "../../../api/call";
import { deleteApiSandboxInstancesIdWindowsWindow, getApiSandboxInstancesIdWindowsWindowViewers, type Viewer, type Window } from "../../../api/generated";
import type { TerminalHandle } from "../../../lazy/terminal";
import { Button } from "../../../parts/button";
import { copyText } from "../../../parts/copy";
import { ask, Dialog } from "../../../parts/dialog";
import { Lazy } from "../../../parts/lazy";
import { isPhone } from "../../../parts/media";
import { MenuButton, type MenuItem } from "../../../parts/menu";
import { ErrorNote, Note } from "../../../parts/notice";
import { showHidden } from "../../../parts/safe";
import { PlainTable } from "../../../parts/plain_table";
import { Safe, Time } from "../../../parts/text";
import { useResource } from "../../../store/resource";
import type { Sandbox } from "../../../store/sandboxes";
import { toastError } from "../../../store/toasts";
import { sandboxTerminal as t } from "../../../text/en";
import { FindBar } from "./find_bar";
import { KeyRow } from "./key_row";
import { FONT_MAX, FONT_MIN, fontSize, hasScreenReader } from "./looks";
import { WindowSession } from "./session";

const load = () => import("../../../lazy/terminal");
const LEAVE_MS = 600;

interface WindowProps {
  sandbox: Sandbox;
  window: Window;
  /** Takes the keyboard when it is shown. */
  hasFocus: boolean;
  /** Why the role may not type, or null. */
  forbidden: string | null;
  onGone: () => void;
}

export function WindowView({ sandbox, window: shown, hasFocus, forbidden, onGone }: WindowProps) {
  const [isReadOnly, setReadOnly] = useState(forbidden !== null);
  const [title, setTitle] = useState("");
  const [isFinding, setFinding] = useState(false);
  const [isListing, setListing] = useState(false);
  const [handle, setHandle] = useState<TerminalHandle | null>(null);
  const viewers = useResource(`viewers ${sandbox.id} ${shown.process}`, (signal) => call(getApiSandboxInstancesIdWindowsWindowViewers, { path: { id: sandbox.id, window: shown.name }, signal }), { kinds: ["window.*"], sandbox: sandbox.id, onFocus: true });
  const session = useMemo(
    () => new WindowSession({ sandbox: sandbox.id, process: shown.process, outputEnd: shown.output_end, isReadOnly, onPeople: viewers.reload, onEnd: onGone }),
    [isReadOnly],
  );
  useEffect(() => () => session.close(), [session]);
  useEffect(() => {
    if (handle) handle.setFontSize(fontSize.value);
  }, [handle, fontSize.value]);
  const close = async (): Promise<void> => {
    if (!(await ask({ title: t.closeTitle(showHidden(shown.name, 40)), text: t.closeText, yes: t.closeYes, isDangerous: true }))) return;
    await call(deleteApiSandboxInstancesIdWindowsWindow, { path: { id: sandbox.id, window: shown.name } }).catch(toastError);
    onGone();
  };
  const size = (change: number) => () => (fontSize.value = Math.min(FONT_MAX, Math.max(FONT_MIN, fontSize.value + change)));
  const items = (): MenuItem[] => [
    { label: t.find, icon: "search", keys: "Ctrl+Shift+F", run: () => setFinding(true) },
    { label: t.copyAll, icon: "copy", run: () => void copyText(handle?.text() ?? "") },
    { label: t.larger, icon: "plus", run: size(1) },
    { label: t.smaller, run: size(-1) },
    { label: t.lookOnly, isChecked: isReadOnly, run: () => setReadOnly(!isReadOnly), disabledBecause: forbidden, isApart: true },
    { label: t.screenReader, isChecked: hasScreenReader.value, run: () => (hasScreenReader.value = !hasScreenReader.value) },
    { label: t.close, icon: "trash", isDangerous: true, isApart: true, disabledBecause: forbidden, run: () => void close() },
  ];
  return (
    <section class="window" aria-label={t.label(showHidden(shown.name, 40))} onKeyDownCapture={useWindowKeys(handle, () => setFinding(true))}>
      <div class="window-head">
        <Status session={session} />
        <span class="grow cut muted">{title && <Safe text={title} max={80} />}</span>
        <Typing session={session} />
        <Button kind="quiet" isSmall icon="people" onClick={() => { viewers.reload(); setListing(true); }}>
          {t.viewers(viewers.data.value?.items.length ?? shown.viewers)}
        </Button>
        <TakeOver session={session} isReadOnly={isReadOnly} count={viewers.data.value?.items.length ?? 0} />
        <MenuButton label={t.more} items={items} />
      </div>
      {isFinding && handle && <FindBar handle={handle} onClose={() => { setFinding(false); handle.focus(); }} />}
      <Notices session={session} isReadOnly={isReadOnly} />
      <Lazy key={`${isReadOnly} ${hasScreenReader.value}`} load={load} lines={8} props={{
        label: t.label(showHidden(shown.name, 40)), fontSize: fontSize.peek(), hasScreenReader: hasScreenReader.value, isReadOnly,
        fixedSize: isReadOnly ? { columns: shown.cols || 80, rows: shown.rows || 24 } : undefined,
        onReady: (ready: TerminalHandle) => { setHandle(ready); session.attach(ready); if (hasFocus) ready.focus(); },
        onInput: (data: string) => session.type(data), onResize: (columns: number, rows: number) => session.resize(columns, rows), onTitle: setTitle,
      }} />
      {isPhone.value && <KeyRow onKey={(data) => { session.type(data); handle?.focus(); }} />}
      {isListing && <Viewers viewers={viewers.data.value?.items ?? []} mine={session.viewer.value} onClose={() => setListing(false)} />}
    </section>
  );
}

/** Ctrl-Shift-F finds, Ctrl-Shift-C copies, Ctrl-` twice leaves the terminal. */
function useWindowKeys(handle: TerminalHandle | null, onFind: () => void): (e: KeyboardEvent) => void {
  const leaveAt = useRef(0);
  return (e) => {
    if (!e.ctrlKey) return;
    if (e.shiftKey && e.code === "KeyF") onFind();
    else if (e.shiftKey && e.code === "KeyC") void copyText(handle?.copySelection() ?? "");
    else if (e.code === "Backquote") {
      if (e.timeStamp - leaveAt.current < LEAVE_MS) document.querySelector<HTMLElement>(".window-tab[aria-current]")?.focus();
      leaveAt.current = e.timeStamp;
    } else return;
    e.preventDefault();
    e.stopPropagation();
  };
}

function Status({ session }: { session: WindowSession }) {
  const state = session.exitCode.value === undefined ? session.state.value : "closed";
  return <span class={`window-state state-${state}`} role="status">{t.states[state]}</span>;
}

function Typing({ session }: { session: WindowSession }) {
  const who = session.typing.value;
  return who ? <span class="muted nowrap"><Safe text={t.types(who)} max={60} /></span> : null;
}

function TakeOver({ session, isReadOnly, count }: { session: WindowSession; isReadOnly: boolean; count: number }) {
  if (isReadOnly || session.state.value !== "open") return null;
  if (session.takenOverBy.value === null && session.mayType.value && count < 2) return null;
  return <Button isSmall icon="keyboard" tip={t.takeOverTip} onClick={() => session.takeOver()}>{t.takeOver}</Button>;
}

function Notices({ session, isReadOnly }: { session: WindowSession; isReadOnly: boolean }) {
  const error = session.error.value;
  const code = session.exitCode.value;
  const by = session.takenOverBy.value;
  return (
    <>
      {code !== undefined && <Note>{t.ended(code)}</Note>}
      {code === undefined && error && <ErrorNote error={error} onRetry={() => session.connect()} />}
      {code === undefined && !error && session.state.value === "closed" && <Note tone="warn" action={<Button isSmall onClick={() => session.connect()}>{t.reconnect}</Button>}>{t.states["closed"]}</Note>}
      {by && <Note tone="warn">{t.takenOver(showHidden(by, 60))}</Note>}
      {isReadOnly && <Note>{t.lookOnlyOn}</Note>}
    </>
  );
}

function Viewers({ viewers, mine, onClose }: { viewers: readonly Viewer[]; mine: number | null; onClose: () => void }) {
  return (
    <Dialog title={t.viewersTitle} onClose={onClose}>
      <PlainTable heads={[t.viewer, t.address, t.mayType, t.since, t.typed]}>
        {viewers.map((v) => (
          <tr key={v.viewer}>
            <td><Safe text={v.who} max={40} /> {v.viewer === mine && <span class="muted">({t.you})</span>}</td>
            <td><Safe text={v.peer} max={60} mono /></td>
            <td>{v.writes ? t.yes : t.no}</td>
            <td><Time at={v.attached_at} /></td>
            <td><Time at={v.typed_at} /></td>
          </tr>
        ))}
      </PlainTable>
    </Dialog>
  );
}

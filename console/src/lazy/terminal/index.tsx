// SPDX-License-Identifier: Apache-2.0
// lazy/terminal: the only user of xterm. It shows bytes and sends what is typed; connections are the caller's.
import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { WebLinksAddon } from "@xterm/addon-web-links";
import { Terminal, type ITheme } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import "./terminal.css";
import { useEffect, useRef } from "preact/hooks";
import { addNonceToStyles } from "../../api/nonce";
import { ask } from "../../parts/dialog";
import { safeLink, showHidden } from "../../parts/safe";
import { watchTheme } from "../../parts/theme";
import { terminal as t } from "../../text/en";

export interface TerminalHandle {
  /** Shows bytes; the promise resolves when they are parsed, for back-pressure. */
  write: (bytes: Uint8Array | string) => Promise<void>;
  reset: () => void;
  focus: () => void;
  find: (text: string, isBack?: boolean) => boolean;
  copySelection: () => string;
  size: () => { columns: number; rows: number };
  setFontSize: (px: number) => void;
  setReadOnly: (isReadOnly: boolean) => void;
  /** Text of the screen and the lines above it. */
  text: () => string;
}

export interface TerminalViewProps {
  label: string;
  onReady: (handle: TerminalHandle) => void;
  onInput?: (data: string) => void;
  onResize?: (columns: number, rows: number) => void;
  /** The title that a program sets; cleaned. */
  onTitle?: (title: string) => void;
  onBell?: () => void;
  fontSize?: number;
  isReadOnly?: boolean;
  hasScreenReader?: boolean;
  scrollback?: number;
  /** Columns and rows that the bytes were made for; absent: as many as fit. */
  fixedSize?: { columns: number; rows: number };
}

const SCROLLBACK = 10_000;

function themeNow(): ITheme {
  const of = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const dark = document.documentElement.dataset["theme"] === "dark";
  const [red, green, yellow, blue, magenta, cyan] = [of("--failed"), of("--started"), of("--paused"), of("--accent"), of("--chart-3"), of("--chart-4")];
  return {
    background: of("--bg"), foreground: of("--text"), cursor: of("--accent"), cursorAccent: of("--bg"), selectionBackground: dark ? "#33507f" : "#b9cff7",
    black: dark ? "#2a313b" : "#16191f", brightBlack: of("--text-3"), white: of("--text-2"), brightWhite: of("--text"),
    red, green, yellow, blue, magenta, cyan, brightRed: red, brightGreen: green, brightYellow: yellow, brightBlue: blue, brightMagenta: magenta, brightCyan: cyan,
  };
}

/** Links ask first and show where they lead. */
async function openLink(address: string): Promise<void> {
  const link = safeLink(address);
  if (!link) return;
  const yes = await ask({ title: t.linkTitle, yes: t.linkOpen, text: showHidden(link, 2000) });
  if (yes) window.open(link, "_blank", "noopener,noreferrer");
}

/** Several lines that a paste would run at once are asked about, unless the program takes pastes as such. */
async function pasteInto(terminal: Terminal, text: string): Promise<void> {
  const clean = text.replaceAll("\x1b[201~", "").replaceAll("\x1b[200~", "");
  const lines = clean.trimEnd().split(/\r\n|\r|\n/).length;
  const isSafe = lines < 2 || terminal.modes.bracketedPasteMode;
  if (isSafe || (await ask({ title: t.pasteTitle(lines), yes: t.paste, text: showHidden(clean, 600) }))) terminal.paste(clean);
}

function handleOf(terminal: Terminal, fit: () => void, search: SearchAddon): TerminalHandle {
  return {
    write: (bytes) => new Promise((resolve) => terminal.write(bytes, resolve)),
    reset: () => terminal.reset(),
    focus: () => terminal.focus(),
    find: (text, isBack) => (isBack ? search.findPrevious(text) : search.findNext(text)),
    copySelection: () => terminal.getSelection(),
    size: () => ({ columns: terminal.cols, rows: terminal.rows }),
    setFontSize: (px) => {
      terminal.options.fontSize = px;
      fit();
    },
    setReadOnly: (isReadOnly) => (terminal.options.disableStdin = isReadOnly),
    text: () => {
      const buffer = terminal.buffer.active;
      return Array.from({ length: buffer.length }, (_, i) => buffer.getLine(i)?.translateToString(true) ?? "").join("\n").trimEnd();
    },
  };
}

export default function TerminalView(props: TerminalViewProps) {
  const box = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const refit = useRef<() => void>(() => undefined);
  useEffect(() => refit.current(), [props.fixedSize?.columns, props.fixedSize?.rows]);
  useEffect(() => {
    const parent = box.current;
    if (!parent) return;
    addNonceToStyles();
    const terminal = new Terminal({
      allowProposedApi: false,
      cursorBlink: !matchMedia("(prefers-reduced-motion: reduce)").matches,
      disableStdin: props.isReadOnly ?? false,
      fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--mono"),
      fontSize: props.fontSize ?? 13,
      linkHandler: { activate: (_, text) => void openLink(text) },
      minimumContrastRatio: 4.5,
      screenReaderMode: props.hasScreenReader ?? false,
      scrollback: props.scrollback ?? SCROLLBACK,
      theme: themeNow(),
    });
    const fitter = new FitAddon();
    const search = new SearchAddon();
    terminal.loadAddon(fitter);
    terminal.loadAddon(search);
    terminal.loadAddon(new WebLinksAddon((_, address) => void openLink(address)));
    // A program inside may neither read nor write the clipboard.
    terminal.parser.registerOscHandler(52, () => true);
    terminal.open(parent);
    // A hidden terminal has no size: fitting it would hang some programs.
    const fit = (): void => {
      const fixed = latest.current.fixedSize;
      if (fixed) terminal.resize(fixed.columns, fixed.rows);
      else if (parent.clientWidth > 20 && parent.clientHeight > 20) fitter.fit();
    };
    refit.current = fit;
    fit();
    terminal.onData((data) => latest.current.onInput?.(data));
    terminal.onResize(({ cols, rows }) => latest.current.onResize?.(cols, rows));
    terminal.onTitleChange((title) => latest.current.onTitle?.(showHidden(title, 80)));
    terminal.onBell(() => latest.current.onBell?.());
    const onPaste = (e: ClipboardEvent): void => {
      e.preventDefault();
      e.stopPropagation();
      if (!terminal.options.disableStdin) void pasteInto(terminal, e.clipboardData?.getData("text") ?? "");
    };
    parent.addEventListener("paste", onPaste, true);
    const sizes = new ResizeObserver(fit);
    sizes.observe(parent);
    const stop = watchTheme(() => (terminal.options.theme = themeNow()));
    latest.current.onReady(handleOf(terminal, fit, search));
    return () => {
      stop();
      sizes.disconnect();
      terminal.dispose();
    };
  }, []);
  return <div class="terminal-box" ref={box} role="group" aria-label={props.label} />;
}

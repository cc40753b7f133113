// SPDX-License-Identifier: Apache-2.0
// log.tsx: a log of any length. It follows the end only while the end is in view; scrolling up stops that, a button goes on with it.
import { useEffect, useRef, useState } from "preact/hooks";
import { common as t } from "../text/en";
import { spansOf } from "./ansi";
import { Button } from "./button";
import { CopyButton } from "./copy";
import type { LogLines } from "./log_lines";

const LINE = 18;
const AROUND = 20;

export interface LogProps {
  lines: LogLines;
  label: string;
  /** Lines that are visible at most; without it the log fills its place. */
  linesMax?: number;
  /** A line to bring into view. */
  goTo?: number;
  hasTools?: boolean;
  /** Shown when the log has no line. */
  empty?: string;
}

export function Log({ lines, label, linesMax, goTo, hasTools = true, empty = t.log.empty }: LogProps) {
  const box = useRef<HTMLDivElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [follows, setFollows] = useState(true);
  const [seen, setSeen] = useState(0);
  const [found, setFound] = useState(-1);
  const [wanted, setWanted] = useState("");
  lines.revision.value;
  const count = lines.count;
  const height = box.current?.clientHeight ?? 400;
  const from = Math.max(0, Math.floor(top / LINE) - AROUND);
  const to = Math.min(count, Math.ceil((top + height) / LINE) + AROUND);
  const toLine = (line: number): void => {
    setFollows(false);
    if (box.current) box.current.scrollTop = Math.max(0, line * LINE - height / 3);
  };
  const toEnd = (): void => {
    setFollows(true);
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  };
  useEffect(() => {
    body.current?.style.setProperty("height", `${Math.max(1, count) * LINE}px`);
    (body.current?.firstElementChild as HTMLElement | null)?.style.setProperty("transform", `translateY(${from * LINE}px)`);
    box.current?.style.setProperty("--lines-max", String(linesMax ? Math.min(linesMax, Math.max(3, count)) : 0));
    if (follows && box.current) box.current.scrollTop = box.current.scrollHeight;
  });
  useEffect(() => {
    if (goTo !== undefined) toLine(goTo);
  }, [goTo]);
  const onScroll = (): void => {
    const at = box.current;
    if (!at) return;
    const isAtEnd = at.scrollTop + at.clientHeight >= at.scrollHeight - LINE;
    if (isAtEnd !== follows) setSeen(count);
    setFollows(isAtEnd);
    setTop(at.scrollTop);
  };
  const search = (isBack: boolean): void => {
    const next = wanted ? lines.find(wanted, found + (isBack ? -1 : 1), isBack) : -1;
    setFound(next);
    if (next >= 0) toLine(next);
  };
  return (
    <div class={`log${linesMax ? " fit" : ""}`}>
      {hasTools && (
        <div class="log-tools">
          <input class="input small" type="search" aria-label={t.log.search} placeholder={t.log.search} value={wanted} onInput={(e) => setWanted(e.currentTarget.value)} onKeyDown={(e) => e.key === "Enter" && search(e.shiftKey)} />
          <span class="muted grow">{t.log.lines(count + lines.dropped)}</span>
          <CopyButton text={() => lines.text()} />
        </div>
      )}
      <div class="log-box" ref={box} onScroll={onScroll} tabIndex={0} role="log" aria-label={label} aria-live="off">
        {lines.dropped > 0 && from === 0 && <p class="muted">{t.log.cut}</p>}
        <div ref={body} class="log-body">
          <div>
            {count === 0 && <span class="muted log-line">{empty}</span>}
            {Array.from({ length: Math.max(0, to - from) }, (_, i) => (
              <LogLine key={from + i} line={lines.line(from + i)} isFound={from + i === found} />
            ))}
          </div>
        </div>
      </div>
      {!follows && (
        <Button isSmall class="log-end" icon="down" onClick={toEnd}>
          {t.log.more(count - seen)}
        </Button>
      )}
    </div>
  );
}

function LogLine({ line, isFound }: { line: string; isFound: boolean }) {
  return (
    <div class={`log-line${isFound ? " found" : ""}`}>
      {spansOf(line).map((span, i) => (
        <span key={i} class={span.style || undefined}>
          {span.text}
        </span>
      ))}
    </div>
  );
}

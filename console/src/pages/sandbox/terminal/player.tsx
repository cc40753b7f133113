// SPDX-License-Identifier: Apache-2.0
// Replays a recording: play, pause, speed, seek. Gaps without output last at most two seconds.
import { useEffect, useRef, useState } from "preact/hooks";
import type { TerminalHandle } from "../../../lazy/terminal";
import { Button } from "../../../parts/button";
import { Segmented } from "../../../parts/field";
import { formatDuration } from "../../../parts/format";
import { Lazy } from "../../../parts/lazy";
import { sandboxTerminal as t } from "../../../text/en";
import { sizeAt, type Cast } from "./cast";
import { fontSize, hasScreenReader } from "./looks";

const load = () => import("../../../lazy/terminal");
const SPEEDS = ["0.5", "1", "2", "4", "16"];
const GAP_MAX = 2;
const STEP = 5;
const END_MS = 1;

export function Player({ cast }: { cast: Cast }) {
  const [isPlaying, setPlaying] = useState(false);
  const [speed, setSpeed] = useState("1");
  const [at, setAt] = useState(0);
  const [size, setSize] = useState({ columns: cast.columns, rows: cast.rows });
  const handle = useRef<TerminalHandle | null>(null);
  /** What is played before the terminal is there would be lost. */
  const [isReady, setReady] = useState(false);
  const next = useRef(0);

  /** Shows everything up to `seconds`; backwards from the start on. */
  const show = (seconds: number, isSeek: boolean): void => {
    if (isSeek && seconds < at) {
      handle.current?.reset();
      next.current = 0;
    }
    const texts: string[] = [];
    while ((cast.events[next.current]?.at ?? Infinity) <= seconds) {
      const event = cast.events[next.current++];
      if (event?.kind === "o") texts.push(event.text);
    }
    const now = sizeAt(cast, next.current);
    if (now.columns !== size.columns || now.rows !== size.rows) setSize(now);
    if (texts.length) void handle.current?.write(texts.join(""));
    setAt(seconds);
  };

  useEffect(() => {
    if (!isPlaying) return;
    let position = at;
    let last = performance.now();
    let frame = requestAnimationFrame(function step(time) {
      position += ((time - last) / 1000) * Number(speed);
      last = time;
      const due = cast.events[next.current]?.at ?? cast.length;
      if (due - position > GAP_MAX) position = due - GAP_MAX;
      if (position >= cast.length) {
        show(cast.length, false);
        setPlaying(false);
        return;
      }
      show(position, false);
      frame = requestAnimationFrame(step);
    });
    return () => cancelAnimationFrame(frame);
  }, [isPlaying, speed]);

  const seek = (seconds: number): void => {
    setPlaying(false);
    // The slider rounds: its end is the end, or the last output would be missing.
    show(seconds > cast.length - END_MS / 1000 ? cast.length : Math.max(0, seconds), true);
  };
  const toggle = (): void => {
    if (!isPlaying && at >= cast.length) show(0, true);
    setPlaying(!isPlaying);
  };
  const onKey = (e: KeyboardEvent): void => {
    if (e.target instanceof HTMLInputElement || e.target instanceof HTMLButtonElement) return;
    if (e.key === " ") toggle();
    else if (e.key === "ArrowRight") seek(at + STEP);
    else if (e.key === "ArrowLeft") seek(at - STEP);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <section class="window player" aria-label={t.replayLabel} onKeyDown={onKey}>
      <Lazy load={load} lines={8} props={{ label: t.replayLabel, isReadOnly: true, fontSize: fontSize.value, hasScreenReader: hasScreenReader.value, fixedSize: size, onReady: (ready: TerminalHandle) => { handle.current = ready; setReady(true); setPlaying(true); } }} />
      <div class="player-bar">
        <Button kind="primary" icon={isPlaying ? "pause" : "play"} label={isPlaying ? t.pause : t.play} isDisabled={!isReady} onClick={toggle} />
        <input class="grow" type="range" aria-label={t.seek} aria-valuetext={formatDuration(at * 1000)} min={0} max={cast.length} step="any" value={at} disabled={!isReady} onInput={(e) => seek(Number(e.currentTarget.value))} />
        <span class="muted nowrap">{formatDuration(at * 1000)} / {formatDuration(cast.length * 1000)}</span>
        <Segmented label={t.speed} value={speed} onChange={setSpeed} choices={SPEEDS.map((value) => ({ value, label: `${value}×` }))} />
      </div>
    </section>
  );
}

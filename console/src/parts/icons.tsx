// SPDX-License-Identifier: Apache-2.0
// icons.tsx: the icons, as strokes on 16 by 16. An icon beside text is hidden from screen readers.

const PATHS: Record<string, string> = {
  home: "M2.5 7.5 8 3l5.5 4.5M4 6.5V13h8V6.5",
  box: "M8 2 13.5 5v6L8 14 2.5 11V5zM2.5 5 8 8l5.5-3M8 8v6",
  play: "M5 3.5v9l7-4.5z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  stop: "M4.5 4.5h7v7h-7z",
  check: "M3 8.5 6.5 12 13 4.5",
  layers: "M8 2.5 14 6 8 9.5 2 6zM2.5 9 8 12.2 13.5 9",
  hammer: "M9.5 6.5 3.5 12.5M7 3l6 6M7 3l2.5-.5L13.5 6.5 13 9",
  disk: "M3 5c0-1.5 10-1.5 10 0v6c0 1.5-10 1.5-10 0zM3 5c0 1.5 10 1.5 10 0M3 8c0 1.5 10 1.5 10 0",
  camera: "M2.5 5h3L6.5 3.5h3L10.5 5h3v7.5h-11zM8 10.8a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4z",
  pulse: "M1.5 8.5h3L6.5 4l3 8 2-3.5h3",
  chart: "M3 13V8M6.5 13V3.5M10 13V6.5M13.5 13v-3",
  key: "M7 9a3 3 0 1 1 2-2l4.5 4.5v2h-2V12H10v-1.5zM5 5.5v.01",
  people: "M6 7.5a2.3 2.3 0 1 0 0-4.6 2.3 2.3 0 0 0 0 4.6zM2 13c0-4.5 8-4.5 8 0M10.5 3.2a2.3 2.3 0 0 1 0 4.3M12 9.7c1.3.500 2 1.6 2 3.3",
  hook: "M8 2.5a2 2 0 1 1 0 4 2 2 0 0 1 0-4zM8 6.5v4a2.5 2.5 0 1 1-5 0",
  gear: "M8 10.2a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4zM8 1.8v2M8 12.2v2M1.8 8h2M12.2 8h2M3.6 3.6 5 5M11 11l1.4 1.4M3.6 12.4 5 11M11 5l1.4-1.4",
  server: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5v.01M5 11v.01",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.3 10.3 14 14",
  plus: "M8 3v10M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
  more: "M3 8a.5.5 0 1 0 1 0 .5.5 0 1 0-1 0zM7.5 8a.5.5 0 1 0 1 0 .5.5 0 1 0-1 0zM12 8a.5.5 0 1 0 1 0 .5.5 0 1 0-1 0z",
  terminal: "M2.5 3h11v10h-11zM5 6l2 2-2 2M8.5 10.5H11",
  file: "M4 2.5h5L12.5 6v7.5H4zM9 2.5V6h3.5",
  folder: "M2 4h4l1.5 1.5H14V13H2z",
  globe: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM2 8h12M8 2c-4.5 4-4.5 8 0 12M8 2c4.5 4 4.5 8 0 12",
  fork: "M4.5 5.5v5M4.5 5.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM4.5 13.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM11.5 5.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM11.5 5.5c0 3-7 2-7 5",
  trash: "M3 4.5h10M6 4.5V3h4v1.5M4.5 4.5 5 13.5h6l.500-9M7 7v4M9 7v4",
  copy: "M5.5 5.5h8v8h-8zM3.5 10.5h-1v-8h8v1",
  down: "M4 6l4 4 4-4",
  up: "M4 10l4-4 4 4",
  right: "M6 4l4 4-4 4",
  left: "M10 4 6 8l4 4",
  sun: "M8 10.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM8 1.5v1.5M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M3.4 12.6l1-1M11.6 4.4l1-1",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5z",
  screen: "M2 3h12v8H2zM6 13.5h4M8 11v2.5",
  sidebar: "M2.5 3h11v10h-11zM6 3v10",
  user: "M8 8a2.7 2.7 0 1 0 0-5.4A2.7 2.7 0 0 0 8 8zM3 13.5c0-5 10-5 10 0",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.5V8l2.5 1.5",
  warning: "M8 2.5 14.5 13.5h-13zM8 6.5v3.5M8 11.8v.01",
  info: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 7.5v3.5M8 5v.01",
  reload: "M13 8a5 5 0 1 1-1.5-3.6M13 2.5v3h-3",
  download: "M8 2.5v8M4.5 7.5 8 11l3.5-3.5M3 13.5h10",
  upload: "M8 11V3M4.5 6 8 2.5 11.5 6M3 13.5h10",
  link: "M6.5 9.5 9.5 6.5M7 4.5l1.5-1.5a2.8 2.8 0 0 1 4 4L11 8.5M9 11.5 7.5 13a2.8 2.8 0 0 1-4-4L5 7.5",
  open: "M9 3h4v4M13 3 7.5 8.5M11 9v4H3V5h4",
  edit: "M3 13l.700-3L10.5 3.2l2.3 2.3L6 12.3z",
  archive: "M2.5 3.5h11v3h-11zM3.5 6.5v6.5h9V6.5M6.5 9h3",
  columns: "M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10",
  filter: "M2.5 3.5h11L9.5 8.5v4l-3 1v-5z",
  bell: "M4 11V7a4 4 0 0 1 8 0v4l1 1.5H3zM7 14h2",
  cpu: "M4.5 4.5h7v7h-7zM6.5 2v2.5M9.5 2v2.5M6.5 11.5V14M9.5 11.5V14M2 6.5h2.5M2 9.5h2.5M11.5 6.5H14M11.5 9.5H14",
  signout: "M6 3H3v10h3M7 8h6.5M10.5 5l3 3-3 3",
  keyboard: "M1.5 4h13v8h-13zM4 6.5v.01M6.5 6.5v.01M9 6.5v.01M11.5 6.5v.01M5 9.5h6",
  help: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM6.2 6.2C6.5 4 10 4.3 9.7 6.5 9.5 7.7 8 7.7 8 9.2M8 11.3v.01",
  shield: "M8 2 13 4v4c0 3-2 5-5 6-3-1-5-3-5-6V4z",
  dollar: "M11 5c-.500-2-6-2-6 .500s6 1.5 6 4-5.5 2.5-6 .500M8 2v12",
};

export function Icon({ name, label, size = 16 }: { name: string; label?: string; size?: number }) {
  const said = label ? ({ role: "img", "aria-label": label } as const) : ({ "aria-hidden": true } as const);
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 16 16" {...said}>
      <path d={PATHS[name] ?? PATHS["info"]} />
    </svg>
  );
}

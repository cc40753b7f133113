// SPDX-License-Identifier: Apache-2.0
// looks.ts: how this browser's user likes terminals.
import { preference } from "../../../store/preferences";

export const FONT_MIN = 9;
export const FONT_MAX = 24;
export const fontSize = preference("terminal-font", 13, (v): v is number => typeof v === "number" && v >= FONT_MIN && v <= FONT_MAX);
export const hasScreenReader = preference("terminal-screen-reader", false, (v): v is boolean => typeof v === "boolean");

// SPDX-License-Identifier: Apache-2.0
import { count } from "../en";

export const t = {
  title: "Overview",
  tiles: {
    started: "Running", paused: "Paused", stopped: "Stopped", failed: "Failed", templates: "Templates", volumes: "Volumes", snapshots: "Snapshots", jobs: "Jobs running", approvals: "Approvals waiting", cost: "Cost today",
  },
  sandboxes: (n: number) => count(n, "sandbox", "sandboxes"),
  building: (n: number) => `${count(n, "build", "builds")} running`,
  budget: (spent: string, limit: string) => `${spent} of ${limit} budget`,
  noSource: "not known",
  recent: "Recent sandboxes",
  all: "All sandboxes",
  attention: "Needs attention",
  fine: "Nothing needs attention.",
  failed: (name: string, why: string) => `${name} failed${why ? `: ${why}` : ""}`,
  spent: (name: string, spent: string, limit: string) => `The budget of ${name} is at ${spent} of ${limit}`,
  waits: (tool: string) => `A call of ${tool} waits for approval`,
  dead: (n: number, url: string) => `${count(n, "delivery", "deliveries")} to ${url} failed for good`,
  show: "Show",
  guide: "Start from your code",
  guideAbout: "Each variant runs as it stands. This panel notices the first sandbox by itself.",
  address: "Set the server's address and a key once:",
  makeKey: "Make an API key",
  waiting: "Waiting for the first sandbox…",
  worked: "It works: the first sandbox is there.",
  dismiss: "Dismiss",
  guideAgain: "Show the guide",
  kinds: { cli: "CLI", python: "Python", typescript: "TypeScript", e2b: "E2B", daytona: "Daytona", mcp: "MCP" },
};

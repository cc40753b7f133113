// SPDX-License-Identifier: Apache-2.0
import { count } from "../en";

export const t = {
  title: "What this sandbox may reach",
  blocked: "This sandbox has no network. That is set when a sandbox is made; rules would change nothing.",
  mode: "Mode",
  modes: { open: "Everything", only: "Only what is allowed", none: "Nothing" } as Record<string, string>,
  modeText: {
    open: "It reaches the internet, except for the addresses that are denied below.",
    only: "It reaches nothing but the addresses and names that are allowed below.",
    none: "It reaches no address at all. Previews and commands still work.",
  } as Record<string, string>,
  allow: "Allow",
  allowHelp: "Addresses, ranges, or host names such as *.example.com. A name works for TLS on port 443 and HTTP on port 80.",
  deny: "Deny",
  denyHelp: "Addresses and ranges that it may not reach.",
  newAllow: "Allow an address, range or name",
  newDeny: "Deny an address or range",
  remove: (rule: string) => `Remove ${rule}`,
  noAllow: "Nothing is allowed yet: the sandbox reaches nothing.",
  noAllowOpen: "No exceptions.",
  noDeny: "Nothing is denied.",
  twice: "This rule is in the list.",
  spaces: "A rule has no spaces. Separate several rules by commas.",
  nameNeedsOnly: "A host name needs the mode “Only what is allowed”.",
  namesLost: (n: number) => `${count(n, "host name", "host names")} in the list work only in the mode “Only what is allowed”. Remove them first.`,
  denyNoName: "A host name cannot be denied. Allow what it may reach instead.",
  save: "Apply",
  saved: "The rules hold from now on",
  at: "Rules hold at once, also for open connections.",
  effect: "In effect",
  command: "By the API",
};

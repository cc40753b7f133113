// SPDX-License-Identifier: Apache-2.0
// decision_why.tsx: why a connection was allowed or refused, in words; the API's code and the rule are the tip.
import { showHidden } from "../parts/safe";
import { network as t } from "../text/en";

interface Why {
  code: string;
  rule: string | null;
}

/** Also what a search finds it by. */
export const whyOf = ({ code, rule }: Why): string => `${t.codes[code] ?? code}${rule ? ` (${rule})` : ""}`;

/** "api.test:443"; a lookup of a name is about the name alone. */
export const targetText = (target: string | null, port: number, protocol: string): string | null => (target && port && protocol !== "dns" ? `${target}:${port}` : target);

export function DecisionWhy({ of }: { of: Why }) {
  return (
    <span class="cut" data-tip={showHidden(of.rule ? `${of.code} (${of.rule})` : of.code, 400)}>
      <bdi>{showHidden(whyOf(of), 400)}</bdi>
    </span>
  );
}

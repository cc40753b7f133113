// SPDX-License-Identifier: Apache-2.0
// rules.tsx: the routing rules of the server, for its admins.
import { call } from "../../api/call";
import { getV1Routing, type RoutingRule } from "../../api/generated";
import { Loaded } from "../../parts/notice";
import { Safe } from "../../parts/text";
import { useResource } from "../../store/resource";
import { missingScope } from "../../store/session";
import { providers as t } from "../../text/en";

function conditionsOf(rule: RoutingRule): string {
  const { name: _, providers: __, ...conditions } = rule;
  return Object.entries(conditions).map(([key, value]) => `${key} ${value}`).join(", ") || t.everySandbox;
}

export function RoutingRules() {
  return missingScope(getV1Routing) ? null : <Rules />;
}

function Rules() {
  const resource = useResource("routing", (signal) => call(getV1Routing, { signal }), { onFocus: true });
  return (
    <section class="stack" aria-label={t.rules}>
      <h2>{t.rules}</h2>
      <Loaded of={resource} lines={2}>
        {(routing) => (
          <>
            <p class="muted">{routing.rules.length ? t.rulesText(routing.source === "stored") : t.noRules}</p>
            {routing.rules.length > 0 && (
              <table class="plain-table">
                <thead>
                  <tr>
                    <th scope="col">{t.rule}</th>
                    <th scope="col">{t.conditions}</th>
                    <th scope="col">{t.providersOfRule}</th>
                  </tr>
                </thead>
                <tbody>
                  {routing.rules.map((rule) => (
                    <tr key={rule.name}>
                      <td><Safe text={rule.name} max={64} /></td>
                      <td><Safe text={conditionsOf(rule)} max={400} /></td>
                      <td><Safe text={rule.providers.join(", ")} max={400} /></td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )}
          </>
        )}
      </Loaded>
    </section>
  );
}

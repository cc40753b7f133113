// SPDX-License-Identifier: Apache-2.0
// forbidden.tsx: what a page shows to a role that lacks its scope.
import { Empty } from "../parts/notice";
import { manage as t } from "../text/en";

export function Forbidden({ scope }: { scope: string }) {
  return (
    <Empty icon="shield" title={t.forbidden}>
      {t.forbiddenText(scope)}
    </Empty>
  );
}

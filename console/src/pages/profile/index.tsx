// SPDX-License-Identifier: Apache-2.0
// The own account: sessions, password, and how the console looks in this browser.
import { CheckField, Segmented } from "../../parts/field";
import { Card, Facts, Page } from "../../parts/layout";
import { Safe, Time } from "../../parts/text";
import { density, hasSingleKeys, theme, type Theme } from "../../store/preferences";
import { project, session } from "../../store/session";
import { common as words, profile as t } from "../../text/en";
import { PasswordCard } from "./password";
import { SessionsCard } from "./sessions";

export default function ProfilePage() {
  const me = session.value;
  if (!me) return null;
  return (
    <Page title={t.title}>
      <div class="columns">
        <Card title={t.account}>
          <Facts
            facts={[
              me.user !== null && [t.name, <Safe text={me.user.name} />],
              me.user !== null && [t.email, <Safe text={me.user.email} />],
              [t.kind, t.kinds[me.kind] ?? me.kind],
              [t.role, <Safe text={project.value?.role} />],
              me.user !== null && [t.serverAdmin, me.user.is_admin ? t.yes : t.no],
              [t.ends, <Time at={me.expires_at} />],
            ]}
          />
        </Card>
        <LooksCard />
        <PasswordCard user={me.user?.id ?? null} />
      </div>
      <SessionsCard />
    </Page>
  );
}

function LooksCard() {
  const themes = Object.entries(words.shell.themes).map(([value, label]) => ({ value, label }));
  const densities = Object.entries(t.densities).map(([value, label]) => ({ value, label }));
  return (
    <Card title={t.looks}>
      <div class="row">
        <span class="grow">{t.theme}</span>
        <Segmented label={t.theme} value={theme.value} onChange={(value) => (theme.value = value as Theme)} choices={themes} />
      </div>
      <div class="row">
        <span class="grow">{t.density}</span>
        <Segmented label={t.density} value={density.value} onChange={(value) => (density.value = value as "normal" | "compact")} choices={densities} />
      </div>
      <CheckField label={t.shortcuts} help={words.sheet.offHelp} value={hasSingleKeys.value} onChange={(on) => (hasSingleKeys.value = on)} isSwitch />
    </Card>
  );
}

// SPDX-License-Identifier: Apache-2.0
// Credentials that sandboxes use without seeing them: stored values, logins at services, and who has allowed their use.
import { getV1Credentials } from "../../api/generated";
import { Forbidden } from "../../objects/forbidden";
import { Page, Tabs } from "../../parts/layout";
import { href, queryOf } from "../../router";
import { missingScope } from "../../store/session";
import { credentials as t } from "../../text/en";
import { Connects } from "./connects";
import { Consents } from "./consents";
import { Credentials } from "./list";

const TABS = ["stored", "connects", "consents"] as const;

export default function CredentialsPage() {
  const tab = TABS.find((id) => id === queryOf("tab")) ?? "stored";
  const lacks = missingScope(getV1Credentials);
  return (
    <Page title={t.title} about={t.about} isFull>
      <Tabs label={t.tabsLabel} current={tab} tabs={TABS.map((id) => ({ id, title: t.tabs[id], href: href("credentials", { tab: id === "stored" ? undefined : id }) }))} />
      {lacks ? <Forbidden scope={lacks} /> : tab === "connects" ? <Connects /> : tab === "consents" ? <Consents /> : <Credentials />}
    </Page>
  );
}

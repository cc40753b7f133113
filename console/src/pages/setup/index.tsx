// SPDX-License-Identifier: Apache-2.0
// The first account of a server, by the one-time link that `atoll serve` prints.
import { AccountForm } from "../../shell/account_form";
import { signIn as t } from "../../text/en";

export default function SetupPage() {
  return <AccountForm title={t.setupTitle} about={t.setupAbout} button={t.create} hasEmail signInOf={(setup_token, v) => ({ setup_token, ...v })} />;
}

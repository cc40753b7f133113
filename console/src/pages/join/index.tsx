// SPDX-License-Identifier: Apache-2.0
// A new member of a project, by the link of an invitation: with a new account, or with the account that the address has.
import { AccountForm } from "../../shell/account_form";
import { signIn as t } from "../../text/en";

export default function JoinPage() {
  return <AccountForm title={t.joinTitle} about={t.joinAbout} button={t.join} hasEmail={false} signInOf={(invitation, v) => ({ invitation, name: v.name, password: v.password })} />;
}

// SPDX-License-Identifier: Apache-2.0
// build_pages.mjs: page objects of the pages around sandboxes: templates, builds, volumes, snapshots, and the tabs of a sandbox.
import { Shell } from "./pages.mjs";

export class BuildShell extends Shell {
  button(name) {
    return this.page.getByRole("main").getByRole("button", { name, exact: true }).first();
  }

  /** Chooses one of a few buttons beside each other; the input is below its label. */
  choice(group, label) {
    return this.page.getByRole("group", { name: group, exact: true }).getByText(label, { exact: true }).click();
  }

  async menu(name, item) {
    await this.page.getByRole("main").getByRole("button", { name: `Actions for ${name}` }).first().click();
    await this.choose(item);
  }

  grid(name) {
    return this.page.getByRole("grid", { name });
  }

  row(grid, text) {
    return this.grid(grid).getByRole("row").filter({ has: this.page.getByRole("link", { name: text, exact: true }) });
  }
}

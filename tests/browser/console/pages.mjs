// SPDX-License-Identifier: Apache-2.0
// pages.mjs: page objects. They find elements by role and name only, as users do.

export class Shell {
  constructor(page) {
    this.page = page;
  }

  go(title) {
    return this.page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: new RegExp(`^${title}(, .*)?$`) }).click();
  }

  heading(name) {
    return this.page.getByRole("heading", { level: 1, name });
  }

  dialog(name) {
    return this.page.getByRole("dialog", { name });
  }

  async choose(item) {
    await this.page.getByRole("menu").getByRole(/^menuitem/.test(item) ? item : "menuitem", { name: item, exact: true }).click();
  }

  palette() {
    return this.page.keyboard.press("Control+k");
  }

  live() {
    return this.page.getByText("Live", { exact: true });
  }
}

export class Sandboxes extends Shell {
  grid() {
    return this.page.getByRole("grid", { name: "Sandboxes" });
  }

  row(name) {
    return this.grid().getByRole("row").filter({ has: this.page.getByRole("link", { name, exact: true }) });
  }

  state(name, state) {
    return this.row(name).getByRole("gridcell").getByText(state, { exact: true }).first();
  }

  filter(name) {
    return this.page.getByRole("group", { name: "Filter" }).getByRole("button", { name }).click();
  }

  search() {
    return this.page.getByRole("searchbox", { name: "Search sandboxes" });
  }

  select(name) {
    return this.row(name).getByRole("checkbox").check();
  }

  act(name, action) {
    return this.row(name).getByRole("button", { name: `${action} ${name}` }).click();
  }

  async menu(name, item) {
    await this.row(name).getByRole("button", { name: `Actions for ${name}` }).click();
    await this.choose(item);
  }

  selection() {
    return this.page.getByRole("region", { name: /selected$/ });
  }
}

export class CreateDialog extends Shell {
  get box() {
    return this.dialog("New sandbox");
  }

  field(name) {
    return this.box.getByLabel(name, { exact: true });
  }

  code() {
    return this.box.getByRole("complementary", { name: "The same request" }).getByRole("region", { name: /^(curl|CLI|Python|TypeScript)$/ });
  }

  submit() {
    return this.box.getByRole("button", { name: "Create", exact: true }).click();
  }
}

/** A tab of a sandbox. */
export class SandboxTab extends Shell {
  tab(title) {
    return this.page.getByRole("navigation", { name: "Sandbox", exact: true }).getByRole("link", { name: title, exact: true }).click();
  }
}

export class TerminalTab extends SandboxTab {
  openWindow() {
    return this.page.getByRole("button", { name: "Open a window" }).click();
  }

  window() {
    return this.page.getByRole("region", { name: /^Terminal / });
  }

  windows() {
    return this.page.getByRole("navigation", { name: "Windows" }).getByRole("link");
  }

  connected() {
    return this.window().getByRole("status").getByText("Connected", { exact: true }).waitFor();
  }

  /** Types where the terminal takes it. */
  async type(text) {
    await this.window().getByRole("textbox", { name: "Terminal input" }).focus();
    await this.page.keyboard.type(text);
  }

  async menu(item, role = "menuitem") {
    await this.page.getByRole("button", { name: "More of this window" }).click();
    await this.page.getByRole("menu").getByRole(role, { name: item }).click();
  }
}

export class FilesTab extends SandboxTab {
  grid() {
    return this.page.getByRole("grid", { name: /^Files / });
  }

  entry(name) {
    return this.grid().getByRole("row").filter({ has: this.page.getByText(name, { exact: true }) });
  }

  openEntry(name) {
    return this.entry(name).getByRole("link").first().click();
  }

  async menu(name, item) {
    await this.entry(name).getByRole("button", { name: `Actions for ${name}` }).click();
    await this.choose(item);
  }

  editor(name) {
    return this.page.getByRole("textbox", { name: `Text of ${name}` });
  }
}

export class ProcessesTab extends SandboxTab {
  row(command) {
    return this.page.getByRole("grid", { name: "Commands" }).getByRole("row").filter({ hasText: command });
  }
}

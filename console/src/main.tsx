// SPDX-License-Identifier: Apache-2.0
import { render } from "preact";
import { startKeys } from "./parts/keys";
import { startTheme } from "./parts/theme";
import { startTips } from "./parts/tips";
import { startRouter } from "./router";
import { App } from "./shell/app";
import { loadSession } from "./store/session";
import "./style/tokens.css";
import "./style/base.css";
import "./style/parts.css";
import "./style/table.css";
import "./style/shell.css";

startTheme();
startRouter();
startKeys();
startTips();
void loadSession();
const root = document.getElementById("app");
if (root) render(<App />, root);

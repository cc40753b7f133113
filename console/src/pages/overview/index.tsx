// SPDX-License-Identifier: Apache-2.0
// What the project has and does now.
import { useEffect } from "preact/hooks";
import { postApiSandboxInstances } from "../../api/generated";
import { sandboxHref, sandboxMenu } from "../../objects/sandbox_actions";
import { SANDBOX_COLUMNS } from "../../objects/sandbox_columns";
import { Button, ButtonLink } from "../../parts/button";
import { useCommands } from "../../parts/keys";
import { Card, Page } from "../../parts/layout";
import { Lazy } from "../../parts/lazy";
import { Empty, ErrorNote } from "../../parts/notice";
import { Table } from "../../parts/table";
import { go, href, queryOf, setQuery } from "../../router";
import { useFigures } from "../../store/figures";
import { approvals, budgets } from "../../store/lists";
import { sandboxes, type Sandbox } from "../../store/sandboxes";
import { missingScope } from "../../store/session";
import { common as shared, overview as t, sandboxes as words } from "../../text/en";
import { Attention } from "./attention";
import { Guide, isGuideOff } from "./guide";
import { Tiles } from "./tiles";
import "./overview.css";

const loadCreate = () => import("../../objects/create_sandbox");
const SHOWN = new Set(["name", "state", "template", "cpu", "memory", "disk", "uptime", "last_event"]);
const COLUMNS = SANDBOX_COLUMNS.filter((c) => SHOWN.has(c.id));
const ROWS = 10;

export default function OverviewPage() {
  useEffect(() => {
    for (const list of [sandboxes, approvals, budgets]) list.ensure();
  }, []);
  useFigures();
  const lacks = missingScope(postApiSandboxInstances);
  const create = (): void => setQuery({ new: "1" }, false);
  useCommands([{ id: "overview.create", title: words.new, keys: "c", section: t.title, icon: "plus", isOffered: () => lacks === null, run: create }]);
  const isEmpty = sandboxes.status.value === "ready" && sandboxes.ids.value.length === 0;
  return (
    <Page
      title={t.title}
      actions={
        <>
          {isGuideOff.value && (
            <Button kind="quiet" icon="help" onClick={() => (isGuideOff.value = false)}>
              {t.guideAgain}
            </Button>
          )}
          <Button kind="primary" icon="plus" disabledBecause={lacks && shared.missingScope(lacks)} onClick={create}>
            {words.new}
          </Button>
        </>
      }
    >
      <Tiles />
      {isEmpty && !isGuideOff.value && <Guide />}
      <Recent />
      <Attention />
      {!isEmpty && !isGuideOff.value && <Guide />}
      {queryOf("new") !== "" && <Lazy load={loadCreate} props={{ onClose: () => setQuery({ new: undefined }, true) }} />}
    </Page>
  );
}

const open = (s: Sandbox): void => go(sandboxHref(s.id));

function Recent() {
  const error = sandboxes.error.value;
  return (
    <Card title={t.recent} isFlush actions={<ButtonLink isSmall kind="quiet" href={href("sandboxes")}>{t.all}</ButtonLink>}>
      {error && <ErrorNote error={error} onRetry={() => void sandboxes.load()} />}
      <Table
        name="recent"
        label={t.recent}
        source={sandboxes}
        columns={COLUMNS}
        nameOf={(s) => s.name}
        sort="-last_event"
        rowsMax={ROWS}
        onOpen={open}
        menuOf={sandboxMenu}
        empty={<Empty icon="box" title={words.none}>{words.noneText}</Empty>}
      />
    </Card>
  );
}

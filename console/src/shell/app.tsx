// SPDX-License-Identifier: Apache-2.0
// app.tsx: from the address to the page: public pages, sign-in, the project's frame.
import { useEffect } from "preact/hooks";
import { Boundary } from "../parts/boundary";
import { Button, ButtonLink } from "../parts/button";
import { QuestionDialog } from "../parts/dialog";
import { Lazy } from "../parts/lazy";
import { Empty, ErrorNote, Skeleton } from "../parts/notice";
import { BASE, found, go, href, innerPath, place } from "../router";
import { loaderOf } from "../routes";
import { loadSession, project, projectId, selectProject, session, sessionError, signOut, type Session } from "../store/session";
import { common as t } from "../text/en";
import { Frame } from "./frame";
import { Toasts } from "./toasts";

export function App() {
  return (
    <>
      <Boundary>
        <Content />
      </Boundary>
      <Toasts />
      <QuestionDialog />
    </>
  );
}

function Content() {
  const known = session.value;
  const at = found.value;
  if (at?.route.isPublic) return <PublicPage page={at.route.page} />;
  if (sessionError.value && !known) {
    return (
      <main class="alone">
        <ErrorNote error={sessionError.value} what={t.shell.serverDown} onRetry={() => void loadSession()} />
      </main>
    );
  }
  if (known === undefined) {
    return (
      <main class="alone">
        <Skeleton lines={4} />
      </main>
    );
  }
  if (known === null) return <ToSignIn />;
  return <InProject session={known} />;
}

function PublicPage({ page }: { page: string }) {
  const load = loaderOf({ page });
  return load ? <Lazy load={load} props={{ params: {} }} /> : null;
}

function ToSignIn() {
  useEffect(() => {
    const back = `${location.pathname}${location.search}`;
    go(`${BASE}/sign-in${innerPath(back) === "/" ? "" : `?return_to=${encodeURIComponent(back)}`}`, true);
  }, []);
  return null;
}

/** The project of the address, else the session's own. */
function InProject({ session: known }: { session: Session }) {
  const wanted = found.value?.params["project"];
  const first = known.project ?? known.projects[0]?.id;
  const isMember = !wanted || known.projects.some((p) => p.id === wanted) || known.user?.is_admin === true;
  useEffect(() => {
    if (wanted && isMember) selectProject(wanted);
    else if (!wanted && first && innerPath(place.value.path) === "/") {
      selectProject(first);
      go(href("overview"), true);
    } else if (!projectId.peek() && first) selectProject(first);
  }, [wanted, known, place.value.path]);
  if (!wanted && !first) {
    return (
      <main class="alone">
        <Empty isPage icon="people" title={t.shell.nowhere} action={<Button onClick={() => void signOut()}>{t.shell.signOut}</Button>}>
          {t.shell.nowhereText}
        </Empty>
      </main>
    );
  }
  if (wanted && !isMember) {
    return (
      <main class="alone">
        <Empty isPage icon="shield" title={t.shell.noProject} action={<Button kind="primary" onClick={() => go(BASE, false)}>{t.shell.toOverview}</Button>}>
          {t.shell.noProjectText(wanted)}
        </Empty>
      </main>
    );
  }
  if (projectId.value === "" || (wanted && wanted !== projectId.value)) return null;
  return (
    <Frame name={project.value?.name ?? projectId.value}>
      <CurrentPage />
    </Frame>
  );
}

function CurrentPage() {
  const at = found.value;
  const load = at && loaderOf(at.route);
  if (!at || !load) {
    return (
      <Empty isPage icon="help" title={t.shell.notFound} action={<ButtonLink kind="primary" href={href("overview")}>{t.shell.toOverview}</ButtonLink>}>
        {t.shell.notFoundText}
      </Empty>
    );
  }
  // Another project is another page: nothing of the first stays on the screen.
  return (
    <Boundary key={`${at.route.page} ${projectId.value}`}>
      <Lazy load={load} props={{ params: at.params }} />
    </Boundary>
  );
}

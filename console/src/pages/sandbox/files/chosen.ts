// SPDX-License-Identifier: Apache-2.0
// chosen.ts: files and folders that were dropped or picked, with their paths below the folder they go to.

export interface Chosen {
  /** "src/a.txt"; its first part is what was dropped. */
  path: string;
  /** null: a folder. */
  file: File | null;
}

export const FILES_MAX = 20_000;

/** More than FILES_MAX files and folders. */
export class TooManyFiles extends Error {}

export function chosenOf(files: FileList | readonly File[] | null | undefined): Chosen[] {
  return [...(files ?? [])].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
}

/** A browser gives a folder in pieces; the last one is empty. */
async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const piece = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (piece.length === 0) return all;
    all.push(...piece);
  }
}

const isFolder = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory;
const fileOf = (entry: FileSystemEntry): Promise<File> => new Promise((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));

async function collect(entry: FileSystemEntry, path: string, into: Chosen[]): Promise<void> {
  if (into.length >= FILES_MAX) throw new TooManyFiles();
  if (!isFolder(entry)) {
    into.push({ path, file: await fileOf(entry) });
    return;
  }
  into.push({ path, file: null });
  for (const inner of await entriesOf(entry)) await collect(inner, `${path}/${inner.name}`, into);
}

/** Call it in the handler of the drop: the browser forgets the entries when that has ended. */
export function chosenOfDrop(data: DataTransfer | null): Promise<Chosen[]> {
  const entries = [...(data?.items ?? [])].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  if (entries.length === 0) return Promise.resolve(chosenOf(data?.files));
  return (async () => {
    const into: Chosen[] = [];
    for (const entry of entries) await collect(entry, entry.name, into);
    return into;
  })();
}

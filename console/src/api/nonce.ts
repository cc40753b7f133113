// SPDX-License-Identifier: Apache-2.0
// nonce.ts: the style nonce of this page's policy. Libraries that add <style> elements need it; scripts never get one.

export function styleNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? "";
}

let isPatched = false;

/** From now on every <style> element gets the nonce when it is made: for libraries that cannot be told (xterm). */
export function addNonceToStyles(): void {
  if (isPatched) return;
  isPatched = true;
  const create = document.createElement.bind(document);
  document.createElement = ((name: string, options?: ElementCreationOptions) => {
    const element = create(name, options);
    if (element instanceof HTMLStyleElement) element.nonce = styleNonce();
    return element;
  }) as typeof document.createElement;
}

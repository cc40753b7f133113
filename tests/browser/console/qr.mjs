// SPDX-License-Identifier: Apache-2.0
// qr.mjs: reads a QR code from a picture of the page, by a decoder that shares no code with the console's encoder.
const jsqr = await import("jsqr").then((module) => module.default?.default ?? module.default, () => null);

/** For a journey's options: a reason to skip it, or false. */
export const withoutDecoder = jsqr ? false : "npm has not installed jsqr";

/** The text of the code in the element. The pixels are read on a page without a policy. */
export async function readQr(locator) {
  const png = await locator.screenshot({ scale: "css" });
  const blank = await locator.page().context().newPage();
  try {
    const image = await blank.evaluate(async (data) => {
      const picture = new Image();
      picture.src = `data:image/png;base64,${data}`;
      await picture.decode();
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [picture.width, picture.height];
      const context = canvas.getContext("2d");
      context.drawImage(picture, 0, 0);
      return { width: canvas.width, height: canvas.height, pixels: [...context.getImageData(0, 0, canvas.width, canvas.height).data] };
    }, png.toString("base64"));
    const found = jsqr(Uint8ClampedArray.from(image.pixels), image.width, image.height, { inversionAttempts: "dontInvert" });
    return found?.data ?? null;
  } finally {
    await blank.close();
  }
}

// Printing. The browser prints when beforeprint returns, so what makes the sheet is brought before: with the reader's first move, or a little
// later. Without it what stands on the page is printed.
let make = null;
export const layPaper = async () => (make ??= await (await import("./sheet.mjs")).ready());

// `sheet(make)` is made when the browser is about to print, and gone afterwards.
export function printOn(sheet, soon) {
  let laid = null;
  const clear = () => {
    laid?.remove();
    laid = null;
  };
  addEventListener("beforeprint", () => {
    clear();
    if (make) document.body.append((laid = sheet(make)));
  });
  addEventListener("afterprint", clear);
  for (const move of ["pointermove", "pointerdown", "keydown"]) addEventListener(move, layPaper, { once: true, passive: true });
  setTimeout(layPaper, soon);
}

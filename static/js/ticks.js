"use strict";

/* Boxes that are ticked together: <input data-ticks="name"> ticks every box of that name in its
   form, and whoever ticks one means a part. Without script each is ticked by hand. */

(() => {
  const boxes = (all) => all.form.querySelectorAll(`input[name="${CSS.escape(all.dataset.ticks)}"]`);

  document.addEventListener("change", (event) => {
    const box = event.target;
    const form = box.form;
    const all = form?.querySelector("[data-ticks]");
    if (!all || box.type !== "checkbox") return;
    if (box === all) {
      for (const one of boxes(all)) one.checked = all.checked;
    } else if (box.name !== all.dataset.ticks) {
      return;
    }
    const ticked = [...boxes(all)].filter((one) => one.checked).length;
    all.checked = ticked > 0 && ticked === boxes(all).length;
    all.indeterminate = ticked > 0 && !all.checked;
    const part = form.querySelector("#extent-part");
    if (part && ticked) part.checked = true;
  });
})();

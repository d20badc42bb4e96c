// A button at each block of code that copies it. Without this script, or a browser that lets it copy, there is none.
"use strict";
for (const code of navigator.clipboard ? document.querySelectorAll(".text pre") : []) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  const frame = document.createElement("div");
  frame.className = "copied";
  code.replaceWith(frame);
  frame.append(code, button);
}

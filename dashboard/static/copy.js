// Buttons that copy their text, else the command before them. Without this script they are not shown.
for (const button of document.querySelectorAll("button[data-copy]")) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  const label = button.textContent;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.dataset.copy || button.parentElement.previousElementSibling.textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = label; }, 1500);
  });
}

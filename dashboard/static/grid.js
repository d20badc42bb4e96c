// Arrow keys move along the nights of a row, which is one tab stop; a link to a folded row opens it.
document.addEventListener("keydown", (event) => {
  const row = event.target.closest?.(".nights-of");
  const to = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
  if (!row || to === undefined) return;
  const cells = [...row.querySelectorAll("a")];
  const now = cells.indexOf(event.target.closest("a"));
  const next = now < 0 ? cells.length - 1 : Math.min(cells.length - 1, Math.max(0, now + to));
  cells[next]?.focus();
  event.preventDefault();
});

const open = () => {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const folded = target && target.closest("details");
  if (folded) folded.open = true;
};
addEventListener("hashchange", open);
open();

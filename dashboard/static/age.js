// How old is this page? It cannot know when it is made; a reader's clock does, also when everything else stands still.
"use strict";
(() => {
  const MINUTE = 60_000;

  function words(milliseconds) {
    const minutes = Math.max(0, Math.round(milliseconds / MINUTE));
    if (minutes === 0) return "just now";
    if (minutes < 60) return `${minutes} m ago`;
    return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h ago` : `${Math.floor(minutes / 60 / 24)} days ago`;
  }

  function tell() {
    for (const place of document.querySelectorAll("[data-since]")) {
      place.textContent = `, ${words(Date.now() - Date.parse(place.dataset.since))}`;
    }
    const banner = document.getElementById("too-old");
    if (banner) banner.hidden = Date.now() <= Date.parse(banner.dataset.staleAt);
  }

  tell();
  setInterval(tell, MINUTE);
})();

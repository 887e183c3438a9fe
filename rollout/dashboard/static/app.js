// Keeps a page as current as the hub: one stream of events, closed while nobody looks, and a poll behind it.
"use strict";
(() => {
  const POLL = 5000, LEAST = 400;
  const lost = document.getElementById("lost");
  let source = null, seen = document.body.dataset.view, asking = false, again = false;

  function refresh() {
    if (asking) { again = true; return; }
    if (document.querySelector("details.more[open]")) return;
    asking = true;
    htmx.ajax("GET", location.pathname + location.search, { target: "#live", select: "#live", swap: "outerHTML" })
      .then(() => document.body.dispatchEvent(new Event("rollout:fresh")), () => {})
      .finally(() => setTimeout(() => {
        asking = false;
        if (again) { again = false; refresh(); }
      }, LEAST));
  }

  function listen() {
    if (source || document.hidden) return;
    source = new EventSource("/events");
    source.addEventListener("view", (event) => {
      if (event.data === seen) return;
      seen = event.data;
      refresh();
    });
    source.onerror = () => { if (source && source.readyState === EventSource.CLOSED) hush(); };
  }

  function hush() {
    if (source) source.close();
    source = null;
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { hush(); return; }
    listen();
    refresh();
  });
  setInterval(() => {
    if (document.hidden) return;
    listen();
    if (!source || source.readyState !== EventSource.OPEN) refresh();
  }, POLL);
  setInterval(() => { if (!document.hidden) refresh(); }, 2 * POLL);

  // What came of a request: the page says when nobody answers, and goes to log in where the session is over.
  document.body.addEventListener("htmx:sendError", () => { lost.hidden = false; });
  document.body.addEventListener("htmx:afterOnLoad", () => { lost.hidden = true; });
  document.body.addEventListener("htmx:responseError", (event) => {
    if (event.detail.xhr.status === 401) location.assign("/login?back=" + encodeURIComponent(location.pathname));
    else lost.hidden = event.detail.xhr.status < 500;
  });

  // Buttons open the same page in a dialog; what is pressed there answers there.
  const dialog = document.getElementById("dialog");
  let opener = "";
  document.addEventListener("click", (event) => {
    const act = event.target.closest("a[data-act]");
    if (act && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      opener = act.id;
      htmx.ajax("GET", act.getAttribute("href"), { target: "#dialog", select: "#confirm", swap: "innerHTML" })
        .then(() => { if (dialog.firstElementChild && !dialog.open) dialog.showModal(); });
    }
    if (event.target.closest("a[data-close]") && dialog.open) {
      event.preventDefault();
      dialog.close();
    }
    for (const menu of document.querySelectorAll("details.more[open]")) {
      if (!menu.contains(event.target) || act) menu.open = false;
    }
  });
  dialog.addEventListener("close", () => {
    dialog.replaceChildren();
    const back = document.getElementById(opener);
    if (back) back.focus();
    refresh();
  });
  // A refused form is shown with its reason.
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    const status = event.detail.xhr.status;
    if (status === 400 || status === 409 || status === 403) event.detail.shouldSwap = true;
  });

  // Keyboard: / to the filter, j and k through the rows; Enter is the browser's own.
  function step(by) {
    const rows = [...document.querySelectorAll("a.go")];
    if (!rows.length) return;
    const at = rows.indexOf(document.activeElement);
    const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + by, 0), rows.length - 1);
    rows[next].focus();
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest("input, textarea, select, dialog");
    if (event.key === "Escape" && event.target.matches("input[type=search]")) { event.target.blur(); return; }
    if (typing) return;
    if (event.key === "/") { const box = document.getElementById("q"); if (box) { event.preventDefault(); box.focus(); box.select(); } }
    if (event.key === "j") step(1);
    if (event.key === "k") step(-1);
  });

  // Filters act while one types; without script the form does, with its button.
  let typed = 0;
  function filter(form) {
    const asked = new URLSearchParams(location.search);
    asked.delete("page");
    for (const [key, value] of new FormData(form)) {
      if (form.elements[key].type === "hidden") continue;
      if (value) asked.set(key, value); else asked.delete(key);
    }
    history.replaceState(null, "", location.pathname + (asked.size ? "?" + asked : ""));
    refresh();
  }
  document.addEventListener("input", (event) => {
    const form = event.target.closest("form.filter");
    if (!form) return;
    clearTimeout(typed);
    typed = setTimeout(() => filter(form), 200);
  });

  listen();
})();

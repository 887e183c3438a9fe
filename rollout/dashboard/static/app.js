// Keeps a page as current as the hub: one stream of events, closed while nobody looks, and a poll behind it.
"use strict";
(() => {
  const POLL = 5000, LEAST = 400, PRESSED = 2000, CHOSEN = 30000;
  const lost = document.getElementById("lost"), dialog = document.getElementById("dialog");
  let source = null, seen = document.getElementById("tick").dataset.view, asking = false, again = false;

  function refresh() {
    if (asking) { again = true; return; }
    if (document.querySelector("#live > #confirm")) return; // a form that somebody fills in
    asking = true;
    htmx.ajax("GET", location.pathname + location.search, { target: "#live", select: "#live", swap: "outerHTML" })
      .then(() => document.body.dispatchEvent(new Event("rollout:fresh")), () => {})
      .finally(() => setTimeout(() => {
        asking = false;
        if (again || unfinished()) { again = false; refresh(); }
      }, LEAST));
  }
  // Nothing is renewed between the two halves of a press, which would be lost, nor while text is chosen to be copied.
  let pressed = -PRESSED, chosen = -CHOSEN, late = false;
  function held() {
    const found = getSelection(), now = performance.now();
    if (now - pressed < PRESSED) return true;
    return now - chosen < CHOSEN && !found.isCollapsed && document.getElementById("live").contains(found.anchorNode);
  }
  function press() { pressed = performance.now(); }
  function release() {
    pressed = -PRESSED;
    if (late && !held()) { late = false; refresh(); }
  }
  addEventListener("pointerdown", press, true);
  addEventListener("pointerup", release, true);
  addEventListener("pointercancel", release, true);
  addEventListener("keydown", (event) => { if (event.key === " ") press(); }, true);
  addEventListener("keyup", (event) => { if (event.key === " ") release(); }, true);
  document.addEventListener("selectionchange", () => { chosen = performance.now(); if (late && !held()) release(); });

  // What somebody has opened and typed, and how far they have scrolled, stays so when the page is renewed; one that
  // says the same as before is not touched. What cannot be seen (any more) takes the place of what was.
  const LOST = lost.textContent;
  let left = [], typed = [], focused = "", within = false, shown = "";
  const words = (html) => html.slice(html.indexOf('<main id="live"'), html.indexOf("</main>"));
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    const { target, xhr } = event.detail;
    if (target.id !== "live") return;
    if ([403, 404].includes(xhr.status) || (xhr.status === 503 && document.querySelector("#live .refused"))) event.detail.shouldSwap = true;
    if (!event.detail.shouldSwap) return;
    if (held()) { event.detail.shouldSwap = false; late = true; return; }
    const next = words(xhr.responseText);
    if (next === shown) { event.detail.shouldSwap = false; return; }
    shown = next;
    left = [...document.querySelectorAll("#live details[id], #live ol[id]")].map((each) => [each.id, each.open, each.scrollTop]);
    const at = document.activeElement;
    within = target.contains(at);
    focused = within && !at.id ? at.outerHTML : ""; // htmx looks after those with an id
    typed = [...document.querySelectorAll("#live input[id]")].filter((each) => each.value !== each.defaultValue).map((each) => [each.id, each.value, each.selectionStart, each.selectionEnd]);
  });
  document.body.addEventListener("htmx:afterSwap", (event) => {
    for (const [id, open, top] of left) {
      const found = document.getElementById(id);
      if (found) { found.open = open; found.scrollTop = top; }
    }
    for (const [id, value, start, end] of typed) {
      const found = document.getElementById(id);
      if (found) { found.value = value; found.setSelectionRange(start, end); }
    }
    const again = focused && [...document.querySelectorAll("#live a, #live summary, #live [tabindex]")].find((each) => each.outerHTML === focused);
    if (again) again.focus({ preventScroll: true });
    const live = document.getElementById("live");
    if (within && document.activeElement === document.body) live.focus({ preventScroll: true }); // what had it is gone
    left = []; typed = []; focused = ""; within = false;
    if (live.dataset.said !== told) said.textContent = told = live.dataset.said;
  });
  // Who does not see the page is told in a sentence what has changed.
  const said = document.getElementById("said");
  let told = document.getElementById("live").dataset.said;
  // It opens when its form is ready: before that, Enter would leave the page. What comes next in it has the focus.
  document.body.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.target === dialog && dialog.firstElementChild && !dialog.open) dialog.showModal();
    const next = dialog.open && !dialog.contains(document.activeElement) && dialog.querySelector("input:not([type=hidden]), a[data-close]");
    if (next) next.focus();
  });
  // An answer that is still being worked out is asked for again soon.
  function unfinished() { return !document.hidden && document.querySelector("[data-soon]") !== null; }

  function listen() {
    if (source || document.hidden) return;
    source = new EventSource("/events");
    source.addEventListener("view", (event) => {
      if (event.data === seen && lost.hidden) return; // one that was begun again counts from 1
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
  document.body.addEventListener("htmx:sendError", () => { lost.textContent = LOST; lost.hidden = false; });
  document.body.addEventListener("htmx:afterOnLoad", (event) => {
    const { status, responseText } = event.detail.xhr;
    lost.hidden = status < 500 || document.querySelector("#live .refused") !== null;
    const why = status === 503 && new DOMParser().parseFromString(responseText, "text/html").querySelector(".refused p");
    if (!lost.hidden) lost.textContent = why ? "The hub cannot be read: " + why.textContent + ". What you see is as it was when it last could." : LOST;
  });
  document.body.addEventListener("htmx:responseError", (event) => {
    if (event.detail.xhr.status === 401) location.assign("/login?back=" + encodeURIComponent(location.pathname));
    else if (event.detail.elt === dialog) location.assign(wanted); // the page says what is wrong
  });

  // Buttons open the same page in a dialog; what is pressed there answers there.
  let opener = "", wanted = "";
  document.addEventListener("click", (event) => {
    const act = event.target.closest("a[data-act]");
    if (act && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      opener = act.id;
      wanted = act.getAttribute("href");
      // With a source of its own it does not stand in line behind the renewal of the page.
      htmx.ajax("GET", wanted, { source: dialog, target: dialog, select: "#confirm", swap: "innerHTML" });
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
    for (const each of [back, back && back.closest("details") && back.closest("details").firstElementChild, document.getElementById("live")]) {
      if (each) each.focus(); // what stands in a menu that is shut cannot be
      if (each && document.activeElement === each) break;
    }
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
    const menu = event.key === "Escape" && document.querySelector("details.more[open]");
    if (menu) { menu.open = false; menu.firstElementChild.focus(); return; }
    const typing = event.target.closest("input, textarea, select, dialog");
    if (event.key === "Escape" && event.target.matches("input[type=search]")) { event.preventDefault(); event.target.blur(); return; }
    if (typing) return;
    if (event.key === "/") { const box = document.getElementById("q"); if (box) { event.preventDefault(); box.focus(); box.select(); } }
    if (event.key === "j") step(1);
    if (event.key === "k") step(-1);
  });

  // Filters act while one types; without script the form does, with its button.
  let soon = 0;
  function filter(form) {
    const asked = new URLSearchParams(location.search);
    asked.delete(form.dataset.page || "page");
    for (const [key, value] of new FormData(form)) {
      if (form.elements[key].type === "hidden") continue;
      if (value) asked.set(key, value); else asked.delete(key);
    }
    history.replaceState(null, "", location.pathname + (asked.size ? "?" + asked : ""));
    refresh();
  }
  function filtered(event, wait) {
    const form = event.target.closest("form.filter");
    if (!form || (!wait && !soon)) return;
    clearTimeout(soon);
    soon = setTimeout(() => { soon = 0; filter(form); }, wait);
  }
  document.addEventListener("input", (event) => filtered(event, 200));
  document.addEventListener("change", (event) => filtered(event, 0)); // who leaves the field has typed all

  listen();
  if (unfinished()) setTimeout(refresh, LEAST);
})();

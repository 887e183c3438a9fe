// The two pictures of a rollout: a byte a cluster on one canvas, and clusters by phase over time.
"use strict";
(() => {
  const box = document.getElementById("fleet");
  if (!box) return;
  const canvas = box.querySelector("canvas"), tip = document.getElementById("tip"), words = JSON.parse(box.dataset.phases);
  const plotted = document.getElementById("course");
  const CELL = 12, GAP = 2, HEAD = 22;
  const WHOLE = [0, 1, 2, 3, 4, 5].flatMap((zeros) => [1, 2, 5].map((step) => step * 10 ** zeros)); // of clusters there are no halves
  let stages = [], places = [], layout = "", plot = null, tag = "", course = null, ahead = null;

  const colour = (word) => getComputedStyle(document.documentElement).getPropertyValue("--p-" + word).trim();

  const inside = (card) => card.clientWidth - 36;

  // -- the map --------------------------------------------------------------------------------
  function arrange(width, total) {
    const cell = total > 4000 ? 6 : total > 1200 ? 8 : CELL, columns = Math.max(Math.floor(width / cell), 8);
    let y = 0;
    places = stages.map((stage) => {
      const place = { stage, top: y + HEAD, columns, cell };
      y += HEAD + Math.ceil(stage.phases.length / columns) * cell + 10;
      return place;
    });
    return y;
  }
  function draw() {
    const width = box.clientWidth, total = stages.reduce((sum, stage) => sum + stage.phases.length, 0);
    const height = arrange(width, total), ratio = devicePixelRatio || 1;
    canvas.width = width * ratio; canvas.height = height * ratio;
    canvas.style.height = height + "px";
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = "12px " + getComputedStyle(document.body).fontFamily;
    const ink = getComputedStyle(document.body).color, colours = words.map(colour);
    for (const { stage, top, columns, cell } of places) {
      pen.fillStyle = ink;
      pen.fillText(stage.title + " (" + stage.phases.length + ")", 0, top - 8);
      const size = cell - (cell > 6 ? GAP : 1), paths = words.map(() => new Path2D()), marks = new Path2D();
      for (let i = 0; i < stage.phases.length; i++) {
        const x = (i % columns) * cell, y = top + Math.floor(i / columns) * cell, word = words[stage.phases[i]];
        paths[stage.phases[i]].rect(x, y, size, size);
        if (word === "failed" || word === "lost") { marks.moveTo(x + 1.5, y + 1.5); marks.lineTo(x + size - 1.5, y + size - 1.5); marks.moveTo(x + size - 1.5, y + 1.5); marks.lineTo(x + 1.5, y + size - 1.5); }
        if (word === "failing") { marks.moveTo(x + 1.5, y + size - 1.5); marks.lineTo(x + size - 1.5, y + 1.5); }
        if (word === "held" || word === "unrendered") { marks.moveTo(x + size / 2, y + 1); marks.lineTo(x + size / 2, y + size - 1); }
      }
      paths.forEach((path, i) => { pen.fillStyle = colours[i]; pen.fill(path); });
      pen.strokeStyle = "#fff"; pen.lineWidth = 1; pen.stroke(marks);
    }
  }
  function under(event) {
    const spot = canvas.getBoundingClientRect(), x = event.clientX - spot.left, y = event.clientY - spot.top;
    for (const { stage, top, columns, cell } of places) {
      const column = Math.floor(x / cell), row = Math.floor((y - top) / cell), i = row * columns + column;
      if (row >= 0 && column < columns && i < stage.phases.length) return { name: stage.clusters[i], phase: words[stage.phases[i]] };
    }
    return null;
  }
  canvas.addEventListener("mousemove", (event) => {
    const found = under(event);
    tip.hidden = !found;
    canvas.style.cursor = found ? "pointer" : "";
    if (!found) return;
    tip.textContent = found.name + ": " + found.phase;
    tip.style.left = Math.min(event.offsetX + 12, box.clientWidth - tip.offsetWidth) + "px";
    tip.style.top = event.offsetY + 16 + "px";
  });
  canvas.addEventListener("mouseleave", () => { tip.hidden = true; });
  canvas.addEventListener("click", (event) => {
    const found = under(event);
    if (found) location.assign("/clusters/" + encodeURIComponent(found.name));
  });

  // -- the curves -----------------------------------------------------------------------------
  // A point says how many were in which phase until then.
  function curves() {
    plotted.hidden = course.at.length < 2;
    if (plotted.hidden) return;
    // Soaked ones at the bottom: the forecast goes on from there.
    const rank = (each) => ["soaked", "soaking"].indexOf(each.phase) + 1 || 9;
    const shown = course.phases.filter((each) => each.phase !== "waiting").sort((a, b) => rank(a) - rank(b));
    const sums = [], below = new Array(course.at.length).fill(0);
    for (const each of shown) { each.counts.forEach((count, i) => { below[i] += count; }); sums.push([...below]); }
    const now = course.at[course.at.length - 1], soaked = shown.length && shown[0].phase === "soaked" ? shown[0].counts[course.at.length - 1] : 0;
    const lines = ahead ? [["p50", [6, 4]], ["p90", [2, 4]]].map(([name, dash]) => [name, dash, new Map([[now, soaked], ...ahead[name].filter(([at, count]) => at > now && count > soaked)])]).filter(([, , points]) => points.size > 1) : [];
    const at = [...new Set([...course.at, ...lines.flatMap(([, , points]) => [...points.keys()])])].sort((a, b) => a - b);
    const series = [{ label: "time", value: (_, at) => at === null ? "now" : new Date(at * 1e3).toISOString().slice(0, 19).replace("T", " ") + "Z" }], data = [at];
    for (let i = shown.length - 1; i >= 0; i--) {
      series.push({ label: shown[i].phase, stroke: colour(shown[i].phase), fill: colour(shown[i].phase), width: 1, paths: uPlot.paths.stepped({ align: -1 }), points: { show: false }, value: (_, __, ___, n) => String(shown[i].counts[n ?? course.at.length - 1] ?? "") });
      data.push(at.map((_, n) => n < sums[i].length ? sums[i][n] : null));
    }
    for (const [name, dash, points] of lines) {
      series.push({ label: "soaked, " + name, stroke: colour("soaked"), width: 2, dash, spanGaps: true, points: { show: false }, value: (_, count) => count ?? "" });
      data.push(at.map((each) => points.get(each) ?? null));
    }
    const soft = getComputedStyle(document.documentElement).getPropertyValue("--soft").trim();
    const axis = { stroke: soft, grid: { stroke: soft + "30", width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
    if (plot) plot.destroy();
    plot = new uPlot({ width: inside(plotted), height: 220, padding: [8, 40, 0, 24], fmtDate: (text) => uPlot.fmtDate(text.replace(/\{h\}/g, "{HH}").replace(/\{aa\}/g, "").replace(/\{M\}\/\{D\}(\/\{YY\})?/g, "{YYYY}-{MM}-{DD}")), tzDate: (at) => uPlot.tzDate(new Date(at * 1e3), "Etc/UTC"), scales: { y: { range: (_, __, most) => [0, Math.max(Math.min(Math.ceil(most * 1.1), course.members), 1)] } }, axes: [{ ...axis, space: 84 }, { ...axis, size: 44, incrs: WHOLE }], series, legend: { live: true, markers: { dash: (_, i) => ["solid", "dashed", "dotted"][lines.findIndex(([name]) => series[i].label.endsWith(name)) + 1] } }, cursor: { drag: { x: false, y: false }, points: { show: false } } }, data, plotted);
  }

  // -- what is new ----------------------------------------------------------------------------
  async function fetched() {
    const query = new URLSearchParams(box.dataset.follows ? location.search : "");
    if (layout) query.set("layout", layout);
    const answer = await fetch(box.dataset.from + (query.size ? "?" + query : ""), { headers: tag ? { "If-None-Match": tag } : {} });
    if (!answer.ok) return;
    tag = answer.headers.get("etag") || "";
    const found = await answer.json();
    stages = found.stages.map((stage, i) => ({ title: stage.title, clusters: stage.clusters || stages[i].clusters, phases: Uint8Array.from(atob(stage.phases), (sign) => sign.charCodeAt(0)) }));
    layout = found.layout;
    draw();
    course = found.course;
    curves();
  }
  async function foreseen() { // one question after another, never two at once
    let wait = 60000;
    try {
      const answer = box.dataset.outlook && !document.hidden ? await fetch(box.dataset.outlook) : { ok: false };
      const found = answer.ok ? await answer.json() : null;
      if (found && !found.ended) wait = 1500;
      if (found && found.ended) { ahead = found; if (course) curves(); }
    } catch { /* the page says that nobody answers */ }
    setTimeout(foreseen, wait);
  }
  document.body.addEventListener("rollout:fresh", fetched);
  addEventListener("resize", () => { draw(); if (plot) plot.setSize({ width: inside(plotted), height: 220 }); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", fetched);
  fetched();
  foreseen();
})();

"use strict";

// Searching and filtering. A row stays when it holds every word that was typed and one chosen value of each filter.

const form = document.querySelector(".sift");
const search = document.getElementById("search");
const status = document.getElementById("sifted");
const reset = form.querySelector("button[type=reset]");
const buttons = [...form.querySelectorAll("fieldset button")];
const tables = [...document.querySelectorAll(".chapter-table, .case-table")].map((table) => ({
  table,
  kind: table.className,
  rows: [...table.tBodies[0].rows].map((row) => ({ row, text: row.textContent.toLowerCase() })),
}));

function chosen() {
  const found = new Map();
  for (const button of buttons.filter((one) => one.getAttribute("aria-pressed") === "true")) {
    const name = button.parentElement.dataset.filter;
    found.set(name, (found.get(name) ?? new Set()).add(button.dataset.value));
  }
  return found;
}

function sift() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = chosen();
  const shown = { "chapter-table": 0, "case-table": 0 };
  for (const { table, kind, rows } of tables) {
    let left = 0;
    for (const { row, text } of rows) {
      const stays =
        words.every((word) => text.includes(word)) &&
        [...wanted].every(([name, values]) => !(name in row.dataset) || values.has(row.dataset[name]));
      row.hidden = !stays;
      left += stays;
    }
    table.hidden = left === 0 && kind === "chapter-table";
    shown[kind] += left;
  }
  const idle = words.length === 0 && wanted.size === 0;
  reset.hidden = idle;
  status.textContent = idle ? "" : `${shown["chapter-table"]} requirements and ${shown["case-table"]} Cases are shown.`;
}

form.hidden = false;
form.addEventListener("submit", (event) => event.preventDefault());
search.addEventListener("input", sift);
form.addEventListener("click", (event) => {
  const button = event.target.closest("fieldset button");
  if (!button) return;
  button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
  sift();
});
form.addEventListener("reset", () => {
  for (const button of buttons) button.setAttribute("aria-pressed", "false");
  search.value = "";
  sift();
  search.focus();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(event.target.tagName)) {
    event.preventDefault();
    search.focus();
  } else if (event.key === "Escape" && event.target === search) {
    form.reset();
  }
});

// A link to a requirement opens it, also where a filter had hidden it.

function unfold() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target || target.tagName !== "TR") return;
  if (target.hidden) form.reset();
  target.querySelector("details").open = true;
  target.scrollIntoView({ block: "center" });
  target.querySelector("summary").focus({ preventScroll: true });
}
addEventListener("hashchange", unfold);
unfold();

// Paper has nothing to click: what needs a look is printed unfolded, listed failures as the reader left them.

let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("section[aria-labelledby=look] .folded-failure:not([open])")];
  for (const details of opened) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of opened) details.open = false;
});

// The time axis of a finding: every event where it was in time, and a window that can be narrowed.

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 1080;
const LEFT = 74;
const RIGHT = 1000;
const LANES = { client: 40, wire: 64, broker: 88, bench: 112 };
const FLOOR = 130;
const STEP = 2; // One zoom step halves or doubles the window.
const LEAST_MS = 0.05;
const TICKS = 8;

function draw(parent, name, attributes, text) {
  const element = parent.appendChild(document.createElementNS(SVG, name));
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

function atTime(ms) {
  return Math.abs(ms) >= 1000 ? `${+(ms / 1000).toFixed(3)} s` : `${+ms.toFixed(3)} ms`;
}

function tickStep(span) {
  const power = 10 ** Math.floor(Math.log10(span / TICKS));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => span / step <= TICKS);
}

class Axis {
  constructor(box) {
    const { points, bands } = JSON.parse(box.dataset.story);
    this.points = points;
    this.bands = bands;
    const margin = Math.max((points.at(-1)[0] - points[0][0]) * 0.02, LEAST_MS);
    this.whole = [points[0][0] - margin, points.at(-1)[0] + margin];
    this.window = this.whole;
    this.at = Math.max(points.findIndex((point) => point[4] > 0), 0);
    this.build(box);
    this.show();
  }

  build(box) {
    const bar = box.appendChild(document.createElement("div"));
    bar.className = "axis-bar";
    const buttons = [
      ["−", "Zoom out", () => this.zoom(STEP)],
      ["+", "Zoom in", () => this.zoom(1 / STEP)],
      ["←", "Earlier", () => this.pan(-0.25)],
      ["→", "Later", () => this.pan(0.25)],
      ["all", "The whole time", () => this.look(this.whole)],
      ["finding", "Only the finding's events", () => this.lookAtFinding()],
    ];
    for (const [label, title, act] of buttons) {
      const button = bar.appendChild(document.createElement("button"));
      button.type = "button";
      button.textContent = label;
      button.title = title;
      button.setAttribute("aria-label", title);
      button.addEventListener("click", act);
    }
    this.words = bar.appendChild(document.createElement("output"));
    this.words.setAttribute("aria-live", "polite");
    this.svg = draw(box, "svg", { viewBox: `0 0 ${WIDTH} ${FLOOR + 26}`, tabindex: "0", role: "application" });
    this.svg.setAttribute(
      "aria-label",
      "Time axis. Up and down go from event to event, left and right move, plus and minus zoom, 0 shows all.",
    );
    this.svg.addEventListener("keydown", (event) => this.key(event));
    this.svg.addEventListener("pointerdown", (event) => this.drag(event));
  }

  x(ms) {
    return LEFT + ((ms - this.window[0]) / (this.window[1] - this.window[0])) * (RIGHT - LEFT);
  }

  inside(ms) {
    return ms >= this.window[0] && ms <= this.window[1];
  }

  show() {
    this.svg.replaceChildren();
    for (const [lane, y] of Object.entries(LANES)) {
      draw(this.svg, "text", { class: "lane", x: LEFT - 10, y: y + 4, "text-anchor": "end" }, lane);
      draw(this.svg, "line", { class: "life", x1: LEFT, x2: RIGHT, y1: y, y2: y });
    }
    this.showTicks();
    for (const [label, text, from, to] of this.bands) this.showBand(label, text, from, to ?? this.whole[1]);
    // Those of the finding last: no neighbour may cover them.
    const inSight = [...this.points.entries()].filter(([, point]) => this.inside(point[0]));
    for (const [index, point] of inSight.filter(([, point]) => !point[4])) this.showPoint(point, index);
    for (const [index, point] of inSight.filter(([, point]) => point[4])) this.showPoint(point, index);
  }

  showTicks() {
    const [from, to] = this.window;
    const step = tickStep(to - from);
    for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) {
      draw(this.svg, "line", { class: "tick", x1: this.x(tick), x2: this.x(tick), y1: 26, y2: FLOOR });
      draw(this.svg, "text", { class: "time", x: this.x(tick), y: FLOOR + 16, "text-anchor": "middle" }, atTime(tick));
    }
  }

  showBand(label, text, from, to) {
    const [x1, x2] = [Math.max(this.x(from), LEFT), Math.min(this.x(to), RIGHT)];
    if (x2 < LEFT || x1 > RIGHT) return;
    const band = draw(this.svg, "rect", { class: "band", x: x1, y: 26, width: Math.max(x2 - x1, 2), height: FLOOR - 26 });
    draw(band, "title", {}, `${label}: ${text}`);
    draw(this.svg, "text", { class: "bar-label", x: x1 + 2, y: 20 }, label);
  }

  showPoint([ms, lane, text, seq, number], index) {
    const named = number > 0 ? " is-named" : "";
    const here = index === this.at ? " is-here" : "";
    const group = draw(this.svg, "g", { class: `point ${lane}${named}${here}`, "data-index": index });
    draw(group, "circle", { cx: this.x(ms), cy: LANES[lane], r: number ? 8 : 4 });
    if (number) draw(group, "text", { x: this.x(ms), y: LANES[lane] + 4, "text-anchor": "middle" }, number);
    draw(group, "title", {}, `#${seq} at ${atTime(ms)}, ${lane}: ${text}`);
  }

  look([from, to]) {
    const span = Math.min(Math.max(to - from, LEAST_MS), this.whole[1] - this.whole[0]);
    const start = Math.min(Math.max(from, this.whole[0]), this.whole[1] - span);
    this.window = [start, start + span];
    this.show();
  }

  // Around the event one stands on if it is in sight: it stays where it is.
  zoom(factor, around) {
    const [from, to] = this.window;
    const here = this.points[this.at][0];
    const centre = around ?? (this.inside(here) ? here : (from + to) / 2);
    this.look([centre - (centre - from) * factor, centre + (to - centre) * factor]);
  }

  pan(share) {
    const [from, to] = this.window;
    this.look([from + (to - from) * share, to + (to - from) * share]);
  }

  lookAtFinding() {
    const times = this.points.filter((point) => point[4]).map((point) => point[0]);
    if (times.length === 0) return;
    const margin = Math.max((Math.max(...times) - Math.min(...times)) * 0.15, 0.5);
    this.look([Math.min(...times) - margin, Math.max(...times) + margin]);
  }

  go(index) {
    this.at = Math.min(Math.max(index, 0), this.points.length - 1);
    const [ms, lane, text, seq] = this.points[this.at];
    const half = (this.window[1] - this.window[0]) / 2;
    if (this.inside(ms)) this.show();
    else this.look([ms - half, ms + half]);
    this.words.textContent = `#${seq} at ${atTime(ms)}, ${lane}: ${text}`;
  }

  key(event) {
    const keys = {
      ArrowDown: () => this.go(this.at + 1),
      ArrowUp: () => this.go(this.at - 1),
      ArrowLeft: () => this.pan(-0.25),
      ArrowRight: () => this.pan(0.25),
      "+": () => this.zoom(1 / STEP),
      "=": () => this.zoom(1 / STEP),
      "-": () => this.zoom(STEP),
      0: () => this.look(this.whole),
    };
    if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  }

  // A click tells of an event, a drag narrows the window to what it spans.
  drag(down) {
    const point = down.target.closest(".point");
    if (point) {
      this.go(Number(point.dataset.index));
      return;
    }
    const ms = (event) => {
      const { left, width } = this.svg.getBoundingClientRect();
      const x = ((event.clientX - left) / width) * WIDTH;
      const share = Math.min(Math.max((x - LEFT) / (RIGHT - LEFT), 0), 1);
      return this.window[0] + share * (this.window[1] - this.window[0]);
    };
    const start = ms(down);
    const brush = draw(this.svg, "rect", { class: "brush", x: this.x(start), y: 26, width: 0, height: FLOOR - 26 });
    const move = (event) => {
      const [from, to] = [start, ms(event)].sort((a, b) => a - b);
      brush.setAttribute("x", this.x(from));
      brush.setAttribute("width", this.x(to) - this.x(from));
    };
    const up = (event) => {
      this.svg.removeEventListener("pointermove", move);
      const [from, to] = [start, ms(event)].sort((a, b) => a - b);
      if (this.x(to) - this.x(from) > 6) this.look([from, to]);
      else brush.remove();
    };
    this.svg.setPointerCapture(down.pointerId);
    this.svg.addEventListener("pointermove", move);
    this.svg.addEventListener("pointerup", up, { once: true });
  }
}

// An axis is built when it is first seen: most are folded away.

const sight = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    sight.unobserve(target);
    new Axis(target);
  }
});
for (const box of document.querySelectorAll(".axis")) {
  box.hidden = false;
  sight.observe(box);
}

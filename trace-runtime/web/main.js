// Starts the page: reads the data, and shows the section that the address names.

/**
 * The sections, in the order of the tabs.
 * @type {{id: string, title: string, shown: () => boolean, render: (root: HTMLElement) => void, needsTimeline?: boolean}[]}
 */
const SECTIONS = [
  { id: "compare", title: "Compare", shown: () => Boolean(page.summary.diff), render: renderCompare },
  { id: "findings", title: "Findings", shown: () => true, render: renderFindings },
  { id: "ops", title: "Ops", shown: () => true, render: renderOps },
  { id: "timeline", title: "Timeline", shown: () => true, render: renderTimeline, needsTimeline: true },
  { id: "flame", title: "Flame graph", shown: () => true, render: renderFlame, needsTimeline: true },
  { id: "tree", title: "Call tree", shown: () => true, render: renderTree, needsTimeline: true },
  {
    id: "roofline",
    title: "Roofline",
    shown: () => rooflinePoints(page.summary.report).length > 0,
    render: renderRoofline,
  },
  {
    id: "memory",
    title: "Memory",
    shown: () => page.summary.report.memory.length > 0,
    render: renderMemory,
    needsTimeline: true,
  },
  {
    id: "steps",
    title: "Steps",
    shown: () => (page.summary.report.steps?.steps ?? []).length > 0,
    render: renderSteps,
  },
  { id: "ranks", title: "Ranks", shown: () => page.summary.report.ranks > 1, render: renderRanks },
];

/** Shows the state. @param {Set<string>} [changed] Keys of the state that changed; all if missing. */
function render(changed) {
  const section = SECTIONS.find((one) => one.id === state.view && one.shown()) ?? SECTIONS[1];
  const root = byId("view");
  for (const tab of byId("tabs").children) {
    const own = tab.dataset.view === section.id;
    tab.setAttribute("aria-selected", String(own));
    tab.tabIndex = own ? 0 : -1;
  }
  root.setAttribute("aria-labelledby", `tab-${section.id}`);
  if (!changed || changed.has("step") || changed.has("until")) renderHeader();
  renderSelection();
  // The timeline draws itself when only the visible part changes.
  if (section.id === "timeline" && changed && !changed.has("view") && timelineView.attached)
    return timelineView.changed(changed);
  timelineView.detach();
  const focus = focusedPlace();
  if (section.needsTimeline && !page.timeline) fill(root, h("p", { class: "quiet" }, "Reading the timeline …"));
  else section.render(root);
  restoreFocus(focus);
  if (changed?.has("view")) {
    window.scrollTo(0, 0);
    announce(section.title);
  }
}

/** The part of the page that has the focus, so that it can be focused again after it is drawn again. */
function focusedPlace() {
  const active = document.activeElement;
  if (!active || !byId("view").contains(active)) return null;
  const row = active.closest("tr");
  if (row) {
    const frames = [...byId("view").querySelectorAll(".table-frame")];
    return {
      frame: frames.findIndex((one) => one.contains(row)),
      row: [...(row.parentElement?.children ?? [])].indexOf(row),
    };
  }
  return active.id ? { id: active.id } : null;
}

/** @param {{id?: string, frame?: number, row?: number} | null} place */
function restoreFocus(place) {
  if (!place) return;
  if (place.id) return document.getElementById(place.id)?.focus();
  const frame = byId("view").querySelectorAll(".table-frame")[place.frame ?? 0];
  const row = frame?.querySelectorAll("tbody tr")[place.row ?? 0];
  if (!row || row.getAttribute("tabindex") === null) return;
  for (const other of row.parentElement.children) other.setAttribute("tabindex", other === row ? "0" : "-1");
  row.focus({ preventScroll: true });
}

function renderHeader() {
  const { summary } = page;
  const shown = report();
  byId("title").textContent = printable(summary.title);
  const parts = [
    counted(shown.entries, "execution"),
    counted(shown.ops.length, "op"),
    counted(shown.threads, "thread"),
    shown.ranks > 0 && counted(shown.ranks, "rank"),
    shown.span_ns > 0 && `${duration(shown.span_ns)} long`,
  ];
  byId("overview").textContent = parts.filter(Boolean).join(" · ");
  const choices = stepChoices();
  const field = byId("step-field");
  field.hidden = choices.length === 0;
  if (choices.length === 0) return;
  const warm = summary.after_warm_up;
  const isWarm = Boolean(warm) && state.step === warm?.first && state.until === warm?.last;
  const options = /** @type {[string, string][]} */ ([
    ["", "all"],
    ...(warm ? [["warm", `after warm-up (${warm.first} to ${warm.last})`]] : []),
    ...choices.map((number) => [String(number), String(number)]),
  ]);
  const first = isWarm ? "warm" : state.step === null ? "" : String(state.step);
  const later = state.step === null || isWarm ? [] : choices.filter((number) => number > Number(state.step));
  const ends = /** @type {[string, string][]} */ ([
    ["", "that step"],
    ...later.map((number) => [String(number), String(number)]),
  ]);
  fill(
    field,
    select("Step", options, first, (value) => {
      if (value === "warm" && warm) chooseSteps(warm.first, warm.last, "push");
      else chooseSteps(value === "" ? null : Number(value), null, "push");
    }),
    later.length > 0 &&
      select("to", ends, state.until === null ? "" : String(state.until), (value) =>
        chooseSteps(state.step, value === "" ? null : Number(value), "push"),
      ),
  );
  const [from, to] = field.querySelectorAll("select");
  from.id = "step";
  if (to) to.id = "until";
}

/** The bar that shows what is selected in all sections. */
function renderSelection() {
  const bar = byId("selection");
  const parts = [];
  if (state.op !== null) {
    const name = state.op.replace(/^(host|device) /, "");
    parts.push(
      h(
        "span",
        null,
        "Op ",
        opName(name),
        " ",
        h(
          "button",
          { type: "button", class: "link", "aria-label": "Clear the selected op", onclick: () => selectOp(null) },
          "clear",
        ),
      ),
    );
  }
  if (state.step !== null) {
    parts.push(
      h(
        "span",
        null,
        state.until === null ? `Step ${state.step} ` : `Steps ${state.step} to ${state.until} `,
        h(
          "button",
          {
            type: "button",
            class: "link",
            "aria-label": "Show all steps",
            onclick: () => chooseSteps(null),
          },
          "all steps",
        ),
      ),
    );
  }
  bar.hidden = parts.length === 0;
  fill(bar, parts);
}

function makeTabs() {
  const tabs = SECTIONS.filter((section) => section.shown()).map((section) =>
    h(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${section.id}`,
        "aria-controls": "view",
        data: { view: section.id },
        onclick: () => change({ view: section.id }, "push"),
      },
      section.title,
    ),
  );
  fill(byId("tabs"), tabs);
  byId("tabs").addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const at = tabs.indexOf(/** @type {any} */ (document.activeElement));
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    const tab = tabs[(to + tabs.length) % tabs.length];
    tab.focus();
    tab.click();
  });
}

function toggleTheme() {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  render();
}

async function start() {
  page.summary = (await unpack("summary")).facts;
  makeTabs();
  readState();
  if (page.summary.diff && !location.hash) state.view = "compare";
  byId("theme").addEventListener("click", toggleTheme);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => render());
  window.addEventListener("popstate", () => {
    readState();
    render();
  });
  window.addEventListener("beforeprint", preparePrint);
  window.addEventListener("afterprint", () => render());
  render();
  performance.mark("findings shown");
  if (document.readyState === "loading")
    await new Promise((done) => document.addEventListener("DOMContentLoaded", done));
  // Lets the browser show the findings before it reads the rest.
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  page.timeline = new TimelineData(await unpack("timeline-data"));
  performance.mark("timeline read");
  document.documentElement.dataset.ready = "";
  render();
}

/** Printing always shows the findings, even if another section is open. */
function preparePrint() {
  timelineView.detach();
  renderFindings(byId("view"));
}

start().catch((error) => {
  console.error(error);
  fill(
    byId("view"),
    h("p", { class: "headline" }, `The page cannot be shown: ${error}. It needs a browser of 2023 or later.`),
  );
});

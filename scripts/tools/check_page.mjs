// Opens pages of `optrace html` in a headless Chromium, from a file, and compares what they show with
// `optrace report --format json`.
//
//   node check_page.mjs OPTRACE NODE_MODULES FOLDER [TRACE...]
//
// NODE_MODULES has `playwright-core`; pages and traces are written to FOLDER. Each TRACE is checked too.
// SIZES=1 also checks sizes and times with 10^6 entries.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { HOSTILE, many, training } from "./page_traces.mjs";

const [optrace, modules, folder, ...traces] = process.argv.slice(2).map((arg) => path.resolve(arg));
const { chromium } = createRequire(path.join(modules, "x.js"))("playwright-core");
fs.mkdirSync(folder, { recursive: true });

let [passed, failed] = [0, 0];
const problems = [];
function equal(actual, expected, what) {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${what}: the page has ${a?.slice(0, 300)}, expected ${b?.slice(0, 300)}`);
}
const holds = (fact, what) => equal(Boolean(fact), true, what);
async function check(name, test) {
  const before = problems.length;
  try {
    await test();
    if (problems.length > before) throw new Error(problems.slice(before).join("\n"));
    passed++;
    console.log(`ok   ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAIL ${name}\n     ${String(error.stack ?? error).split("\n").slice(0, 6).join("\n     ")}`);
  }
}

// ---- traces and pages ----

const run = (...args) => execFileSync(optrace, args, { maxBuffer: 1 << 30, encoding: "utf8" });
const inFolder = (name) => path.join(folder, name);
function write(name, trace) {
  fs.writeFileSync(inFolder(name), JSON.stringify(trace));
  return inFolder(name);
}
const json = (trace, ...args) => JSON.parse(run("report", trace, "--format", "json", ...args));
function makePage(name, ...args) {
  run("html", ...args, "-o", inFolder(name));
  return inFolder(name);
}

const profile = fs.mkdtempSync(path.join(os.tmpdir(), "page-"));
const context = await chromium.launchPersistentContext(profile, {
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  headless: true,
  viewport: { width: 1300, height: 900 },
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--allow-file-access-from-files=0",
  ],
});

// Opens a page and waits until it has read its data. Errors and requests of the page are added to `problems`.
async function open(file, fragment = "", options = {}) {
  const page = await context.newPage();
  if (options.viewport) await page.setViewportSize(options.viewport);
  page.on("pageerror", (error) => problems.push(`error in the page: ${error.stack}`));
  page.on("console", (line) => line.type() === "error" && problems.push(`console: ${line.text()}`));
  page.on("request", (request) => {
    if (request.url().split("#")[0] !== pathToFileURL(file).href) problems.push(`request of ${request.url().slice(0, 200)}`);
  });
  await page.goto(pathToFileURL(file).href + (fragment ? `#${fragment}` : ""));
  await page.waitForSelector("html[data-ready]", { timeout: 60_000 });
  return page;
}

// The rows of a table: by column, the value that the cell was made from.
const rowsOf = (page, selector) =>
  page.$$eval(`${selector} >> tbody tr`, (rows) =>
    rows.map((row) => Object.fromEntries([...row.children].map((cell) => [cell.dataset.key, cell.dataset.value]))));
function grouped(list, key) {
  const groups = {};
  for (const one of list) (groups[key(one)] ??= []).push(one);
  return groups;
}
async function showAll(page, selector) {
  while (await page.$(`${selector} button.more`)) await page.click(`${selector} button.more`);
}
const fragmentOf = (page) => page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));

// ---- what every page must show ----

async function checkOps(page, report) {
  await page.click("#tab-ops");
  await showAll(page, "#view");
  const shown = await rowsOf(page, "#view .table-frame");
  const work = (row) => row.self_ns - (row.waiting_ns ?? 0);
  const expected = [...report.ops].sort((a, b) => work(b) - work(a));
  equal(shown.length, expected.length, "number of ops");
  const figures = (row) => [row.count, row.self_ns, row.total_ns, row.p50_ns, row.p95_ns, row.max_ns].map(Number);
  const own = grouped(shown, (row) => row.operation);
  const given = grouped(expected, (row) => row.operation);
  for (const [name, rows] of Object.entries(given))
    equal((own[name] ?? []).map(figures).sort(), rows.map(figures).sort(), `figures of ${name.slice(0, 80)}`);
  equal(shown.map((row) => Number(row.work_ns ?? row.self_ns)), expected.map(work), "order by self time without waiting");
  const device = expected.filter((row) => row.device_total_ns > 0 && !row.accelerator);
  for (const row of device)
    holds((own[row.operation] ?? []).some((one) => Number(one.device_ns) === row.device_total_ns), `device time of ${row.operation}`);
}

// The findings in the order of the page: a part of another one follows it.
function withParts(list) {
  const within = (inner, outer) => inner.within?.[0] === outer.kind && inner.within?.[1] === outer.subject;
  const parts = list.filter((one) => list.some((other) => within(one, other)));
  return list.filter((one) => !parts.includes(one)).flatMap((outer) => [outer, ...parts.filter((inner) => within(inner, outer))]);
}

async function checkSentences(page, report) {
  const sentences = await page.$$eval(".finding-sentence", (items) => items.map((item) => item.textContent.replace(/^Of this: /, "")));
  equal(sentences, withParts(report.findings.list).map((one) => one.sentence), "sentences");
  const indented = await page.$$eval(".findings > li.within .finding-sentence", (items) => items.map((item) => item.textContent));
  holds(indented.every((sentence) => sentence.startsWith("Of this: ")), "parts are marked");
  equal(indented.length, report.findings.list.filter((one) => one.within).length, "number of parts");
}

async function checkFindings(page, report) {
  await page.click("#tab-findings");
  equal(await page.textContent(".headline"), report.answer, "headline");
  const shown = await page.$$eval(".findings > li", (items) => items.map((item) => [item.dataset.kind, Number(item.dataset.share)]));
  equal(shown, withParts(report.findings.list).map((one) => [one.kind, one.share]), "findings");
  await checkSentences(page, report);
  const cards = Object.fromEntries(await page.$$eval(".card", (items) => items.map((item) => [item.dataset.card, Number(item.dataset.value)])));
  if (report.steps) equal(cards.step, report.steps.mean_ns, "mean step time");
  if (report.memory.length > 0) equal(cards.memory, Math.max(...report.memory.map((one) => one.peak_bytes)), "peak memory");
  const notes = await page.$$eval(".notes li", (items) => items.map((item) => item.textContent));
  for (const note of report.notes) holds(notes.includes(note), `note "${note}"`);
}

async function checkTree(page, trace, args = []) {
  const tree = JSON.parse(run("tree", trace, "--format", "json", "--rows", "100000", ...args));
  await page.click("#tab-tree");
  await page.click("#tree-open");
  const shown = await page.$$eval("#view tbody tr", (rows) =>
    rows.map((row) => [row.dataset.name, Number(row.getAttribute("aria-level")) - 1, ...[...row.children].slice(1, 4).map((cell) => Number(cell.dataset.value))]));
  const expected = tree.nodes.map((node) => [node.operation, node.depth, node.count, node.total_ns, node.self_ns]);
  equal([...shown].sort(), [...expected].sort(), "nodes of the call tree");
}

async function checkFlame(page, report) {
  await page.click("#tab-flame");
  equal(Number(await page.getAttribute("#flame-total", "data-value")), report.ops.reduce((sum, row) => sum + row.self_ns, 0), "time of the flame graph");
  const roots = await page.$$eval(".frame", (frames) => frames.filter((one) => one.style.top === "0px").map((one) => parseFloat(one.style.width)));
  holds(roots.reduce((sum, width) => sum + width, 0) <= 100.001, "roots fit");
}

// ---- one trace with everything ----

const training0 = write("training.json", training(0, { names: HOSTILE }));
const whole = json(training0);
const trainingPage = makePage("training.html", training0, "--peaks", "60e12,2e12");

await check("the page is one file with a policy, and no address in it", async () => {
  const text = fs.readFileSync(trainingPage, "utf8");
  const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(text)?.[1] ?? "";
  for (const part of ["default-src 'none'", "script-src 'sha256-", "style-src 'sha256-", "base-uri 'none'"]) holds(policy.includes(part), part);
  holds(!/unsafe|https?:/.test(policy), "nothing else is allowed");
  holds(!/(src|href)\s*=\s*["']?https?:/i.test(text), "no address");
  holds(!HOSTILE.slice(0, 4).some((name) => text.includes(name)), "names are not in the markup");
});

await check("the policy blocks other scripts and requests", async () => {
  const page = await open(trainingPage);
  const blocked = await page.evaluate(async () => {
    const seen = [];
    document.addEventListener("securitypolicyviolation", (event) => seen.push(event.effectiveDirective));
    await fetch("https://example.invalid/x").catch(() => {});
    const script = document.createElement("script");
    try {
      script.textContent = "window.hacked = 9";
    } catch {
      seen.push("trusted types");
    }
    await new Promise((done) => setTimeout(done, 100));
    return [seen, window.hacked];
  });
  problems.length = 0;
  holds(blocked[0].includes("connect-src"), "requests");
  holds(blocked[0].includes("trusted types"), "scripts");
  equal(blocked[1], undefined, "nothing ran");
  await page.close();
});

await check("findings, cards and notes are those of the report", async () => {
  const page = await open(trainingPage);
  await checkFindings(page, whole);
  await page.click(".finding-text > .link >> nth=0");
  holds((await fragmentOf(page)).view !== undefined, "a finding opens its evidence");
  await page.close();
});

await check("figures of ops are those of the report; sorting and filtering", async () => {
  const page = await open(trainingPage);
  await checkOps(page, whole);
  await page.click("#view th button:text-is('Calls')");
  const calls = (await rowsOf(page, "#view .table-frame")).map((row) => Number(row.count));
  equal(calls, [...calls].sort((a, b) => b - a), "descending by calls");
  await page.click("#view th button:has-text('Calls')");
  const rising = (await rowsOf(page, "#view .table-frame")).map((row) => Number(row.count));
  equal(rising, [...calls].sort((a, b) => a - b), "ascending by calls");
  equal((await fragmentOf(page)).sort, "-count", "sorting is in the address");
  await page.fill("#op-filter", "ADDMM");
  equal((await rowsOf(page, "#view .table-frame")).map((row) => row.operation), ["aten::addmm"], "filtered ops");
  await page.fill("#op-filter", "no such op");
  equal((await rowsOf(page, "#view .table-frame")).length, 0, "no op");
  await page.close();
});

await check("an op opens its shapes, its histogram and its executions", async () => {
  const page = await open(trainingPage);
  await page.click("#tab-ops");
  await page.click("#view tr:has(th[data-value='aten::linear'])");
  const shapes = whole.shapes.filter((row) => row.operation === "aten::linear");
  const shown = await rowsOf(page, ".detail .table-frame >> nth=0");
  equal(shown.map((row) => Number(row.self_ns)).sort(), shapes.map((row) => row.self_ns).sort(), "self time by shapes");
  holds(await page.$(".histogram rect"), "histogram");
  equal(await page.$$eval(".histogram rect", (bars) => bars.length), 36, "bars of the histogram");
  await page.click(".detail tbody tr >> nth=0");
  await showAll(page, ".detail");
  const executions = await rowsOf(page, ".detail .table-frame >> nth=1");
  const selected = await rowsOf(page, ".detail .table-frame >> nth=0");
  equal(executions.length, Number(selected[0].count), "executions of the selected shapes");
  await page.click(".detail .table-frame >> nth=1 >> tbody tr >> nth=0");
  equal((await fragmentOf(page)).view, "timeline", "an execution opens the timeline");
  await page.close();
});

await check("timeline: zoom, pan, selection and overlays, with keyboard and mouse", async () => {
  const page = await open(trainingPage, "view=timeline");
  const visible = () => page.evaluate(() => timelineView.visible);
  const width = ([from, to]) => to - from;
  const first = await visible();
  await page.focus("#timeline");
  await page.keyboard.press("w");
  const zoomed = await visible();
  holds(width(zoomed) < width(first), "W zooms in");
  await page.keyboard.press("d");
  holds((await visible())[0] > zoomed[0], "D pans");
  await page.keyboard.press("a");
  await page.keyboard.press("s");
  holds(Math.abs(width(await visible()) - width(first)) < 1, "S zooms out again");
  const box = await (await page.$("#timeline")).boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 100);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -400);
  await page.keyboard.up("Control");
  await page.waitForFunction((before) => timelineView.visible[1] - timelineView.visible[0] < before, width(first));
  await page.keyboard.press("0");
  const again = await visible();
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 - 120, box.y + 100, { steps: 4 });
  await page.mouse.up();
  holds((await visible())[0] > again[0], "dragging pans");
  await page.keyboard.press("0");
  await page.keyboard.press("ArrowRight");
  holds(await page.textContent("#timeline-detail .name"), "an execution has the focus");
  await page.keyboard.press("Enter");
  holds((await fragmentOf(page)).op, "Enter selects its op");
  const marked = await page.evaluate(() => timelineView.painter.marked.length);
  const op = (await fragmentOf(page)).op;
  const row = whole.ops.find((one) => `${one.accelerator ? "device" : "host"} ${one.operation}` === op);
  equal(marked, row.count, "executions of the op that are marked");
  const colours = () => page.evaluate(() => {
    const canvas = document.getElementById("timeline");
    const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    let sum = 0;
    for (let at = 0; at < data.length; at += 97) sum = (sum * 31 + data[at]) % 1e9;
    return sum;
  });
  await page.keyboard.press("Escape");
  await page.waitForTimeout(100);
  const plain = await colours();
  for (const overlay of ["path", "idle"]) {
    await page.click(`#overlay-${overlay}`);
    await page.waitForTimeout(100);
    holds((await colours()) !== plain, `the overlay ${overlay} is drawn`);
    await page.click(`#overlay-${overlay}`);
    await page.waitForTimeout(100);
  }
  equal(await colours(), plain, "overlays can be switched on and off");
  holds((await page.evaluate(() => timelineView.overlay.arrows.to.length)) >= 24, "arrows for launches");
  await page.close();
});

await check("timeline: touch pans and pinches", async () => {
  const page = await open(trainingPage, "view=timeline");
  const width = () => page.evaluate(() => timelineView.visible[1] - timelineView.visible[0]);
  const before = await width();
  await page.evaluate(() => {
    const canvas = document.getElementById("timeline");
    const box = canvas.getBoundingClientRect();
    const send = (type, pointerId, x) =>
      canvas.dispatchEvent(new PointerEvent(type, { pointerId, pointerType: "touch", clientX: box.left + x, clientY: box.top + 80, bubbles: true }));
    send("pointerdown", 1, 500);
    send("pointerdown", 2, 600);
    send("pointermove", 2, 800);
    send("pointerup", 2, 800);
    send("pointerup", 1, 500);
  });
  holds((await width()) < before * 0.5, "two fingers zoom in");
  await page.close();
});

await check("timeline: the sums of the whole range are the figures of the report", async () => {
  const page = await open(trainingPage, "view=timeline");
  await page.click("#sum-visible");
  await showAll(page, "#timeline-range");
  const rows = await rowsOf(page, "#timeline-range");
  const sums = (list, name, self) => Object.fromEntries(Object.entries(grouped(list, name)).map(([key, own]) => [key, own.reduce((sum, row) => sum + Number(self(row)), 0)]));
  const shown = sums(rows, (row) => row.operation, (row) => row.self);
  const expected = sums(whole.ops, (row) => row.operation, (row) => row.self_ns);
  for (const name of Object.keys(expected)) equal(shown[name], expected[name], `self time of ${name.slice(0, 60)}`);
  equal(rows.reduce((sum, row) => sum + Number(row.count), 0), whole.entries, "executions");
  // Selects half of it with the mouse.
  const box = await (await page.$("#timeline")).boundingBox();
  await page.keyboard.down("Shift");
  await page.mouse.move(box.x + 400, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + 700, box.y + 60, { steps: 3 });
  await page.mouse.up();
  await page.keyboard.up("Shift");
  const part = (await rowsOf(page, "#timeline-range")).reduce((sum, row) => sum + Number(row.self), 0);
  const all = whole.ops.reduce((sum, row) => sum + row.self_ns, 0);
  holds(part > 0 && part < all, "a part has less than the whole");
  holds((await fragmentOf(page)).range, "the range is in the address");
  await page.close();
});

await check("flame graph and call tree", async () => {
  const page = await open(trainingPage);
  await checkTree(page, training0);
  await checkFlame(page, whole);
  const deviceTime = whole.ops.filter((row) => row.accelerator).reduce((sum, row) => sum + row.self_ns, 0);
  await page.selectOption("#view select", "device");
  equal(Number(await page.getAttribute("#flame-total", "data-value")), deviceTime, "device time");
  await page.selectOption("#view select", "self");
  const before = await page.$$eval(".frame", (frames) => frames.length);
  await page.click(".frame:has-text('aten::linear')");
  holds((await page.$$eval(".frame", (frames) => frames.length)) <= before && (await fragmentOf(page)).stack, "a click zooms");
  await page.focus(".frame >> nth=0");
  await page.keyboard.press("ArrowDown");
  holds(await page.evaluate(() => document.activeElement.classList.contains("frame") && document.activeElement.style.top !== "0px"), "arrow keys move");
  await page.close();
});

await check("roofline: points are those of the report", async () => {
  const report = json(training0, "--peaks", "60e12,2e12");
  const page = await open(trainingPage, "view=roofline");
  await showAll(page, "#view");
  const shown = (await rowsOf(page, "#view .table-frame")).map((row) => [row.operation, Number(row.intensity), Number(row.reached), Number(row.efficiency)]);
  equal(shown, report.roofline.map((one) => [one.operation, one.arithmetic_intensity, one.flops_per_s, one.efficiency]), "points");
  equal(await page.$$eval(".point", (points) => points.length), Math.min(400, report.roofline.length), "points in the chart");
  holds(await page.$(".roof"), "the roof");
  await page.close();
});

await check("memory: peak, holders at the peak and at another moment", async () => {
  const page = await open(trainingPage, "view=memory");
  const memory = whole.memory[0];
  equal(Number(await page.getAttribute(".memory-device", "data-peak")), memory.peak_bytes, "peak");
  const holders = async () => (await rowsOf(page, ".memory-device .table-frame")).map((row) => [row.operation, Number(row.bytes), Number(row.blocks)]);
  equal(await holders(), memory.holders.map((one) => [one.operation ?? "", one.bytes, one.blocks]), "holders at the peak");
  const box = await (await page.$(".memory-device svg")).boundingBox();
  await page.mouse.click(box.x + box.width - 10, box.y + 40);
  equal(Number(await page.getAttribute(".memory-device h4", "data-live")), 0, "all is freed at the end");
  await page.focus("#moment-0");
  await page.keyboard.press("Home");
  for (let press = 0; press < 30; press++) await page.keyboard.press("ArrowRight");
  const live = Number(await page.getAttribute(".memory-device h4", "data-live"));
  holds(live > 0 && live < memory.peak_bytes, "the keyboard moves the moment");
  equal((await holders()).reduce((sum, one) => sum + one[1], 0), live, "holders add up to what is live");
  await page.close();
});

await check("a step restricts the whole page", async () => {
  const page = await open(trainingPage, "view=steps");
  const bars = await page.$$eval(".step-bar", (items) => items.map((item) => [Number(item.dataset.step), Number(item.dataset.value)]));
  equal(bars, whole.steps.steps.map((step) => [step.number, step.length_ns]), "bars");
  await page.click(".step-bar >> nth=2");
  const report = json(training0, "--steps", "2");
  await checkOps(page, report);
  await checkTree(page, training0, ["--steps", "2"]);
  await checkFlame(page, report);
  await page.click("#tab-findings");
  await checkSentences(page, report);
  await page.click("#tab-timeline");
  const visible = await page.evaluate(() => timelineView.visible);
  holds(visible[1] - visible[0] < whole.span_ns / 2, "the timeline shows the step");
  await page.selectOption("#step", "");
  await checkOps(page, whole);
  await page.close();
});

await check("a range of steps restricts ops, call tree, flame graph and timeline", async () => {
  const page = await open(trainingPage, "view=ops");
  await page.selectOption("#step", "1");
  await page.selectOption("#until", "2");
  equal([(await fragmentOf(page)).step, (await fragmentOf(page)).until], ["1", "2"], "address");
  const report = json(training0, "--steps", "1..2");
  // Device time of host ops is only known if the page contains a report.
  const figures = { ...report, ops: report.ops.map((row) => ({ ...row, device_total_ns: 0 })) };
  await checkOps(page, figures);
  await checkTree(page, training0, ["--steps", "1..2"]);
  await checkFlame(page, report);
  await page.click("#tab-steps");
  equal(await page.$$eval(".step-bar[aria-pressed=true]", (bars) => bars.map((bar) => Number(bar.dataset.step))), [1, 2], "bars of the range");
  await page.click(".step-bar >> nth=3", { modifiers: ["Shift"] });
  equal((await fragmentOf(page)).until, "3", "Shift and a click widen the range");
  await page.click("#tab-findings");
  holds((await page.textContent(".notes")).includes("those of the chosen steps"), "a note on the findings");
  await page.selectOption("#step", "");
  await checkOps(page, whole);
  await page.close();
});

await check("the steps after a slow first one have figures of their own", async () => {
  const trace = write("warm-up.json", training(0, { slowStep: 0, steps: 6 }));
  const page = await open(makePage("warm-up.html", trace));
  await page.selectOption("#step", "warm");
  const report = json(trace, "--skip-warm-up");
  equal(report.steps.steps.map((step) => step.number), [1, 2, 3, 4, 5], "steps after the warm-up");
  await page.click("#tab-findings");
  await checkSentences(page, report);
  await checkOps(page, report);
  await page.close();
});

await check("the address shows the same view again; Back goes back", async () => {
  const page = await open(trainingPage);
  await page.click("#tab-ops");
  await page.click("#view tr:has(th[data-value='aten::linear'])");
  await page.click("#tab-timeline");
  await page.focus("#timeline");
  await page.keyboard.press("w");
  await page.keyboard.press("r");
  await page.waitForTimeout(300);
  const address = await page.evaluate(() => location.hash.slice(1));
  const state = await fragmentOf(page);
  await page.goBack();
  equal((await fragmentOf(page)).view, "ops", "Back shows the ops");
  await page.close();
  const other = await open(trainingPage, address);
  equal(await other.getAttribute("#tab-timeline", "aria-selected"), "true", "section");
  equal(await other.evaluate(() => timelineView.visible.map(Math.round).join("-")), state.visible, "visible part");
  holds(await other.$("#timeline-range tbody tr"), "range");
  holds((await other.textContent("#selection")).includes("aten::linear"), "selected op");
  await other.close();
  const odd = await open(trainingPage, "view=nothing&step=99&range=5-1&visible=a-b&shape=1e9&stack=-4&op=%00<b>");
  equal(await odd.getAttribute("#tab-findings", "aria-selected"), "true", "an odd address shows the findings");
  for (const tab of ["ops", "timeline", "flame", "tree", "memory"]) await odd.click(`#tab-${tab}`);
  await odd.close();
});

await check("hostile names are text in every section", async () => {
  const page = await open(trainingPage);
  await page.click("#tab-ops");
  await showAll(page, "#view");
  const shown = await page.$$eval("#view .op-name", (names) => names.map((name) => `${name.title} ${name.textContent}`));
  for (const name of HOSTILE.filter((one) => /^[\x20-\x7e]+$/.test(one) && one.length < 200)) holds(shown.some((text) => text.includes(name)), `${name} is shown`);
  holds(shown.some((name) => name.includes("safe\\u{202e}gnp.exe")), "marks of direction are shown");
  holds(shown.some((name) => name.includes("65,536 characters")), "a long name is cut, with its length");
  for (const [at] of HOSTILE.entries()) {
    await page.click("#tab-ops");
    await page.evaluate((at) => document.querySelectorAll("#view > div:last-child > div:first-child tbody tr")[at]?.click(), at);
    for (const tab of ["timeline", "flame", "tree", "findings"]) await page.click(`#tab-${tab}`);
  }
  equal(await page.evaluate(() => window.hacked), undefined, "nothing ran");
  equal(await page.$$eval("#view img, #view script, #view svg[onload]", (found) => found.length), 0, "no element came from a name");
  holds((await page.evaluate(() => document.documentElement.scrollWidth)) <= 1300, "nothing is wider than the window");
  await page.close();
});

await check("keyboard and screen reader: tabs, tables, names and states", async () => {
  const page = await open(trainingPage);
  await page.focus("#tab-findings");
  await page.keyboard.press("ArrowRight");
  equal(await page.evaluate(() => document.activeElement.id), "tab-ops", "arrow keys change the tab");
  await page.focus("#view tbody tr");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  equal(await page.$$eval("#view tr[aria-selected=true]", (rows) => rows.length), 1, "Enter selects a row");
  equal(await page.evaluate(() => document.activeElement?.closest("tr")?.getAttribute("aria-selected")), "true", "the row keeps the focus");
  holds((await page.textContent("#announcer")).includes("selected"), "the selection is announced");
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll("button, input, select, canvas, [role=tab]")].filter((one) => one.offsetParent !== null && !(one.textContent.trim() || one.getAttribute("aria-label") || one.closest("label")?.textContent.trim())).length);
  equal(nameless, 0, "controls without a name");
  equal(await page.$$eval("#view th button", (all) => all.length > 3), true, "columns can be sorted from the keyboard");
  equal(await page.$$eval("[role=tab][aria-selected=true]", (all) => all.length), 1, "one tab is selected");
  equal(await page.evaluate(() => document.documentElement.lang), "en", "language");
  await page.close();
});

await check("light and dark have enough contrast; a narrow window does not scroll sideways; paper has the findings", async () => {
  const page = await open(trainingPage);
  const contrast = () => page.evaluate(() => {
    const luminance = (text) => {
      const [r, g, b] = text.match(/[\d.]+/g).map(Number).map((v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const background = luminance(getComputedStyle(document.documentElement).backgroundColor);
    return [...document.querySelectorAll(".headline, .quiet, .card-title, .finding-time, .link, .advice")].map((one) => {
      const own = luminance(getComputedStyle(one).color);
      return (Math.max(own, background) + 0.05) / (Math.min(own, background) + 0.05);
    });
  });
  for (const scheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.waitForTimeout(50);
    holds(Math.min(...(await contrast())) >= 4.5, `contrast in ${scheme}`);
  }
  await page.click("#theme");
  holds(await page.evaluate(() => document.documentElement.dataset.theme), "the button changes the theme");
  await page.setViewportSize({ width: 390, height: 800 });
  for (const tab of ["findings", "ops", "timeline", "flame", "tree", "roofline", "memory", "steps"]) {
    await page.click(`#tab-${tab}`);
    holds((await page.evaluate(() => document.documentElement.scrollWidth)) <= 391, `${tab} fits a narrow window`);
  }
  await page.click("#tab-timeline");
  const paper = await page.pdf({ format: "A4" }).catch(() => null);
  if (paper) holds(paper.length > 5000, "paper");
  await page.emulateMedia({ media: "print" });
  await page.evaluate(() => preparePrint());
  holds(await page.isVisible(".headline"), "paper has the headline");
  equal(await page.isVisible("#tabs"), false, "paper has no tabs");
  await page.close();
});

// ---- ranks, compare, other ways to write a page ----

await check("ranks: heatmap and stragglers are those of the report", async () => {
  const files = [0, 1].map((rank) => write(`rank-${rank}.json`, training(rank, { ranks: 2 })));
  run("merge", ...files, "-o", inFolder("ranks.json"));
  const report = json(inFolder("ranks.json"));
  const page = await open(makePage("ranks.html", ...files), "view=ranks");
  const cells = await page.$$eval(".heatmap >> nth=0 >> td.heat", (all) => all.map((one) => [Number(one.dataset.rank), Number(one.dataset.key), Number(one.dataset.value)]));
  const expected = [...report.steps.steps].map((step) => [step.rank, step.number, step.length_ns]);
  equal([...cells].sort(), expected.sort(), "length of each step and rank");
  const waits = (await rowsOf(page, "section:has(#straggler) .table-frame")).map((row) => [Number(row["wait-0"]), Number(row["wait-1"])]);
  equal(waits, report.collectives.map((one) => [0, 1].map((rank) => one.wait_ns.find(([own]) => own === rank)?.[1] ?? 0)), "waits at collectives");
  const states = JSON.parse(run("path", inFolder("ranks.json"), "--format", "json")).wait_states;
  holds(states.total_ns > 0, "ranks wait for each other");
  equal(Number(await page.getAttribute("#waits-total", "data-value")), states.total_ns, "waiting of all ranks");
  const tables = await page.$$("section:has(#waits-total) .table-frame");
  const values = (table) => table.$$eval("tbody tr", (rows) => rows.map((row) => Number(row.querySelector("[data-key=ns]").dataset.value)));
  equal(await values(tables[1]), states.blames.map((one) => one.ns).slice(0, 10), "what the others waited for");
  equal(await values(tables[2]), states.sums.map((one) => one.ns).slice(0, 15), "waits by kind");
  await page.click("#tab-timeline");
  equal(await page.evaluate(() => new Set(timelineView.data.facts.lanes.map((lane) => lane.rank)).size), 2, "lanes of both ranks");
  await page.close();
});

await check("compare: the change is that of `optrace diff`", async () => {
  const slower = training(0);
  for (const event of slower.traceEvents) if (event.name === "aten::addmm") event.dur += 15;
  const before = write("before.json", training(0));
  const after = write("after.json", slower);
  const diff = JSON.parse(execFileSync(optrace, ["diff", before, after, "--format", "json"], { encoding: "utf8" }));
  const page = await open(makePage("compare.html", after, "--against", before));
  equal(await page.getAttribute("#tab-compare", "aria-selected"), "true", "differences come first");
  equal(Number(await page.getAttribute(".headline", "data-change")), diff.total.change_ns, "change of the total");
  await showAll(page, "#view");
  const shown = (await rowsOf(page, "#view .table-frame")).map((row) => [row.operation, Number(row.change_ns), Number(row.before), Number(row.after)]);
  const expected = diff.rows.map((row) => [row.operation, row.change_ns, ...row.self_ns]);
  equal([...shown].sort(), [...expected].sort(), "changes by op and shapes");
  equal(shown.map((row) => Math.abs(row[1])), shown.map((row) => Math.abs(row[1])).sort((a, b) => b - a), "largest difference first");
  await page.click("#view tr:has(th[data-value='aten::addmm'])");
  equal((await fragmentOf(page)).op, "host aten::addmm", "a difference opens its op");
  await page.close();
});

await check("`report --format html` and `convert` write the same page", async () => {
  run("report", training0, "--format", "html", "-o", inFolder("as-report.html"));
  const page = await open(inFolder("as-report.html"));
  await checkFindings(page, whole);
  await page.close();
  run("convert", training0, "-o", inFolder("converted.html"));
  const converted = await open(inFolder("converted.html"));
  await checkOps(converted, whole);
  await converted.close();
});

await check("an empty trace, and one without times, steps and shapes", async () => {
  for (const [name, trace] of [["empty.json", { traceEvents: [] }], ["flat.json", { entries: [{ step: 0, operation: "only", device_id: null, input_shapes: [], output_shape: [], duration_us: 5, output_elements: 0, memory_bytes: 0 }], total_duration_us: 5, metadata: {} }]]) {
    const page = await open(makePage(name.replace("json", "html"), write(name, trace)));
    for (const tab of await page.$$("[role=tab]")) await tab.click();
    await page.close();
  }
});

await check("an op shows where it is in the source", async () => {
  const entry = (step, operation, more) => ({ step, operation, device_id: null, input_shapes: [], output_shape: [], duration_us: 5, start_us: step * 5, output_elements: 0, memory_bytes: 0, ...more });
  const entries = [entry(0, "matmul", { location: "src/<b>layers.rs:12" }), entry(1, "relu", {})];
  const page = await open(makePage("location.html", write("location.json", { entries, total_duration_us: 10, metadata: {} })), "view=ops");
  await page.click("#view tr:has(th[data-value='matmul'])");
  equal(await page.textContent(".detail .site"), "src/<b>layers.rs:12", "location");
  await page.click("#view tr:has(th[data-value='relu'])");
  equal(await page.$$eval(".detail .site", (found) => found.length), 0, "an op without a location");
  await page.close();
});

// ---- given traces ----

for (const trace of traces) {
  await check(`figures of ${path.basename(trace)}`, async () => {
    const report = json(trace);
    const page = await open(makePage(`${path.basename(trace)}.html`, trace));
    await checkFindings(page, report);
    await checkOps(page, report);
    if (report.entries < 50_000) await checkFlame(page, report);
    for (const tab of await page.$$("[role=tab]")) await tab.click();
    const size = fs.statSync(inFolder(`${path.basename(trace)}.html`)).size;
    console.log(`     ${report.entries} entries, ${(size / 1e3).toFixed(0)} kB`);
    if (trace.includes("nccl_data")) holds(size <= 1.5e6, "at most 1.5 MB");
    await page.close();
  });
}

// ---- sizes and times ----

await check("the page without data is at most 300 kB", async () => {
  const size = fs.statSync(inFolder("empty.html")).size;
  console.log(`     ${(size / 1e3).toFixed(0)} kB`);
  holds(size <= 300e3, `${size} bytes`);
});

if (process.env.SIZES) {
  await check("10^6 entries: at most 12 MB, first paint within 1 s, zoom steps within 16 ms", async () => {
    const file = fs.createWriteStream(inFolder("many.json"));
    for (const part of many(1_000_000)) if (!file.write(part)) await new Promise((done) => file.once("drain", done));
    await new Promise((done) => file.end(done));
    const cpu = (...args) => {
      const out = execFileSync("bash", ["-c", '{ TIMEFORMAT="%U %S"; time "$0" "$@" >/dev/null; } 2>&1', optrace, ...args], { encoding: "utf8" });
      return out.trim().split("\n").at(-1).split(" ").map(Number).reduce((a, b) => a + b);
    };
    const reading = cpu("timeline", inFolder("many.json"), "--width", "40");
    const all = cpu("html", inFolder("many.json"), "-o", inFolder("many.html"));
    const size = fs.statSync(inFolder("many.html")).size;
    console.log(`     ${(size / 1e6).toFixed(2)} MB; ${all.toFixed(2)} s of processor time with reading the trace, which alone takes at most ${reading.toFixed(2)} s`);
    const page = await open(inFolder("many.html"), "view=timeline");
    const paint = await page.evaluate(() => performance.getEntriesByType("paint").find((one) => one.name === "first-contentful-paint")?.startTime);
    const marks = await page.evaluate(() => Object.fromEntries(performance.getEntriesByType("mark").map((one) => [one.name, Math.round(one.startTime)])));
    console.log(`     first paint after ${paint?.toFixed(0)} ms, findings ${marks["findings shown"]} ms, timeline ${marks["timeline read"]} ms`);
    // The time of a step: handling the key, plus the page's time for painting the frame.
    const steps = await page.evaluate(async () => {
      const canvas = document.getElementById("timeline");
      canvas.focus();
      const times = [];
      for (let index = 0; index < 60; index++) {
        const key = index < 25 ? "w" : index < 40 ? "d" : "s";
        performance.clearMeasures();
        const begun = performance.now();
        canvas.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        const handled = performance.now() - begun;
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        times.push(handled + performance.getEntriesByName("timeline paint").reduce((sum, one) => sum + one.duration, 0));
      }
      return times;
    });
    steps.sort((a, b) => a - b);
    const at = (share) => steps[Math.floor(share * (steps.length - 1))];
    console.log(`     a zoom or pan step: median ${at(0.5).toFixed(1)} ms, p95 ${at(0.95).toFixed(1)} ms, longest ${at(1).toFixed(1)} ms`);
    holds(size <= 12e6, "size");
    holds(all < 2.0 + reading, "processor time of writing");
    holds(paint < 1000, "first paint");
    holds(at(0.95) <= 16, "19 of 20 steps");
    await page.close();
  });
}

await context.close();
fs.rmSync(profile, { recursive: true, force: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);

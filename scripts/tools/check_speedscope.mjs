// Opens exports in speedscope, in a headless Chromium, and compares the table on the page with ours.
//
//   node check_speedscope.mjs FOLDER NODE_MODULES [CHROMIUM]
//
// FOLDER is the output of the `export_all` example; NODE_MODULES has `speedscope` and `playwright-core`.
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { createRequire } from "node:module";

const [folder, modules, chromium = "/usr/bin/chromium"] = process.argv.slice(2).map((arg) => path.resolve(arg));
const { chromium: browserType } = createRequire(path.join(modules, "x.js"))("playwright-core");
const expected = JSON.parse(fs.readFileSync(path.join(folder, "expected.json"), "utf8"));

// ---- the page ----

const dist = path.join(modules, "speedscope", "dist", "release");
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };
const server = http.createServer((request, response) => {
  const file = path.join(dist, path.basename(new URL(request.url, "http://x").pathname) || "index.html");
  if (!fs.existsSync(file)) return response.writeHead(404).end();
  response.writeHead(200, { "content-type": types[path.extname(file)] ?? "application/octet-stream" });
  response.end(fs.readFileSync(file));
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const browser = await browserType.launch({
  executablePath: chromium,
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
  ],
});

// Every profile of a file: frame name to total and self time, read from the table on the page.
async function open(file) {
  const page = await browser.newPage({ viewport: { width: 1600, height: 4000 } });
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(`http://127.0.0.1:${server.address().port}/index.html`);
  await page.setInputFiles("input[type=file]", path.join(folder, file));
  await page.waitForSelector("table tr td", { state: "attached" }).catch(() => page.waitForSelector("canvas"));
  await page.keyboard.press("3");
  await page.waitForFunction(() => [...document.querySelectorAll("th")].some((cell) => cell.textContent === "Self"));
  const picker = (await tables(page)).filter(inPicker);
  const profiles = [];
  for (let index = 0; index < Math.max(1, picker.length); index++) {
    profiles.push({ name: picker[index]?.[1] ?? "", frames: frames(await wholeTable(page)) });
    await page.keyboard.press("n");
    await page.waitForTimeout(500);
  }
  await page.close();
  if (errors.length > 0) throw new Error(`${file}: ${errors.join("\n")}`);
  return profiles;
}

// The profiles of a file are listed in a table as well, by number.
const inPicker = ([number]) => /^\d+$/.test(number);
const tables = (page) =>
  page.$$eval("table tr", (rows) =>
    rows.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent)).filter((row) => row.length === 3));

// Only visible rows are in the page, so the table is scrolled from its top to its end.
async function wholeTable(page) {
  const rows = new Map();
  for (let top = 0; ; top += 3000) {
    const more = await page.evaluate((top) => {
      const cell = [...document.querySelectorAll("table td")].at(-1);
      let list = cell?.closest("table");
      while (list && list.scrollHeight <= list.clientHeight) list = list.parentElement;
      if (list) list.scrollTop = top;
      return list !== null && list !== undefined && top + list.clientHeight < list.scrollHeight;
    }, top);
    await page.waitForTimeout(100);
    let seen = [];
    while (seen.length === 0) seen = (await tables(page)).filter((row) => !inPicker(row));
    for (const row of seen) rows.set(row[2], row);
    if (!more) return [...rows.values()];
  }
}

function frames(rows) {
  const frames = {};
  for (const [total, self, label] of rows) {
    // speedscope shows the arguments of a Chrome trace's frame after its name.
    const frame = (frames[label.split(" {")[0]] ??= [0, 0]);
    frame[0] += quantity(total);
    frame[1] += quantity(self);
  }
  return frames;
}

const UNITS = { ns: 1, "µs": 1e3, ms: 1e6, s: 1e9 };
function quantity(text) {
  const [, number, unit] = text.match(/^([\d,.]+)(ns|µs|ms|s)?/);
  return Number(number.replaceAll(",", "")) * (UNITS[unit] ?? 1);
}

// ---- what must be there ----

let failures = 0;
function compare(what, theirs, ours, within) {
  const close = ([name, [total, self]]) =>
    theirs[name] && Math.abs(theirs[name][0] - total) <= within(total) && Math.abs(theirs[name][1] - self) <= within(self);
  const names = (frames) => Object.keys(frames).sort().join();
  const same = names(theirs) === names(ours) && Object.entries(ours).every(close);
  failures += !same;
  console.log(`${same ? "ok  " : "FAIL"} ${what}`);
  if (!same) console.log("  speedscope", theirs, "\n  ours", ours);
}

// The page shows three digits or more, for each of the rows that are added up here.
const rounded = (ns) => 0.006 * ns + 30;
const byName = (profiles) => {
  const sum = {};
  for (const frames of profiles)
    for (const [name, figures] of Object.entries(frames))
      figures.forEach((figure, index) => ((sum[name] ??= [0, 0])[index] += figure));
  return sum;
};

const ours = byName(expected.threads);
const own = await open("trace.speedscope.json");
compare(`trace.speedscope.json: ${own.length} profiles, times by frame`, byName(own.map((one) => one.frames)), ours, rounded);

const threads = (await open("chrome.json")).filter((one) => !one.name.includes("(stream "));
const chrome = byName(threads.map((one) => one.frames));
delete chrome.cudaLaunchKernel;
compare(`chrome.json: ${threads.length} threads, times by name`, chrome, ours, rounded);

const collapsed = {};
for (const line of fs.readFileSync(path.join(folder, "trace.collapsed"), "utf8").trimEnd().split("\n")) {
  const [stack, weight] = [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))];
  const names = stack.split(";");
  for (const name of new Set(names)) (collapsed[name] ??= [0, 0])[0] += weight;
  collapsed[names.at(-1)][1] += weight;
}
compare("trace.collapsed: weights by frame", (await open("trace.collapsed"))[0].frames, collapsed, () => 0);
await browser.close();
server.close();
process.exit(failures > 0 ? 1 : 0);

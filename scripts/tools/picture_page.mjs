// Writes pictures of the page to a folder, as PNG files with few colours: small, and the same on every run.
//
//   node picture_page.mjs OPTRACE NODE_MODULES FOLDER
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [optrace, modules, folder] = process.argv.slice(2).map((arg) => path.resolve(arg));
const { chromium } = createRequire(path.join(modules, "x.js"))("playwright-core");
const work = fs.mkdtempSync(path.join(os.tmpdir(), "pictures-"));

// Name of the picture, traces, section, theme, height.
const PICTURES = [
  ["page-transformer", ["traces-out/transformer/trace.json"], "view=findings", "light", 860],
  ["page-transformer-flame", ["traces-out/transformer/trace.json"], "view=flame", "dark", 520],
  ["page-nccl-timeline", ["../shared/traces/nccl_data.json.gz"], "view=timeline", "light", 620],
  ["page-pipeline-ranks", ["traces-out/pipeline/ranks.json"], "view=ranks", "light", 620],
  ["page-pipeline-timeline", ["traces-out/pipeline/ranks.json"], "view=timeline", "dark", 620],
];

const context = await chromium.launchPersistentContext(path.join(work, "profile"), {
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  headless: true,
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
  ],
});
for (const [name, traces, fragment, colorScheme, height] of PICTURES) {
  if (!traces.every((trace) => fs.existsSync(trace))) {
    console.log(`skipped: ${name}, whose trace is not here`);
    continue;
  }
  const file = path.join(work, `${name}.html`);
  execFileSync(optrace, ["html", ...traces, "-o", file]);
  const page = await context.newPage();
  await page.setViewportSize({ width: 1240, height });
  await page.emulateMedia({ colorScheme });
  await page.goto(`${pathToFileURL(file).href}#${fragment}`);
  await page.waitForSelector("html[data-ready]");
  await page.waitForTimeout(300);
  const target = path.join(folder, `${name}.png`);
  await page.screenshot({ path: target });
  await page.close();
  console.log(`${target}: ${(fs.statSync(target).size / 1000).toFixed(0)} kB`);
}
await context.close();
fs.rmSync(work, { recursive: true, force: true });

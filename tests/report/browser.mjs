// Opens reports in a headless Chromium and looks at what a reader would see. Node and Chromium are all it needs: it talks
// the DevTools protocol over a pipe.
//
//   node browser.mjs CHROMIUM FOLDER [SCREENSHOTS]
//
// FOLDER has a folder for each report, with `report.html` and `plots/*.svg`. A check that fails is a line and exit code 1.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [chromium, folder, shots] = process.argv.slice(2);
const profile = mkdtempSync(join(tmpdir(), "contend-browser-"));

/** A browser, and commands to it. */
class Browser {
  constructor() {
    const flags = [
      "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--mute-audio",
      "--disable-background-networking", "--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND",
      "--hide-scrollbars", `--user-data-dir=${profile}`, "--remote-debugging-pipe", "about:blank",
    ];
    this.process = spawn(chromium, flags, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    this.waiting = new Map();
    this.listeners = [];
    this.last = 0;
    let rest = "";
    this.process.stdio[4].on("data", (bytes) => {
      const messages = (rest + bytes).split("\0");
      rest = messages.pop();
      messages.forEach((message) => this.take(JSON.parse(message)));
    });
  }

  take(message) {
    const waiting = this.waiting.get(message.id);
    if (!waiting) return this.listeners.forEach((listener) => listener(message));
    this.waiting.delete(message.id);
    if (message.error) waiting.reject(new Error(message.error.message));
    else waiting.resolve(message.result);
  }

  send(method, params = {}, sessionId = undefined) {
    const id = ++this.last;
    this.process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }
}

/** A tab, and what it complained of or asked a network for. */
class Tab {
  static async open(browser) {
    const tab = new Tab();
    const { targetId } = await browser.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await browser.send("Target.attachToTarget", { targetId, flatten: true });
    tab.send = (method, params) => browser.send(method, params, sessionId);
    tab.complaints = [];
    tab.requests = [];
    tab.loaded = () => {};
    browser.listeners.push((message) => message.sessionId === sessionId && tab.hear(message));
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await tab.send(`${domain}.enable`);
    return tab;
  }

  hear({ method, params }) {
    if (method === "Page.loadEventFired") this.loaded();
    if (method === "Runtime.exceptionThrown") this.complaints.push(params.exceptionDetails.exception?.description);
    if (method === "Log.entryAdded") this.complaints.push(params.entry.text);
    if (method === "Runtime.consoleAPICalled") this.complaints.push(params.args.map((arg) => arg.value).join(" "));
    if (method === "Network.requestWillBeSent") this.requests.push(params.request.url);
  }

  async go(path) {
    const loaded = new Promise((resolve) => (this.loaded = resolve));
    this.complaints.length = this.requests.length = 0;
    this.url = pathToFileURL(resolve(path)).href;
    await this.send("Page.navigate", { url: this.url });
    await loaded;
  }

  async ask(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async size(width, height) {
    await this.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 600 });
  }

  async shoot(name) {
    if (!shots) return;
    mkdirSync(shots, { recursive: true });
    const { data } = await this.send("Page.captureScreenshot", { captureBeyondViewport: true });
    writeFileSync(join(shots, `${name}.png`), Buffer.from(data, "base64"));
  }
}

let failed = 0;
const check = (name, holds, saw) => {
  if (!holds) failed += 1;
  console.log(`${holds ? "ok    " : "FAILED"} ${name}${holds ? "" : `: ${JSON.stringify(saw)}`}`);
};

// What the page is asked. A plot inside something folded has no size.
const CLIPPED = `(() => {
  const clipped = [];
  for (const svg of document.querySelectorAll("svg.plot")) {
    const { width, height } = svg.viewBox.baseVal;
    for (const text of svg.querySelectorAll("text")) {
      const box = text.getBBox();
      if (box.width && (box.x < -1 || box.y < -2 || box.x + box.width > width + 1 || box.y + box.height > height + 2)) {
        clipped.push(text.textContent + " in " + svg.getAttribute("aria-label"));
      }
    }
  }
  return clipped;
})()`;
const OVERLAPPING = `(() => {
  const found = [];
  for (const svg of document.querySelectorAll("svg.plot")) {
    const boxes = [...svg.querySelectorAll("text.end, text.soft")].map((text) => [text.textContent, text.getBoundingClientRect()]);
    boxes.forEach(([a, p], at) => boxes.slice(at + 1).forEach(([b, q]) => {
      const wide = Math.min(p.right, q.right) - Math.max(p.left, q.left);
      const high = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
      if (wide > 2 && high > 4) found.push(a + " and " + b + " in " + svg.getAttribute("aria-label"));
    }));
  }
  return found;
})()`;
const SIZES = `[...document.querySelectorAll("svg.plot")].map((svg) => {
  const { width, height } = svg.getBoundingClientRect();
  return width > 100 && height > 40 && svg.querySelectorAll("*").length > 4;
})`;
const SHOWN = `[...document.querySelectorAll("[data-k]")].filter((element) => !element.closest("[hidden]")).length`;
const UNNAMED = `[...document.querySelectorAll("svg.plot")].filter((svg) =>
  svg.getAttribute("role") !== "img" || !svg.getAttribute("aria-label")).length
  + [...document.querySelectorAll("input")].filter((input) => !input.labels.length).length
  + [...document.querySelectorAll("figure")].filter((figure) => !figure.querySelector("table tbody tr")).length`;

async function press(tab, key, code, text) {
  const event = { key, code, text, windowsVirtualKeyCode: text ? text.charCodeAt(0) : 9 };
  await tab.send("Input.dispatchKeyEvent", { type: "keyDown", ...event });
  await tab.send("Input.dispatchKeyEvent", { type: "keyUp", ...event });
}

async function filters(tab, name) {
  const boxes = await tab.ask(`document.querySelectorAll(".filters input").length`);
  if (boxes === 0) return;
  const before = await tab.ask(SHOWN);
  await tab.ask(`document.querySelector(".filters input").focus()`);
  await press(tab, " ", "Space", " ");
  const after = await tab.ask(SHOWN);
  check(`${name}: the space bar on a filter hides something`, after < before && after > 0, [before, after]);
  const said = await tab.ask(`document.querySelector("[data-shown]").textContent`);
  check(`${name}: and the page says how much is shown`, /^\d+ of \d+ lines are shown\.$/.test(said), said);
  await tab.shoot(`${name}-filtered`);
  await tab.ask(`document.querySelector(".filters button").click()`);
  check(`${name}: a button shows all again`, (await tab.ask(SHOWN)) === before, before);
}

async function report(tab, name, path) {
  await tab.size(1280, 900);
  await tab.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "light" }] });
  await tab.go(path);
  const sizes = await tab.ask(SIZES);
  check(`${name}: all plots are drawn (${sizes.length})`, sizes.length > 0 && sizes.every(Boolean), sizes);
  const texts = { clipped: await tab.ask(CLIPPED), overlapping: await tab.ask(OVERLAPPING) };
  check(`${name}: no text of a plot is cut off`, texts.clipped.length === 0, texts.clipped.slice(0, 5));
  check(`${name}: no names in a plot overlap`, texts.overlapping.length === 0, texts.overlapping.slice(0, 5));
  check(`${name}: plots and filters have names, and figures tables`, (await tab.ask(UNNAMED)) === 0);
  check(`${name}: nothing came in as markup`, (await tab.ask(`document.scripts.length`)) === 2 && !(await tab.ask("window.intruder")));
  const light = await tab.ask(`getComputedStyle(document.body).backgroundColor`);
  await tab.shoot(`${name}-light`);
  await filters(tab, name);

  await tab.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "dark" }] });
  const dark = await tab.ask(`getComputedStyle(document.body).backgroundColor`);
  check(`${name}: it has a dark side`, light !== dark, [light, dark]);
  await tab.shoot(`${name}-dark`);

  await tab.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "light" }] });
  await tab.size(375, 800);
  const wide = await tab.ask(`document.documentElement.scrollWidth`);
  const beyond = `[...document.querySelectorAll("main *, header *")].filter((element) => !element.closest(".scroll, svg")
    && element.getBoundingClientRect().right > 376).map((element) => element.outerHTML.slice(0, 90))`;
  check(`${name}: it fits a phone`, wide <= 375, [wide, (await tab.ask(beyond)).slice(0, 5)]);
  await tab.shoot(`${name}-phone`);
  await tab.size(1280, 900);
  const { data } = await tab.send("Page.printToPDF", {});
  check(`${name}: it can be printed`, data.length > 10_000, data.length);
  if (shots) writeFileSync(join(shots, `${name}.pdf`), Buffer.from(data, "base64"));
  check(`${name}: nothing is complained of`, tab.complaints.length === 0, tab.complaints);
  const asked = tab.requests.filter((url) => url !== tab.url);
  check(`${name}: nothing is asked of a network`, asked.length === 0, asked);

  await tab.send("Emulation.setScriptExecutionDisabled", { value: true });
  await tab.go(path);
  const still = await tab.ask(SIZES);
  check(`${name}: without its script it shows as much`, still.length === sizes.length && still.every(Boolean));
  await tab.send("Emulation.setScriptExecutionDisabled", { value: false });
}

/** A page with a defect, of which at least this must be noticed. */
async function planted(tab, page) {
  const text = readFileSync(page, "utf8");
  const plants = [
    ["an error of the script", text.replace(`"use strict";`, `"use strict"; nobody.home();`), () => tab.complaints.length],
    ["a picture from elsewhere", text.replace("<main>", `<main><img src="https://example.com/a.png">`), () => tab.complaints.length],
  ];
  for (const [name, page, seen] of plants) {
    const path = join(profile, "planted.html");
    writeFileSync(path, page);
    await tab.go(path);
    await new Promise((resolve) => setTimeout(resolve, 200));
    check(`planted, ${name} is noticed`, page !== text && seen() > 0, tab.complaints);
  }
}

async function main() {
  const browser = new Browser();
  browser.process.on("error", (error) => {
    console.error(`${chromium}: ${error.message}`);
    process.exit(1);
  });
  const tab = await Tab.open(browser);
  const names = readdirSync(folder).sort();
  for (const name of names) {
    await report(tab, name, join(folder, name, "report.html"));
    for (const plot of readdirSync(join(folder, name, "plots")).sort()) {
      await tab.go(join(folder, name, "plots", plot));
      const clipped = await tab.ask(CLIPPED);
      check(`${name}/${plot}: it is drawn, and nothing is cut off`, clipped.length === 0 && tab.complaints.length === 0, clipped.slice(0, 3));
      await tab.shoot(`${name}-${plot}`);
    }
  }
  await planted(tab, join(folder, names[0], "report.html"));
  const gone = new Promise((resolve) => browser.process.on("exit", resolve));
  browser.send("Browser.close").catch(() => {});
  await gone;
}

const overdue = setTimeout(() => {
  console.error("the browser does not answer");
  process.exit(1);
}, 300_000);
await main();
clearTimeout(overdue);
rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
console.log(failed === 0 ? "all checks passed" : `${failed} checks failed`);
process.exit(failed === 0 ? 0 : 1);

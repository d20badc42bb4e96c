// The page that compares two runs. What it shows is in its address; nothing that a run said becomes markup.
"use strict";

const API = new URL("../api/v1/", location.href);
const FIRST = 20;
const MORE = 200;
const TEXT = 400;
const ESCAPES = /\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])/g;
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;
const DECEIVING =
  /[\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff\u{e0000}-\u{e0fff}]/gu;

const form = document.getElementById("pick");
const rules = JSON.parse(form.dataset.rules);
const words = document.getElementById("words").content;
const lists = new Map();
let turn = 0;
let found = null;

/** A reason that is told to the reader in place of a result. */
class Trouble extends Error {}

/** Foreign text on one line, without what could deceive the eye, and cut where it is too long. */
function plain(text) {
  const spelled = text
    .slice(0, 10 * TEXT)
    .replace(ESCAPES, "")
    .replace(CONTROLS, "")
    .replace(DECEIVING, (sign) => `<U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}>`);
  const flat = spelled.split(/\s+/).join(" ").trim();
  if (flat.length <= TEXT && text.length <= 10 * TEXT) return flat;
  return `${flat.slice(0, TEXT)} … (${text.length - TEXT} more characters)`;
}

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = plain(String(text));
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/** A status with its glyph and its word, as the other pages have it. */
function word(name) {
  const status = words.querySelector(`[data-word="${CSS.escape(name)}"]`);
  return status ? status.firstElementChild.cloneNode(true) : element("span", name);
}

const number = (count) => count.toLocaleString("en");
const many = (count, one, more = `${one}s`) => `${number(count)} ${count === 1 ? one : more}`;

async function get(path) {
  const address = new URL(path, API);
  let answer;
  try {
    answer = await fetch(address, { cache: "no-cache" });
  } catch {
    throw new Trouble(`${address.pathname} cannot be fetched. Look whether you are online, then compare again.`);
  }
  if (!answer.ok) throw new Trouble(`${address.pathname} cannot be fetched: the server answers ${answer.status}.`);
  const file = await answer.json();
  if (file.schema_version !== 1) throw new Trouble("The site has changed since this page was opened. Reload it.");
  return file;
}

/** The attempts of a device, newest nightly first. */
function runsOf(device) {
  if (![...form.elements["device-a"].options].some((option) => option.value === device)) {
    throw new Trouble(`No device that has reported is called “${plain(device)}”. Choose one from the list.`);
  }
  if (!lists.has(device)) {
    const list = get(`runs/${encodeURIComponent(device)}.json`).then((file) => file.runs.reverse());
    list.catch(() => lists.delete(device));
    lists.set(device, list);
  }
  return lists.get(device);
}

const nameOf = (device, run) => `${device}@${run.plan_id}${run.counts ? "" : `.${run.attempt}`}`;

/** The run of a name, as `ootci diff` takes it: DEVICE@latest, @previous, @NIGHTLY or @NIGHTLY.ATTEMPT. */
async function find(name) {
  const [device, ...rest] = name.split("@");
  const runs = await runsOf(device);
  const counting = runs.filter((run) => run.counts);
  const wanted = rest.join("@");
  const counted = ["latest", "previous"].indexOf(wanted);
  const exact = runs.find((run) => run.counts && run.plan_id === wanted);
  const attempt = runs.find((run) => `${run.plan_id}.${run.attempt}` === wanted);
  const begun = counting.filter((run) => wanted && run.plan_id.startsWith(wanted));
  const run = counting[counted] || exact || attempt || (begun.length === 1 && begun[0]);
  if (run) return { device, run, runs };
  const what = begun.length ? `“${plain(name)}” fits ${begun.length} nightlies` : `“${plain(name)}” names no run`;
  throw new Trouble(`${what}; ${plain(device)} has reported on ${many(counting.length, "nightly", "nightlies")}. Choose one from the list.`);
}

/** The run that a run is compared with unless somebody says otherwise: that of the nightly before. */
function before({ device, run, runs }) {
  const older = runs.slice(runs.indexOf(run)).find((other) => other.counts && other.plan_id !== run.plan_id);
  if (!older) throw new Trouble(`${nameOf(device, run)} is the first run of its device: choose what to compare it with.`);
  return { device, run: older, runs };
}

/** Offer the runs of a device. */
function offer(side, runs, chosen) {
  const options = runs.map((run) => {
    const label = `${run.plan_id}${run.attempt > 1 || !run.counts ? `, attempt ${run.attempt}` : ""}${run.counts ? "" : ", replaced"}`;
    return element("option", label, { value: nameOf("", run) });
  });
  const select = form.elements[`night-${side}`];
  select.replaceChildren(...options);
  if (chosen) select.value = nameOf("", chosen);
}

function show(side, { device, run, runs }) {
  form.elements[`device-${side}`].value = device;
  offer(side, runs, run);
}

/** The address of a comparison, with `@` as people write it. */
function query(a, b) {
  const given = Object.entries({ a, b, q: form.elements.q.value }).filter(([, value]) => value);
  return `?${given.map(([name, value]) => `${name}=${encodeURIComponent(value).replaceAll("%40", "@")}`).join("&")}`;
}

const picked = (side) => form.elements[`device-${side}`].value + form.elements[`night-${side}`].value;

/** What is said of the comparison as a whole; read out when it changes. */
function say(status, sentences = [], notes = []) {
  const list = element("ul");
  list.append(...sentences.map((sentence) => element("li", sentence)));
  const parts = [word(status), ...(sentences.length ? [list] : []), ...notes];
  const said = document.getElementById("said");
  said.replaceChildren(...parts);
  said.className = `answer ${parts[0].classList[1]}`;
}

function clear() {
  found = null;
  document.getElementById("result").hidden = true;
}

function fail(error) {
  clear();
  if (!(error instanceof Trouble)) console.error(error);
  const sentence = error instanceof Trouble ? error.message : "Something is wrong with the files of these runs. Reload the page, and report it if that does not help.";
  say("trouble", [sentence]);
}

/** Compare what the address says; without names, offer a choice only. */
async function compare() {
  const mine = (turn += 1);
  const address = new URLSearchParams(location.search);
  form.elements.q.value = address.get("q") || "";
  clear();
  say("loading");
  try {
    const [nameA, nameB] = [address.get("a"), address.get("b")];
    const device = nameA ? nameA.split("@")[0] : form.dataset.device;
    if (!device) throw new Trouble("No device has reported on two nightlies yet.");
    const b = await find(nameB || `${device}@latest`);
    if (mine !== turn) return;
    for (const side of nameA ? ["b"] : ["a", "b"]) show(side, b);
    const a = nameA ? await find(nameA) : before(b);
    if (mine !== turn) return;
    show("a", a);
    const runs = await Promise.all([a, b].map(({ run }) => get(`runs/${run.path}`)));
    const numbers = tablesOf(runs);
    const files = await Promise.all(numbers.map((number) => get(`tests/${number}.json`)));
    if (mine !== turn) return;
    const tables = new Map(numbers.map((number, place) => [number, files[place]]));
    const names = [nameOf(a.device, a.run), nameOf(b.device, b.run)];
    // What was not named is from now on, so that the address shows the same tomorrow.
    if (!nameA || !nameB) history.replaceState(null, "", query(...names));
    found = { ...differenceOf(...runs, tables, rules), names, capped: new Map() };
    tell(runs, [a, b]);
  } catch (error) {
    if (mine !== turn) return;
    fail(error);
    for (const side of ["a", "b"]) if (!form.elements[`night-${side}`].options.length) choose(side);
  }
}

function tell(runs, sides) {
  const total = found.tests.length + found.unchanged;
  const newly = found.tests.filter((test) => rules.new_failures.includes(test.change) && (test.known || !test.required));
  const notes = [`${number(found.unchanged)} of ${many(total, "test")} are unchanged and do not fail`];
  if (newly.length) notes.push(`not counted: ${many(newly.length, "test")} newly failing in B, known failures or of an advisory suite`);
  if (found.noLongerRun) notes.push(`${many(found.noLongerRun, "test")} executed in A and not in B: skipped, unsupported or not run`);
  const [a, b] = runs;
  const same = a.id === b.id && a.attempt === b.attempt;
  say(found.worse.length ? "worse" : same ? "same" : "not_worse", found.worse, [element("p", `${notes.join("; ")}.`, { class: "muted" })]);
  document.title = document.title.replace(/^.*(?=Compare)/, `${plain(found.names.join(" and "))} · `);
  facts(runs, sides);
  document.getElementById("command").textContent = plain(`ootci diff ${found.names.map(quoted).join(" ")}`);
  document.getElementById("result").hidden = false;
  list();
}

/** A word as a shell takes it. */
const quoted = (text) => (/^[\w@.+:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\"'\"'")}'`);

function facts(runs, sides) {
  const rows = [
    ["run", (run, side) => link(found.names[side], new URL(sides[side].run.page, new URL("runs/x", API)))],
    ["started", (run) => run.started_at.replace(/T(\d\d:\d\d).*/, " $1 UTC")],
    ["torch", (run) => (run.torch ? run.torch.version + (run.torch_request.fallback_reason ? " (fallback)" : "") : "none")],
    ["torch commit", (run) => commit(run.torch && run.torch.git_version)],
    ["plugin", (run) => (run.plugin ? `${run.plugin.package} ${run.plugin.version || "not built"}` : "none")],
    ["plugin commit", (run) => (run.plugin && run.plugin.commit) || "unknown"],
    ["Python", (run) => run.environment.python || "unknown"],
    ["passed", (run) => `${run.counts.passed || 0} of ${executed(run.counts)} executed tests`],
  ];
  const differing = [
    ["system", (run) => run.environment.os],
    ["compiler", (run) => run.environment.compiler],
    ["image", (run) => run.environment.image],
    ["devices", (run) => run.environment.devices],
    ["suites", (run) => run.suites.map((suite) => suite.suite + (suite.required ? "" : " (advisory)")).join(", ")],
    ["flaky", (run) => run.counts.flaky || 0],
    ["skipped", (run) => run.counts.skipped || 0],
    ["unsupported", (run) => run.counts.unsupported || 0],
    ["not run", (run) => run.counts.not_run || 0],
    ...[...new Set(runs.flatMap((run) => Object.keys(run.environment.device_facts || {})))].map((name) => [
      name,
      (run) => run.environment.device_facts?.[name],
    ]),
  ].filter(([, value]) => value(runs[0]) !== value(runs[1]));
  const made = [...rows, ...differing].map(([label, value]) => {
    const row = element("tr");
    row.append(element("th", label, { scope: "row" }));
    runs.forEach((run, side) => {
      const shown = value(run, side);
      const cell = element("td");
      cell.append(shown instanceof Node ? shown : element("bdi", shown ?? "unknown"));
      row.append(cell);
    });
    if (row.children[1].textContent === row.children[2].textContent) row.children[2].replaceChildren(element("span", "the same", { class: "muted" }));
    return row;
  });
  document.querySelector("#facts tbody").replaceChildren(...made);
  const commits = document.getElementById("commits");
  commits.hidden = !found.commits;
  commits.replaceChildren(outside("PyTorch's commits between them", found.commits));
}

const executed = (counts) => rules.executed.reduce((sum, name) => sum + (counts[name] || 0), 0);

const link = (text, address) => element("a", text, { href: address });
const outside = (text, address) => element("a", text, { href: address });

function commit(hash) {
  if (!/^[0-9a-f]{40}$/.test(hash || "")) return element("code", hash || "unknown");
  const made = outside(hash.slice(0, 12), `https://github.com/pytorch/pytorch/commit/${hash}`);
  made.title = hash;
  return made;
}

/** The tests by kind, those that the filter leaves. */
function list() {
  const wanted = form.elements.q.value.trim().toLowerCase();
  const fits = (test) => !wanted || `${test.id} ${test.suite} ${test.before || ""} ${test.after || ""}`.toLowerCase().includes(wanted);
  let shown = 0;
  for (const kind of document.querySelectorAll("[data-kind]")) {
    const all = found.tests.filter((test) => (test.change || "other") === kind.dataset.kind);
    const tests = all.filter(fits).sort((x, y) => (x.id < y.id ? -1 : 1));
    shown += tests.length;
    const cap = found.capped.get(kind.dataset.kind) || FIRST;
    kind.hidden = !all.length;
    kind.querySelector(".count").textContent = tests.length === all.length ? number(all.length) : `${number(tests.length)} of ${number(all.length)}`;
    kind.querySelector("tbody").replaceChildren(...tests.slice(0, cap).map(line));
    const left = tests.length - cap;
    const more = kind.querySelector("button");
    more.hidden = left <= 0;
    more.textContent = `Show ${number(Math.min(left, MORE))} more of ${number(tests.length)}`;
  }
  document.getElementById("filtered").textContent = wanted ? `${many(shown, "test")} of ${number(found.tests.length)} fit “${plain(wanted)}”.` : "";
}

function line(test) {
  const row = element("tr");
  const name = element("td");
  name.append(element("code", test.id));
  row.append(name);
  for (const outcome of [test.before, test.after]) {
    const cell = element("td");
    cell.append(outcome ? word(outcome) : element("span", "not there", { class: "muted" }));
    row.append(cell);
  }
  const notes = element("td");
  if (test.known) notes.append(word("known"));
  if (!test.required) notes.append(element("span", test.known ? " advisory" : "advisory", { class: "muted" }));
  row.append(notes);
  return row;
}

function go(a, b) {
  const address = query(a, b);
  if (address !== location.search) history.pushState(null, "", address);
  compare();
}

/** Let a device be chosen: its runs are offered, the newest first. */
async function choose(side) {
  const device = form.elements[`device-${side}`].value;
  form.elements[`night-${side}`].replaceChildren();
  try {
    const runs = await runsOf(device);
    if (form.elements[`device-${side}`].value === device) offer(side, runs);
  } catch (error) {
    fail(error);
  }
}

function start() {
  if (location.protocol === "file:") {
    document.getElementById("file").hidden = false;
    return;
  }
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    go(picked("a"), picked("b"));
  });
  document.getElementById("swap").addEventListener("click", () => go(picked("b"), picked("a")));
  for (const side of ["a", "b"]) form.elements[`device-${side}`].addEventListener("change", () => choose(side));
  form.elements.q.addEventListener("input", () => {
    if (!found) return;
    history.replaceState(null, "", query(...found.names));
    list();
  });
  for (const kind of document.querySelectorAll("[data-kind]")) {
    kind.querySelector("button").addEventListener("click", () => {
      found.capped.set(kind.dataset.kind, (found.capped.get(kind.dataset.kind) || FIRST) + MORE);
      list();
    });
  }
  addEventListener("popstate", compare);
  compare();
}

start();

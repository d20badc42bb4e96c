// How run B differs from run A, from their files in the API. `rules` is the page's: the table of changes by outcome, the
// letters of outcomes, and the names of changes and outcomes that count. scripts/ootci/model/difference.py makes it; no
// outcome is judged here.
"use strict";

/** The letter of each row that is in a run: `p3.f` are the rows 0 to 2 and 4. */
function lettersOf(run) {
  const found = new Map();
  let row = 0;
  for (const [, letter, count] of run.outcomes.matchAll(/(\D)(\d*)/g)) {
    const end = row + Number(count || 1);
    for (; row < end; row += 1) if (letter !== ".") found.set(row, letter);
  }
  return found;
}

/** The files of tests that runs need, by number. */
function tablesOf(runs) {
  const needed = new Set();
  for (const run of runs) for (const row of lettersOf(run).keys()) needed.add(Math.floor(row / run.tests_each));
  return [...needed];
}

/** The tests of a run by id. */
function testsOf(run, tables, letters) {
  const flaky = new Set(run.flaky);
  const known = new Set(run.known);
  const found = new Map();
  for (const [row, letter] of lettersOf(run)) {
    const outcome = letters[letter];
    const { id, suite } = tables.get(Math.floor(row / run.tests_each)).tests[row % run.tests_each];
    found.set(id, { id, suite, outcome, shown: flaky.has(row) ? "flaky" : outcome, known: known.has(row) });
  }
  return found;
}

/** Why B is worse than A, a sentence each. */
function worse(a, b, tests, rules) {
  const news = tests.filter((test) => rules.new_failures.includes(test.change) && test.required && !test.known);
  const said = news.length ? [`${news.length} ${news.length === 1 ? "test fails" : "tests fail"} in B and did not fail in A`] : [];
  const reported = new Set(b.suites.filter((suite) => suite.state === "complete").map((suite) => suite.suite));
  const gone = tests.filter((test) => test.change === "disappeared" && test.required && reported.has(test.suite)).length;
  if (gone) said.push(`${gone} ${gone === 1 ? "test of A is" : "tests of A are"} not in B`);
  const passed = (stage) => (stage.status || "passed") === "passed";
  const stages = new Map(a.stages.map((stage) => [stage.name, stage]));
  const cameThrough = (stage) => stage && (passed(stage) || stage.only_tests);
  const broken = b.stages.filter(
    (stage) => !passed(stage) && stage.status !== "not_run" && !stage.only_tests && cameThrough(stages.get(stage.name)),
  );
  for (const stage of broken) said.push(`the stage ${stage.name} ${stage.status} in B: ${stage.reason || "no reason was given"}`);
  const whole = new Set(a.suites.filter((suite) => suite.required && suite.state === "complete").map((suite) => suite.suite));
  for (const report of b.suites) {
    const notStarted = report.state === "not_expected" && broken.length;
    if (!whole.has(report.suite) || report.state === "complete" || notStarted) continue;
    const detail = report.detail ? `: ${report.detail}` : "";
    said.push(`the report of the suite ${report.suite} is ${report.state} in B and complete in A${detail}`);
  }
  return said;
}

/** The page of PyTorch's commits between two builds; null where they are the same or unknown. */
function commitsBetween(a, b) {
  const [from, to] = [a, b].map((run) => run.torch && (run.torch.made_of || run.torch.git_version));
  const known = [from, to].every((commit) => /^[0-9a-f]{40}$/.test(commit || ""));
  return known && from !== to ? `https://github.com/pytorch/pytorch/compare/${from}...${to}` : null;
}

/** How B differs from A; `tables` are the files of tests by number. */
function differenceOf(a, b, tables, rules) {
  const [old, now] = [a, b].map((run) => testsOf(run, tables, rules.letters));
  const required = new Set([...a.suites, ...b.suites].filter((suite) => suite.required).map((suite) => suite.suite));
  const executed = (test) => rules.executed.includes(test.outcome);
  const tests = [];
  let unchanged = 0;
  let noLongerRun = 0;
  for (const id of new Set([...now.keys(), ...old.keys()])) {
    const [before, after] = [old.get(id), now.get(id)];
    const change = rules.changes[before ? before.shown : "absent"][after ? after.shown : "absent"];
    if (before && after && executed(before) && !executed(after)) noLongerRun += 1;
    if (change === null && before && after && before.shown === after.shown) {
      unchanged += 1;
      continue;
    }
    const { suite } = after || before;
    const known = rules.failing.includes(change) && after.known;
    tests.push({ id, suite, change, before: before && before.shown, after: after && after.shown, known, required: required.has(suite) });
  }
  return { tests, unchanged, noLongerRun, worse: worse(a, b, tests, rules), commits: commitsBetween(a, b) };
}

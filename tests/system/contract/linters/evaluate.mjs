// Evaluates expressions with GitHub's own evaluator. Argument: the folder of node_modules.
// Reads [{expression, contexts}, ...] as JSON, prints what comes of each as JSON.
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { text } from "node:stream/consumers";

const [modules] = process.argv.slice(2);
const path = join(resolve(modules), "@actions/expressions/dist/index.js");
const { data, Evaluator, Lexer, Parser, wellKnownFunctions } = await import(pathToFileURL(path).href);

const told = JSON.parse(await text(process.stdin)).map(({ expression, contexts }) => {
  const { tokens } = new Lexer(expression).lex();
  const parsed = new Parser(tokens, Object.keys(contexts), Object.values(wellKnownFunctions)).parse();
  const given = JSON.parse(JSON.stringify(contexts), data.reviver);
  return JSON.parse(JSON.stringify(new Evaluator(parsed, given).evaluate(), data.replacer));
});
console.log(JSON.stringify(told));

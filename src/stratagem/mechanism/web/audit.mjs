// Prints reports, a JSON object a line: node audit.mjs CLIENT BUNDLE [MEMO], CLIENT a URL. `stratagem audit` runs this.
// Standard input holds a JSON list of values in its first line, as the client takes them, and in every further
// line a list of places among them: each such line is asked of a new client, value by value. The k-th
// of them, from 0, keeps its memo in MEMO/k, a folder that lasts.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";

const BLOCK = 4096;

const [, , address, bundle, memos] = process.argv, { load } = await import(address), raw = await readFile(bundle);
let values = null, asked = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const given = JSON.parse(line);
  if (values === null) {
    values = given;
    continue;
  }
  const client = await load(raw, { atMost: 300, memo: memoOf(asked++) });
  for (let first = 0; first < given.length; first += BLOCK) {
    const block = given.slice(first, first + BLOCK).map((place) => client.randomise(values[place]));
    const lines = block.map((report) => `${JSON.stringify(report)}\n`).join("");
    if (!process.stdout.write(lines)) await new Promise((ready) => process.stdout.once("drain", ready));
  }
}

/** Return a storage in a folder, or null without one. */
function memoOf(number) {
  if (memos === undefined) return null;
  const file = (name) => `${memos}/${number}/${encodeURIComponent(name)}`;
  return {
    getItem: (name) => (existsSync(file(name)) ? readFileSync(file(name), "utf8") : null),
    setItem: (name, text) => writeFileSync(file(name), text),
  };
}

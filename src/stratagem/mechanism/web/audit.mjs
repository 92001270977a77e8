// Prints COUNT reports of one value, a JSON object a line: node audit.mjs BUNDLE VALUE COUNT
// VALUE is JSON, as the client takes it. `stratagem audit` runs this.

import { readFile } from "node:fs/promises";
import { load } from "./client.js";

const BLOCK = 4096;

const [path, value, count] = process.argv.slice(2);
const client = await load(await readFile(path));
const given = JSON.parse(value);
for (let left = Number(count); left > 0; left -= BLOCK) {
  let lines = "";
  for (let k = Math.min(left, BLOCK); k > 0; k -= 1) lines += `${JSON.stringify(client.randomise(given))}\n`;
  if (!process.stdout.write(lines)) await new Promise((ready) => process.stdout.once("drain", ready));
}

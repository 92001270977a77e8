/* stratagem: the demo page. It asks one answer, randomises it, and shows the report; it sends nothing. */

import { answers, atMost, coordinates, make, named, question, rounded, terms } from "./answer.js";
import { load } from "./client.js";
import { HIGH } from "./search.js";

const BARS = 256; // answers that are drawn one by one
const MANY = 2 ** 22; // answers whose chances are looked at one by one
const RADIOS = 6; // answers that are shown all at once
const $ = (id) => document.getElementById(id);
let client = null, questions = [];

$("stuck").hidden = true;
$("mechanism").hidden = false;
$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  answer();
});
$("file").addEventListener("change", async () => {
  const [file] = $("file").files;
  if (file) await open(file.name, () => file.arrayBuffer());
});
await open("bundle.ldp.json", () => new URL("bundle.ldp.json", document.baseURI));

/** Load a bundle and ask its question; a bundle that does not hold what it promises asks nothing. */
async function open(name, read) {
  for (const id of ["promise", "checked", "question", "result"]) $(id).hidden = true;
  try {
    client = await load(await read(), { atMost: document.querySelector("main").dataset.atMost });
  } catch (error) {
    say("status", error.message, true);
    return;
  }
  say("status", `${name} was read and checked.`);
  const { exp_epsilon: bound } = client.bundle.certificate, epsilon = rounded(client.epsilon);
  const times = atMost(Number(bound) / 2 ** 64), { memo } = client.bundle;
  say("promise", memo
    ? `All reports about one answer together are at most ${atMost(HIGH / memo.low)} times as likely for that answer as `
      + `for any other (epsilon = ${rounded(client.permanent)}), however many you make; one report alone is at most `
      + `${times} times as likely (epsilon = ${epsilon}).`
    : `Any report is at most ${times} times as likely for one answer as for any other (epsilon = ${epsilon}).`);
  tell(epsilon);
  $("once").hidden = Boolean(memo);
  $("kept").hidden = !memo;
  questions = client.attributes.map((attribute, k) => question(attribute, k, RADIOS));
  $("fields").replaceChildren(...questions.map(({ element }) => element));
  $("error").textContent = "";
  for (const id of ["promise", "checked", "question"]) $(id).hidden = false;
}

/** Show what the bundle holds. */
function tell(epsilon) {
  const { table, certificate, workload, sha256, memo } = client.bundle;
  const rows = {
    "Made for": workload?.name ?? "",
    "Bundle": `SHA-256 ${sha256}`,
    "Table": `${table.outputs} outputs × ${answers(client.attributes)} possible answers, in whole numbers`,
    "Certificate": `largest to smallest probability of a report, ${certificate.worst_high} : `
      + `${certificate.worst_low}, is within e to the power ${epsilon}`,
  };
  if (memo) {
    rows["Memo"] = `largest to smallest probability of a permanent report, ${HIGH} : ${memo.low}, is within e to the `
      + `power ${rounded(client.permanent)}`;
  }
  $("facts").replaceChildren(...terms(rows));
}

/** Randomise the answer, or say which part of it is missing or outside the domain. */
function answer() {
  const values = Object.create(null);
  for (const [k, { controls, read }] of questions.entries()) {
    const { name } = client.attributes[k];
    let wrong = "";
    try {
      values[name] = read();
      if (values[name] === undefined) throw new RangeError(`Please answer ${name}.`);
      client.readers[k](values[name]);
    } catch (error) {
      wrong = error.message;
    }
    for (const control of controls) control.setAttribute("aria-invalid", String(wrong !== ""));
    $("error").textContent = wrong;
    if (wrong) {
      $("result").hidden = true;
      controls[0].focus();
      return;
    }
  }
  let report = null;
  try {
    report = client.randomise(values);
  } catch (error) { // a memo that cannot be kept or is damaged
    $("error").textContent = error.message;
    $("result").hidden = true;
    return;
  }
  if (client.permanent !== null) navigator.storage?.persist?.().catch(() => {}); // browsers clear storage unasked
  show(report, client.attributes.map(({ name }, k) => client.readers[k](values[name])));
}

/** Return an answer as its owner calls it, attribute by attribute. */
function words(own) {
  return client.attributes.map((attribute, k) => named(attribute, own[k])).join(", ");
}

/** Show the report, and how likely every answer was to make it; `own` are the coordinates of the one given. */
function show(report, own) {
  $("report").textContent = JSON.stringify(report, null, 2);
  const n = answers(client.attributes), chance = (place) => client.probability(report.output, client.userType(place));
  const mine = chance(own), chances = n > MANY
    ? client.levels(report.output)
    : Array.from({ length: n }, (_, cell) => chance(coordinates(cell, client.attributes)));
  const yours = n > MANY ? -1 : client.attributes.reduce((cell, { size }, k) => cell * size + own[k], 0);
  const others = chances.filter((_, cell) => cell !== yours);
  const low = others.reduce((a, b) => Math.min(a, b), 1), high = others.reduce((a, b) => Math.max(a, b), 0);
  const range = percent(low) === percent(high) ? percent(low) : `${percent(low)} to ${percent(high)}`;
  const yourAnswer = client.bundle.memo ? "Before permanent reports are drawn, your answer" : "Your answer";
  $("likelihood").textContent = `${yourAnswer} (${words(own)}) makes this very output with probability ${percent(mine)}`
    + (n > 1 ? `, every other answer with ${range}.` : ".")
    + (n <= BARS ? " One bar for each possible answer; yours is bold, on this screen only." : "");
  $("bars").hidden = n > BARS;
  $("bars").replaceChildren(...(n > BARS ? [] : chances.map((height, cell) => {
    const bar = make("span", { className: "bar" }), label = words(coordinates(cell, client.attributes));
    bar.style.width = `${(100 * height) / Math.max(high, mine)}%`;
    const row = make("li", make("span", { dir: "auto" }, label), make("span", bar), make("span", percent(height)));
    return Object.assign(row, cell === yours ? { className: "yours" } : {});
  })));
  $("result").hidden = false;
  $("result-title").focus();
}

function say(id, sentence, wrong = false) {
  $(id).textContent = sentence;
  $(id).classList.toggle("wrong", wrong);
}

function percent(chance) {
  return `${Number((100 * chance).toPrecision(3))} %`;
}

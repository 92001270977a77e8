/* stratagem: the demo page. It asks one answer, randomises it, and shows the report; it sends nothing. */

import { load } from "./client.js";
import { HIGH } from "./search.js";
import { edgeBounds, OTHER } from "./value.js";

const BARS = 256; // answers that are drawn one by one
const MANY = 2 ** 22; // answers whose chances are looked at one by one
const RADIOS = 6; // answers that are shown all at once
const CHOICES = 64; // answers that are chosen from a list; of more, one is typed
const $ = (id) => document.getElementById(id);
let client = null, questions = [];

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
    client = await load(await read());
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
  questions = client.attributes.map(question);
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
    "Table": `${table.outputs} outputs × ${answers()} possible answers, in whole numbers`,
    "Certificate": `largest to smallest probability of a report, ${certificate.worst_high} : `
      + `${certificate.worst_low}, is within e to the power ${epsilon}`,
  };
  if (memo) {
    rows["Memo"] = `largest to smallest probability of a permanent report, ${HIGH} : ${memo.low}, is within e to the `
      + `power ${rounded(client.permanent)}`;
  }
  const lines = Object.entries(rows).flatMap(([term, text]) => [make("dt", term), make("dd", text)]);
  $("facts").replaceChildren(...lines);
}

/** Return an attribute's element, its controls and how to read them (undefined where nothing is answered). */
function question(attribute, k) {
  const { name, size, edges, unit } = attribute, of = unit ? ` of ${unit}` : "", id = `answer-${k}`;
  const { bounds, other, moment } = edges ? edgeBounds(edges, name, size) : { bounds: [0, size - 1] };
  if (attribute.labels || size <= CHOICES) {
    return choice(attribute, id, (place) => (other && place === size - 1 ? OTHER : edges ? bounds[place] : place));
  }
  const [min, max] = [bounds[0], bounds[bounds.length - 1]], kind = moment ? "date or time like 2026-12-31 or 23:59" : "number";
  const hint = edges
    ? `a ${kind}${of} from ${min} to below ${max}${other ? `, or ${OTHER}` : ""}`
    : `a whole number${of} from 0 to ${max}`;
  const plain = !other && !moment, step = edges ? "any" : 1;
  const control = make("input", plain ? { id, type: "number", min, max, step } : { id, type: "text" });
  control.setAttribute("aria-describedby", `${id}-hint error`);
  const element = field(name, id, control, make("p", { id: `${id}-hint`, className: "hint" }, hint));
  const text = () => (moment || control.value === OTHER ? control.value : Number(control.value));
  const read = () => (control.value === "" ? undefined : plain ? control.valueAsNumber : text());
  return { element, controls: [control], read };
}

/** Return the question of an attribute whose answers are all shown, by label, by bin or by number. */
function choice(attribute, id, unlabelled) {
  const { name, size, labels } = attribute, texts = Array.from({ length: size }, (_, place) => named(attribute, place));
  const value = (place) => (place < 0 ? undefined : labels ? labels[place] : unlabelled(place));
  if (size <= RADIOS) {
    const controls = texts.map(() => make("input", { type: "radio", name: id }));
    const options = controls.map((control, place) => make("label", control, texts[place]));
    const element = make("fieldset", make("legend", name), make("div", { className: "options" }, ...options));
    return { element, controls, read: () => value(controls.findIndex(({ checked }) => checked)) };
  }
  const blank = make("option", { value: "", textContent: "choose …" });
  const control = make("select", { id }, blank, ...texts.map((text) => make("option", text)));
  return { element: field(name, id, control), controls: [control], read: () => value(control.selectedIndex - 1) };
}

/** Return a value of an attribute as its owner calls it: a label, a bin with its unit, or a whole number. */
function named({ labels, edges, unit }, place) {
  if (labels) return labels[place];
  if (edges && edges[place + 1] === OTHER) return OTHER;
  const value = edges ? `${edges[place]} to below ${edges[place + 1]}` : String(place);
  return unit ? `${value} ${unit}` : value;
}

function field(name, id, ...parts) {
  return make("div", { className: "field" }, make("label", { htmlFor: id }, name), ...parts);
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

/** Return the number of possible answers, rounded beyond 2^53. */
function answers() {
  return client.attributes.reduce((product, { size }) => product * size, 1);
}

/** Return the coordinates of an answer by its number, the last attribute fastest. */
function coordinates(number) {
  const values = [];
  for (const { size } of [...client.attributes].reverse()) {
    values.unshift(number % size);
    number = Math.floor(number / size);
  }
  return values;
}

/** Return an answer as its owner calls it, attribute by attribute. */
function words(own) {
  return client.attributes.map((attribute, k) => named(attribute, own[k])).join(", ");
}

/** Show the report, and how likely every answer was to make it; `own` are the coordinates of the one given. */
function show(report, own) {
  $("report").textContent = JSON.stringify(report, null, 2);
  const n = answers(), chance = (place) => client.probability(report.output, client.userType(place));
  const mine = chance(own), chances = n > MANY
    ? client.levels(report.output)
    : Array.from({ length: n }, (_, cell) => chance(coordinates(cell)));
  const yours = n > MANY ? -1 : client.attributes.reduce((cell, { size }, k) => cell * size + own[k], 0);
  const others = chances.filter((_, cell) => cell !== yours);
  const low = others.reduce((a, b) => Math.min(a, b), 1), high = others.reduce((a, b) => Math.max(a, b), 0);
  const range = percent(low) === percent(high) ? percent(low) : `${percent(low)} to ${percent(high)}`;
  const yourAnswer = client.bundle.memo ? "Before permanent reports are drawn, your answer" : "Your answer";
  $("likelihood").textContent = `${yourAnswer} (${words(own)}) makes this very output with probability ${percent(mine)}`
    + (n > 1 ? `, every other answer with ${range}.` : ".")
    + (n <= BARS ? " One bar for each possible answer; yours is coloured, on this screen only." : "");
  $("bars").hidden = n > BARS;
  $("bars").replaceChildren(...(n > BARS ? [] : chances.map((height, cell) => {
    const title = `${words(coordinates(cell))}: ${percent(height)}`;
    const bar = make("span", { title }, cell === yours ? { className: "yours" } : {});
    bar.style.height = `${(100 * height) / Math.max(high, mine)}%`;
    return bar;
  })));
  $("result").hidden = false;
  $("result-title").focus();
}

function say(id, sentence, wrong = false) {
  $(id).textContent = sentence;
  $(id).classList.toggle("wrong", wrong);
}

/** Return an element with properties, texts and elements in it. */
function make(tag, ...parts) {
  const element = document.createElement(tag);
  for (const part of parts) {
    if (typeof part === "string" || part instanceof Node) element.append(part);
    else Object.assign(element, part);
  }
  return element;
}

function rounded(epsilon) {
  return Number(epsilon.toPrecision(4));
}

/** Return three digits of a number, rounded up. */
function atMost(x) {
  const unit = 10 ** (Math.floor(Math.log10(x)) - 2), up = Math.ceil(x / unit) * unit;
  return x < 1e6 ? String(Number(up.toPrecision(3))) : up.toExponential(2);
}

function percent(chance) {
  return `${Number((100 * chance).toPrecision(3))} %`;
}

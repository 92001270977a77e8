/* stratagem: what its pages share: the answers that are offered, read and named, and small pieces of a page. */

import { edgeBounds, NO_ANSWER, OTHER, valuesOf } from "./value.js";

const CHOICES = 64; // answers that are chosen from a list; of more, one is typed
const DAY = 86_400_000; // milliseconds
const LIKE = { "a number": "a number", "a date": "a date like 2026-12-31,", "a time of day": "a time like 23:59," };
const ENDS = new WeakMap(); // what the bins between edges begin and end with, by their attribute

/** Return an attribute's element, its controls, how to read them (undefined where nothing is answered), and in words
 * what is allowed; of at most `radios` answers all are shown at once.
 */
export function question(attribute, k, radios) {
  const { name, edges, unit, labels, no_answer: silent } = attribute, of = unit ? ` of ${unit}` : "", id = `answer-${k}`;
  const size = valuesOf(attribute), rest = attribute.other === true, numbers = [0, size - 1 - rest];
  const { texts, other, kind } = edges ? edgeBounds(edges, name, size) : { texts: numbers, other: rest, kind: "a number" };
  if (attribute.size <= CHOICES) {
    const unlabelled = (place) => (other && place === size - 1 ? OTHER : edges ? texts[place] : place);
    return choice(attribute, id, (place) => (place === size ? "" : labels ? labels[place] : unlabelled(place)), radios);
  }
  const [min, max] = [texts[0], texts[texts.length - 1]], moment = kind !== "a number";
  const whole = !moment && (!edges || attribute.whole === true), last = edges && whole ? ends(attribute)[size - 1 - other][1] : max;
  const wanted = labels
    ? "one of the answers in the list: type some letters to find it"
    : `${whole ? "a whole number" : LIKE[kind]}${of} from ${min} to ${whole ? "" : "below "}${last}`
      + (other ? `, or the word “${OTHER}” for anything else` : "");
  const hint = `${wanted}${silent ? ", or tick “No answer”" : ""}`;
  const plain = !other && !moment && !labels, step = whole ? 1 : "any";
  const control = make("input", plain ? { id, type: "number", min, max, step } : { id, type: "text" });
  const parts = [control, make("p", { id: `${id}-hint`, className: "hint" }, hint)];
  control.setAttribute("aria-describedby", `${id}-hint error`);
  if (labels) {
    control.setAttribute("list", `${id}-list`);
    control.dir = "auto";
    parts.push(make("datalist", { id: `${id}-list` }, ...labels.map((value) => make("option", { value }))));
  }
  const none = make("input", { type: "checkbox", id: `${id}-none` });
  const box = make("label", none, make("span", title(NO_ANSWER)));
  if (silent) parts.push(make("div", { className: "options" }, box));
  const read = () => (none.checked ? "" : control.value === "" ? undefined : control.value);
  return { element: field(name, id, ...parts), controls: silent ? [control, none] : [control], read, wanted: hint };
}

/** Return the question of an attribute whose answers are all shown, by label, by bin or by number. */
function choice(attribute, id, value, radios) {
  const { name, size } = attribute, wanted = "one of the answers";
  const texts = Array.from({ length: size }, (_, place) => named(attribute, place));
  if (attribute.no_answer) texts.push(title(texts.pop()));
  if (size <= radios) {
    const controls = texts.map(() => make("input", { type: "radio", name: id }));
    const options = controls.map((control, place) => make("label", { dir: "auto" }, control, make("span", texts[place])));
    const legend = make("legend", { dir: "auto" }, name);
    const element = make("fieldset", legend, make("div", { className: "options" }, ...options));
    const chosen = () => controls.findIndex(({ checked }) => checked);
    return { element, controls, read: () => (chosen() < 0 ? undefined : value(chosen())), wanted };
  }
  const blank = make("option", { value: "", textContent: "choose …" });
  const control = make("select", { id, dir: "auto" }, blank, ...texts.map((text) => make("option", text)));
  control.setAttribute("aria-describedby", "error");
  const read = () => (control.selectedIndex < 1 ? undefined : value(control.selectedIndex - 1));
  return { element: field(name, id, control), controls: [control], read, wanted };
}

/** Return whether a value that has no label stands for whatever is none of the others. */
export function isOther(attribute, place) {
  const { edges, other } = attribute;
  return edges ? edges[place + 1] === OTHER : other === true && place === valuesOf(attribute) - 1;
}

/** Return a value of an attribute, or those up to `last`, as its owner calls it: a label, bins with their unit, or whole
 * numbers; what stands for every other value, by what it means.
 */
export function named(attribute, place, last = place) {
  const { labels, edges, unit } = attribute;
  if (place >= valuesOf(attribute)) return NO_ANSWER;
  if (labels) return labels[place] === OTHER ? "something else" : labels[place];
  if (isOther(attribute, last)) return beyond(attribute);
  const found = edges && ends(attribute), [first, end] = found ? [found[place][0], found[last][1]] : [place, last].map(String);
  const value = edges && !found ? `${edges[place]} to below ${edges[last + 1]}` : first === end ? first : `${first} to ${end}`;
  return unit ? `${value} ${unit}` : value;
}

/** Return in words what is none of the numbers, dates or times of an attribute. */
function beyond(attribute) {
  const { name, size, no_answer: silent, edges, unit } = attribute;
  const count = valuesOf({ size, no_answer: silent }), of = unit ? ` ${unit}` : "";
  const { texts, kind } = edges ? edgeBounds(edges, name, count) : { texts: ["0", String(count - 1)], kind: "a number" };
  const [first, last] = [texts[0], texts[texts.length - 1]], found = edges && ends(attribute);
  if (kind === "a date" && found) return `before ${found[0][0]}, or after ${found[found.length - 1][1]}`;
  if (kind !== "a number") return `before ${first}, or ${last} or later`;
  if (first === "0") return `${last}${of} or more, or something else`;
  return `less than ${first}${of}, or ${last}${of} or more`;
}

/** Return what each bin begins and ends with where all are whole numbers, days, months or years; else null. */
function ends(attribute) {
  const { edges, whole } = attribute;
  if (!ENDS.has(attribute)) ENDS.set(attribute, whole ? wholeNumbers(edges) : wholeDays(edges));
  return ENDS.get(attribute);
}

function wholeNumbers(all) {
  const edges = all.filter((edge) => edge !== OTHER);
  return edges.slice(1).map((edge, k) => [edges[k], String(BigInt(edge) - 1n)]);
}

function wholeDays(all) {
  const edges = all.filter((edge) => edge !== OTHER);
  if (!edges.every((edge) => /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(edge))) return null;
  const letters = 10 - ["-01-01", "-01", ""].find((end) => edges.every((edge) => edge.endsWith(end))).length;
  return edges.slice(1).map((edge, k) => (
    [edges[k], new Date(Date.parse(edge) - DAY).toISOString()].map((text) => text.slice(0, letters))
  ));
}

function title(text) {
  return text[0].toUpperCase() + text.slice(1);
}

function field(name, id, ...parts) {
  return make("div", { className: "field" }, make("label", { htmlFor: id, dir: "auto" }, name), ...parts);
}

/** Return the coordinates of an answer to these attributes by its number, the last attribute fastest. */
export function coordinates(number, attributes) {
  const values = [];
  for (const { size } of [...attributes].reverse()) {
    values.unshift(number % size);
    number = Math.floor(number / size);
  }
  return values;
}

/** Return the number of answers to these attributes together, rounded beyond 2^53. */
export function answers(attributes) {
  return attributes.reduce((product, { size }) => product * size, 1);
}

/** Return terms and descriptions of a list. */
export function terms(rows) {
  return Object.entries(rows).flatMap(([term, text]) => [make("dt", term), make("dd", text)]);
}

/** Return an element with properties, texts and elements in it. */
export function make(tag, ...parts) {
  const element = document.createElement(tag);
  for (const part of parts) {
    if (typeof part === "string" || part instanceof Node) element.append(part);
    else Object.assign(element, part);
  }
  return element;
}

export function rounded(epsilon) {
  return Number(epsilon.toPrecision(4));
}

/** Return three digits of a number, rounded up. */
export function atMost(x) {
  const unit = 10 ** (Math.floor(Math.log10(x)) - 2), up = Math.ceil(x / unit) * unit;
  return x < 1e6 ? String(Number(up.toPrecision(3))) : up.toExponential(2);
}

/* stratagem: what a report says, in the words of the person who sends it. */

import { answers, coordinates, isOther, named } from "./answer.js";
import { HIGH, WEIGHTS } from "./search.js";
import { valuesOf } from "./value.js";

const MOST = 2 ** 16; // answers whose chances are looked at one by one
const ALIKE = 0.01; // difference of probabilities that "about" covers
const SAME = 1e-5; // relative difference that rounding to whole numbers makes, at most

/** Return how an output came about: `kind`, and the answers that make it likelier than the others, as texts and counted.
 *
 * A text is a list of pairs: the name of an attribute, empty if there is no other, and a value.
 *
 * Of a `set` every answer is as likely as the next, and so is every other answer; an output that `fits` these answers has
 * more than two probabilities; `nothing` is as likely for all; of a `part` the answers are too many to be listed.
 */
export function meaning(client, output) {
  const places = client.about(output), attributes = places.map((k) => client.attributes[k]);
  if (answers(attributes) > MOST) return { kind: "part", texts: [], count: 0 };
  const { chances, high, low, likely } = row(client, output, places, attributes);
  if (high <= low * (1 + SAME)) return { kind: "nothing", texts: [], count: 0 };
  const two = chances.every((chance, k) => Math.abs(chance - (likely[k] ? high : low)) <= SAME * chance);
  const texts = listed(likely, attributes, client.attributes.length > 1), count = likely.filter(Boolean).length;
  return { kind: two ? "set" : "fits", texts, count };
}

/** Return the probabilities of an output for the answers to some attributes, and which are above the middle. */
function row(client, output, places, attributes) {
  const chances = Array.from({ length: answers(attributes) }, (_, number) => {
    const all = client.attributes.map(() => 0);
    coordinates(number, attributes).forEach((value, j) => (all[places[j]] = value));
    return client.probability(output, client.userType(all));
  });
  const high = chances.reduce((a, b) => Math.max(a, b)), low = chances.reduce((a, b) => Math.min(a, b));
  return { chances, high, low, likely: chances.map((chance) => chance * chance > high * low) };
}

/** Return the answers that are likely as lists of pairs, without attributes that make no difference. */
function listed(likely, attributes, several) {
  const strides = attributes.map((_, j) => answers(attributes.slice(j + 1)));
  const place = (number, j) => Math.floor(number / strides[j]) % attributes[j].size;
  const matters = attributes.map((_, j) => likely.some((one, number) => one !== likely[number - strides[j] * place(number, j)]));
  const kept = attributes.map((_, j) => j).filter((j) => matters[j]);
  const numbers = likely.map((_, number) => number).filter((number) => (
    likely[number] && attributes.every((_, j) => matters[j] || place(number, j) === 0)
  ));
  const titled = (j, text) => [several ? attributes[j].name : "", text];
  if (kept.length === 1) {
    const [j] = kept;
    return runs(attributes[j], numbers.map((number) => place(number, j))).map((text) => [titled(j, text)]);
  }
  return numbers.map((number) => kept.map((j) => titled(j, named(attributes[j], place(number, j)))));
}

/** Return values of an attribute as texts, neighbouring numbers and bins as one. */
function runs(attribute, places) {
  const found = [];
  for (const place of places) {
    const last = found[found.length - 1], silent = place === valuesOf(attribute);
    const alone = silent || attribute.labels || isOther(attribute, place);
    if (!alone && last?.[1] === place - 1) last[1] = place;
    else found.push([place, place]);
  }
  return found.map(([first, last]) => named(attribute, first, last));
}

/** Return the probability that a report about a part is likelier for a person's own answer than for some others; null
 * where it depends on the answer, or would take long to compute.
 */
export function ownAmong(client, part) {
  const { offset, attributes: places, share, table: { low, outputs } } = client.parts[part];
  if (low !== undefined) return (HIGH / (HIGH - low)) * (1 - (low * WEIGHTS) / client.total(part)); // columns sum to one
  const attributes = places.map((k) => client.attributes[k]), n = answers(attributes);
  if (n * outputs > 4 * MOST) return null;
  const sums = Array.from({ length: n }, () => 0);
  for (let output = offset; output < offset + outputs; output++) {
    const { chances, likely } = row(client, output, places, attributes);
    chances.forEach((chance, k) => (sums[k] += likely[k] ? (chance * WEIGHTS) / share : 0));
  }
  const least = Math.min(...sums);
  return Math.max(...sums) - least < ALIKE ? least : null;
}

/** Return how sure somebody can be at most, in per cent, who knew before that two answers were equally likely and sees
 * reports of this epsilon: e^epsilon / (1 + e^epsilon), rounded up, so that it is below 100.
 */
export function sureness(epsilon) {
  const rest = 100 / (1 + Math.exp(epsilon)), unit = 10 ** Math.min(-1, Math.floor(Math.log10(rest)) - 1);
  return `${Number((100 - Math.floor(rest / unit) * unit).toPrecision(12))} %`;
}

/* The web client of stratagem: reads a bundle, checks all it promises, and randomises values.
 *
 * An ES module that needs nothing but WebCrypto (browsers over https or localhost, Node 20, Deno, workers):
 *
 *     import { load } from "./client.js";
 *     const client = await load("bundle.ldp.json");
 *     const report = client.randomise(17);
 *
 * Of a survey a device may draw its part first, keep the number (a memo does), and ask for no more than it is about:
 *
 *     const part = client.part(), { attributes } = client.parts[part];
 *     const report = client.randomise({ age: 17 }, part);
 *
 * It accepts and refuses the bundles that the Python client does, and makes the same report of the same
 * random bytes. Everything is done in whole numbers. Every draw takes the same number of steps and of table
 * reads for every value. Random numbers are drawn again with a chance of 1/16 at most, whatever the bundle and
 * the value. Whatever is wrong is a RangeError of one sentence.
 */

import { hex } from "./binary.js";
import { accepted, epsilonOf, parse, webCrypto } from "./bundle.js";
import { ADVICE, isObject, refuse, short } from "./check.js";
import { LIMIT } from "./json.js";
import { Memo } from "./memo.js";
import { KINDS, userType } from "./parts.js";
import { WEIGHTS } from "./search.js";
import { reader } from "./value.js";

export { parse };

/** Return the client of a bundle, given as its text, its bytes or a URL to fetch it from.
 *
 * A bundle of more epsilon than `atMost`, 10 if not given, is refused, and one of another `sha256`. A bundle for
 * repeated reports keeps a memo of this person in `memo`, `localStorage` if not given; null makes every report that of
 * a new person. Any other option is refused.
 */
export async function load(given, options = {}) {
  if (!isObject(options)) refuse(`${short(options)} was given as options: give an object such as { atMost: 1 }`);
  const { atMost, sha256, source, memo, ...unknown } = options;
  for (const name of Object.keys(unknown)) refuse(`load has no option ${short(name)}: give atMost, sha256 or memo`);
  if ("sha256" in options && typeof sha256 !== "string") {
    refuse(`the sha256 asked for is ${short(sha256)}: give its 64 digits, or leave sha256 out`);
  }
  const here = typeof given !== "string" || given.trimStart().startsWith("{");
  const bundle = await parse(here && !(given instanceof URL) ? given : await download(given));
  if (!bundle.memo && (memo ?? null) !== null) refuse("the mechanism file is made for single reports: leave memo out");
  const keeping = bundle.memo && memo === undefined ? ownStorage() : memo;
  return new Client(accepted(bundle, atMost, sha256), source, keeping);
}

/** Randomises values by the table of a checked bundle; `source` fills arrays with bytes, for tests alone. */
export class Client {
  constructor(bundle, source = secureBytes(), memo = null) {
    this.bundle = bundle;
    this.identifier = bundle.sha256;
    this.epsilon = epsilonOf(bundle); // of one report
    this.permanent = bundle.memo ? Number(bundle.memo.epsilon.any) : null; // of all reports about one value, with a memo
    this.attributes = bundle.domain;
    this.sampler = new KINDS[bundle.table.kind](bundle.table);
    this.names = bundle.domain.map((attribute) => attribute.name);
    this.sizes = bundle.domain.map((attribute) => attribute.size);
    this.places = [...this.names.keys()];
    const whole = { offset: 0, attributes: this.places, share: WEIGHTS, table: bundle.table };
    this.parts = this.sampler.parts ?? [whole]; // one report is about one of them: places of attributes, and how often
    this.readers = bundle.domain.map(reader);
    this.bytes = new Uint8Array(16);
    this.ahead = new Ahead(source);
    this.memo = bundle.memo && (memo ?? null) !== null ? new Memo(bundle, memo) : null;
  }

  /** Return the number of the part that a report is to be about, drawn by the shares before anything is asked.
   *
   * With a memo it is always the one that the memo keeps.
   */
  part() {
    return this.parts.length > 1 ? (this.memo ?? this.sampler).part(this.ahead.source) : 0;
  }

  /** Return the number of the part that an output is about. */
  partOf(output) {
    return this.parts.length > 1 ? this.sampler.numberOf(output) : 0;
  }

  /** Return the report of a value: of one attribute as it is, of several as an object by name.
   *
   * With the number of a part that was drawn before it is about that part, and takes its attributes alone. A value
   * outside the domain is an error before any random byte is drawn.
   */
  randomise(value, part) {
    return this.report(this.cell(value, part), part);
  }

  /** Return the report of a user type as `cell` returned it. */
  report(cell, part) {
    this.ahead.begin();
    const output = (this.memo ?? this.sampler).draw(cell, this.ahead.fill, part);
    this.ahead.fill(this.bytes);
    return { mechanism: this.identifier.slice(0, 16), id: hex(this.bytes), output };
  }

  /** Return a value's user type: its number, the last attribute fastest, its coordinates, or one of each part. */
  cell(value, part) {
    const whole = part === undefined, places = whole ? this.places : this.parts[part]?.attributes;
    if (!places) refuse(`${short(part)} is no part of this survey: draw one`);
    const names = whole ? this.names : places.map((k) => this.names[k]), coordinates = this.names.map(() => 0);
    let values = [value];
    if (isObject(value)) {
      if (Object.keys(value).length !== names.length || !names.every((name) => Object.hasOwn(value, name))) {
        refuse(`a value for ${short(Object.keys(value))} was given, but ${short(names)} is asked for`);
      }
      values = names.map((name) => value[name]);
    } else if (names.length > 1) {
      refuse(`${short(value)} was given, but the domain has several attributes: give an object`);
    }
    places.forEach((k, j) => (coordinates[k] = this.readers[k](values[j])));
    return this.userType(coordinates);
  }

  /** Return the user type whose attributes have the values of these numbers. */
  userType(coordinates) {
    return userType(this.bundle.table, coordinates, this.sizes);
  }

  /** Return the probability of an output for a user type, rounded: to show, not to draw.
   *
   * With a memo it is that before the permanent report is drawn.
   */
  probability(output, cell) {
    return this.sampler.units(output, cell) / this.total();
  }

  /** Return the numbers of the attributes on which the probability of an output may depend. */
  about(output) {
    const { kind, cycles } = this.bundle.table, { places } = this;
    const some = kind === "parts" || (kind === "translates" && cycles.length === places.length);
    return some ? this.sampler.about(output) : places;
  }

  /** Return the two probabilities of an output of a table of translates; of parts, the least and the largest one. */
  levels(output) {
    return this.sampler.levels(output).map((units) => units / this.total());
  }

  /** Return what every column sums to, rounded; of a survey each part's table by its number. */
  total(part) {
    if (part !== undefined && this.sampler.parts) return this.sampler.total(part);
    const { column_total: total, column_unit: unit = 1 } = this.bundle.certificate;
    return Number(total) / Number(unit);
  }
}

/** The bytes of one report: with the first come those of its id, which every report ends with, as a fetch is slow. */
class Ahead {
  constructor(source) {
    this.source = source;
    this.held = new Uint8Array(0);
    this.fill = (target) => this.fetch(target);
  }

  begin() {
    this.first = true;
  }

  /** Fill an array with the next bytes, fetching no more of them than the report needs for sure. */
  fetch(target) {
    if (this.first) {
      if (this.held.length !== target.length + 16) this.held = new Uint8Array(target.length + 16);
      this.source(this.held);
      this.first = false;
      this.next = 0;
    }
    const { held } = this, few = Math.min(target.length, held.length - this.next);
    for (let i = 0; i < few; i++) {
      target[i] = held[this.next];
      held[this.next++] = 0;
    }
    if (few < target.length) this.source(target.subarray(few));
  }
}

/** Return a source of WebCrypto's bytes, fetched for every report: a copied machine holds none that are still to come. */
function secureBytes() {
  const crypto = webCrypto();
  return (target) => crypto.getRandomValues(target);
}

/** Return the storage of this page, which a browser may deny. */
function ownStorage() {
  let storage;
  try {
    storage = globalThis.localStorage;
  } catch {}
  return storage ?? refuse("the mechanism file is made for repeated reports, but this page has no storage: let it store data, or give one as memo");
}

/** Return the bytes of a URL, no more of them than a bundle may have. */
async function download(url) {
  const advice = "name the web address of a mechanism file, *.ldp.json, or give its bytes";
  const response = await fetch(url).catch(() => refuse(`${url} cannot be reached: ${advice}`));
  if (!response.ok || !response.body) refuse(`${url} cannot be read (${response.status}): ${advice}`);
  const stream = response.body.getReader(), parts = [];
  for (let size = 0; ;) {
    const { done, value } = await stream.read().catch(() => refuse(`${url} broke off: try again`));
    if (done) return new Blob(parts).arrayBuffer();
    parts.push(value);
    size += value.length;
    if (size > LIMIT) {
      await stream.cancel();
      refuse(`the mechanism file is too large: ${ADVICE}`);
    }
  }
}

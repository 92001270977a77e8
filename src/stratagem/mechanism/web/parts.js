/* Tables of several parts: a part is drawn by its share, whatever the answers are, then a table of its own draws. */

import { ADVICE, fields, refuse, whole } from "./check.js";
import { PARTS } from "./json.js";
import { search, searchTable, stepsOf, Uniform, WEIGHTS } from "./search.js";
import { kindAmong, ORDINARY } from "./table.js";

const MOST = Number.MAX_SAFE_INTEGER; // outputs, at most

/** One of several tables, drawn by their shares whatever the answers are; outputs count earlier parts first. */
export class Parts {
  constructor(table) {
    let offset = 0;
    this.parts = partsOf(table).map(({ attributes, share, table: own }) => {
      const Kind = ORDINARY[own.kind], part = { offset, attributes, share, table: own, sampler: new Kind(own) };
      offset += own.outputs;
      return part;
    });
    this.first = searchTable(this.parts.map(({ share }) => share));
    this.steps = stepsOf(this.parts.length);
    this.share = new Uniform(WEIGHTS);
  }

  /** Return the number of a part, drawn by the shares. */
  part(source) {
    return search(this.first, 0, this.steps, Number(this.share.draw(source)));
  }

  /** Return an output of a part, which was drawn before its user type is looked at. */
  draw(cell, source, number = this.part(source)) {
    const { offset, sampler } = this.parts[number];
    return offset + sampler.draw(cell[number], source);
  }

  /** Return the units of an output, of which all outputs together have as many as the shares sum to. */
  units(y, cell) {
    const number = this.numberOf(y), { offset, sampler } = this.parts[number];
    return this.unit(number) * sampler.units(y - offset, cell[number]);
  }

  /** Return the attributes on which the probability of an output may depend, in their order. */
  about(y) {
    const { offset, attributes, table, sampler } = this.parts[this.numberOf(y)];
    const each = table.kind === "translates" && table.cycles.length === attributes.length;
    return each ? sampler.about(y - offset).map((k) => attributes[k]) : attributes;
  }

  /** Return the smallest and the largest units of an output. */
  levels(y) {
    const number = this.numberOf(y), { offset, table, sampler } = this.parts[number], unit = this.unit(number);
    if (table.kind === "translates") return sampler.levels(y - offset).map((units) => unit * units);
    let [low, high] = [Infinity, 0];
    for (let cell = 0; cell < table.user_types; cell++) {
      const units = sampler.units(y - offset, cell);
      [low, high] = [Math.min(low, units), Math.max(high, units)];
    }
    return [unit * low, unit * high];
  }

  /** Return what a unit of a part's table is worth. */
  unit(number) {
    return this.parts[number].share / this.total(number);
  }

  /** Return what every column of a part's table sums to, rounded. */
  total(number) {
    const part = this.parts[number];
    if (part.total === undefined) {
      const { column_total: total, column_unit: unit = 1n } = ORDINARY[part.table.kind].facts(part.table);
      part.total = Number(total) / Number(unit);
    }
    return part.total;
  }

  numberOf(y) {
    return this.parts.findLastIndex(({ offset }) => offset <= y);
  }

  static facts(table) {
    let outputs = 0, worst = [1n, 1n];
    for (const { table: own } of partsOf(table)) {
      const { worst_high: high, worst_low: low } = ORDINARY[own.kind].facts(own);
      if (high * worst[1] > low * worst[0]) worst = [high, low];
      outputs = Math.min(outputs + own.outputs, MOST + 1);
    }
    if (outputs !== whole(table.outputs, "outputs", 1, MOST)) refuse(`the parts have other outputs: ${ADVICE}`);
    return { column_total: BigInt(WEIGHTS), worst_high: worst[0], worst_low: worst[1] };
  }
}

export const KINDS = { __proto__: null, ...ORDINARY, parts: Parts };

export function kind(table) {
  return kindAmong(KINDS, table);
}

/** Return whether attributes of these sizes make the table's user types, or lie on its cycles, each or all. */
export function fits(table, sizes) {
  if (kind(table) === "parts") {
    return partsOf(table).every(({ attributes, table: own }) => (
      attributes[attributes.length - 1] < sizes.length && fits(own, attributes.map((k) => sizes[k]))
    ));
  }
  const cells = sizes.reduce((product, size) => Math.min(product * size, PARTS + 1), 1);
  if (table.kind === "translates") {
    const { cycles } = table;
    if (!Array.isArray(cycles) || ![1, sizes.length].includes(cycles.length)) return false;
    const lengths = cycles.length === sizes.length ? sizes : [cells];
    return lengths.every((length, k) => ["number", "bigint"].includes(typeof cycles[k]) && length <= cycles[k]);
  }
  return cells === table.user_types;
}

/** Return a user type as a table takes it: its number, the last attribute fastest, coordinates, or one of each part. */
export function userType(table, coordinates, sizes) {
  const { kind: name, cycles } = table;
  if (name === "parts") {
    const some = (all, attributes) => attributes.map((k) => all[k]);
    return table.parts.map(({ attributes, table: own }) => (
      userType(own, some(coordinates, attributes), some(sizes, attributes))
    ));
  }
  if (name === "translates" && cycles.length === coordinates.length) return coordinates;
  const number = coordinates.reduce((cell, place, k) => cell * sizes[k] + place, 0);
  return name === "translates" ? [number] : number;
}

/** Return the parts of a table, checked: ordinary tables of rising attributes, whose shares sum to 2^32. */
function partsOf(table) {
  fields(table, "the table", "kind outputs parts");
  const { parts } = table;
  if (!Array.isArray(parts) || parts.length === 0) refuse(`the table has no parts: ${ADVICE}`);
  let sum = 0;
  for (const part of parts) {
    fields(part, "a part", "attributes share table");
    checkRising(part.attributes);
    sum += whole(part.share, "a share", 1, WEIGHTS);
    if (kind(part.table) === "parts") refuse(`a part has parts itself: ${ADVICE}`);
  }
  if (sum !== WEIGHTS) refuse(`the shares do not sum to 2^32: ${ADVICE}`);
  return parts;
}

function checkRising(attributes) {
  if (!Array.isArray(attributes) || attributes.length === 0) {
    refuse(`a place of an attribute stands in no list: ${ADVICE}`);
  }
  attributes.forEach((place, k) => {
    whole(place, "a place of an attribute", 0, PARTS);
    if (k > 0 && place <= attributes[k - 1]) refuse(`the attributes of a part do not rise: ${ADVICE}`);
  });
}

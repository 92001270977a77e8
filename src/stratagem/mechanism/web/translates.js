/* Tables of translates: patterns that are placed on attributes and moved along their cycles at random. */

import { exactBytes } from "./binary.js";
import { ADVICE, fields, refuse, whole } from "./check.js";
import { PARTS } from "./json.js";
import { HIGH, search, searchTable, stepsOf, WEIGHTS } from "./search.js";

const MOST = Number.MAX_SAFE_INTEGER; // outputs, at most
const UNIT = 1n << 512n; // above the denominator of what a column sums to

/** A pattern, placed and moved at random, is kept where it holds the user type, else with low/2^52. */
export class Translates {
  constructor(table) {
    const { groups, patterns } = parts(table);
    this.low = table.low;
    this.groups = groups;
    this.rules = patterns;
    this.first = searchTable(patterns.map(({ weight }) => weight));
    this.steps = stepsOf(patterns.length);
    this.bytes = new DataView(new ArrayBuffer(16));
    this.target = new Uint8Array(this.bytes.buffer);
    this.short = this.target.subarray(0, 8);
  }

  /** Return an output; each round reads as many coordinates and one byte, whatever the coordinates. */
  draw(cell, source) {
    for (;;) {
      source(this.target);
      const rule = this.rules[search(this.first, 0, this.steps, this.bytes.getUint32(0))];
      const chance = this.bytes.getUint32(8) * 2 ** 20 + (this.bytes.getUint32(12) >>> 12);
      let drawn;
      do {
        source(this.short);
        drawn = Math.floor((this.bytes.getUint32(0) * 2 ** 21 + (this.bytes.getUint32(4) >>> 11)) / rule.spare);
      } while (drawn >= rule.count);
      if (chance < this.low + this.inside(rule, drawn, cell) * (HIGH - this.low)) {
        this.target.fill(0);
        return rule.offset + drawn;
      }
    }
  }

  /** Return whether the translate of this number holds a user type, as 0 or 1. */
  inside(rule, drawn, cell) {
    let [placement, shift] = divided(drawn, rule.cells), { ways, cells } = rule, place = 0, rank, moved;
    const left = new Map(rule.axes.map(({ group }) => [group, this.groups[group].slice()]));
    for (const { group, choices, cycle } of rule.axes) {
      ways /= choices;
      cells /= cycle;
      [rank, placement] = divided(placement, ways);
      [moved, shift] = divided(shift, cells);
      const [attribute] = left.get(group).splice(rank, 1);
      place = place * cycle + ((cell[attribute] - moved + cycle) % cycle);
    }
    return (rule.bits[Math.floor(place / 8)] >> (7 - (place % 8))) & 1;
  }

  units(y, cell) {
    const rule = this.ruleOf(y);
    return this.levels(y)[this.inside(rule, y - rule.offset, cell)];
  }

  /** Return the units of an output for user types outside and inside. */
  levels(y) {
    const { weight, count } = this.ruleOf(y);
    return [this.low, HIGH].map((level) => (weight / count) * level);
  }

  ruleOf(y) {
    return this.rules.findLast(({ offset }) => offset <= y);
  }

  static facts(table) {
    fields(table, "the table", "kind outputs cycles groups patterns low");
    const low = whole(table.low, "low", 1, HIGH);
    let [total, unit] = [0n, 1n];
    for (const { weight, cells, size } of parts(table).patterns) {
      const n = BigInt(cells), level = BigInt(low) * n + BigInt(HIGH - low) * BigInt(size);
      [total, unit] = reduced(total * n + BigInt(weight) * level * unit, unit * n);
      if (unit >= UNIT) refuse(`the sum of a column is no fraction of 512 bits: ${ADVICE}`);
    }
    return { column_total: total, column_unit: unit, worst_high: BigInt(HIGH), worst_low: BigInt(low) };
  }
}

/** Return the attributes of every group, and all about every pattern, checked. */
function parts(table) {
  const cycles = wholes(table.cycles, "a cycle", 1, PARTS);
  const numbers = wholes(table.groups, "a group", 0, cycles.length - 1);
  const groups = Array.from({ length: numbers.reduce((a, b) => Math.max(a, b), -1) + 1 }, () => []);
  numbers.forEach((group, attribute) => groups[group].push(attribute));
  if (numbers.length !== cycles.length || groups.some((group) => group.length === 0)) {
    refuse(`the groups are not one number for every attribute: ${ADVICE}`);
  }
  if (groups.some((group) => group.some((attribute) => cycles[attribute] !== cycles[group[0]]))) {
    refuse(`a group has attributes on different cycles: ${ADVICE}`);
  }
  const patterns = [];
  let offset = 0, sum = 0;
  for (const given of listed(table.patterns, "the table has no patterns")) {
    const pattern = { ...checked(given, groups, cycles), offset };
    patterns.push(pattern);
    offset = Math.min(offset + pattern.count, MOST + 1);
    sum += pattern.weight;
  }
  if (offset !== whole(table.outputs, "outputs", 1, MOST)) {
    refuse(`the patterns have another number of outputs: ${ADVICE}`);
  }
  if (sum !== WEIGHTS) refuse(`the weights do not sum to 2^32: ${ADVICE}`);
  return { groups, patterns };
}

/** Return weight, axes and bits of a pattern, in how many ways it is placed and moved, and what that needs. */
function checked(given, groups, cycles) {
  fields(given, "a pattern", "axes weight bits");
  const weight = whole(given.weight, "a weight", 1, WEIGHTS), taken = new Map();
  let ways = 1, cells = 1;
  const axes = wholes(given.axes, "an axis", 0, groups.length - 1).map((group) => {
    const choices = groups[group].length - (taken.get(group) ?? 0), cycle = cycles[groups[group][0]];
    taken.set(group, (taken.get(group) ?? 0) + 1);
    const count = BigInt(ways) * BigInt(choices) * BigInt(cells) * BigInt(cycle);
    if (count === 0n || count > MOST) refuse(`a pattern has too many axes: ${ADVICE}`);
    ways *= choices;
    cells *= cycle;
    return { group, choices, cycle };
  });
  const bits = exactBytes(given.bits, "the bits of a pattern", Math.ceil(cells / 8));
  if (bits[bits.length - 1] & (2 ** (8 * bits.length - cells) - 1)) {
    refuse(`a pattern has bits beyond its last cell: ${ADVICE}`);
  }
  const size = bits.reduce((ones, byte) => ones + ONES[byte], 0);
  if (size === 0 || size === cells) refuse(`a pattern has no cell inside, or none outside: ${ADVICE}`);
  const count = ways * cells;
  return { weight, axes, bits, size, ways, cells, count, spare: 2 ** (53 - bitsOf(count - 1)) };
}

const ONES = Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll("0", "").length);

function bitsOf(number) {
  return number.toString(2).length;
}

function wholes(data, where, low, high) {
  return listed(data, `${where} stands in no list`).map((number) => whole(number, where, low, high));
}

function listed(data, what) {
  if (!Array.isArray(data) || data.length === 0) refuse(`${what}: ${ADVICE}`);
  return data;
}

/** Return quotient and remainder of whole numbers below 2^53. */
function divided(number, by) {
  const rest = number % by;
  return [(number - rest) / by, rest];
}

/** Return a fraction in lowest terms. */
function reduced(numerator, denominator) {
  let [a, b] = [numerator, denominator];
  while (b) [a, b] = [b, a % b];
  return [numerator / a, denominator / a];
}

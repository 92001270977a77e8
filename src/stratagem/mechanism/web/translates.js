/* Tables of translates: patterns that are placed on attributes and moved along their cycles at random. */

import { exactBytes } from "./binary.js";
import { ADVICE, fields, refuse, whole } from "./check.js";
import { PARTS } from "./json.js";
import { HIGH, ONES, reduced, search, searchTable, stepsOf, Uniform, WEIGHTS } from "./search.js";

const MOST = Number.MAX_SAFE_INTEGER; // outputs, at most
const UNIT = 1n << 1024n; // above the unit of all weights

/** A set of cells, placed on attributes: any translate, or one that moves one of its cells onto the user's. */
export class Translates {
  constructor(table) {
    const { groups, patterns } = parts(table), { masses } = massesOf(table.low, patterns);
    this.low = table.low;
    this.groups = groups;
    this.rules = patterns.map((one) => ({
      ...one,
      sums: searchTable(onesOf(one.bits)),
      any: new Uniform(one.count),
      meeting: new Uniform(one.ways * one.size),
    }));
    this.first = searchTable(masses, 0n);
    this.steps = stepsOf(masses.length);
    this.uniform = new Uniform(masses.reduce((sum, mass) => sum + mass));
    this.weights = searchTable(patterns.map(({ weight }) => weight));
    this.weight = new Uniform(WEIGHTS);
  }

  /** Return an output by the weights of the patterns alone. */
  drawAny(source) {
    const rule = this.rules[search(this.weights, 0, stepsOf(this.rules.length), Number(this.weight.draw(source)))];
    return rule.offset + Number(rule.any.draw(source));
  }

  /** Return the least probability of an output by the weights alone, as a fraction. */
  rarest() {
    const all = this.rules.map(({ weight, count }) => [BigInt(weight), BigInt(count) << 32n]);
    return reduced(...all.reduce((a, b) => (a[0] * b[1] <= b[0] * a[1] ? a : b)));
  }

  /** Return an output; the coordinates that are read were drawn before, and the steps do not tell them. */
  draw(cell, source) {
    const part = search(this.first, 0, this.steps, this.uniform.draw(source)), rule = this.rules[part >> 1];
    if (part % 2 === 0) return rule.offset + Number(rule.any.draw(source));
    let [placement, rank] = divided(Number(rule.meeting.draw(source)), rule.size), shift = 0, point;
    let { ways, cells } = rule, place = cellOf(rule, rank), multiple;
    const begin = rule.offset + placement * cells;
    ways /= rule.multiples;
    [multiple, placement] = divided(placement, ways);
    place = (place * power(rule.root, multiple, cells)) % cells;
    const left = new Map(rule.axes.map(({ group }) => [group, this.groups[group].slice()]));
    for (const { group, choices, cycle } of rule.axes) {
      ways /= choices;
      cells /= cycle;
      [rank, placement] = divided(placement, ways);
      [point, place] = divided(place, cells);
      const [attribute] = left.get(group).splice(rank, 1);
      shift = shift * cycle + ((cell[attribute] - point + cycle) % cycle);
    }
    return begin + shift;
  }

  /** Return whether the translate of this number holds a user type, as 0 or 1. */
  inside(rule, drawn, cell) {
    const { multiple, axes } = this.placed(rule, drawn);
    let place = axes.reduce((at, { attribute, moved, cycle }) => at * cycle + ((cell[attribute] - moved + cycle) % cycle), 0);
    place = (place * power(inverse(rule.root, rule.cells), multiple, rule.cells)) % rule.cells;
    return (rule.bits[Math.floor(place / 8)] >> (7 - (place % 8))) & 1;
  }

  /** Return the multiple of the translate of this number, and on which attributes its axes lie, how far moved. */
  placed(rule, drawn) {
    let [placement, shift] = divided(drawn, rule.cells), { ways, cells } = rule, rank, moved, multiple;
    ways /= rule.multiples;
    [multiple, placement] = divided(placement, ways);
    const left = new Map(rule.axes.map(({ group }) => [group, this.groups[group].slice()]));
    const axes = rule.axes.map(({ group, choices, cycle }) => {
      ways /= choices;
      cells /= cycle;
      [rank, placement] = divided(placement, ways);
      [moved, shift] = divided(shift, cells);
      return { attribute: left.get(group).splice(rank, 1)[0], moved, cycle };
    });
    return { multiple, axes };
  }

  /** Return the attributes on which the probability of an output depends, in their order. */
  about(y) {
    const rule = this.ruleOf(y);
    return this.placed(rule, y - rule.offset).axes.map(({ attribute }) => attribute).sort((a, b) => a - b);
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
    const { masses, unit: common } = massesOf(low, parts(table).patterns);
    const [total, unit] = reduced(masses.reduce((sum, mass) => sum + mass), common);
    return { column_total: total, column_unit: unit, worst_high: BigInt(HIGH), worst_low: BigInt(low) };
  }
}

/** Return how often each pattern is drawn at the lower level and beyond it, in whole numbers, and their unit. */
function massesOf(low, patterns) {
  let common = 1n;
  const high = patterns.map(({ weight, cells, size }) => {
    const found = reduced(BigInt(weight) * BigInt(HIGH - low) * BigInt(size), BigInt(cells));
    common *= reduced(common, found[1])[1];
    if (common >= UNIT) refuse(`the weights of the patterns share no unit of 1024 bits: ${ADVICE}`);
    return found;
  });
  const masses = patterns.flatMap(({ weight }, b) => (
    [BigInt(weight) * BigInt(low) * common, high[b][0] * (common / high[b][1])]
  ));
  return { masses, unit: common };
}

/** Return the number of cells in each 8 bytes of a pattern. */
function onesOf(bits) {
  const found = new Float64Array(Math.ceil(bits.length / 8));
  for (let i = 0; i < bits.length; i++) found[i >> 3] += ONES[bits[i]];
  return found;
}

/** Return the cell of a pattern of this rank among those it has. */
function cellOf({ bits, sums }, rank) {
  const block = search(sums, 0, stepsOf(Math.ceil(bits.length / 8)), rank);
  let place = 64 * block, left = rank - (block > 0 ? sums[block - 1] : 0);
  for (; ; place++) {
    left -= (bits[place >> 3] >> (7 - (place & 7))) & 1;
    if (left < 0) return place;
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
  fields(given, "a pattern", "axes weight bits", "multiples root");
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
  const { multiples, root } = multiplesOf(given, axes.length, cells);
  ways *= multiples;
  const bits = exactBytes(given.bits, "the bits of a pattern", Math.ceil(cells / 8));
  if (bits[bits.length - 1] & (2 ** (8 * bits.length - cells) - 1)) {
    refuse(`a pattern has bits beyond its last cell: ${ADVICE}`);
  }
  const size = bits.reduce((ones, byte) => ones + ONES[byte], 0);
  if (size === 0 || size === cells) refuse(`a pattern has no cell inside, or none outside: ${ADVICE}`);
  return { weight, axes, bits, size, ways, cells, multiples, root, count: ways * cells };
}

/** Return how many multiples of a pattern there are and what they are powers of; 1 and 1 where none are stated. */
function multiplesOf(given, axes, cycle) {
  const { multiples = 1, root = 1 } = given;
  whole(multiples, "multiples", 1, PARTS);
  whole(root, "root", 1, PARTS);
  const sets = Math.min(multiples, root) > 1 && axes === 1 && inverse(root, cycle) !== 0;
  if (!sets && Object.keys(given).length > 3) {
    refuse(`a pattern has multiples that are no sets of its size: ${ADVICE}`);
  }
  return { multiples, root };
}

/** Return base to a power modulo a number; products of two remainders stay below 2^53. */
function power(base, exponent, modulus) {
  let found = 1, square = base % modulus;
  for (let left = exponent; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) found = (found * square) % modulus;
    square = (square * square) % modulus;
  }
  return found;
}

/** Return the number whose product with another is 1 modulo a number, 0 where there is none. */
function inverse(number, modulus) {
  let [a, b, x, y] = [number % modulus, modulus, 1, 0];
  while (b > 0) {
    const [quotient, rest] = divided(a, b);
    [a, b, x, y] = [b, rest, y, x - quotient * y];
  }
  return a === 1 ? ((x % modulus) + modulus) % modulus : 0;
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

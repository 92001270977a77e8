/* Tables of whole numbers: their exact facts and how an output is drawn from them. */

import { encoded, exactBytes, integers } from "./binary.js";
import { ADVICE, fields, isObject, refuse, whole } from "./check.js";
import { LIMIT, PARTS } from "./json.js";
import { HIGH, search, searchTable, stepsOf, WEIGHTS } from "./search.js";
import { Translates } from "./translates.js";

/** Row y, drawn with probability weights[y]/2^32, is kept where its bit is set, else with low/2^52. */
class TwoLevel {
  constructor(table) {
    const [m, n] = shape(table);
    this.width = Math.ceil(n / 8);
    this.low = table.low;
    this.patterns = exactBytes(table.patterns, "patterns", m * this.width);
    this.first = searchTable(integers(table.weights, "weights", m, 4));
    this.steps = stepsOf(m);
    this.bytes = new DataView(new ArrayBuffer(16));
    this.target = new Uint8Array(this.bytes.buffer);
  }

  /** Return an output; each round searches as many steps and reads one byte, whatever the cell. */
  draw(cell, source) {
    for (;;) {
      source(this.target);
      const y = search(this.first, 0, this.steps, this.bytes.getUint32(0));
      const chance = this.bytes.getUint32(8) * 2 ** 20 + (this.bytes.getUint32(12) >>> 12);
      if (chance < this.low + this.inside(y, cell) * (HIGH - this.low)) {
        this.target.fill(0);
        return y;
      }
    }
  }

  inside(y, cell) {
    return (this.patterns[y * this.width + (cell >> 3)] >> (7 - (cell & 7))) & 1;
  }

  units(y, cell) {
    const weight = (this.first[y] ?? WEIGHTS) - (y > 0 ? this.first[y - 1] : 0);
    return weight * (this.low + this.inside(y, cell) * (HIGH - this.low));
  }

  static facts(table) {
    fields(table, "the table", "kind outputs user_types weights patterns low");
    const [m, n] = shape(table);
    const low = whole(table.low, "low", 1, HIGH);
    const weights = integers(table.weights, "weights", m, 4);
    if (weights.reduce((sum, weight) => sum + weight, 0) !== WEIGHTS) {
      refuse(`the weights do not sum to 2^32: ${ADVICE}`);
    }
    const covered = coverage(exactBytes(table.patterns, "patterns", m * Math.ceil(n / 8)), weights, n);
    if (covered.some((weight) => weight !== covered[0])) {
      refuse(`some user types are covered more often than others: ${ADVICE}`);
    }
    const total = (BigInt(low) << 32n) + BigInt(HIGH - low) * BigInt(covered[0]);
    return { column_total: total, worst_high: BigInt(HIGH), worst_low: BigInt(low) };
  }
}

/** The column of the user type as whole numbers that sum to 2^bits. */
class Columns {
  constructor(table) {
    const [m, n] = shape(table);
    const all = entries(table);
    this.bits = table.bits;
    this.steps = stepsOf(m);
    this.stride = 2 ** this.steps - 1;
    this.first = new Float64Array(n * this.stride);
    const column = new Float64Array(m);
    for (let u = 0; u < n; u++) {
      for (let y = 0; y < m; y++) column[y] = all[y * n + u];
      this.first.set(searchTable(column), u * this.stride);
    }
    this.bytes = new DataView(new ArrayBuffer(8));
    this.target = new Uint8Array(this.bytes.buffer);
  }

  /** Return an output after a search of as many steps for every cell. */
  draw(cell, source) {
    source(this.target);
    const upper = this.bytes.getUint32(0) * 2 ** (this.bits - 32);
    const r = upper + Math.floor(this.bytes.getUint32(4) / 2 ** (64 - this.bits));
    this.target.fill(0);
    return search(this.first, cell * this.stride, this.steps, r);
  }

  units(y, cell) {
    const column = this.first.subarray(cell * this.stride, (cell + 1) * this.stride);
    return (column[y] ?? 2 ** this.bits) - (y > 0 ? column[y - 1] : 0);
  }

  static facts(table) {
    fields(table, "the table", "kind outputs user_types bits entries");
    const [m, n] = shape(table);
    const total = 2 ** whole(table.bits, "bits", 32, 52);
    const all = entries(table), sums = new Float64Array(n);
    for (let i = 0; i < all.length; i++) {
      sums[i % n] += all[i];
      if (sums[i % n] > total) break; // from 2^53 on, sums were not exact
    }
    if (sums.some((sum) => sum !== total)) refuse(`some columns do not sum to 2^${table.bits}: ${ADVICE}`);
    const high = new Float64Array(m), low = new Float64Array(m).fill(total);
    let worst = [1n, 1n];
    for (let y = 0; y < m; y++) {
      for (let i = y * n; i < y * n + n; i++) {
        if (all[i] > high[y]) high[y] = all[i];
        if (all[i] < low[y]) low[y] = all[i];
      }
      const [a, b] = [BigInt(high[y]), BigInt(low[y])];
      if (a * worst[1] > b * worst[0]) worst = [a, b];
    }
    return {
      column_total: BigInt(total),
      worst_high: worst[0],
      worst_low: worst[1],
      largest: encoded(high),
      smallest: encoded(low),
    };
  }
}

export const KINDS = { __proto__: null, "two-level": TwoLevel, columns: Columns, translates: Translates };

export function kind(table) {
  if (!isObject(table) || typeof table.kind !== "string" || !(table.kind in KINDS)) {
    refuse(`the table is none of the kinds ${Object.keys(KINDS).join(", ")}: update this client`);
  }
  return table.kind;
}

function shape(table) {
  return [whole(table.outputs, "outputs", 1, LIMIT), whole(table.user_types, "user_types", 1, PARTS)];
}

function entries(table) {
  const [m, n] = shape(table);
  return integers(table.entries, "entries", m * n, table.bits === 32 ? 4 : 8);
}

/** Return the weight of the rows that hold each user type, eight user types at a time; at most 2^32. */
function coverage(patterns, weights, n) {
  const width = Math.ceil(n / 8), covered = new Float64Array(8 * width), sums = new Float64Array(256);
  for (let j = 0; j < width; j++) {
    sums.fill(0);
    for (let y = 0; y < weights.length; y++) sums[patterns[y * width + j]] += weights[y];
    for (let byte = 0; byte < 256; byte++) {
      for (let bit = 0; bit < 8; bit++) if ((byte >> (7 - bit)) & 1) covered[8 * j + bit] += sums[byte];
    }
  }
  const beyond = 2 ** (8 * width - n) - 1;
  for (let y = 0; y < weights.length; y++) {
    if (patterns[y * width + width - 1] & beyond) {
      refuse(`a pattern has bits beyond the last user type: ${ADVICE}`);
    }
  }
  return covered.subarray(0, n);
}

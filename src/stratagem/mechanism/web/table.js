/* Tables of whole numbers: their exact facts and how an output is drawn from them. */

import { encoded, exactBytes, integers } from "./binary.js";
import { ADVICE, decimal, fields, isObject, refuse, whole } from "./check.js";
import { LIMIT, PARTS } from "./json.js";
import { HIGH, ONES, reduced, search, searchTable, stepsOf, Uniform, WEIGHTS } from "./search.js";
import { Translates } from "./translates.js";

const SUMS = 24; // the sums by which rows of a user type are found are at most 2^24 numbers

/** Row y has weight[y] low units for everybody, and weight[y] (2^52 - low) more where its bit is set. */
class TwoLevel {
  constructor(table) {
    const [m, n] = shape(table), short = 31 - Math.clz32(Math.max(1, Math.floor(m / 8)));
    this.width = Math.ceil(n / 8);
    this.low = table.low;
    this.steps = stepsOf(m);
    this.blockSteps = Math.max(0, Math.min(short, SUMS - stepsOf(n)));
    this.stride = 2 ** this.blockSteps;
    this.height = Math.ceil(m / this.stride);
    this.patterns = new Uint8Array(this.stride * this.height * this.width);
    this.patterns.set(exactBytes(table.patterns, "patterns", m * this.width));
    this.weights = new Float64Array(this.stride * this.height);
    this.weights.set(integers(table.weights, "weights", m, 4));
    this.first = searchTable(this.weights.subarray(0, m));
    this.blocks = this.sums(n);
    let covered = 0;
    for (let y = 0; y < m; y++) covered += this.weights[y] * this.inside(y, 0);
    this.lower = BigInt(this.low);
    this.rise = BigInt(HIGH - this.low);
    this.below = this.lower << 32n;
    this.uniform = new Uniform(this.below + this.rise * BigInt(covered));
    this.weight = new Uniform(WEIGHTS);
    this.shape = [m, n];
  }

  /** Return an output by the weights of the rows alone. */
  drawAny(source) {
    return search(this.first, 0, this.steps, Number(this.weight.draw(source)));
  }

  /** Return the least probability by the weights of a row that holds some user types and not others, as a fraction. */
  rarest() {
    const [m, n] = this.shape, { width, patterns } = this;
    let rarest = WEIGHTS;
    for (let y = 0; y < m; y++) {
      const ones = patterns.subarray(y * width, (y + 1) * width).reduce((sum, byte) => sum + ONES[byte], 0);
      if (ones > 0 && ones < n && this.weights[y] > 0) rarest = Math.min(rarest, this.weights[y]);
    }
    return reduced(BigInt(rarest), BigInt(WEIGHTS));
  }

  /** Return for each user type the weight that 0, 1, 2, ... blocks of rows have for it. */
  sums(n) {
    const { height, stride, width, weights, patterns } = this, found = new Float64Array(n * stride);
    for (let y = 0; y < height * (stride - 1); y++) {
      const block = Math.floor(y / height) + 1;
      for (let j = 0; j < width; j++) {
        for (let byte = patterns[y * width + j], u = 8 * j; byte; byte = (byte << 1) & 255, u++) {
          if (byte & 128) found[u * stride + block] += weights[y];
        }
      }
    }
    for (let i = 0; i < found.length; i++) if (i % stride) found[i] += found[i - 1];
    return found;
  }

  /** Return an output: one of all rows, or of those that hold the cell, which take as many reads for each. */
  draw(cell, source) {
    const r = this.uniform.draw(source);
    if (r < this.below) return search(this.first, 0, this.steps, Number(r / this.lower));
    const units = Number((r - this.below) / this.rise), begin = cell * this.stride;
    const block = search(this.blocks, begin + 1, this.blockSteps, units), rows = block * this.height;
    let sum = this.blocks[begin + block], y = rows;
    for (let k = rows; k < rows + this.height; k++) {
      sum += this.weights[k] * this.inside(k, cell);
      y += sum <= units ? 1 : 0;
    }
    return y;
  }

  inside(y, cell) {
    return (this.patterns[y * this.width + (cell >> 3)] >> (7 - (cell & 7))) & 1;
  }

  units(y, cell) {
    return this.weights[y] * (this.low + this.inside(y, cell) * (HIGH - this.low));
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

/** Refuse steps between neighbouring values of one attribute, one for each pair, that a row of the table breaks. */
export function checkSteps({ domain, table, steps }, scale, expBelow) {
  if (domain.length !== 1) refuse(`steps need a domain of one attribute: ${ADVICE}`);
  const n = table.user_types;
  if (!Array.isArray(steps) || table.kind !== "columns" || steps.length !== n - 1 || n < 2) {
    refuse(`the steps are not one for each pair of neighbouring columns: ${ADVICE}`);
  }
  const all = entries(table);
  steps.forEach((text, u) => {
    const bound = expBelow(...decimal(text, "a step"));
    for (let i = u; i < all.length; i += n) {
      const [low, high] = [Math.min(all[i], all[i + 1]), Math.max(all[i], all[i + 1])];
      if (BigInt(high) << scale > BigInt(low) * bound) refuse("the table breaks its steps: do not use it");
    }
  });
}

/** The kinds of tables that stand alone, or as a part of another. */
export const ORDINARY = { __proto__: null, "two-level": TwoLevel, columns: Columns, translates: Translates };

export function kindAmong(kinds, table) {
  if (!isObject(table) || typeof table.kind !== "string" || !(table.kind in kinds)) {
    refuse(`the table is none of the kinds ${Object.keys(kinds).join(", ")}: update this client`);
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

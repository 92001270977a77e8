/* Whole numbers drawn uniformly, and searches among cumulative weights, in as many steps whatever they find. */

export const WEIGHTS = 2 ** 32; // sum of the weights of rows or patterns
export const HIGH = 2 ** 52; // the higher of two levels; doubles hold it exactly

/** The number of ones in a byte. */
export const ONES = Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll("0", "").length);

/** Draws whole numbers below a count, all of them equally likely; each try is kept with 15/16 or more. */
export class Uniform {
  constructor(count) {
    this.count = BigInt(count);
    const bits = this.count > 1n ? (this.count - 1n).toString(2).length : 0;
    const spare = this.count & (this.count - 1n) ? 4 : 0, size = Math.ceil((bits + spare) / 8);
    this.share = (1n << BigInt(8 * size)) / this.count;
    this.words = new DataView(new ArrayBuffer(8 * Math.ceil(size / 8)));
    this.target = new Uint8Array(this.words.buffer, this.words.byteLength - size);
  }

  draw(source) {
    for (;;) {
      source(this.target);
      let drawn = 0n;
      for (let at = 0; at < this.words.byteLength; at += 8) drawn = (drawn << 64n) | this.words.getBigUint64(at);
      drawn /= this.share;
      if (drawn < this.count) {
        this.target.fill(0);
        return drawn;
      }
    }
  }
}

/** Return the sums of the first 1, 2, ... weights, filled up to 2^k - 1: a search takes k steps, always. */
export function searchTable(weights, sum = 0) {
  const length = 2 ** stepsOf(weights.length) - 1;
  const first = typeof sum === "bigint" ? new Array(length) : new Float64Array(length);
  for (let y = 0; y < weights.length; y++) {
    sum += weights[y];
    if (y < length) first[y] = sum;
  }
  return first.fill(sum, weights.length);
}

/** Return a fraction in lowest terms. */
export function reduced(numerator, denominator) {
  let [a, b] = [numerator, denominator];
  while (b) [a, b] = [b, a % b];
  return [numerator / a, denominator / a];
}

/** Return the steps of a binary search among m. */
export function stepsOf(m) {
  return 32 - Math.clz32(m - 1);
}

/** Return how many of the 2^steps - 1 sums from `begin` on are at most r. */
export function search(first, begin, steps, r) {
  let y = 0;
  for (let step = (1 << steps) >> 1; step > 0; step >>= 1) {
    y += first[begin + y + step - 1] <= r ? step : 0;
  }
  return y;
}

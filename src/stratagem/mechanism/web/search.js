/* Searches among cumulative weights, in as many steps whatever they find. */

export const WEIGHTS = 2 ** 32; // sum of the weights of rows or patterns
export const HIGH = 2 ** 52; // the higher of two levels; doubles hold it exactly

/** Return the sums of the first 1, 2, ... weights, filled up to 2^k - 1: a search takes k steps, always. */
export function searchTable(weights) {
  const first = new Float64Array(2 ** stepsOf(weights.length) - 1);
  let sum = 0;
  for (let y = 0; y < weights.length; y++) {
    sum += weights[y];
    if (y < first.length) first[y] = sum;
  }
  return first.fill(sum, weights.length);
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

/* A memo: the permanent report of every value of one person, drawn once, kept, and repeated or replaced at random. */

import { ADVICE, decimal, fields, refuse, short, whole } from "./check.js";
import { HIGH, reduced, Uniform } from "./search.js";

const MOST_KEPT = 2 ** 16; // values of a domain for which permanent reports are kept
const END = "\n"; // what a memo ends with, as a last number may have been cut off
const PROMISED = ["10", "100", "1000"]; // numbers of reports for which an epsilon is stated, beside one and any

/** Return what single and permanent reports of a table are drawn from: their lower levels and column sums. */
function pairOf(Kind, table, low) {
  const columns = [table.low, low].map((one) => {
    const { column_total: total, column_unit: unit = 1n } = Kind.facts({ ...table, low: one });
    return [total, unit];
  });
  return { once: table.low, low, columns };
}

/** Return the probability of repeating the permanent report, in lowest terms. */
function kept({ once, low, columns: [[total, unit], [permanent, units]] }) {
  return reduced(BigInt(HIGH - once) * permanent * unit, BigInt(HIGH - low) * total * units);
}

/** Return the largest ratio of the probabilities of so many reports of one memo, as whole numbers [high, low]. */
function repeated(pair, [rare, weights], reports) {
  const [alpha, all] = kept(pair), [total, unit] = pair.columns[1], least = BigInt(pair.low), count = BigInt(reports);
  const [grown, base] = reduced((all - alpha) * rare + alpha * weights, (all - alpha) * rare);
  const [part, parts] = reduced(rare * (least << 32n) * unit, weights * total);
  const one = base ** count, rest = part * (grown ** count - one);
  return [least * parts * one + BigInt(HIGH) * rest, least * (parts * one + rest)];
}

/** Refuse a memo that does not hold, in whole numbers, the epsilon that it states for numbers of reports. */
export function checkMemo(Kind, table, memo, scale, expBelow) {
  fields(memo, "the memo", "low epsilon");
  if (["columns", "parts"].includes(table.kind)) refuse(`a memo needs a table of two levels: ${ADVICE}`);
  const low = whole(memo.low, "low of the memo", 1, table.low - 1);
  const pair = pairOf(Kind, table, low), rarest = new Kind(table).rarest();
  fields(memo.epsilon, "epsilon of the memo", [...PROMISED, "any"].join(" "));
  for (const [reports, text] of Object.entries(memo.epsilon)) {
    const bound = expBelow(...decimal(text, "epsilon of the memo"));
    const [high, least] = reports === "any" ? [BigInt(HIGH), BigInt(low)] : repeated(pair, rarest, reports);
    if (high << scale > least * bound) refuse("the memo breaks its epsilon: do not use it");
  }
}

/** The permanent reports of one person, drawn once for every value, in a storage such as `localStorage`.
 *
 * What is stored is the same whichever values the person has.
 */
export class Memo {
  constructor(Kind, { table, memo, sha256, domain }, storage, userType) {
    this.permanent = new Kind({ ...table, low: memo.low });
    [this.kept, this.all] = kept(pairOf(Kind, table, memo.low));
    this.uniform = new Uniform(this.all);
    this.outputs = table.outputs;
    this.sizes = domain.map(({ size }) => size);
    this.values = this.sizes.reduce((product, size) => Math.min(product * size, MOST_KEPT + 1), 1);
    if (this.values > MOST_KEPT) refuse("the bundle has more than 65,536 values, too many for a memo: merge some");
    if (typeof storage?.getItem !== "function" || typeof storage.setItem !== "function") {
      refuse("the memo is no storage: give one with getItem and setItem");
    }
    this.name = `stratagem ${sha256}`;
    this.storage = storage;
    this.userType = userType;
    this.reports = null;
  }

  /** Return the permanent report, or one that is drawn by the weights, whatever the value. */
  draw(cell, source) {
    this.reports ??= this.readOrDraw(source);
    const permanent = this.reports[this.number(cell)], other = this.permanent.drawAny(source);
    return this.uniform.draw(source) < this.kept ? permanent : other;
  }

  /** Return the number of a user type, the last attribute fastest. */
  number(cell) {
    const places = Array.isArray(cell) ? cell : [cell];
    return places.reduce((number, place, k) => number * this.sizes[k] + place, 0);
  }

  /** Return the user type of a number. */
  cell(number) {
    const places = this.sizes.map(() => 0);
    for (let k = this.sizes.length - 1; k >= 0; k--) {
      places[k] = number % this.sizes[k];
      number = Math.floor(number / this.sizes[k]);
    }
    return this.userType(places);
  }

  readOrDraw(source) {
    let text;
    try {
      if ((this.storage.getItem(this.name) ?? null) === null) {
        const numbers = Array.from({ length: this.values }, (_, number) => number);
        const drawn = numbers.map((number) => this.permanent.draw(this.cell(number), source));
        this.storage.setItem(this.name, drawn.join(" ") + END);
      }
      text = this.storage.getItem(this.name) ?? null;
      if (text === null) throw new DOMException("", "nothing was stored");
    } catch (error) {
      refuse(`the memo cannot be kept (${short(error?.name)}): let this page store data, or give another storage`);
    }
    text = String(text);
    const words = text.slice(0, -END.length).split(" "), reports = words.map(Number);
    const whole = text.endsWith(END) && words.length === this.values;
    const known = whole && words.every((word) => /^[0-9]{1,16}$/.test(word));
    if (!known || reports.some((output) => output >= this.outputs)) {
      refuse("the memo is damaged: put back a copy, as a new one spends the budget again");
    }
    return reports;
  }
}

/* A memo: the permanent report of every value of one person, drawn once, kept, and repeated or replaced at random. */

import { ADVICE, decimal, fields, refuse, short, whole } from "./check.js";
import { KINDS, userType } from "./parts.js";
import { HIGH, reduced, search, searchTable, stepsOf, Uniform, WEIGHTS } from "./search.js";

const MOST_KEPT = 2 ** 16; // values of a domain for which permanent reports are kept
const WHOLE = /^[0-9]{1,16}( [0-9]{1,16})*\n$/; // a memo: without its end a last number may be cut off
const PROMISED = ["10", "100", "1000"]; // numbers of reports for which an epsilon is stated, beside one and any

/** Return the parts of a table, or it alone as one of these attributes. */
function partsOf(table, attributes) {
  return table.parts ?? [{ attributes, share: WEIGHTS, table }];
}

/** Return what single and permanent reports of a table are drawn from: their lower levels and column sums. */
function pairOf(table, low) {
  const columns = [table.low, low].map((one) => {
    const { column_total: total, column_unit: unit = 1n } = KINDS[table.kind].facts({ ...table, low: one });
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
export function checkMemo(table, memo, scale, expBelow) {
  fields(memo, "the memo", "low epsilon");
  const tables = partsOf(table).map((part) => part.table);
  if (tables.some(({ kind }) => kind === "columns")) refuse(`a memo needs a table of two levels: ${ADVICE}`);
  const low = whole(memo.low, "low of the memo", 1, Math.min(...tables.map((one) => one.low)) - 1);
  const laws = tables.map((one) => [pairOf(one, low), new KINDS[one.kind](one).rarest()]);
  fields(memo.epsilon, "epsilon of the memo", [...PROMISED, "any"].join(" "));
  for (const [reports, text] of Object.entries(memo.epsilon)) {
    const bound = expBelow(...decimal(text, "epsilon of the memo"));
    const worst = reports === "any" ? [[BigInt(HIGH), BigInt(low)]] : laws.map((law) => repeated(...law, reports));
    if (worst.some(([high, least]) => high << scale > least * bound)) refuse("the memo breaks its epsilon: do not use it");
  }
}

/** The permanent reports of one person, drawn once for every value, in a storage such as `localStorage`.
 *
 * Of a survey they are of one part, drawn before, which they say. What is stored is the same whichever values the person
 * has.
 */
export class Memo {
  constructor({ table, memo, sha256, domain }, storage) {
    const parts = partsOf(table, [...domain.keys()]);
    let end = 0;
    this.parts = parts.map(({ attributes, table: own }) => {
      const [alpha, all] = kept(pairOf(own, memo.low)), sizes = attributes.map((k) => domain[k].size), first = end;
      const values = sizes.reduce((product, size) => Math.min(product * size, MOST_KEPT + 1), 1);
      end += own.outputs;
      const permanent = new KINDS[own.kind]({ ...own, low: memo.low });
      return { first, end, table: own, sizes, values, permanent, kept: alpha, uniform: new Uniform(all) };
    });
    this.survey = "parts" in table;
    this.shares = parts.map(({ share }) => share);
    if (this.parts.some(({ values }) => values > MOST_KEPT)) {
      refuse("the mechanism file has more than 65,536 values, too many to memoise: merge some");
    }
    if (typeof storage?.getItem !== "function" || typeof storage.setItem !== "function") {
      refuse("the memo is no storage: give one with getItem and setItem");
    }
    this.name = `stratagem ${sha256}`;
    this.storage = storage;
    this.reports = null;
  }

  /** Return whether the permanent reports of this person were drawn before, or something else stands in their place. */
  isKept() {
    return (this.storage.getItem(this.name) ?? null) !== null;
  }

  /** Return the number of the part that this person keeps. */
  part(source) {
    this.reports ??= this.readOrDraw(source);
    return this.parts.findIndex(({ end }) => this.reports[0] < end);
  }

  /** Return the permanent report, or one that is drawn by the weights, whatever the value. */
  draw(cell, source, part) {
    const number = this.part(source), { first, permanent, sizes, kept: alpha, uniform } = this.parts[number];
    if ((part ?? number) !== number) refuse(`part ${part} was given, but the memo keeps part ${number}: ask what that is about`);
    const own = this.survey ? cell[number] : cell, places = Array.isArray(own) ? own : [own];
    const value = places.reduce((above, place, k) => above * sizes[k] + place, 0); // the last attribute fastest
    const lasting = this.reports[value], other = first + permanent.drawAny(source);
    return uniform.draw(source) < alpha ? lasting : other;
  }

  /** Return the permanent reports of a part, which is drawn before any answer is looked at. */
  drawn(source) {
    const share = Number(new Uniform(WEIGHTS).draw(source)), { length } = this.shares;
    const number = search(searchTable(this.shares), 0, stepsOf(length), share);
    const { first, permanent, table, sizes, values } = this.parts[number];
    return Array.from({ length: values }, (_, value) => {
      const places = sizes.map(() => 0);
      for (let k = sizes.length - 1, rest = value; k >= 0; k--) {
        places[k] = rest % sizes[k];
        rest = Math.floor(rest / sizes[k]);
      }
      return first + permanent.draw(userType(table, places, sizes), source);
    });
  }

  readOrDraw(source) {
    let text;
    try {
      if (!this.isKept()) {
        this.storage.setItem(this.name, `${this.drawn(source).join(" ")}\n`);
      }
      text = this.storage.getItem(this.name) ?? null;
      if (text === null) throw new DOMException("", "nothing was stored");
    } catch (error) {
      refuse(`the memo cannot be kept (${short(error?.name)}): let this page store data, or give another storage`);
    }
    const reports = WHOLE.test(text) ? String(text).trim().split(" ").map(Number) : [];
    const part = this.parts.find(({ end }) => reports[0] < end);
    if (reports.length !== part?.values || reports.some((output) => output < part.first || output >= part.end)) {
      refuse("the memo is damaged: put back a copy, as a new one spends the budget again");
    }
    return reports;
  }
}

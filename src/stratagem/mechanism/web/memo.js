/* A memo: the permanent report of every value of one person, drawn once, kept, and repeated or replaced at random. */

import { ADVICE, epsilonOf, fields, refuse, whole } from "./check.js";
import { HIGH, reduced, Uniform } from "./search.js";

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
  if (table.kind === "columns") refuse(`a memo needs a table of two levels: ${ADVICE}`);
  const low = whole(memo.low, "low of the memo", 1, table.low - 1);
  const pair = pairOf(Kind, table, low), rarest = new Kind(table).rarest();
  fields(memo.epsilon, "epsilon of the memo", [...PROMISED, "any"].join(" "));
  for (const [reports, text] of Object.entries(memo.epsilon)) {
    const bound = expBelow(...epsilonOf(text, "epsilon of the memo"));
    const [high, least] = reports === "any" ? [BigInt(HIGH), BigInt(low)] : repeated(pair, rarest, reports);
    if (high << scale > least * bound) refuse("the memo breaks its epsilon: do not use it");
  }
}

/** The permanent reports of one person in a storage such as `localStorage`, each kept before any report is made. */
export class Memo {
  constructor(Kind, { table, memo, sha256 }, storage) {
    this.permanent = new Kind({ ...table, low: memo.low });
    [this.kept, this.all] = kept(pairOf(Kind, table, memo.low));
    this.uniform = new Uniform(this.all);
    this.outputs = table.outputs;
    this.name = (cell) => `stratagem ${sha256} ${cell}`;
    this.storage = storage;
  }

  /** Return the permanent report, or one that is drawn by the weights, whatever the value. */
  draw(cell, source) {
    const permanent = this.read(cell, source), other = this.permanent.drawAny(source);
    return this.uniform.draw(source) < this.kept ? permanent : other;
  }

  read(cell, source) {
    const name = this.name(cell);
    if (this.storage.getItem(name) === null) {
      this.storage.setItem(name, String(this.permanent.draw(cell, source)));
    }
    const text = this.storage.getItem(name), output = Number(text);
    if (!/^[0-9]+$/.test(text) || output >= this.outputs) {
      refuse("the memo holds no report of this bundle: give the storage as it was");
    }
    return output;
  }
}

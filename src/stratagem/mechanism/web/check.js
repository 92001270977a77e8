/* Refusals: what is wrong with a bundle or a value, in one sentence. */

export const ADVICE = "use the file that stratagem wrote, unchanged";

export function refuse(sentence) {
  throw new RangeError(sentence);
}

export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function fields(data, where, required, optional = "") {
  const wanted = required.split(" "), allowed = [...wanted, ...optional.split(" ")];
  const keys = isObject(data) ? Object.keys(data) : [];
  if (!wanted.every((key) => keys.includes(key)) || !keys.every((key) => allowed.includes(key))) {
    refuse(`${where} must have exactly the keys ${required}: ${ADVICE}`);
  }
}

export function whole(value, where, low, high) {
  if (!Number.isInteger(value) || value < low || value > high) {
    refuse(`${where} is ${short(value)}, but must be a whole number from ${low} to ${high}: ${ADVICE}`);
  }
  return value;
}

/** Return numerator and denominator of the decimal text of an epsilon. */
export function decimal(text, where) {
  const given = typeof text === "string" && text.length < 40 ? text : "";
  const [, digits, part = ""] = /^([0-9]+)(?:\.([0-9]+))?$/.exec(given) ?? ["", "0"];
  const [numerator, denominator] = [BigInt(digits + part), 10n ** BigInt(part.length)];
  if (numerator === 0n || numerator > 300n * denominator) refuse(`${where} is no number up to 300: ${ADVICE}`);
  return [numerator, denominator];
}

/** Return at most 80 letters that show a value. */
export function short(value) {
  const bigint = (x) => typeof x === "bigint";
  let text;
  try {
    text = JSON.stringify(value, (_, x) => (bigint(x) ? String(x) : x)) ?? String(value);
  } catch {
    text = typeof value;
  }
  if (typeof value === "number" || bigint(value)) text = String(value);
  return text.length <= 80 ? text : `${text.slice(0, 77)}...`;
}

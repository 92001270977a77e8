/* Values: the rule from what a person answers, or a form sends, to the number of the answer. */

import { ADVICE, refuse, short } from "./check.js";

const NUMBER = /^-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?$/;
const DECIMAL = /^([-+]?)(?:([0-9]+)\.?([0-9]*)|\.([0-9]+))(?:e([-+]?[0-9]{1,9}))?$/i;
const INFINITE = /^([-+]?)inf(inity)?$/i;
const CLOCK = "[0-9]{2}:[0-9]{2}(?::[0-9]{2})?"; // dates and times of day of ISO 8601
const DATE = `[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ]${CLOCK})?`;
const MOMENT = new RegExp(`^(${DATE}|${CLOCK})(?:\\.([0-9]+))?(Z|[+-][0-9]{2}(?::?[0-5][0-9])?)?$`);
const ZONE = /^[A-Z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)*$/;
const MISSING = ["", "na", "n/a", "nan", "null", "none"]; // texts that stand for no number, date or time
const WHOLE = /^-?[0-9]+$/;
const UNEVEN = "not a whole number";
const LARGEST = 1000; // exponent of a power of ten beyond that of every edge
export const OTHER = "other"; // what may follow the last edge: a value for everything that lies in no bin
export const NO_ANSWER = "no answer"; // what a last value is called that stands for an empty or missing answer

/** Return the rule from a value of an attribute, which may be a text, to its number 0..size-1. */
export function reader(attribute) {
  const { name, labels = null, edges = null, unit = null, zone = null } = attribute, silent = attribute.no_answer === true;
  const size = valuesOf(attribute);
  const rest = attribute.other === true ? 1 : 0;
  const whole = attribute.whole === true;
  if ((!silent && "no_answer" in attribute) || (!rest && "other" in attribute) || (!whole && "whole" in attribute) || size <= rest) {
    refuse(`${name} needs no_answer, other and whole true or left out, and a value beside them: ${ADVICE}`);
  }
  const known = typeof unit === "string" && unit !== "" && [...unit].length <= 40 && labels === null;
  if (unit !== null && !known) {
    refuse(`${name} needs a unit of 1 to 40 letters, and numbers instead of labels: ${ADVICE}`);
  }
  if (rest + (labels !== null) + (edges !== null) > 1) {
    refuse(`${name} has two of labels, edges, other: ${ADVICE}`);
  }
  if (zone !== null && (edges === null || edgeBounds(edges, name, size).kind !== "a date")) {
    refuse(`${name} has a zone, but no edges that are dates: ${ADVICE}`);
  }
  if (whole && (edges === null || !edgeBounds(edges, name, size).texts.every((text) => WHOLE.test(text)))) {
    refuse(`${name} has no whole edges: ${ADVICE}`);
  }
  const [place, what] = labels !== null
    ? labelled(name, size, labels, silent)
    : edges !== null ? binned(name, edges, size, zone, whole) : coded(size - rest, rest);
  return (value) => {
    const known = typeof value === "number" || typeof value === "string" || value === null || value === undefined;
    const found = known ? place(String(value ?? "")) : labels ? "unknown label" : "not a value";
    const none = found === "missing" || (typeof found === "string" && known && String(value).trim() === NO_ANSWER);
    if (silent && none) return size;
    const allowed = silent ? `${what}, or "${NO_ANSWER}"` : what;
    if (typeof found === "string") refuse(`${name} is ${short(value)} (${found}), but must be ${allowed}`);
    return found;
  };
}

/** Return how many values an attribute has, without a last one for no answer. */
export function valuesOf({ size, no_answer: silent }) {
  return silent ? size - 1 : size;
}

function labelled(name, size, labels, silent) {
  if (!Array.isArray(labels) || labels.length !== size || !labels.every((x) => typeof x === "string")) {
    refuse(`${name} needs ${size} labels: ${ADVICE}`);
  }
  const exact = new Map(labels.map((label, k) => [label, k])), bare = new Map(labels.map((label, k) => [label.trim(), k]));
  if (exact.size !== size || (silent && (bare.has("") || bare.has(NO_ANSWER)))) refuse(`${name} has a label twice: ${ADVICE}`);
  const find = (text) => exact.get(text) ?? bare.get(text) ?? exact.get(text.trim()) ?? bare.get(text.trim());
  return [(text) => find(text) ?? (text.trim() ? "unknown label" : "missing"), `one of ${short(labels)}`];
}

function coded(size, other) {
  const place = (text) => {
    const found = floor(text.trim(), 0);
    if (!found) return other && text.trim() === OTHER ? size : none(text, "a number");
    if (found.floor < 0) return "below 0";
    if (found.floor >= size) return `above ${size - 1}`;
    return found.rest ? UNEVEN : Number(found.floor);
  };
  return [place, `a whole number from 0 to ${size - 1}${other ? `, or "${OTHER}"` : ""}`];
}

function binned(name, edges, size, zone, whole) {
  const { texts, other, kind } = edgeBounds(edges, name, size), numbers = kind === "a number";
  const scale = numbers ? Math.max(...texts.map(decimals)) : 0, local = clock(name, zone);
  const key = (text) => (numbers ? floor(text, scale)?.floor ?? null : moment(text, kind, local));
  const bounds = texts.map(key), last = bounds.length - 1;
  const place = (text) => {
    const found = key(text.trim());
    if (found === null) return other && text.trim() === OTHER ? size - 1 : none(text, kind);
    if (found < bounds[0]) return `below ${texts[0]}`;
    if (found >= bounds[last]) return `${texts[last]} or above`;
    if (whole && floor(text.trim(), 0).rest) return UNEVEN;
    let [below, above] = [0, last];
    while (above - below > 1) {
      const middle = (below + above) >> 1;
      if (bounds[middle] <= found) below = middle;
      else above = middle;
    }
    return below;
  };
  const end = whole ? BigInt(texts[last]) - 1n : `below ${texts[last]}`; // as the form says it
  const what = `${whole ? "a whole number" : numbers ? kind : "a date or time"} from ${texts[0]} to ${end}`;
  return [place, `${what}${other ? `, or "${OTHER}"` : ""}`];
}

function none(text, kind) {
  return MISSING.includes(text.trim().toLowerCase()) ? "missing" : `not ${kind}`;
}

/** Return the texts of edges that increase, whether OTHER follows, and what the edges are. */
export function edgeBounds(edges, name, size) {
  const known = Array.isArray(edges) && edges.length === size + 1
    && edges.every((edge) => typeof edge === "string" && edge.length < 40);
  const other = known && edges[size] === OTHER, texts = known ? edges.slice(0, other ? size : size + 1) : [];
  const kind = ["a date", "a time of day"].find((one) => texts.every((text) => moment(text, one) !== null)) ?? "a number";
  const strict = kind === "a number"
    ? texts.every((text) => NUMBER.test(text) && Number.isFinite(Number(text)))
    : !texts.some((text) => /[ Z+-]/.test(text.slice(10)));
  const scale = strict && kind === "a number" ? Math.max(...texts.map(decimals)) : 0;
  const bounds = !strict ? [] : kind === "a number" ? texts.map((text) => floor(text, scale).floor) : texts.map((text) => moment(text, kind));
  const rising = bounds.every((bound, k) => k === 0 || bounds[k - 1] < bound);
  if (bounds.length < 2 || !rising) refuse(`${name} needs ${size + 1} edges that increase: ${ADVICE}`);
  return { texts, other, kind };
}

/** Return how many digits follow the point of a decimal text, its exponent counted in. */
function decimals(text) {
  const [, , , part = "", alone = "", power = "0"] = DECIMAL.exec(text);
  return Math.max(0, part.length + alone.length - Number(power));
}

/** Return floor(10^scale x) of the very number x that a text stands for, and whether anything is left; null for none. */
function floor(text, scale) {
  const infinite = INFINITE.exec(text), found = DECIMAL.exec(text);
  if (infinite) return { floor: infinite[1] === "-" ? -Infinity : Infinity, rest: false };
  if (!found) return null;
  const [, sign, whole = "", part = "", alone = "", power = "0"] = found, digits = whole + part + alone;
  const shift = Number(power) - part.length - alone.length + scale, size = BigInt(digits);
  if (size === 0n) return { floor: 0n, rest: false };
  if (shift > LARGEST + scale) return { floor: sign === "-" ? -Infinity : Infinity, rest: false };
  const unit = 10n ** BigInt(Math.min(Math.abs(shift), shift > 0 ? shift : digits.length + 1));
  if (shift >= 0) return { floor: (sign === "-" ? -size : size) * unit, rest: false };
  const rest = size % unit !== 0n, quotient = size / unit;
  return { floor: sign === "-" ? -quotient - (rest ? 1n : 0n) : quotient, rest };
}

/** Return the rule from a moment to the local time of a zone of the IANA database; null stands for UTC. */
function clock(name, zone) {
  if (zone === null) return (at) => at.toISOString();
  const two = "2-digit", parts = { year: "numeric", month: two, day: two, hour: two, minute: two, second: two };
  let format;
  try {
    if (!ZONE.test(zone)) throw new RangeError();
    format = new Intl.DateTimeFormat("en-US", { ...parts, era: "short", hourCycle: "h23", timeZone: zone });
  } catch (error) {
    refuse(`${name} has the zone ${short(zone)}, which this system does not know: ${ADVICE}`);
  }
  return (at) => {
    const found = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
    const { era, year, month, day, hour, minute, second } = found;
    const [full, sign] = [year.padStart(4, "0"), era[0] === "A" ? "" : "-"];
    return `${sign}${full}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
  };
}

/** Return a date in local time or a time of day in full, so that those of one kind sort by time; null for none. */
function moment(text, kind, local = clock("", null)) {
  const [, plain = "", fraction = "", zone = ""] = MOMENT.exec(text) ?? [], parts = plain.split(":").length;
  const dated = plain.includes("-");
  if (!plain || dated !== (kind === "a date") || (fraction && parts < 3) || (zone && plain.length < 16)) return null;
  const full = dated ? `${plain.replace(" ", "T")}${["T00:00:00", ":00", ""][parts - 1]}` : `${plain}${parts < 3 ? ":00" : ""}`;
  const whole = dated ? moved(full, zone, local) : /^24:00(:00)?$/.test(plain) ? plain : moved(`2000-01-01T${full}`, "")?.slice(11) ?? null;
  return whole === null ? null : fraction ? `${whole}.${fraction}`.replace(/\.?0+$/, "") : whole;
}

/** Return a moment of a zone in local time; null for one that does not exist, or lies outside the years 1 to 9999. */
function moved(full, zone, local) {
  const at = Date.parse(`${full}Z`), [hours, minutes] = [zone.slice(1, 3), zone.slice(-2)];
  const exists = !Number.isNaN(at) && new Date(at).toISOString().slice(0, 19) === full;
  const away = zone.length > 1 ? Number(hours) * 60 + (zone.length > 3 ? Number(minutes) : 0) : 0;
  if (!exists || Number(hours || 0) > 23) return null;
  if (!zone) return full >= "0001" ? full : null;
  const found = new Date(at - (zone[0] === "-" ? -away : away) * 60_000), texts = [found.toISOString(), local(found)];
  return texts.every((text) => text.length === 24 && text >= "0001") ? texts[1].slice(0, 19) : null;
}

/* Bundles: read strictly, everything they promise checked again. */

import { hex } from "./binary.js";
import { ADVICE, decimal, fields, isObject, refuse, short, whole } from "./check.js";
import { canonical, decoded, PARTS, strictJson } from "./json.js";
import { checkMemo } from "./memo.js";
import { fits, kind, KINDS } from "./parts.js";
import { checkSteps } from "./table.js";
import { reader } from "./value.js";

const FORMAT = "stratagem-mechanism", VERSION = 1;
export const CEILING = 10; // epsilon of the bundles that are taken when no ceiling is given, at most
const SCALE = 64n; // the lower bound on exp(epsilon) is a multiple of 2^-64

const REPORT_SCHEMA = {
  type: "object",
  additionalProperties: false,
  required: ["mechanism", "id", "output"],
  properties: {
    mechanism: { type: "string", description: "the first 16 digits of the bundle's sha256" },
    id: { type: "string", pattern: "^[0-9a-f]{32}$", description: "random, counts a report once" },
    output: { type: "integer", minimum: 0, description: "below the table's outputs" },
  },
};

/** Return the content of a bundle (text or bytes) after checking its form, its hash and its certificate.
 *
 * Guarantee: columns sum to the same total and in each row max * 2^64 <= min * exp_epsilon, where
 * exp_epsilon is at most 2^64 exp(epsilon): all in whole numbers.
 */
export async function parse(raw) {
  const bundle = strictJson(decoded(raw));
  if (!isObject(bundle) || bundle.format !== FORMAT) {
    refuse(`the mechanism file does not name the format ${FORMAT}: ${ADVICE}`);
  }
  if (bundle.version !== VERSION) {
    refuse(`the mechanism file has version ${short(bundle.version)}, but this client reads ${VERSION}: update it`);
  }
  const keys = "format version domain workload prior epsilon table certificate utility report sha256";
  fields(bundle, "the mechanism file", keys, "memo steps");
  if (bundle.sha256 !== await fingerprint(bundle)) {
    refuse(`the mechanism file was changed after it was written, its sha256 differs: ${ADVICE}`);
  }
  checkDomain(bundle.domain, bundle.table);
  if (canonical(bundle.report) !== canonical(REPORT_SCHEMA)) {
    refuse(`the mechanism file describes other reports than this client makes: ${ADVICE}`);
  }
  if (canonical(bundle.certificate) !== canonical(certificate(bundle.table, bundle.epsilon))) {
    refuse(`the certificate is not that of the table: ${ADVICE}`);
  }
  if ("memo" in bundle) checkMemo(bundle.table, bundle.memo, SCALE, expBelow);
  if ("steps" in bundle) checkSteps(bundle, SCALE, expBelow);
  return bundle;
}

/** Return a bundle whose epsilon is at most that number, as its decimal digits say, and whose hash is as given.
 *
 * Who serves a bundle chooses its epsilon, and the certificate of a huge one holds.
 */
export function accepted(bundle, atMost = CEILING, sha256 = null) {
  const [, first, part = "", power = "0"] = /^(\d+)(?:\.(\d+))?(?:e([-+]\d+))?$/.exec(String(atMost)) ?? [];
  if (!first) refuse(`atMost is ${short(atMost)}, but must be a number: give an epsilon`);
  const [numerator, denominator] = largest(bundle), shift = Number(power) - part.length;
  const scale = 10n ** BigInt(Math.abs(shift)), digits = BigInt(first + part);
  if (numerator * (shift < 0 ? scale : 1n) > denominator * digits * (shift < 0 ? 1n : scale)) {
    const stated = rounded(epsilonOf({ epsilon: [String(numerator), String(denominator)] }));
    refuse(`the mechanism file has epsilon ${stated}, but at most ${rounded(Number(atMost))} is accepted: use another, or say `
      + `atMost=${stated}`);
  }
  if (sha256 !== null && sha256 !== bundle.sha256) {
    refuse(`the mechanism file has the sha256 ${bundle.sha256}, but ${short(sha256)} is asked for: use that one`);
  }
  return bundle;
}

/** Return the epsilon of all reports of one person as a fraction: of one, or of any number with a memo. */
function largest({ epsilon, memo }) {
  return memo ? decimal(memo.epsilon.any, "epsilon of the memo") : epsilon.map(BigInt);
}

/** Return the epsilon of a bundle as a number. */
export function epsilonOf({ epsilon: [numerator, denominator] }) {
  const scale = 10n ** BigInt(Math.max(0, denominator.length - 300));
  return Number(BigInt(numerator) / scale) / Number(BigInt(denominator) / scale);
}

function rounded(number) {
  return String(Number(number.toPrecision(15)));
}

/** Return the certificate of a table: what every column sums to and how far apart a row's entries are. */
function certificate(table, epsilon) {
  if (!Array.isArray(epsilon) || epsilon.length !== 2) {
    refuse(`epsilon must be a numerator and a denominator: ${ADVICE}`);
  }
  const [numerator, denominator] = epsilon.map(digits);
  if (denominator === 0n || numerator === 0n || numerator > 300n * denominator) {
    refuse(`epsilon must be above 0 and at most 300: ${ADVICE}`);
  }
  const bound = expBelow(numerator, denominator);
  const facts = KINDS[kind(table)].facts(table);
  if (facts.worst_high << SCALE > facts.worst_low * bound) {
    refuse("the table breaks its epsilon: do not use it");
  }
  const texts = Object.entries(facts).map(([key, value]) => [key, String(value)]);
  return { exp_epsilon: String(bound), ...Object.fromEntries(texts) };
}

/** Return a whole number at most 2^64 exp(numerator/denominator): Taylor's series, every term cut off. */
function expBelow(numerator, denominator) {
  let term = 1n << (SCALE + 32n), total = term;
  for (let k = 1n; term; k++) {
    term = (term * numerator) / (denominator * k);
    total += term;
  }
  return total >> 32n;
}

/** Refuse a domain whose attributes are not named, or do not fit the table. */
function checkDomain(domain, table) {
  if (!Array.isArray(domain) || domain.length === 0) refuse(`the domain lists no attributes: ${ADVICE}`);
  const names = new Set();
  for (const attribute of domain) {
    fields(attribute, "an attribute", "name size", "labels edges unit no_answer zone other whole");
    if (typeof attribute.name !== "string" || names.has(attribute.name)) {
      refuse(`two attributes have one name, or one has none: ${ADVICE}`);
    }
    names.add(attribute.name);
    whole(attribute.size, "the size of an attribute", 1, PARTS);
    reader(attribute);
  }
  if (!fits(table, domain.map(({ size }) => size))) {
    refuse(`the domain has another number of values than the table: ${ADVICE}`);
  }
}

/** Return the SHA-256 of the canonical form without the hash itself. */
async function fingerprint({ sha256, ...rest }) {
  const bytes = new TextEncoder().encode(canonical(rest));
  return hex(new Uint8Array(await webCrypto().subtle.digest("SHA-256", bytes)));
}

export function webCrypto() {
  if (!globalThis.crypto?.subtle) refuse("this page has no WebCrypto: open it over https or from localhost");
  return globalThis.crypto;
}

function digits(text) {
  if (typeof text !== "string" || !/^[0-9]{1,400}$/.test(text)) {
    refuse(`epsilon must be written in at most 400 digits: ${ADVICE}`);
  }
  return BigInt(text);
}

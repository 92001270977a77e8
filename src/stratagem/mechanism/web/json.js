/* JSON as bundles are written: whole numbers, every key once, and one canonical form. */

import { ADVICE, isObject, refuse } from "./check.js";

export const LIMIT = 2 ** 28; // bytes of the largest bundle
export const PARTS = 2 ** 22; // commas, brackets and braces of a bundle, and user types of a table
const DEPTH = 100, DIGITS = 4300; // of nested lists, and of whole numbers
const WORDS = { __proto__: null, true: true, false: false, null: null };

/** Return the text of a bundle that is not too large and is Unicode. */
export function decoded(raw) {
  const known = typeof raw === "string" || raw instanceof ArrayBuffer || raw instanceof Uint8Array;
  if (!known) refuse("a mechanism file is given as its text, an ArrayBuffer or a Uint8Array");
  const bytes = typeof raw === "string" ? new TextEncoder().encode(raw) : new Uint8Array(raw);
  if (bytes.length > LIMIT || partsOf(bytes) > PARTS) refuse(`the mechanism file is too large: ${ADVICE}`);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return refuse(`the mechanism file is not plain JSON (not UTF-8): ${ADVICE}`);
  }
}

/** Return the number of commas and of opening brackets and braces. */
function partsOf(bytes) {
  let parts = 0;
  for (let i = 0; i < bytes.length; i++) {
    if (bytes[i] === 44 || bytes[i] === 91 || bytes[i] === 123) parts++;
  }
  return parts;
}

/** Return the value of a JSON text whose numbers are whole and whose keys are written once. */
export function strictJson(text) {
  const word = /-?(?:0|[1-9][0-9]*)|true|false|null/y;
  let at = 0;
  const bad = (why = `at character ${at}`) => refuse(`the mechanism file is not plain JSON (${why}): ${ADVICE}`);
  const next = () => {
    while (text[at] === " " || text[at] === "\n" || text[at] === "\r" || text[at] === "\t") at++;
    return text[at];
  };
  const take = (mark) => next() === mark && ++at > 0;

  function string() {
    let end = at;
    for (let escape = true; escape;) {
      end = text.indexOf('"', end + 1);
      if (end < 0 || text[at] !== '"') bad();
      escape = false;
      for (let i = end - 1; text[i] === "\\"; i--) escape = !escape;
    }
    let found;
    try {
      found = JSON.parse(text.slice(at, end + 1));
    } catch {
      bad();
    }
    if (/\p{Surrogate}/u.test(found)) refuse(`the mechanism file holds text that is not Unicode: ${ADVICE}`);
    at = end + 1;
    return found;
  }

  function list(end, item) {
    at++;
    if (take(end)) return;
    do item(); while (take(","));
    if (!take(end)) bad();
  }

  function value(depth) {
    if (depth > DEPTH) refuse(`the mechanism file is nested too deeply: ${ADVICE}`);
    switch (next()) {
      case "{": {
        const found = Object.create(null);
        list("}", () => {
          next();
          const key = string();
          if (key in found) bad("a key is written twice");
          if (!take(":")) bad();
          found[key] = value(depth + 1);
        });
        return found;
      }
      case "[": {
        const found = [];
        list("]", () => found.push(value(depth + 1)));
        return found;
      }
      case '"':
        return string();
      default: {
        word.lastIndex = at;
        const [found] = word.exec(text) ?? bad();
        at = word.lastIndex;
        if (found in WORDS) return WORDS[found];
        if (found.length > DIGITS + found.startsWith("-")) bad("a number is too long");
        return Number.isSafeInteger(Number(found)) ? Number(found) : BigInt(found);
      }
    }
  }

  const found = value(0);
  if (next() !== undefined) bad();
  return found;
}

/** Return the canonical form: keys sorted by code point, no spaces. */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (!isObject(value)) return typeof value === "bigint" ? String(value) : JSON.stringify(value);
  const keys = Object.keys(value).sort(byCodePoint);
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join()}}`;
}

/** Compare texts by code points; `<` compares UTF-16, where U+1F600 comes before U+FF5E. */
function byCodePoint(a, b) {
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  return (a.codePointAt(i) ?? -1) - (b.codePointAt(i) ?? -1);
}

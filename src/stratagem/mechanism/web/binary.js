/* Bytes and whole numbers as text: base64 and hexadecimal digits. */

import { ADVICE, refuse } from "./check.js";

/** Return the bytes of a base64 text that has exactly one spelling and the length expected. */
export function exactBytes(text, where, count) {
  let raw = "";
  if (typeof text === "string" && text.length === 4 * Math.ceil(count / 3)) {
    try {
      raw = atob(text);
    } catch {
      // stays empty, refused below
    }
  }
  if (raw.length !== count || btoa(raw) !== text) {
    refuse(`${where} must be the base64 text of ${count} bytes: ${ADVICE}`);
  }
  const found = new Uint8Array(count);
  for (let i = 0; i < count; i++) found[i] = raw.charCodeAt(i);
  return found;
}

/** Return whole numbers from base64 of little-endian unsigned integers of 4 or 8 bytes, exact below 2^53. */
export function integers(text, where, count, width) {
  const view = new DataView(exactBytes(text, where, count * width).buffer), found = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    found[i] = view.getUint32(i * width, true);
    if (width === 8) found[i] += view.getUint32(i * 8 + 4, true) * 2 ** 32;
  }
  return found;
}

/** Return the base64 text of whole numbers as little-endian unsigned integers of 8 bytes. */
export function encoded(numbers) {
  const view = new DataView(new ArrayBuffer(8 * numbers.length));
  numbers.forEach((number, i) => view.setBigUint64(8 * i, BigInt(number), true));
  return btoa(Array.from(new Uint8Array(view.buffer), (byte) => String.fromCharCode(byte)).join(""));
}

const PAIRS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

export function hex(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i++) text += PAIRS[bytes[i]];
  return text;
}

/* Values: the rule from what a person answers to the number of the answer. */

import { ADVICE, refuse, short } from "./check.js";

/** Return the rule from a value of an attribute to its number 0..size-1. */
export function reader({ name, size, labels = null, edges = null, unit = null }) {
  const known = typeof unit === "string" && unit !== "" && [...unit].length <= 40 && labels === null;
  if (unit !== null && !known) {
    refuse(`${name} needs a unit of 1 to 40 letters, and numbers instead of labels: ${ADVICE}`);
  }
  if (labels !== null && edges !== null) {
    refuse(`${name} has labels and edges, but only one of them is allowed: ${ADVICE}`);
  }
  if (labels !== null) return labelReader(name, size, labels);
  if (edges !== null) return edgeReader(name, edgeNumbers(edges, name, size));
  return (value) => {
    if (!Number.isInteger(value) || value < 0 || value >= size) {
      refuse(`${name} is ${short(value)}, but must be a whole number from 0 to ${size - 1}`);
    }
    return value;
  };
}

function labelReader(name, size, labels) {
  if (!Array.isArray(labels) || labels.length !== size || !labels.every((x) => typeof x === "string")) {
    refuse(`${name} needs ${size} labels: ${ADVICE}`);
  }
  const place = new Map(labels.map((label, k) => [label, k]));
  if (place.size !== size) refuse(`${name} has a label twice: ${ADVICE}`);
  return (value) => (
    place.get(value) ?? refuse(`${name} is ${short(value)}, but must be one of ${short(labels)}`)
  );
}

function edgeReader(name, edges) {
  const [low, high] = [edges[0], edges[edges.length - 1]];
  return (value) => {
    if (typeof value !== "number" || !(low <= value && value < high)) {
      refuse(`${name} is ${short(value)}, but must be a number from ${low} to below ${high}`);
    }
    let [below, above] = [0, edges.length - 1];
    while (above - below > 1) {
      const middle = (below + above) >> 1;
      if (edges[middle] <= value) below = middle;
      else above = middle;
    }
    return below;
  };
}

/** Return size + 1 increasing numbers, written as text to keep every digit. */
function edgeNumbers(edges, name, size) {
  const form = /^-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?$/;
  const written = Array.isArray(edges) && edges.length === size + 1
    && edges.every((edge) => typeof edge === "string" && edge.length < 40 && form.test(edge));
  const numbers = written ? edges.map(Number) : [];
  if (!written || !numbers.every((edge, k) => Number.isFinite(edge) && (k === 0 || numbers[k - 1] < edge))) {
    refuse(`${name} needs ${size + 1} edges that increase: ${ADVICE}`);
  }
  return numbers;
}

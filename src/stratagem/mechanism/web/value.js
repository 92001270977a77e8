/* Values: the rule from what a person answers to the number of the answer. */

import { ADVICE, refuse, short } from "./check.js";

const NUMBER = /^-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?$/;
// dates, with a time or without, and times of day: texts of ISO 8601 that sort as they follow one another
const CLOCK = "[0-9]{2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]+)?)?";
const MOMENTS = [`[0-9]{4}-[0-9]{2}-[0-9]{2}(T${CLOCK})?`, CLOCK].map((form) => new RegExp(`^(${form})$`));
export const OTHER = "other"; // what may follow the last edge: a value for everything that lies in no bin

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
  if (edges !== null) return edgeReader(name, edges, size);
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

function edgeReader(name, edges, size) {
  const { bounds, other, moment } = edgeBounds(edges, name, size);
  const [low, high] = [bounds[0], bounds[bounds.length - 1]];
  const what = `${moment ? "a date or time" : "a number"} from ${low} to below ${high}${other ? `, or "${OTHER}"` : ""}`;
  return (value) => {
    if (other && value === OTHER) return size - 1;
    const known = moment ? typeof value === "string" && moment.test(value) : typeof value === "number";
    if (!known || !(low <= value && value < high)) refuse(`${name} is ${short(value)}, but must be ${what}`);
    let [below, above] = [0, bounds.length - 1];
    while (above - below > 1) {
      const middle = (below + above) >> 1;
      if (bounds[middle] <= value) below = middle;
      else above = middle;
    }
    return below;
  };
}

/** Return increasing numbers, or dates or times, whether OTHER follows, and the form of dates or times. */
export function edgeBounds(edges, name, size) {
  const known = Array.isArray(edges) && edges.length === size + 1
    && edges.every((edge) => typeof edge === "string" && edge.length < 40);
  const other = known && edges[size] === OTHER, texts = known ? edges.slice(0, other ? size : size + 1) : [];
  const moment = MOMENTS.find((form) => texts.every((edge) => form.test(edge)));
  const bounds = moment ? texts : texts.map((edge) => (NUMBER.test(edge) ? Number(edge) : NaN));
  const rising = bounds.every((edge, k) => (moment || Number.isFinite(edge)) && (k === 0 || bounds[k - 1] < edge));
  if (bounds.length < 2 || !rising) refuse(`${name} needs ${size + 1} edges that increase: ${ADVICE}`);
  return { bounds, other, moment };
}

/* stratagem: the calculator of a report. Numbers are those of the page; nothing is fetched, nothing is estimated. */
"use strict";

(() => {
  const $ = (id) => document.getElementById(id);
  const { budgets, asked, stops, lines, scale: per, over } = JSON.parse($("numbers").textContent);
  const SVG = "http://www.w3.org/2000/svg", HEIGHT = 320, LETTER = 12, SHOWN = 8;
  const MEAN = `root mean square over ${over}`;
  const inputs = { budget: $("budget"), users: $("users"), error: $("error") };
  const many = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

  /** Variance of an answer per user, by budget: in the mean over the queries, or "single" for the least accurate. */
  const added = (line, place, which = "mean") => line[which][place];
  /** Users needed for a standard error of `share` a user; null where nobody computed it. */
  const needed = (line, place, share, which) =>
    (added(line, place, which) === null ? null : Math.max(1, added(line, place, which) / share ** 2));
  /** Standard error of an answer a user, with so many users. */
  const reached = (line, place, users, which) =>
    (added(line, place, which) === null ? null : Math.sqrt(added(line, place, which) / users));
  /** First computed budget at which so many users are enough; -1 where none is. */
  const enough = (line, share, users, which) =>
    budgets.findIndex((_, place) => added(line, place, which) !== null && needed(line, place, share, which) <= users);

  const asUsers = (x) => (x < 1e15 ? many.format(Math.ceil(x * (1 - 1e-12))) : x.toExponential(3));
  const asShare = (x) => `${Number((per * x).toPrecision(3))}${per > 1 ? "\u00a0%" : "\u00a0a person"}`;
  const ofAll = per > 1 ? "of all people" : "in the units of the queries";

  /** Lines of the kinds of a choice: the published mechanism that needs the fewest users at its budget is the best. */
  function kinds(place) {
    const published = lines.filter(({ kind, mean }) => kind === "published" && mean[place] !== null);
    const best = published.reduce((a, b) => (a && a.mean[place] <= b.mean[place] ? a : b), null);
    return lines.map((line) => (line === best ? { ...line, kind: "best" } : line));
  }

  /** What the controls say; null where one of them holds no positive number. */
  function choice() {
    const find = document.querySelector("input[name=find]:checked").value;
    const read = { place: stops[Number(inputs.budget.value)] };
    for (const [name, unit] of [["users", 1], ["error", per]]) {
      const value = inputs[name].valueAsNumber / unit, fits = value > 0 && inputs[name].checkValidity();
      inputs[name].setAttribute("aria-invalid", String(name !== find && !fits));
      read[name] = fits ? value : null;
    }
    const wrong = ["users", "error"].find((name) => name !== find && read[name] === null);
    return { find, wrong, ...read };
  }

  /** Per line, what was asked for as a number and as text. */
  function answers({ find, place, users, error }, shown) {
    const value = {
      users: (line, which) => needed(line, place, error, which),
      error: (line, which) => reached(line, place, users, which),
      budget: (line, which) => { const at = enough(line, error, users, which); return at < 0 ? null : budgets[at]; },
    }[find];
    const none = find === "budget" ? `none up to ${budgets[budgets.length - 1]}` : "not computed here";
    const text = { users: asUsers, error: asShare, budget: String }[find];
    const silent = (x) => x <= (find === "users" ? 1 : 0);
    const words = ({ kind }, x) => (x === null ? none : kind === "bound" && silent(x) ? "–" : text(x));
    return shown.map((line) => {
      const x = value(line), every = value(line, "single");
      return { ...line, x, text: words(line, x), every: words(line, every) };
    });
  }

  /** The answer in one or two sentences. */
  function sentence({ find, place, users, error }, found) {
    const ours = found.find(({ kind }) => kind === "ours"), bound = found.find(({ kind }) => kind === "bound");
    const best = found.find(({ kind }) => kind === "best");
    const at = `at ε = ${budgets[place]}`, goal = () => `a standard error of ${asShare(error)}`;
    const other = (verb) => (best && best.x !== null ? ` The best published, ${best.name}, ${verb} ${best.text}.` : "");
    if (find === "users") {
      const first = ours.x === null ? `This mechanism was not computed ${at}.`
        : `Ask ${ours.text} people for ${goal()} ${at}, ${MEAN}; ${ours.every} for every single answer.`;
      const limit = bound && bound.x > 1 ? ` The proven minimum is ${bound.text}.` : "";
      return `${first}${other("needs")}${limit}`;
    }
    if (find === "error") {
      const first = ours.x === null ? `This mechanism was not computed ${at}.`
        : `With ${asUsers(users)} people the standard error of an answer is ${ours.text} ${ofAll} ${at}, ${MEAN}; `
          + `${ours.every} for the least accurate answer.`;
      const limit = bound && bound.x > 0 ? ` The proven minimum is ${bound.text}.` : "";
      return `${first}${other("reaches")}${limit}`;
    }
    const first = ours.x === null
      ? `No computed ε up to ${budgets[budgets.length - 1]} is enough for ${goal()} with ${asUsers(users)} people.`
      : `${goal().replace("a", "A")} with ${asUsers(users)} people needs ε = ${ours.text}, the least that was computed, `
        + `${MEAN}; for every single answer: ${ours.every}.`;
    return first + (!bound || bound.x === null || bound.x === budgets[0] ? "" : ` Below ε = ${bound.text} no mechanism computed here can do it with unbiased answers.`);
  }

  function make(name, attributes = {}, ...parts) {
    const node = attributes.svg ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key !== "svg" && value !== undefined) node.setAttribute(key, value);
    }
    node.append(...parts);
    return node;
  }
  const draw = (name, attributes, ...parts) => make(name, { svg: true, ...attributes }, ...parts);

  /** Draw every line over the budgets: users for the error, or the error for the users. */
  function chart({ find, place, users, error }, found) {
    const width = Math.max(260, $("chart").clientWidth), left = 58, right = 14, top = 12, bottom = 40;
    const height = (line, k) => (find === "error" ? reached(line, k, users) : needed(line, k, error));
    const points = found.map((line) => budgets.map((budget, k) => [budget, height(line, k)])
      .filter(([, y]) => y !== null && y > 0));
    const all = points.flat(), ys = all.map(([, y]) => y);
    if (find === "budget") ys.push(users);
    const [x, y] = [scale(budgets, left, width - right), scale(ys, HEIGHT - bottom, top)];
    const svg = draw("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, "aria-hidden": "true" });
    for (const tick of ticks(Math.min(...ys), Math.max(...ys))) {
      const text = find === "error" ? asShare(tick) : short(tick);
      svg.append(draw("line", { class: "grid", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }),
        draw("text", { class: "tick", x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, text));
    }
    let last = -Infinity;
    budgets.forEach((budget) => {
      if (x(budget) - last < 34 || !Number.isFinite(x(budget))) return;
      last = x(budget);
      svg.append(draw("text", { class: "tick", x: last, y: HEIGHT - bottom + 18, "text-anchor": "middle" },
        String(Number(budget.toPrecision(3)))));
    });
    svg.append(draw("text", { class: "tick", x: (left + width - right) / 2, y: HEIGHT - 4, "text-anchor": "middle" },
      "privacy budget ε"));
    const chosen = find === "budget" ? found.find(({ kind }) => kind === "ours").x : budgets[place];
    if (chosen !== null) {
      svg.append(draw("line", { class: "chosen", x1: x(chosen), x2: x(chosen), y1: top, y2: HEIGHT - bottom }));
    }
    if (find === "budget") {
      svg.append(draw("line", { class: "chosen", x1: left, x2: width - right, y1: y(users), y2: y(users) }));
    }
    const order = { published: 0, best: 1, bound: 2, ours: 3 };
    found.map((line, k) => [line, points[k]]).sort(([a], [b]) => order[a.kind] - order[b.kind])
      .forEach(([{ kind }, own]) => {
        const path = own.map(([a, b], k) => `${k ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("");
        svg.append(draw("path", { class: `line ${kind}`, d: path }));
        for (const [a, b] of kind === "bound" ? [] : own) {
          svg.append(marker(kind, x(a), y(b), a === chosen ? 1.7 : 1));
        }
      });
    const what = `${find === "error" ? `Standard error with ${asUsers(users)} people`
      : `People needed for a standard error of ${asShare(error)}`}, ${MEAN}`;
    $("chart").setAttribute("aria-label", `${what}, over ε from ${budgets[0]} to `
      + `${budgets[budgets.length - 1]}: this mechanism, ${lines.length - 2} published mechanisms and the proven minimum. `
      + "The numbers are in the tables below.");
    $("chart").replaceChildren(make("p", { class: "axis" }, what), svg, legend(found.filter((_, k) => points[k].length > 0)));
  }

  /** A mark that is told apart by its shape too: a diamond for this mechanism, dots for the others. */
  function marker(kind, x, y, size) {
    const r = (kind === "ours" ? 5 : kind === "best" ? 3.2 : 2) * size;
    return kind === "ours"
      ? draw("path", { class: `mark ${kind}`, d: `M${x} ${y - r}l${r} ${r}l${-r} ${r}l${-r} ${-r}z` })
      : draw("circle", { class: `mark ${kind}`, cx: x, cy: y, r });
  }

  /** Return a logarithmic scale from the least and largest value to a range of pixels. */
  function scale(values, from, to) {
    const low = Math.log(Math.min(...values)), high = Math.log(Math.max(...values));
    return (value) => (high > low ? from + ((Math.log(value) - low) / (high - low)) * (to - from) : (from + to) / 2);
  }

  /** Return round numbers between two values, a few a power of ten where there are few powers. */
  function ticks(low, high) {
    const powers = Math.log10(high / low), steps = powers > 3 ? [1] : powers > 1 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 7];
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
      found.push(...steps.map((step) => step * 10 ** power).filter((tick) => tick >= low && tick <= high));
    }
    const every = Math.ceil(found.length / 7);
    return found.filter((_, k) => k % every === 0);
  }

  function short(x) {
    const units = [[1e12, 1e15, "T"], [1e9, 1e12, "G"], [1e6, 1e9, "M"], [1e3, 1e6, "k"]];
    const unit = units.find(([low, high]) => x >= low && x < high);
    return unit ? `${Number((x / unit[0]).toPrecision(3))}${unit[2]}` : String(Number(x.toPrecision(2)));
  }

  function legend(found) {
    const names = { ours: "this mechanism", published: "other published mechanisms", bound: "proven minimum" };
    const best = found.find(({ kind }) => kind === "best");
    const present = ["ours", "best", "published", "bound"].filter((kind) => found.some((line) => line.kind === kind));
    return make("ul", { class: "legend" }, ...present.map((kind) => {
      const swatch = draw("svg", { width: 28, height: LETTER, "aria-hidden": "true" },
        draw("path", { class: `line ${kind}`, d: `M1 ${LETTER / 2}H27` }));
      if (kind !== "bound") swatch.append(marker(kind, 14, LETTER / 2, 1));
      return make("li", {}, swatch, kind === "best" ? `best published here: ${best.name}` : names[kind]);
    }));
  }

  /** Lay all lines out as a table, what was asked for rising. */
  function table(found, { find }) {
    const headings = ["mechanism", { users: "people needed", error: "standard error", budget: "ε needed" }[find], "for every answer"];
    const rows = [...found].sort((a, b) => (a.x ?? Infinity) - (b.x ?? Infinity) || (a.kind === "bound" ? -1 : 0))
      .filter(({ kind }, k) => k < SHOWN || kind === "ours" || kind === "bound");
    const body = rows.map(({ name, kind, text, every }) => make("tr", { class: kind },
      make("th", { scope: "row" }, name), make("td", { class: "number" }, text),
      make("td", { class: "number" }, every)));
    const caption = rows.length < found.length ? "The best mechanisms for this choice" : "Every mechanism for this choice";
    $("found").replaceChildren(make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
      make("table", {}, make("caption", {}, caption),
        make("thead", {}, make("tr", {}, ...headings.map((heading, k) =>
          make("th", { scope: "col", class: k ? "number" : undefined }, heading)))),
        make("tbody", {}, ...body))));
  }

  function show() {
    const chosen = choice();
    for (const field of document.querySelectorAll("#choice [data-mode]")) {
      field.hidden = field.dataset.mode === chosen.find;
    }
    const epsilon = budgets[chosen.place];
    $("budget-shown").textContent = epsilon;
    inputs.budget.setAttribute("aria-valuetext", `ε = ${epsilon}`);
    $("answer").classList.toggle("wrong", chosen.wrong !== undefined);
    if (chosen.wrong !== undefined) {
      $("answer").textContent = chosen.wrong === "users"
        ? "People must be a number from 1 to 10^15."
        : `The standard error must be a number from ${inputs.error.min} to ${inputs.error.max}${per > 1 ? " %" : ""}.`;
      return;
    }
    if (chosen.find === "budget") {
      const least = enough(lines.find(({ kind }) => kind === "ours"), chosen.error, chosen.users);
      chosen.place = least < 0 ? asked : least;
    }
    const found = answers(chosen, kinds(chosen.place));
    $("answer").textContent = sentence(chosen, found);
    chart(chosen, found);
    table(found, chosen);
  }

  // paper shows what is folded, also where the style sheet cannot open it
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of opened) one.open = false; });

  for (const id of ["choice", "answer", "over-budgets", "found"]) $(id).hidden = false;
  $("choice").addEventListener("input", show);
  $("choice").addEventListener("submit", (event) => event.preventDefault());
  inputs.budget.value = stops.indexOf(asked);
  let width = 0;
  new ResizeObserver(([{ contentRect }]) => {
    if (contentRect.width !== width) { width = contentRect.width; show(); }
  }).observe($("over-budgets"));
  show();
})();

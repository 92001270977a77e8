/* stratagem: the form. It says what happens, asks, draws a report once, says in words what it is, and sends it if it is told to. */

import { isOther, make, question, rounded, terms } from "./answer.js";
import { load } from "./client.js";
import { keeps, Record } from "./record.js";
import { WEIGHTS } from "./search.js";
import { OTHER, valuesOf } from "./value.js";
import { meaning, ownAmong, sureness } from "./words.js";

const RADIOS = 12; // answers that are shown all at once
const LISTED = 8; // questions that are listed before one of them is drawn
const SHOWN = 12; // answers of a report that are shown at once; the others can be unfolded
const PATIENCE = 30_000; // milliseconds in which the survey must acknowledge a report
const OFFLINE = 0, BUSY = [429, 503], UNSURE = [408, 425, 500, 502, 504]; // statuses; every other one but 200 refuses for good
const AGAIN = "Press Send again: it is counted once, however often you send it.";
const LIST = new Intl.ListFormat("en");
const $ = (id) => document.getElementById(id);
const { dataset } = document.querySelector("main"), { submit } = dataset;
const wordings = new Map(Object.entries(JSON.parse(dataset.questions || "{}"))); // questions by the names of attributes
const place = submit && new URL(submit, document.baseURI).href;
let client = null, record = null, every = [], many = 0; // places and number of the questions that are asked of anybody
let asked = null, questions = []; // the number of the part that is asked, and its questions
let consent = false; // whether this person agreed to take part, since this page was loaded
let fresh = false; // whether the report that is shown was drawn since this page was loaded

document.title = $("question-title").textContent;
$("stuck").hidden = true;
$("outcome").textContent = "Loading …";
$("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  answer();
});
$("send").addEventListener("click", send);
$("decline").addEventListener("click", () => move({ step: "declined" }));
$("agree").addEventListener("click", agree);
$("refuse").addEventListener("click", () => move(record.read().step === "new" ? { step: "refused" } : {})); // another tab may be on
$("again").addEventListener("click", again);
await start();

/** Load the mechanism, and show where this device stands. */
async function start() {
  const keeping = keeps();
  try {
    const { sha256, atMost } = dataset, pinned = { sha256, atMost };
    client = await load(new URL("bundle.ldp.json", document.baseURI), keeping ? pinned : { ...pinned, memo: null });
    if (client.memo?.isKept()) client.part(); // one that is damaged asks nothing
  } catch (error) {
    return unusable(error);
  }
  const { memo } = client.bundle;
  if (memo && !keeping) {
    $("outcome").textContent = "This form cannot be used here, and nothing was sent. It must keep on this device what was "
      + "drawn for you, and this browser keeps nothing for this page. Let the browser store data for this page, or use "
      + "another browser.";
    return;
  }
  every = [...new Set(client.parts.flatMap(({ attributes }) => attributes))].sort((a, b) => a - b);
  many = every.length;
  record = new Record(submit ? `stratagem form ${client.identifier} ${place} ${document.title}` : null, isReport);
  $("experts").hidden = false;
  $("preview").hidden = Boolean(submit);
  for (const id of ["until", "reveals", "decide", "choice"]) $(id).hidden = !submit;
  if (!submit) {
    $("make").textContent = "Show what would be sent";
    $("review-title").textContent = "This would be sent:";
  }
  introduce();
  $("learn").textContent = learnt();
  $("shared").textContent = "If somebody else answered here and you have not, open this page in another browser to give your "
    + `own answer. ${memo ? "Always answer in the same browser: another one would" : "Answer only once: a second answer would"} `
    + "tell others more about you.";
  addEventListener("storage", ({ key }) => key !== null && key !== record.name || show()); // another tab of this form
  show();
}

/** Say that this form asks nothing here, and why. */
function unusable(error) {
  for (const one of document.querySelectorAll("#start, #ask, main > section")) one.hidden = true;
  $("outcome").textContent = "This form cannot be used here, and nothing was sent. Try another browser; if that does not "
    + `help, tell the people who run the survey: ${error.message}.`;
}

/** Say before anything is drawn what happens and what is sent. */
function introduce() {
  const counts = client.parts.map(({ attributes }) => attributes.length), [least, most] = [Math.min(...counts), Math.max(...counts)];
  const some = least < most ? "some" : least === 1 ? "one" : String(least), listed = many > 1 && many <= LISTED;
  const these = `${listed ? "these" : "the"} ${many} questions`;
  $("happens").textContent = many === 1 ? "You are asked this one question."
    : (least === many ? `You are asked ${these}` : `You are asked ${some} of ${these}, drawn at random`) + (listed ? ":" : ".");
  $("all").hidden = !listed;
  $("all").replaceChildren(...(listed ? every.map((k) => make("li", { dir: "auto" }, inWords(k))) : []));
  const which = isSurvey() ? `, which ${most === 1 ? "question it was" : "questions they were"}` : "";
  $("reveals").textContent = `Only this is sent: what chance made of your answer${which}, the number of this survey, and a random `
    + "number so that it counts once. As with every web page, others can also see that you took part and when, your network "
    + "address, and your browser and its language.";
}

/** Go on to the question. */
function agree() {
  try {
    if (client.memo) client.part(); // one that cannot be kept asks nothing
  } catch (error) {
    return unusable(error);
  }
  consent = true;
  move({});
}

/** Go back to what was drawn, to the question of somebody who sends repeatedly, or to the start of who refused there. */
function again() {
  const { step, report } = record.read();
  consent = step === "sent";
  move({ step: report ? "drawn" : "new" });
}

/** Return whether a report is about some questions of several. */
function isSurvey() {
  return client.parts.length > 1 && many > 1;
}

/** Return the part that this device asks about; it is kept before it asks, so that a reload draws no other. */
function drawnPart() {
  const { part } = record.read();
  if (client.parts.length === 1 || client.memo) return client.part();
  if (client.parts[part]?.attributes) return part;
  record.write({ ...record.read(), part: client.part() });
  return record.read().part;
}

/** Return the question about an attribute in the words of who asks, or its name. */
function inWords(k) {
  return wordings.get(client.names[k]) ?? client.names[k];
}

/** Ask the questions of a part, and no others. */
function ask(part) {
  const { attributes: places } = client.parts[part], some = places.length;
  questions = places.map((k) => withError(question({ ...client.attributes[k], name: inWords(k) }, k, RADIOS), k));
  if (client.attributes.length === 1) {
    const [{ element, controls }] = questions;
    element.firstChild.hidden = true; // the question itself names it
    (element.localName === "fieldset" ? element : controls[0]).setAttribute("aria-labelledby", "question-title");
  }
  $("fields").replaceChildren(...questions.map(({ element }) => element));
  const ones = some === many ? `all ${many} questions` : some === 1 ? "this question" : `these ${some} questions`;
  const lasting = client.memo ? " You are asked the same each time." : " Loading this page again does not change that.";
  $("chosen").hidden = !isSurvey();
  $("chosen").textContent = `Chance chose ${ones} for you.`
    + (!submit && !client.memo ? " Load this page again to see others."
      : record.lasting ? lasting : " If you load this page again, another question may be asked.");
  $("drawn").textContent = kindOf(part);
  asked = part;
}

/** Return in words what reports about a part are: answers, groups of them, or codes; the first, middle and last one tell. */
function kindOf(part) {
  const { offset, table: { outputs } } = client.parts[part];
  const found = [0, Math.floor(outputs / 2), outputs - 1].map((k) => meaning(client, offset + k));
  if (found.every(({ kind, count }) => kind === "set" && count === 1)) {
    return ". It may be your own answer or another one, and nobody can be sure which.";
  }
  return found.some(({ kind }) => kind === "set") ? ": a group of answers that may or may not hold yours."
    : ": a code that every answer can lead to.";
}

/** Return a question with a place in it for what is wrong with its answer, and what to do where no answer fits. */
function withError(one, k) {
  const attribute = client.attributes[k], { element, controls } = one;
  if (!isOther(attribute, valuesOf(attribute) - 1) && !attribute.labels?.includes(OTHER)) {
    const { labels, no_answer: silent } = attribute;
    const instead = !labels ? "choose the nearest answer" : silent ? "choose “No answer”"
      : "choose the nearest answer, or do not take part";
    element.append(make("p", { className: "hint" }, `If none fits, ${instead}.`));
  }
  const error = make("p", { id: `answer-${k}-error`, className: "error", role: "alert" });
  element.firstChild.after(error);
  element.addEventListener("input", () => mark({ controls, error }, []));
  for (const control of controls) {
    const others = (control.getAttribute("aria-describedby") ?? "").replace(/\berror$/, "");
    control.setAttribute("aria-describedby", `${others}${error.id}`);
  }
  return { ...one, error, k };
}

/** Say beside a question what is wrong with its answer, or nothing. */
function mark({ controls, error }, told) {
  for (const control of controls) control.setAttribute("aria-invalid", String(told.length > 0));
  error.replaceChildren(...told);
}

/** Return whether a report that was kept is one of this mechanism. */
function isReport({ mechanism, id, output }) {
  return mechanism === client.identifier.slice(0, 16) && /^[0-9a-f]{32}$/.test(id)
    && Number.isInteger(output) && output >= 0 && output < client.bundle.table.outputs;
}

/** Go on from where this device stands, and lead the eye and the screen reader there. */
function move(change) {
  record.write({ ...record.read(), ...change });
  show();
  const heading = $("start").hidden ? document.querySelector("main > :not([hidden]) > h2") : $("agree");
  (heading ?? questions[0].controls[0]).focus();
}

/** Show where this device stands. */
function show() {
  const { step, report, times, tried } = record.read(), waits = step === "drawn", asks = step === "new" && consent;
  if (asks && drawnPart() !== asked) ask(drawnPart());
  $("start").hidden = step !== "new" || consent;
  $("ask").hidden = !asks;
  $("review").hidden = !waits;
  $("done").hidden = !["sent", "declined", "refused"].includes(step);
  $("who").open = $("who").firstElementChild.hidden = !$("start").hidden; // later it can be unfolded
  $("once").textContent = once();
  $("forgetful").hidden = record.lasting || step === "refused" || (step === "new" && !asks);
  $("shared").hidden = !submit || !record.lasting || ["declined", "refused"].includes(step) || (times === 0 && (step === "new" || (waits && fresh)));
  $("facts").replaceChildren(...terms(facts()));
  $("outcome").textContent = "";
  $("send").textContent = tried ? "Send again" : "Send";
  $("words").replaceChildren(...(waits ? words(report.output) : []));
  $("report").hidden = !waits;
  $("report").textContent = waits ? JSON.stringify(report, null, 2) : "";
  if (step === "sent") tellSent(times);
  if (step === "declined") tellDeclined(tried);
  if (step === "refused") tellRefused();
}

/** Return in words how long what will be drawn stands; nothing on a page that sends nothing. */
function once() {
  if (!submit) return "";
  if (!record.lasting) return "What is drawn is kept only until you close this page or load it again.";
  return client.bundle.memo
    ? "This browser keeps what is drawn once for every possible answer, and not which one is yours. Each time that you "
      + "answer, what is sent is drawn from that. It may be the same as before. You cannot change this answer after this step."
    : "It is drawn once, so you cannot change your answer after this step. It is sent once: if you open this page again, "
      + "nothing more is sent.";
}

function tellRefused() {
  $("done-title").textContent = "Nothing was sent.";
  const kept = submit && record.lasting ? " This browser keeps that, so that you are not asked again: whoever uses it can see it." : "";
  $("done-text").textContent = `You do not take part.${kept} You can close this page.`;
  $("again").hidden = false;
  $("again").textContent = "Back";
}

function tellSent(times) {
  const { memo } = client.bundle, kept = record.lasting ? " This device remembers that and sends nothing more." : "";
  $("done-title").textContent = memo ? "Thank you, sent." : "Thank you, sent once.";
  $("done-text").textContent = memo
    ? `This device has sent ${times === 1 ? "one answer" : `${times} answers`} to this survey. This page does not `
      + `remind you: when the people who run the survey ask again, open it and answer once. ${learnt()}`
    : `What you sent has arrived, and it counts once.${kept}`;
  $("again").hidden = !memo;
  $("again").textContent = "Answer again";
}

function tellDeclined(tried) {
  $("done-title").textContent = tried ? "Nothing more is sent." : "Nothing was sent.";
  $("done-text").textContent = `${tried ? "What you tried to send before may have arrived. " : ""}`
    + (record.lasting
      ? "This device keeps what was drawn for you, and draws nothing new. You can close this page. If you change your mind, open it "
        + "again: you find it here."
      : "If you change your mind, show it again before you close this page or load it again: afterwards it is lost.");
  $("again").hidden = false;
  $("again").textContent = "Show it again";
}

/** Draw the report of what was answered, or say what is missing. */
function answer() {
  if (record.read().step !== "new" || drawnPart() !== asked) return move({}); // another tab was faster
  const values = Object.create(null), several = questions.length > 1;
  let first = null;
  for (const { k, controls, error, read, wanted } of questions) {
    const { name } = client.attributes[k];
    let wrong = false;
    try {
      values[name] = read();
      wrong = values[name] === undefined; // a question that is left out says so
      client.readers[k](values[name]);
    } catch {
      wrong = true;
    }
    const told = several && !wordings.has(name) ? [make("bdi", name), `: please give ${wanted}.`] : [`Please give ${wanted}.`];
    mark({ controls, error }, wrong ? told : []);
    if (wrong) first ??= controls[0];
  }
  $("error").textContent = "";
  if (first) return first.focus();
  let report = null;
  try {
    report = client.randomise(values, asked);
  } catch (error) { // a memo that cannot be kept or is damaged
    $("error").textContent = "Nothing was sent. This browser does not keep what is drawn for you, or it is damaged. Please "
      + `tell the people who run the survey: ${error.message}.`;
    return;
  }
  if (client.permanent !== null) navigator.storage?.persist?.().catch(() => {}); // browsers clear storage unasked
  $("ask").reset();
  fresh = true;
  move({ step: "drawn", report, part: undefined }); // the report says it
}

/** Send the report that is shown; one that may have arrived keeps its id, so that it counts once. */
async function send() {
  const { step, report, times, tried } = record.read();
  if (step !== "drawn") return move({}); // another tab was faster
  for (const id of ["send", "decline"]) $(id).disabled = true;
  $("outcome").textContent = "Sending …";
  const [status, said] = await post(report);
  for (const id of ["send", "decline"]) $(id).disabled = false;
  if (status === 200) return move({ step: "sent", times: times + 1, tried: false, report: undefined });
  const unsure = UNSURE.includes(status);
  move(unsure ? { tried: true } : {});
  $("outcome").textContent = status === OFFLINE
    ? `This device is offline, so nothing was sent${tried ? " this time" : ""}. Connect it first. ${AGAIN}`
    : unsure ? `The survey did not answer, so what you sent may have arrived or not. Check your connection. ${AGAIN}`
    : BUSY.includes(status)
      ? `The survey is busy and has not taken what you sent. Wait a minute. ${AGAIN}`
      : "The survey refused what you sent, so it does not count. You did nothing wrong: please tell the people who run the "
        + `survey (status ${status}${said ? `: ${said}` : ""}).`;
  $("send").focus();
}

/** Return the status of an answer, 504 for none, OFFLINE where no request can have left, and what it says is wrong; 200
 * only for a report that is acknowledged.
 */
async function post(report) {
  const options = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(report) };
  const offline = !navigator.onLine;
  try {
    const signal = AbortSignal.timeout(PATIENCE);
    const reply = await fetch(place, { ...options, signal, credentials: "omit", redirect: "error" });
    const { received = 0, repeated = 0, error = "" } = await reply.json().catch(() => ({}));
    return [reply.ok ? (received + repeated === 1 ? 200 : 502) : reply.status, error];
  } catch {
    return [offline && !navigator.onLine ? OFFLINE : 504, ""];
  }
}

/** Return in words, as elements, what a report of this output is. */
function words(output) {
  const { kind, texts, count } = meaning(client, output), one = count === 1, part = client.partOf(output);
  const alone = client.parts[part].attributes.length === 1; // its question stands above the answers
  const code = `A code number that was drawn at random: ${output}.`;
  const yours = `Your own answer may or may not be ${one ? "this one" : "among them"}.`;
  const [before, after] = {
    set: [one ? "One answer, drawn at random. It may or may not be your own:"
      : "A group of answers, drawn at random. It may or may not hold your own answer.",
      chances(part)],
    fits: [`${code} It comes up more often for:`, `Every other answer can lead to it too. ${yours}`],
    nothing: [code, "It is as likely for every answer, so it says nothing about yours."],
    part: [code, "It stands for a part of all possible answers. Yours may or may not be in that part."],
  }[kind];
  const stop = texts.some((pairs) => pairs.length > 1) ? ";" : ",";
  const list = (some) => joined(some.map((pairs) => chip(pairs, alone)), stop);
  const elements = [...(isSurvey() ? [about(part)] : []), make("p", before)], more = texts.length - SHOWN;
  const lead = kind === "set" && texts.length > 1 ? "One of these: " : "";
  if (texts.length) elements.push(make("p", { className: "answers" }, lead, ...list(texts.slice(0, SHOWN))));
  if (more > 0) {
    const others = make("p", { className: "answers" }, ...list(texts.slice(SHOWN)));
    elements.push(make("details", make("summary", `or ${more === 1 ? "one other" : `one of ${more} others`}`), others));
  }
  return [...elements, make("p", after)];
}

/** Return answers as a sentence names alternatives: "a, or b" and "a, b, or c", with this punctuation mark. */
function joined(elements, stop) {
  const last = elements.length - 1;
  return elements.flatMap((one, k) => (k === 0 ? [one] : [k === last ? `${stop} or ` : `${stop} `, one]));
}

/** Return an attribute as it is called within a sentence: by its question, quoted, or by its name. */
function quoted(name) {
  return wordings.has(name) ? `“${wordings.get(name)}”` : name;
}

/** Return in words that a report says which questions it is about. */
function about(part) {
  const names = client.parts[part].attributes.map((k) => quoted(client.names[k]));
  const listed = LIST.formatToParts(names).map(({ type, value }) => (type === "element" ? make("bdi", value) : value));
  return make("p", `It says which of the ${many} questions it is about: `, ...listed, ".");
}

/** Return an answer in a report, without the question where that is the only one; names and values stay together,
 * whichever way each of them is read.
 */
function chip(pairs, alone) {
  const [[first, only]] = pairs;
  if (first === "" || (alone && wordings.has(first))) return make("b", { dir: "auto" }, only);
  const parts = pairs.map(([name, value]) => make("bdi", quoted(name), ": ", make("bdi", value)));
  const dir = getComputedStyle($("question-title")).direction;
  return make("b", { dir }, ...parts.flatMap((part, j) => (j ? [", ", part] : [part])));
}

/** Return how often people send their own answer among others, in words; nothing where the part's table does not say. */
function chances(part) {
  const own = ownAmong(client, part);
  if (own === null) return "";
  const people = [100, 1e4, 1e6].find((many) => Math.min(own, 1 - own) * many >= 1) ?? 1e8;
  const some = Math.round(own * people), count = (number) => number.toLocaleString("en");
  return `Of ${count(people)} people, about ${count(some)} send something that holds their own answer, `
    + `and ${count(people - some)} something that does not.`;
}

/** Return what reports tell about the person who sends them, in words. */
function learnt() {
  const { memo } = client.bundle, sure = sureness(memo ? client.permanent : client.epsilon);
  const seen = memo ? "everything that you send about this answer, however often," : "what you send";
  const told = `Whoever thinks a guess of your answer 50 % likely before seeing ${seen} can think it at most ${sure} likely `
    + "afterwards. At 50 % they would have learnt nothing, at 100 % everything.";
  if (!memo) return told;
  const [two, three] = [2, 3].map((values) => sureness(values * client.permanent));
  return `${told} If your answer changes, the new one counts for itself, and the change may be seen: with two different `
    + `answers in turn the ${sure} become ${two}, with three ${three}.`;
}

/** Return the terms and descriptions for experts. */
function facts() {
  const { table, workload, sha256, memo } = client.bundle, epsilon = rounded(client.epsilon), all = client.permanent;
  return {
    "Epsilon": memo
      ? `${rounded(all)} for all reports about one answer together, ${epsilon} for one alone; ${rounded(2 * all)} about two `
        + `different answers, m times ${rounded(all)} about m`
      : `${epsilon}, for one report`,
    "Checked here": "hash, certificate and epsilon of the mechanism, in whole numbers",
    "Mechanism": `SHA-256 ${sha256}`,
    "Made for": workload?.name ?? "",
    ...(isSurvey() ? { "Questions": client.parts.map(shared).join("; ") } : {}),
    "Possible reports": table.outputs.toLocaleString("en"),
    "Sent to": place || "nowhere",
    "Not sent": "whether what is sent holds your own answer, cookies; the server sees your network address, browser and language, as every server does",
    "Kept here": memo
      ? `${isSurvey() ? "which questions it asks, " : ""}a permanent report for each possible answer, a report that waits, and how many were sent, or that you refused; never which answer you gave`
      : submit && record.lasting
        ? `${isSurvey() ? "which questions it asks, " : ""}a report that waits, and that it was sent, or that you refused; never which answer you gave`
        : "nothing",
  };
}

/** Return what a part is about, and how many of all devices ask that. */
function shared({ attributes, share }) {
  const names = LIST.format(attributes.map((k) => quoted(client.names[k])));
  const percent = Number(((100 * share) / WEIGHTS).toPrecision(3));
  return `${names} (${percent} % of all devices)`;
}

/* stratagem: what a device remembers of one survey: the part and the report that were drawn, and that it was sent or refused. */

const FRESH = { step: "new", times: 0, tried: false };

/** Return whether the browser keeps what this page stores. */
export function keeps() {
  const name = "stratagem form";
  try {
    localStorage.setItem(name, name);
    const kept = localStorage.getItem(name) === name;
    localStorage.removeItem(name);
    return kept;
  } catch {
    return false;
  }
}

/** Where this device stands, in the storage of the browser, or in memory where that keeps nothing.
 *
 * `step` is "new", "refused" (before anything was drawn), "drawn", "declined" or "sent"; `report` is what was drawn and not sent, and was `tried` if it may have
 * arrived; `times` counts the reports that were sent. `part` is that which was drawn and not answered, of a survey. An
 * answer is never kept, nor a report that was sent.
 */
export class Record {
  constructor(name, isReport) {
    this.name = name; // null where nothing is to be kept
    this.isReport = isReport;
    this.lasting = true;
    this.held = FRESH;
    this.write(this.read()); // tells whether the browser keeps it
  }

  read() {
    if (this.name === null || !this.lasting) return this.held;
    try {
      const { step, times, tried, report, part } = JSON.parse(localStorage.getItem(this.name));
      const known = ["drawn", "declined"].includes(step) ? this.isReport(report) : ["new", "refused", "sent"].includes(step);
      if (known && Number.isInteger(times)) return { step, times, tried: tried === true, report, part };
    } catch {} // no storage, or nothing in it that is ours
    return this.held;
  }

  write(state) {
    this.held = state;
    if (this.name === null || !this.lasting) return;
    const text = JSON.stringify(state);
    try {
      localStorage.setItem(this.name, text);
      this.lasting = localStorage.getItem(this.name) === text;
    } catch {
      this.lasting = false;
    }
  }
}

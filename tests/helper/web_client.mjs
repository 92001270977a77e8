// Runs the web client under node for the tests: a job as JSON on standard input, its result on standard output.

import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";

globalThis.crypto ??= webcrypto; // Node 18 keeps it there
const job = JSON.parse(readFileSync(0, "utf8"));
const { Client, load, parse } = await import(job.module);
const bytes = (text) => new Uint8Array(Buffer.from(text, "base64"));
const value = (expression) => new Function(`return (${expression})`)();

/** Return a source of given bytes that knows how many it gave. */
function given(stream) {
  const source = (target) => {
    if (source.used + target.length > stream.length) throw new Error("the bytes have run out");
    target.set(stream.subarray(source.used, source.used + target.length));
    source.used += target.length;
  };
  source.used = 0;
  return source;
}

/** Return an array that counts how often it is read, and where. */
function counting(array, reads) {
  return new Proxy(array, {
    get(target, key) {
      if (typeof key === "string" && /^[0-9]+$/.test(key)) reads.push(Number(key));
      const found = target[key];
      return typeof found === "function" ? found.bind(target) : found;
    },
  });
}

/** Return a report for which a part is drawn first, given the answers to all questions. */
function inTwoSteps(client, all) {
  const part = client.part(), names = client.parts[part].attributes.map((k) => client.names[k]);
  return client.randomise(Object.fromEntries(names.map((name) => [name, all[name]])), part);
}

const jobs = {
  async cells({ module, attribute, texts }) {
    const { reader } = await import(module), read = reader({ name: "x", ...attribute });
    const said = (error) => error.message.split(" (")[1].split("), but must be")[0];
    return texts.map((text) => {
      try {
        return read(text);
      } catch (error) {
        return said(error);
      }
    });
  },

  async accept({ bundle, options }) {
    const found = [];
    for (const asked of options) {
      const chosen = Object.fromEntries(Object.entries(asked).map(([key, text]) => [key, value(text)]));
      found.push(await load(bytes(bundle), chosen).then(({ epsilon }) => epsilon, (error) => `${error.name}: ${error.message}`));
    }
    return found;
  },

  async options({ bundle, texts }) {
    const found = [];
    for (const text of texts) {
      found.push(await load(bytes(bundle), value(text)).then(() => null, (error) => `${error.name}: ${error.message}`));
    }
    return found;
  },

  async parse({ bundles }) {
    const found = [];
    for (const raw of bundles) {
      found.push(await parse(bytes(raw)).then(() => null, (error) => `${error.name}: ${error.message}`));
    }
    return found;
  },

  async reports({ bundle, stream, values }) {
    const kept = new Map(), memo = { getItem: (key) => kept.get(key) ?? null, setItem: (key, text) => kept.set(key, text) };
    const options = JSON.parse(Buffer.from(bundle, "base64").toString()).memo ? { memo } : {};
    const source = given(bytes(stream)), client = await load(bytes(bundle), { atMost: 300, source, ...options });
    return { reports: values.map((text) => client.randomise(value(text))), used: source.used };
  },

  async memos({ bundle, texts, value: answers = "0" }) {
    const told = texts.map(async (text) => {
      const memo = { getItem: () => text, setItem() {} }, client = await load(bytes(bundle), { memo });
      try {
        return client.randomise(value(answers));
      } catch (error) {
        return `${error.name}: ${error.message}`;
      }
    });
    return Promise.all(told);
  },

  async again({ bundle }) {
    let kept = null;
    const memo = { getItem: () => kept, setItem: (_, text) => (kept = text) }, found = [];
    for (let run = 0; run < 2; run++) {
      (await load(bytes(bundle), { memo })).randomise(0);
      found.push(kept);
    }
    return found;
  },

  async keptParts({ bundle, loads, values }) {
    let kept = null;
    const memo = { getItem: () => kept, setItem: (_, text) => (kept = text) }, found = [];
    for (let k = 0; k < loads; k++) {
      const client = await load(bytes(bundle), { memo }), part = client.part();
      const { output } = client.randomise(value(values[part]), part);
      let other = null;
      try {
        client.randomise(value(values[1 - part]), 1 - part);
      } catch (error) {
        other = `${error.name}: ${error.message}`;
      }
      found.push({ part, output, other });
    }
    return found;
  },

  async steps({ bundle, stream, values }) {
    const source = given(bytes(stream)), client = await load(bytes(bundle), { atMost: 300, source });
    return { reports: values.map((text) => inTwoSteps(client, value(text))), used: source.used };
  },

  async stepCounts({ bundle, text, draws, outputs }) {
    const client = await load(bytes(bundle), { atMost: 300 }), counts = new Array(outputs).fill(0), one = value(text);
    for (let k = 0; k < draws; k++) counts[inTwoSteps(client, one).output]++;
    return counts;
  },

  async refusals({ bundle, values, part }) {
    const source = given(new Uint8Array(0)), client = await load(bytes(bundle), { atMost: 300, source });
    return values.map((text) => {
      try {
        return client.randomise(value(text), part);
      } catch (error) {
        return `${error.name}: ${error.message}`;
      }
    });
  },

  async reads({ bundle, stream, users, draws }) {
    const parsed = await parse(bytes(bundle));
    return users.map((coordinates) => {
      const source = given(bytes(stream)), client = new Client(parsed, source), { sampler } = client, reads = [];
      const counted = [[sampler, "first"], [sampler, "blocks"], [sampler, "weights"], [sampler, "patterns"]];
      for (const rule of sampler.rules ?? []) counted.push([rule, "bits"], [rule, "sums"]);
      for (const [holder, name] of counted) if (holder[name]) holder[name] = counting(holder[name], reads);
      return Array.from({ length: draws }, () => {
        sampler.draw(client.userType(coordinates), source);
        return [source.used, reads.splice(0).length];
      });
    });
  },

  async counts({ bundle, values, draws, outputs }) {
    const client = await load(bytes(bundle), { atMost: 300 }), found = {}, ids = new Set();
    for (const text of values) {
      const counts = (found[text] = new Array(outputs).fill(0)), one = value(text);
      for (let k = 0; k < draws; k++) {
        const report = client.randomise(one);
        counts[report.output]++;
        ids.add(report.id);
      }
    }
    return { counts: found, ids: ids.size };
  },

  async fetches({ bundle, text, draws }) {
    const filled = [], genuine = crypto.getRandomValues;
    crypto.getRandomValues = (target) => {
      filled.push(Buffer.from(genuine.call(crypto, target)).toString("base64"));
      return target;
    };
    const client = await load(bytes(bundle), { atMost: 300 }), before = filled.length, reports = [], left = [];
    for (let k = 0; k < draws; k++) {
      reports.push(client.randomise(value(text)));
      left.push(filled.length);
    }
    return { reports, filled, before, left };
  },

  async probabilities({ bundle, outputs, users }) {
    const client = await load(bytes(bundle), { atMost: 300 }), found = [];
    for (let y = 0; y < outputs; y++) {
      found.push(users.map((coordinates) => client.probability(y, client.userType(coordinates))));
    }
    return found;
  },

  async speed({ bundle, values }) {
    const client = await load(bytes(bundle), { atMost: 300 }), times = [];
    for (let run = 0; run < 7; run++) {
      const start = performance.now();
      for (const one of values) client.randomise(one);
      times.push(((performance.now() - start) * 1000) / values.length);
    }
    return times;
  },

  async time({ bundle, draws, cells }) {
    const began = performance.now(), client = await load(bytes(bundle), { atMost: 300 }), loaded = performance.now();
    const times = [];
    for (let run = 0; run < 7; run++) {
      const start = performance.now();
      for (let k = 0; k < draws; k++) client.randomise(k % cells);
      times.push(((performance.now() - start) * 1000) / draws);
    }
    return { loading: (loaded - began) / 1000, microseconds: times };
  },
};

console.log(JSON.stringify(await jobs[job.name](job)));

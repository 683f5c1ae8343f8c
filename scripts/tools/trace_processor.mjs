// Runs queries in Perfetto's trace processor, the WebAssembly module that the Perfetto UI ships.
//
//   node trace_processor.mjs WEB_DIST TRACE < queries.json > results.json
//
// WEB_DIST is the folder of `engine_bundle.js`; queries.json maps names to SQL, results.json the same
// names to lists of rows.
import fs from "node:fs";
import path from "node:path";

const [webDist, traceFile] = process.argv.slice(2);

// ---- the engine's protocol: varints and length-delimited fields ----

function varint(value) {
  const bytes = [];
  let rest = BigInt(value);
  while (rest >= 0x80n) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}
const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field, value) =>
  Buffer.concat([varint((field << 3) | 2), varint(value.length), value]);

function* fields(buffer) {
  let at = 0;
  const readVarint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = buffer[at++];
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < buffer.length) {
    const tag = Number(readVarint());
    const [field, wire] = [tag >> 3, tag & 7];
    if (wire === 0) yield [field, readVarint()];
    else if (wire === 1) yield [field, buffer.readDoubleLE((at += 8) - 8)];
    else if (wire === 2) {
      const length = Number(readVarint());
      yield [field, buffer.subarray(at, (at += length))];
    } else throw new Error(`wire type ${wire}`);
  }
}
function packed(buffer) {
  const values = [];
  for (let at = 0; at < buffer.length; ) {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = buffer[at++];
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    values.push(BigInt.asIntN(64, value));
  }
  return values;
}

// ---- the engine, with the globals of a web worker ----

const channel = new MessageChannel();
const replies = [];
let wake = () => {};
channel.port1.onmessage = ({ data }) => {
  replies.push(Buffer.from(data));
  wake();
};
const worker = { location: { href: "file:///engine_bundle.js" } };
const globals = {
  self: worker,
  process: undefined,
  WorkerGlobalScope: Object,
  console: { log() {}, warn() {}, error: console.error },
  XMLHttpRequest: class {
    open(_method, url) {
      this.file = path.join(webDist, path.basename(String(url)));
    }
    send() {
      this.response = fs.readFileSync(this.file);
    }
  },
};
const bundle = fs.readFileSync(path.join(webDist, "engine_bundle.js"), "utf8");
new Function(...Object.keys(globals), bundle)(...Object.values(globals));
worker.onmessage({ data: channel.port2 });
// The engine is ready after its own promises have run.
await new Promise((resolve) => setTimeout(resolve, 100));

const [APPEND, FINALIZE, QUERY] = [1, 2, 3];
let sequence = 0;
async function request(kind, args, done) {
  const message = Buffer.concat([number(1, sequence++), number(2, kind), args]);
  channel.port1.postMessage(new Uint8Array(bytes(1, message)));
  for (;;) {
    while (replies.length === 0) await new Promise((resolve) => (wake = resolve));
    for (const [, rpc] of fields(replies.shift())) {
      for (const [field, value] of fields(rpc)) {
        if (field === 5) throw new Error(`trace processor: ${value}`);
        if (field > 200 && done(value)) return;
      }
    }
  }
}

async function query(sql) {
  const names = [];
  const cells = [];
  await request(QUERY, bytes(103, bytes(1, Buffer.from(sql))), (result) => {
    let last = false;
    for (const [field, value] of fields(result)) {
      if (field === 1) names.push(String(value));
      if (field === 2 && value.length > 0) throw new Error(`${value}\n${sql}`);
      if (field === 3) last = batch(value, cells) || last;
    }
    return last;
  });
  const rows = [];
  for (let at = 0; at < cells.length; at += names.length) {
    rows.push(Object.fromEntries(names.map((name, column) => [name, cells[at + column]])));
  }
  return rows;
}

function batch(buffer, cells) {
  const parts = { 1: [], 2: [], 3: [], 5: [] };
  let last = false;
  for (const [field, value] of fields(buffer)) {
    if (field === 1 || field === 2) parts[field].push(...packed(value));
    if (field === 3) for (let at = 0; at < value.length; at += 8) parts[3].push(value.readDoubleLE(at));
    if (field === 5) parts[5] = String(value).split("\0");
    if (field === 6) last = value !== 0n;
  }
  for (const kind of parts[1]) {
    if (kind === 2n) cells.push(Number(parts[2].shift()));
    else if (kind === 3n) cells.push(parts[3].shift());
    else if (kind === 4n) cells.push(parts[5].shift());
    else cells.push(null);
  }
  return last;
}

const trace = fs.readFileSync(traceFile);
const CHUNK = 16 << 20;
for (let at = 0; at < trace.length; at += CHUNK) {
  await request(APPEND, bytes(101, trace.subarray(at, at + CHUNK)), () => true);
}
await request(FINALIZE, Buffer.alloc(0), () => true);
const result = {};
for (const [name, sql] of Object.entries(JSON.parse(fs.readFileSync(0, "utf8")))) {
  result[name] = await query(sql);
}
process.stdout.write(JSON.stringify(result) + "\n", () => process.exit(0));

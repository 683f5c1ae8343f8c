// Reads the data of the page: base64, deflate, then facts as JSON and columns of numbers.

/** Facts and columns. */
class Unpacked {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
    /** @type {any} */
    this.facts = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
    this.bytes = bytes.subarray(4 + length);
  }

  /** The number of values of a column. @param {string} name */
  count(name) {
    return this.facts.columns[name]?.[1] ?? 0;
  }

  /**
   * The numbers of a column.
   * @template {Float64Array | Uint32Array | Int32Array} A
   * @param {string} name
   * @param {A} into
   * @returns {A}
   */
  numbers(name, into) {
    const bytes = this.bytes;
    let at = this.facts.columns[name]?.[0] ?? 0;
    for (let index = 0; index < into.length; index++) {
      let byte = bytes[at++];
      if (byte < 0x80) {
        into[index] = byte;
        continue;
      }
      let value = byte & 0x7f;
      let scale = 128;
      do {
        byte = bytes[at++];
        value += (byte & 0x7f) * scale;
        scale *= 128;
      } while (byte >= 0x80);
      into[index] = value;
    }
    return into;
  }

  /**
   * A column of differences, added up.
   * @template {Float64Array | Uint32Array | Int32Array} A
   * @param {string} name
   * @param {A} into
   * @returns {A}
   */
  sums(name, into) {
    // An array that holds the differences exactly: they may be below zero and large.
    const differences = this.numbers(name, new Float64Array(into.length));
    let sum = 0;
    for (let index = 0; index < into.length; index++) {
      const value = differences[index];
      sum += value % 2 === 0 ? value / 2 : -(value + 1) / 2;
      into[index] = sum;
    }
    return into;
  }

  /** A column, in a new array. @param {string} name @param {"numbers" | "sums"} [how] */
  column(name, how = "numbers") {
    return this[how](name, new Float64Array(this.count(name)));
  }
}

/** Unpacks the data in an element, and removes the element. @param {string} id */
async function unpack(id) {
  const element = byId(id);
  const text = element.textContent.trim();
  element.remove();
  const bytes = fromBase64(text);
  const stream = new Blob([/** @type {any} */ (bytes)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Unpacked(new Uint8Array(await new Response(stream).arrayBuffer()));
}

/** @param {string} text @returns {Uint8Array} */
function fromBase64(text) {
  const quick = /** @type {any} */ (Uint8Array).fromBase64;
  if (quick) return quick.call(Uint8Array, text);
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const value = new Uint8Array(128);
  for (let index = 0; index < letters.length; index++) value[letters.charCodeAt(index)] = index;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const bytes = new Uint8Array((text.length / 4) * 3 - padding);
  for (let from = 0, to = 0; from < text.length; from += 4) {
    const word =
      (value[text.charCodeAt(from)] << 18) |
      (value[text.charCodeAt(from + 1)] << 12) |
      (value[text.charCodeAt(from + 2)] << 6) |
      value[text.charCodeAt(from + 3)];
    bytes[to++] = word >> 16;
    bytes[to++] = word >> 8;
    bytes[to++] = word;
  }
  return bytes;
}

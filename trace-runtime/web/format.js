"use strict";
// Numbers and names as text, as the reports of `optrace` write them.

/**
 * @param {number} value
 * @param {[number, string][]} units
 */
function scaled(value, units) {
  let [size, unit] = units[0];
  for (const [next, name] of units) if (Math.abs(value) >= next * 0.9995) [size, unit] = [next, name];
  const number = value / size;
  const plain = size <= 1 && Number.isInteger(number);
  const most = Math.abs(number);
  return `${number.toFixed(plain ? 0 : most < 9.995 ? 2 : most < 99.95 ? 1 : 0)} ${unit}`;
}

/** A duration in nanoseconds: `12.3 ms`. @param {number} ns */
const duration = (ns) =>
  scaled(ns, [
    [1, "ns"],
    [1e3, "µs"],
    [1e6, "ms"],
    [1e9, "s"],
  ]);

/** Bytes, in powers of a thousand. @param {number} value */
const bytes = (value) =>
  scaled(value, [
    [1, "B"],
    [1e3, "kB"],
    [1e6, "MB"],
    [1e9, "GB"],
    [1e12, "TB"],
  ]);

/** A rate per second. @param {number} value @param {string} of */
const rate = (value, of) =>
  scaled(value, [
    [1, ""],
    [1e3, "k"],
    [1e6, "M"],
    [1e9, "G"],
    [1e12, "T"],
    [1e15, "P"],
  ]) +
  of +
  "/s";

/** A share from 0 to 1: `61 %`, with one decimal below ten. @param {number} share */
function percent(share) {
  const value = share * 100;
  return `${Math.abs(value) < 9.95 && value !== 0 ? value.toFixed(1) : value.toFixed(0)} %`;
}

/** A count with thousands separated. @param {number} value */
const count = (value) => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");

/** A count with its noun. @param {number} value @param {string} noun @param {string} [several] */
const counted = (value, noun, several = `${noun}s`) => `${count(value)} ${value === 1 ? noun : several}`;

/** `[64×32]·[32×8]`, without scalars at the end. @param {number[][] | null | undefined} list */
function shapes(list) {
  let last = (list ?? []).length;
  while (last > 0 && (list ?? [])[last - 1].length === 0) last--;
  return (list ?? [])
    .slice(0, last)
    .map((dims) => `[${dims.join("×")}]`)
    .join("·");
}

// Control characters, invisible ones, and ones that change the direction of text.
const HOSTILE =
  // eslint-disable-next-line no-control-regex, no-misleading-character-class
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;

/** The longest name that is shown; longer ones are cut, with their length. */
const LONGEST_NAME = 300;

/** A name with its invisible characters escaped. @param {string | null | undefined} name */
function printable(name) {
  if (!name) return name === "" ? "(no name)" : "(outside of ops)";
  const cut = name.length > LONGEST_NAME ? name.slice(0, LONGEST_NAME) : name;
  const shown = cut.replace(HOSTILE, (letter) => `\\u{${(letter.codePointAt(0) ?? 0).toString(16)}}`);
  return cut.length < name.length ? `${shown}… (${count(name.length)} characters)` : shown;
}

/** The round distance between two marks of a scale with about `parts` parts. @param {number} span @param {number} parts */
function niceStep(span, parts) {
  const raw = Math.max(span / Math.max(1, parts), 1e-9);
  const power = 10 ** Math.floor(Math.log10(raw));
  return power * (raw / power <= 1 ? 1 : raw / power <= 2 ? 2 : raw / power <= 5 ? 5 : 10);
}

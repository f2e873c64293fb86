// Keys: their bytes, in base64url as in the API, and their displayed text.
//
// The displayed text can be typed again. A backslash is doubled. Bytes that are not UTF-8
// are \xHH; characters that are invisible, or change the display of others (controls,
// formats such as direction overrides, line separators, unassigned and private ones), are
// \u{...}; so are spaces at either end.

import { element } from "./dom.js";

const hidden = /[\p{C}\p{Zl}\p{Zp}\u00ad\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u{1d159}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}|^ +| +$/gu;
const escapes = /\\(?:x([0-9a-f]{2})|u\{([0-9a-f]{1,6})\}|(\\))/giy;
const lastCharacter = 0x10ffff;

/** Decodes base64url. */
export function bytesOf(raw) {
  const text = atob(raw.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(text, (c) => c.charCodeAt(0));
}

/** Encodes bytes as base64url without padding. */
export function rawOf(bytes) {
  let text = "";
  for (const b of bytes) text += String.fromCharCode(b);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Encodes bytes as displayed text, the inverse of parse. */
export function show(bytes) {
  let all = "";
  for (let at = 0; at < bytes.length; ) {
    const length = validLength(bytes, at);
    const part = bytes.subarray(at, at + Math.max(length, 1));
    if (length > 0) all += new TextDecoder("utf-8", { ignoreBOM: true }).decode(part).replaceAll("\\", "\\\\");
    else all += `\\x${part[0].toString(16).padStart(2, "0")}`;
    at += part.length;
  }
  return all.replace(hidden, (found) =>
    Array.from(found, (c) => `\\u{${c.codePointAt(0).toString(16)}}`).join(""));
}

/** The displayed form of a text, with the same escapes. */
export const visible = (text) => show(new TextEncoder().encode(text));

/** A mark of the database of a key; none for database 0. */
export const databaseTag = (db) => (db > 0 ? element("span", { class: "tag" }, `db${db}`) : "");

/** The displayed text of a key in base64url. */
export const shown = (raw) => show(bytesOf(raw));

/**
 * Decodes displayed or typed text to bytes: a backslash that begins no escape is a
 * backslash.
 */
export function parse(text) {
  const all = [];
  const encoder = new TextEncoder();
  for (let at = 0; at < text.length; ) {
    escapes.lastIndex = at;
    const found = escapes.exec(text);
    if (found === null || parseInt(found[2], 16) > lastCharacter) {
      const c = String.fromCodePoint(text.codePointAt(at));
      all.push(...encoder.encode(c));
      at += c.length;
      continue;
    }
    const [whole, byte, character] = found;
    if (byte !== undefined) all.push(parseInt(byte, 16));
    else all.push(...encoder.encode(character === undefined ? "\\" : String.fromCodePoint(parseInt(character, 16))));
    at += whole.length;
  }
  return Uint8Array.from(all);
}

/** The length of the valid UTF-8 character at an index, 0 if there is none. */
function validLength(bytes, at) {
  const first = bytes[at];
  const length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (length < 2) return length;
  const rest = bytes.subarray(at + 1, at + length);
  if (rest.length < length - 1 || rest.some((b) => (b & 0xc0) !== 0x80)) return 0;
  const tooLong = (first === 0xe0 && rest[0] < 0xa0) || (first === 0xf0 && rest[0] < 0x90);
  const noCharacter = (first === 0xed && rest[0] > 0x9f) || (first === 0xf4 && rest[0] > 0x8f);
  return tooLong || noCharacter ? 0 : length;
}

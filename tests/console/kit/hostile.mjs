// Texts that are made to break a page: markup, quotes, templates, controls of writing direction, length.

/** The script that each of them would run. */
const SCRIPT = "window.executed=1";

/** Hostile texts by their kind. */
export const HOSTILE = {
  image: `<img src=x onerror="${SCRIPT}">`,
  script: `"'><script>${SCRIPT}</script><svg onload=${SCRIPT}>`,
  address: `javascript:${SCRIPT}//%0a'"`,
  template: `{{constructor.constructor('${SCRIPT}')()}}\${${SCRIPT}}`,
  direction: "\u202Egnp.exe\u2066 مرحبا \u2069",
  emoji: "👩‍👩‍👧‍👦🏴‍☠️ e\u0301\u0323\u0302\u0308",
  lines: "one\ntwo\r\nthree\tfour",
  word: "W".repeat(300),
};

/** All of them in one text. */
export const EVERYTHING = Object.values(HOSTILE).join(" ");

/** Returns a text of at most so many bytes, which ends at a character. */
export function cutToBytes(text, bytes) {
  let cut = "";
  for (const character of text) {
    if (Buffer.byteLength(cut + character) > bytes) break;
    cut += character;
  }
  return cut;
}

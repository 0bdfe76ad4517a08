import { PluginError, plugin } from "./svc-plugin.js";

/** Makes the part of an address of a title: lower-case letters and digits, with one dash between words. */
function slug({ text, max_length: maxLength = 60 }) {
  const words = text.toLowerCase().split(/[^a-z0-9]+/).filter(Boolean);
  const made = words.join("-").slice(0, maxLength).replace(/-$/, "");
  if (made === "") {
    throw new PluginError("EMPTY_SLUG", "the text has no letter and no digit");
  }
  return made;
}

// The names are those of plugin.toml.
export const functions = plugin({ slug });

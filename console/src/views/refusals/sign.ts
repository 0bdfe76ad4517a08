// Signs a request as the sender of a webhook does, by the scheme of the channel or of a preset. The secret stays in the page.

/** How a request is signed. */
export interface Scheme {
  /** The header that carries the signature. */
  header: string;
  prefix: string;
  /** The key of the signature in a packed header, `k=v,k=v`. */
  packed: string | null;
  algorithm: "sha1" | "sha256" | "sha512";
  encoding: "hex" | "base64" | "base64url";
  /** The text that is signed, with `{body}` and `{header:name}`. */
  message: string;
  /** The place of the signed time, `header` or `header:key`. */
  timestamp: string | null;
}

const PLAIN: Scheme = { header: "x-signature", prefix: "", packed: null, algorithm: "sha256", encoding: "hex", message: "{body}", timestamp: null };

/** The schemes of providers. */
export const PRESETS: Readonly<Record<string, Partial<Scheme>>> = {
  zoom: { header: "x-zm-signature", prefix: "v0=", message: "v0:{header:x-zm-request-timestamp}:{body}", timestamp: "x-zm-request-timestamp" },
  slack: { header: "x-slack-signature", prefix: "v0=", message: "v0:{header:x-slack-request-timestamp}:{body}", timestamp: "x-slack-request-timestamp" },
  stripe: { header: "stripe-signature", packed: "v1", message: "{header:stripe-signature:t}.{body}", timestamp: "stripe-signature:t" },
  github: { header: "x-hub-signature-256", prefix: "sha256=" },
  shopify: { header: "x-shopify-hmac-sha256", encoding: "base64" },
  webex: { header: "x-spark-signature", algorithm: "sha1" },
  standard_webhooks: { header: "webhook-signature", prefix: "v1,", encoding: "base64", message: "{header:webhook-id}.{header:webhook-timestamp}.{body}", timestamp: "webhook-timestamp" },
};

const ALIASES = ["zoom", "slack", "stripe", "github", "shopify", "webex", "standard_webhooks"];

/** The block `auth` of a channel, as far as it is used here. */
export type AuthBlock = Readonly<Record<string, unknown>>;

const textOf = (block: AuthBlock, key: string): string | undefined => (typeof block[key] === "string" ? block[key] : undefined);

/** Returns the name of a preset for its name or alias, such as `P4`. */
export function presetName(text: string | undefined): string | null {
  if (text === undefined) return null;
  const alias = /^P([1-7])$/.exec(text);
  const name = alias === null ? text : ALIASES[Number(alias[1]) - 1];
  return name !== undefined && Object.hasOwn(PRESETS, name) ? name : null;
}

/** Returns the scheme of a preset. */
export const presetScheme = (name: string): Scheme => ({ ...PLAIN, ...PRESETS[name] });

/** Returns the scheme by which a channel wants requests signed; null if it wants none. */
export function schemeOf(auth: AuthBlock | undefined): Scheme | null {
  if (auth === undefined || auth["mode"] !== "hmac") return null;
  const preset = presetName(textOf(auth, "preset"));
  const scheme: Scheme = { ...PLAIN, ...(preset === null ? {} : PRESETS[preset]) };
  const pick = <K extends keyof Scheme>(key: K, name: string) => {
    const text = textOf(auth, name);
    if (text !== undefined) scheme[key] = text as Scheme[K];
  };
  pick("header", "header");
  pick("prefix", "signature_prefix");
  pick("packed", "signature_key");
  pick("algorithm", "algorithm");
  pick("encoding", "encoding");
  pick("message", "message");
  pick("timestamp", "timestamp");
  return scheme;
}

/** Headers by their lower-case names. */
export type Headers = Record<string, string>;

const packedValue = (header: string | undefined, key: string): string | undefined =>
  header?.split(",").map((pair) => pair.trim().split("=")).find(([name]) => name === key)?.slice(1).join("=");

/** Returns the bytes of a secret: what follows `whsec_` is the base64 of a key. */
function keyBytes(secret: string): Uint8Array<ArrayBuffer> {
  if (secret.startsWith("whsec_")) {
    try {
      return Uint8Array.from(atob(secret.slice(6)), (char) => char.charCodeAt(0));
    } catch {
      // Not base64: the text itself is the key.
    }
  }
  return new TextEncoder().encode(secret);
}

function encode(bytes: Uint8Array, encoding: Scheme["encoding"]): string {
  if (encoding === "hex") return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const base64 = btoa(String.fromCharCode(...bytes));
  return encoding === "base64" ? base64 : base64.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Returns whether the browser can sign: only on HTTPS and on this computer. */
export const canSign = (): boolean => globalThis.crypto?.subtle !== undefined;

/**
 * Returns the headers of a request with its signature. A signed time that is missing is `seconds`; another header that is
 * signed and missing gets a value of its own.
 */
export async function signRequest(scheme: Scheme, secret: string, given: Headers, body: string, seconds: number): Promise<Headers> {
  const headers: Headers = { ...given };
  const packedTimes: string[] = [];
  if (scheme.timestamp !== null) {
    const [name = "", key] = scheme.timestamp.toLowerCase().split(":");
    if (key === undefined) headers[name] ??= String(seconds);
    else if (packedValue(headers[name], key) === undefined) {
      packedTimes.push(`${key}=${seconds}`);
      headers[name] = headers[name] ? `${headers[name]},${key}=${seconds}` : `${key}=${seconds}`;
    }
  }
  const text = scheme.message.replace(/\{body\}|\{header:([^}:]+)(?::([^}]+))?\}/g, (whole, name: string | undefined, key: string | undefined) => {
    if (whole === "{body}") return body;
    const header = (name ?? "").toLowerCase();
    if (key !== undefined) return packedValue(headers[header], key) ?? "";
    headers[header] ??= `try-${seconds}`;
    return headers[header];
  });
  const hash = { sha1: "SHA-1", sha256: "SHA-256", sha512: "SHA-512" }[scheme.algorithm];
  const key = await crypto.subtle.importKey("raw", keyBytes(secret), { name: "HMAC", hash }, false, ["sign"]);
  const signature = encode(new Uint8Array(await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(text))), scheme.encoding);
  const header = scheme.header.toLowerCase();
  const before = scheme.packed !== null && headers[header] ? `${headers[header]},` : "";
  headers[header] = scheme.packed === null ? `${scheme.prefix}${signature}` : `${before}${scheme.packed}=${signature}`;
  return headers;
}

/** Returns the header that carries a key or a token, for the modes that have one. */
export function credentialHeader(auth: AuthBlock | undefined, credential: string): Headers {
  if (auth === undefined || credential === "") return {};
  const header = textOf(auth, "header");
  const scheme = textOf(auth, "scheme") ?? (header === undefined ? "Bearer" : "");
  return { [(header ?? "authorization").toLowerCase()]: scheme === "" ? credential : `${scheme} ${credential}` };
}

/** Reads headers that a person wrote, one a line as `name: value`; null names the line that is none. */
export function readHeaders(text: string): { headers: Headers; wrong: string | null } {
  const headers: Headers = {};
  for (const line of text.split("\n").map((part) => part.trim()).filter(Boolean)) {
    const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(.*)$/.exec(line);
    if (match === null) return { headers, wrong: line };
    const name = (match[1] ?? "").toLowerCase();
    headers[name] = headers[name] === undefined ? (match[2] ?? "") : `${headers[name]}, ${match[2]}`;
  }
  return { headers, wrong: null };
}

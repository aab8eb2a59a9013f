// Verifies attestations, receipts, bundles and proofs in a browser, with WebCrypto alone. The steps and
// the codes are those of `affidavit verify` (docs/attestation.md). What needs the packs, a replay or
// an authority is named and left to the command.
"use strict";

class Refused extends Error {
  constructor(code, message) { super(message); this.code = code; }
}
const refuse = (code, message) => { throw new Refused(code, message); };
const UTF8 = new TextEncoder(), TEXT = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const hexOf = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const joined = (...parts) => {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) { all.set(part, at); at += part.length; }
  return all;
};
const same = (one, other) => one.length === other.length && one.every((byte, at) => byte === other[at]);
const digest = async (name, bytes) => new Uint8Array(await crypto.subtle.digest(name, bytes));
const sha256 = (bytes) => digest("SHA-256", bytes);

// Strict JSON: no member twice, nothing after the value, whole numbers that every reader has alike.
// `number` makes a value of the text of a number.
function parseJson(bytes, number = Number) {
  let text;
  const marks = [[0xef, 0xbb, 0xbf], [0xff, 0xfe], [0xfe, 0xff]];
  if (marks.some((mark) => same(bytes.slice(0, mark.length), mark)) || bytes[0] === 0 || bytes[1] === 0) {
    refuse("AF021", "the text is stored as UTF-16, UTF-32 or with a byte order mark");
  }
  try { text = TEXT.decode(bytes); } catch { refuse("AF022", "the bytes are not UTF-8"); }
  let at = 0;
  const bad = (what, code = "AF020") => refuse(code, `${what} at character ${at}`);
  const space = () => { while (" \t\n\r".includes(text[at]) && at < text.length) at++; };
  const string = () => {
    const found = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
    found.lastIndex = at;
    const match = found.exec(text);
    if (!match) bad("this is not JSON");
    at = found.lastIndex;
    const value = JSON.parse(match[0]);
    if (!value.isWellFormed()) bad("half of a character", "AF022");
    return value;
  };
  const value = (depth) => {
    if (depth > 64) bad("it is nested too deeply", "AF026");
    space();
    if (text[at] === "{") {
      const members = new Map();
      at++; space();
      if (text[at] === "}") { at++; return members; }
      for (;;) {
        space();
        const key = string();
        if (members.has(key)) refuse("AF024", `the member ${key} occurs twice`);
        space();
        if (text[at++] !== ":") bad("this is not JSON");
        members.set(key, value(depth + 1));
        space();
        const next = text[at++];
        if (next === "}") return members;
        if (next !== ",") bad("this is not JSON");
      }
    }
    if (text[at] === "[") {
      const items = [];
      at++; space();
      if (text[at] === "]") { at++; return items; }
      for (;;) {
        items.push(value(depth + 1));
        space();
        const next = text[at++];
        if (next === "]") return items;
        if (next !== ",") bad("this is not JSON");
      }
    }
    if (text[at] === '"') return string();
    for (const [word, meant] of [["true", true], ["false", false], ["null", null]]) {
      if (text.startsWith(word, at)) { at += word.length; return meant; }
    }
    const numeral = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
    numeral.lastIndex = at;
    const match = numeral.exec(text);
    if (!match && /^(?:NaN|-?Infinity)/.test(text.slice(at, at + 9))) bad("a number that is none", "AF025");
    if (!match) bad("this is not JSON");
    at = numeral.lastIndex;
    const found = Number(match[0]);
    if (!Number.isFinite(found) || (/^-?[0-9]+$/.test(match[0]) && !Number.isSafeInteger(found))) {
      bad("a number that readers have differently", "AF025");
    }
    return number(match[0]);
  };
  const found = value(1);
  space();
  if (at !== text.length) bad("something follows the document", "AF023");
  return found;
}

// Both canonical forms: RFC 8785, and json-sorted-compact as Python writes it.
function canonical(value, form) {
  if (Array.isArray(value)) return `[${value.map((each) => canonical(each, form)).join(",")}]`;
  if (!(value instanceof Map)) return form.write(value);
  const members = [...value].map(([key, each]) => [form.order(key), `${form.write(key)}:${canonical(each, form)}`]);
  members.sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0));
  return `{${members.map(([, text]) => text).join(",")}}`;
}
const JCS = { order: (key) => key, write: (value) => JSON.stringify(value) };
const SORTED_COMPACT = {
  order: (key) => [...key].map((char) => char.codePointAt(0).toString(16).padStart(6, "0")).join(""),
  write: (value) => value instanceof Numeral ? value.text : JSON.stringify(value).replace(/[\u007f-\uffff]/g,
    (unit) => "\\u" + unit.charCodeAt(0).toString(16).padStart(4, "0")),
};
// A number as Python writes it: 1.0 stays a fraction, and other exponents are spelt out than in ECMAScript.
class Numeral {
  constructor(text) {
    const value = Number(text);
    this.text = /^-?[0-9]+$/.test(text) ? String(value) : Numeral.python(value);
  }
  static python(value) {
    if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
    const [, sign, first, rest = "", power] = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(value.toExponential());
    const digits = first + rest, point = Number(power) + 1;
    if (point > 16 || point <= -4) {
      const exponent = String(Math.abs(point - 1)).padStart(2, "0");
      return `${sign}${first}${rest && "."}${rest}e${point < 1 ? "-" : "+"}${exponent}`;
    }
    if (point <= 0) return `${sign}0.${"0".repeat(-point)}${digits}`;
    return `${sign}${digits.slice(0, point).padEnd(point, "0")}.${digits.slice(point) || "0"}`;
  }
}

// Base64 in either alphabet, padded, in its one form.
function findBase64(text) {
  if (typeof text !== "string" || text.length % 4) return null;
  const standard = /^[A-Za-z0-9+/]*={0,2}$/.test(text);
  if (!standard && !/^[A-Za-z0-9_-]*={0,2}$/.test(text)) return null;
  const plain = text.replaceAll("-", "+").replaceAll("_", "/");
  try {
    const raw = atob(plain);
    return btoa(raw) === plain ? Uint8Array.from(raw, (char) => char.charCodeAt(0)) : null;
  } catch { return null; }
}
const toBase64 = (bytes) => btoa(String.fromCharCode(...bytes));
function base64(text, what) {
  if (typeof text !== "string") refuse("AF690", `${what} is not a text`);
  return findBase64(text) ?? refuse("AF691", `${what} is not base64 in its one canonical form`);
}

// Ed25519 keys: points of small or mixed order and second encodings are refused.
const P = 2n ** 255n - 19n, ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
const mod = (number) => ((number % P) + P) % P;
const power = (base, exponent) => {
  let found = 1n;
  for (base = mod(base); exponent; exponent >>= 1n, base = mod(base * base)) {
    if (exponent & 1n) found = mod(found * base);
  }
  return found;
};
const inverse = (number) => power(number, P - 2n);
const D = mod(-121665n * inverse(121666n)), ROOT = power(2n, (P - 1n) / 4n);
function added([x1, y1, z1, t1], [x2, y2, z2, t2]) {
  const a = mod((y1 - x1) * (y2 - x2)), b = mod((y1 + x1) * (y2 + x2));
  const c = mod(2n * t1 * t2 * D), d = mod(2n * z1 * z2);
  const e = b - a, f = d - c, g = d + c, h = b + a;
  return [mod(e * f), mod(g * h), mod(f * g), mod(e * h)];
}
const judged = new Map();
function isWeak(raw) {
  const name = hexOf(raw);
  if (!judged.has(name)) judged.set(name, isWeakPoint(raw));
  return judged.get(name);
}
function isWeakPoint(raw) {
  if (raw.length !== 32) return true;
  const whole = BigInt("0x" + hexOf([...raw].reverse()));
  const y = whole & (2n ** 255n - 1n), sign = whole >> 255n;
  if (y >= P) return true;
  const square = mod((y * y - 1n) * inverse(D * y * y + 1n));
  let x = power(square, (P + 3n) / 8n);
  if (mod(x * x - square)) x = mod(x * ROOT);
  if (mod(x * x - square)) return true;
  if ((x & 1n) !== sign) x = mod(-x);
  const point = [x, y, 1n, mod(x * y)];
  const times = (scalar) => {
    let total = [0n, 1n, 1n, 0n];
    for (const bit of scalar.toString(2)) {
      total = added(total, total);
      if (bit === "1") total = added(total, point);
    }
    return total;
  };
  const isNeutral = ([x2, y2, z2]) => mod(x2) === 0n && mod(y2 - z2) === 0n;
  return isNeutral(times(8n)) || !isNeutral(times(ORDER));
}
async function holds(raw, signature, message) {
  if (isWeak(raw) || signature.length !== 64) return false;
  const key = await crypto.subtle.importKey("raw", raw, { name: "Ed25519" }, false, ["verify"]);
  return crypto.subtle.verify({ name: "Ed25519" }, key, signature, message);
}

const SPKI = Uint8Array.from([0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00]);
const keyId = async (prefix, raw) => `${prefix}-ed25519-${hexOf(await sha256(raw)).slice(0, 12)}`;
async function namedKey(id, raw) {
  const match = /^([a-z0-9]+(?:-[a-z0-9]+)*)-ed25519-[0-9a-f]{12}$/.exec(id);
  if (!match || !raw || raw.length !== 32) refuse("AF331", "this is not a key");
  if (isWeak(raw)) refuse("AF329", "this public key is weak");
  const found = await keyId(match[1], raw);
  if (found !== id) refuse("AF333", `the key listed as ${id} has another id: ${found}`);
  return { id, raw };
}
const fromUrl = (text) =>
  typeof text === "string" ? findBase64(text.endsWith("=") ? text : text + "=".repeat(-text.length & 3)) : null;

// Key documents: PEM, the flat map, a registry with lifecycles, a JWK or a set of them.
async function readKeys(bytes) {
  const text = new TextDecoder().decode(bytes);
  if (text.trimStart().startsWith("-----BEGIN")) {
    const body = /-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----/.exec(text);
    const der = body && findBase64(body[1].replace(/\s/g, ""));
    if (!der || der.length !== 44) refuse("AF331", "it is not an Ed25519 key in PEM");
    if (!same(der.slice(0, 12), SPKI)) refuse("AF330", "this key is not for Ed25519");
    return [await namedKey(await keyId("af", der.slice(12)), der.slice(12))];
  }
  const document = parseJson(bytes);
  if (!(document instanceof Map)) refuse("AF331", "a keys document is a JSON object");
  if (document.has("kty")) return [await readJwk(document)];
  if (document.has("keys")) {
    const listed = document.get("keys"), seen = new Set();
    if (!Array.isArray(listed)) refuse("AF331", "keys is not a list");
    for (const one of listed) {
      const id = one instanceof Map ? one.get("kid") : undefined;
      if (typeof id === "string" && seen.has(id)) refuse("AF332", `two keys have the id ${id}`);
      seen.add(id);
    }
    return Promise.all(listed.map(readJwk));
  }
  if (!document.has("schema")) return Promise.all([...document].map(([id, value]) => namedKey(id, fromUrl(value))));
  return readRegistry(document);
}
async function readJwk(one) {
  if (!(one instanceof Map)) refuse("AF331", "a key is a JSON object");
  if (one.get("kty") !== "OKP" || one.get("crv") !== "Ed25519" || !["EdDSA", "Ed25519"].includes(one.get("alg") ?? "EdDSA")) {
    refuse("AF330", "this key is not for Ed25519");
  }
  if (one.has("d")) refuse("AF331", "it holds the private part, d");
  if ((one.get("use") ?? "sig") !== "sig") refuse("AF336", `this key is for ${one.get("use")}, not for signing`);
  if (typeof one.get("kid") !== "string") refuse("AF331", "it has no id, kid");
  return namedKey(one.get("kid"), fromUrl(one.get("x")));
}
const REGISTRIES = ["affidavit-key-registry/v1", "df-signing-key-registry/v1"];
const STATUSES = ["active", "retired", "compromised"];
const contradict = (problem) => refuse("AF383", `two statements of the registry contradict each other: ${problem}`);
async function readRegistry(document) {
  const listed = document.get("public_keys"), lives = document.get("lifecycle"), active = document.get("active_key_id") ?? null;
  const wrong = (problem) => refuse("AF331", `it is not a registry of keys with their lifecycles: ${problem}`);
  if (!REGISTRIES.includes(document.get("schema"))) wrong("schema");
  if (!(listed instanceof Map && lives instanceof Map) || !Number.isInteger(document.get("registry_revision"))) wrong("members");
  if (listed.size !== lives.size || ![...listed.keys()].every((id) => lives.has(id)) || (active !== null && !lives.has(active))) {
    wrong("public_keys, lifecycle and active_key_id do not name the same keys");
  }
  const keys = await Promise.all([...listed].map(async ([id, value]) =>
    ({ ...await namedKey(id, fromUrl(value)), life: await readLife(id, fromUrl(value), lives.get(id), wrong) })));
  if (new Set(keys.map((key) => hexOf(key.raw))).size < keys.length) contradict("one key has two ids");
  if (active !== null && lives.get(active).get("status") !== "active") contradict(`${active} signs now, and is not active`);
  return keys;
}
async function readLife(id, raw, life, wrong) {
  if (!(life instanceof Map)) wrong(id);
  const time = (name) => life.get(name) ?? null, isOptional = (name) => time(name) === null || isTime(time(name));
  if (!STATUSES.includes(life.get("status")) || typeof life.get("use") !== "string") wrong(`${id}: status or use`);
  if (life.get("alg") !== "Ed25519") refuse("AF330", "this key is not for Ed25519");
  if (life.get("fingerprint_sha256") !== hexOf(await sha256(raw))) refuse("AF333", `${id} has another fingerprint`);
  if (!isTime(time("active_from")) || !isOptional("retired_at") || !isOptional("compromised_after")) wrong(`${id}: its times`);
  const status = life.get("status"), retired = time("retired_at"), stolen = time("compromised_after");
  if ((status === "compromised") !== (stolen !== null) || (status === "active" && retired !== null)
    || (status === "retired" && retired === null)) contradict(`${id} is ${status}, and its times say otherwise`);
  if (retired !== null && Date.parse(retired) < Date.parse(time("active_from"))) contradict(`${id} was retired before it was made`);
  return life;
}
// Every key with all lifecycles that any document has of it: the signer chooses the id, not the lifecycle.
const withLives = (keys) => keys.map((key) => ({
  ...key, lives: keys.filter((each) => each.life && same(each.raw, key.raw)).map((each) => each.life),
}));

function readEnvelope(document) {
  if (!(document instanceof Map)) refuse("AF690", "it is not a JSON object");
  const type = document.get("payloadType"), listed = document.get("signatures");
  if (typeof type !== "string") refuse("AF690", "payloadType is not a text");
  if (!Array.isArray(listed)) refuse("AF690", "signatures is not a list");
  const payload = base64(document.get("payload"), "the payload");
  const signatures = listed.map((each) => {
    if (!(each instanceof Map)) refuse("AF690", "a signature is not a JSON object");
    const id = each.get("keyid") ?? null;
    if (id !== null && typeof id !== "string") refuse("AF690", "keyid is not a text");
    if (each.get("sig") === "") refuse("AF693", "the envelope has no signature");
    return { raw: base64(each.get("sig"), "a signature"), id: id || null };
  });
  if (!signatures.length) refuse("AF693", "the envelope has no signature");
  const extras = document.get("x-affidavit") ?? new Map();
  const stamps = extras instanceof Map ? extras.get("time_stamps") ?? [] : null;
  const proofs = extras instanceof Map ? extras.get("log_proofs") ?? [] : null;
  if (!Array.isArray(stamps) || !Array.isArray(proofs)) refuse("AF690", "x-affidavit is not {time_stamps: [], log_proofs: []}");
  if (!proofs.every((each) => typeof each === "string")) refuse("AF690", "a log proof is not a text");
  stamps.forEach((each) => base64(each, "a time stamp"));
  return { type, payload, signatures, stamps, proofs };
}

const TYPES = {
  affidavit: "urn:affidavit:attestation:v1",
  "test-result": "https://in-toto.io/attestation/test-result/v0.1",
  svr: "https://in-toto.io/attestation/svr/v0.2",
  assay: "https://docs.getassay.dev/attestation/evidence-bundle/v1",
};
const PAYLOAD = /^application\/vnd\.in-toto(?:\.([a-z0-9-]+))?\+json$/;
const SIZES = { sha256: 64, sha384: 96, sha512: 128 };
const NAMES = { sha256: "SHA-256", sha384: "SHA-384", sha512: "SHA-512" };

async function signersOf(envelope, keys) {
  const type = UTF8.encode(envelope.type);
  const message = joined(
    UTF8.encode(`DSSEv1 ${type.length} `), type, UTF8.encode(` ${envelope.payload.length} `), envelope.payload);
  const named = new Map();
  for (const key of keys) named.set(`sha256:${hexOf(await sha256(joined(SPKI, key.raw)))}`, key);
  for (const key of keys) named.set(key.id, key);
  const found = new Map();
  for (const each of envelope.signatures) {
    const hinted = each.id === null ? undefined : named.get(each.id);
    let signer = null;
    for (const key of hinted ? [hinted] : keys) {
      if (await holds(key.raw, each.raw, message)) { signer = key; break; }
    }
    if (signer) found.set(hexOf(signer.raw), signer);
    else if (hinted) refuse("AF694", `the signature by ${hinted.id} is not valid for this payload`);
  }
  return [...found.values()];
}

const requireUsable = (key, now) => key.lives.forEach((life) => requireLife(key, (name) => life.get(name), now));
function requireLife(key, life, now) {
  if (!["receipt-signing", "attestation-signing"].includes(life("use"))) {
    refuse("AF336", `${key.id} is for ${life("use")}, not for signing`);
  }
  if (now < Date.parse(life("active_from"))) refuse("AF335", `${key.id} was made later`);
  for (const name of ["retired_at", "compromised_after"]) {
    if (life(name) && now > Date.parse(life(name))) {
      refuse("AF335", `${key.id}: ${name} ${life(name)}, and no time stamp is checked here`);
    }
  }
}

// A log: signed note, checkpoint, inclusion (RFC 6962).
const leafOf = (entry) => sha256(joined(Uint8Array.of(0), entry));
const nodeOf = (left, right) => sha256(joined(Uint8Array.of(1), left, right));
async function rootFromPath(node, index, size, path) {
  let used = 0;
  if (index < 0 || index >= size) return null;
  for (let last = size - 1; last > 0; index = Math.floor(index / 2), last = Math.floor(last / 2)) {
    if (index % 2 || index < last) {
      const beside = path[used++];
      if (!beside) return null;
      node = index % 2 ? await nodeOf(beside, node) : await nodeOf(node, beside);
    }
  }
  return used === path.length ? node : null;
}
async function readLogKey(text) {
  const [name, hint, encoded] = text.trim().split("+").length > 3
    ? text.trim().split(/\+(.*?)\+(.*)/s) : text.trim().split("+");
  const data = findBase64(encoded ?? "");
  if (!name || !data || data.length !== 33 || data[0] !== 1) refuse("AF720", "this is not the key of a log");
  if (isWeak(data.slice(1))) refuse("AF720", "the key is weak");
  const id = (await sha256(joined(UTF8.encode(`${name}\n`), data))).slice(0, 4);
  if (hexOf(id) !== hint) refuse("AF720", "the key of the log has another id");
  return { name, id, raw: data.slice(1) };
}
// A proof that names another log counts for nothing; a malformed one may be of any.
const isProofOf = (text, logKey) => {
  const split = text.indexOf("\n\n"), origin = split < 0 ? "" : text.slice(split + 2).split("\n")[0];
  return !/^[^\s+\x00-\x20\x7f]{1,255}$/.test(origin) || origin === logKey.name;
};
async function checkProof(text, entry, logKey) {
  const split = text.indexOf("\n\n");
  const lines = text.slice(0, split).split("\n"), checkpoint = text.slice(split + 2);
  if (split < 0 || lines.shift() !== "c2sp.org/tlog-proof@v1") refuse("AF720", "this is not a proof of a log");
  let carried = null;
  if (lines[0]?.startsWith("extra ")) {
    carried = findBase64(lines.shift().slice(6)) ?? refuse("AF720", "its extra data is not base64");
  }
  const number = /^index (0|[1-9][0-9]{0,14})$/.exec(lines.shift() ?? "") ?? refuse("AF720", "it has no index");
  const path = lines.map(findBase64);
  if (path.some((node) => node === null || node.length !== 32)) refuse("AF720", "its path is not one of digests");
  const end = checkpoint.lastIndexOf("\n\n"), body = checkpoint.slice(0, end + 1);
  const [origin, sizeText, rootText] = body.split("\n");
  const root = findBase64(rootText ?? "");
  if (end < 0 || !/^(0|[1-9][0-9]{0,14})$/.test(sizeText ?? "") || !root || root.length !== 32) {
    refuse("AF721", "this is not a checkpoint");
  }
  if (origin !== logKey.name) refuse("AF721", `nobody named ${origin} as a log to trust`);
  let signed = false;
  for (const line of checkpoint.slice(end + 2).split("\n").filter(Boolean)) {
    const match = /^\u2014 (\S+) (\S+)$/.exec(line), raw = match && findBase64(match[2]);
    if (!raw) refuse("AF721", "a line of the checkpoint is not a signature");
    if (match[1] === logKey.name && same(raw.slice(0, 4), logKey.id)) {
      signed ||= await holds(logKey.raw, raw.slice(4), UTF8.encode(body));
    }
  }
  if (!signed) refuse("AF721", `${origin} did not sign it with a trusted key`);
  entry ??= carried ?? refuse("AF723", "the proof does not carry its entry");
  if (carried && !same(carried, entry)) refuse("AF723", "the log entry is of another envelope");
  const size = Number(sizeText);
  const found = await rootFromPath(await leafOf(entry), Number(number[1]), size, path);
  if (!found || !same(found, root)) refuse("AF722", "it leads to another root");
  return `entry ${number[1]} of ${size} in ${origin}`;
}
const entryOf = async (envelope) => UTF8.encode(
  `{"payload_sha256":"${hexOf(await sha256(envelope.payload))}","payload_type":${JSON.stringify(envelope.type)},` +
  `"signatures":[${envelope.signatures.map((each) =>
    `{${each.id === null ? "" : `"keyid":${JSON.stringify(each.id)},`}"sig":"${toBase64(each.raw)}"}`).join(",")}]}`);

// The statement, which is decoded only when its signatures hold.
function readStatement(envelope) {
  const statement = parseJson(envelope.payload);
  if (!(statement instanceof Map)) refuse("AF702", "it is not a JSON object");
  if (statement.get("_type") !== "https://in-toto.io/Statement/v1") {
    refuse("AF703", `the statement has the type ${statement.get("_type")}`);
  }
  for (const name of statement.keys()) {
    if (!["_type", "subject", "predicateType", "predicate"].includes(name)) {
      refuse("AF710", `a statement has no member ${name}`);
    }
  }
  const type = statement.get("predicateType"), named = PAYLOAD.exec(envelope.type)[1];
  if (typeof type !== "string") refuse("AF702", "predicateType is not a text");
  if (!Object.values(TYPES).includes(type) || (named && TYPES[named] !== type)) {
    refuse("AF704", `the predicate type ${type} is not known here, or not the one of the payload type`);
  }
  const predicate = statement.get("predicate") ?? new Map();
  if (!(predicate instanceof Map)) refuse("AF702", "predicate is not an object");
  const listed = statement.get("subject");
  if (!Array.isArray(listed) || !listed.length) refuse("AF705", "it has no subject");
  const subjects = listed.map((one, at) => {
    const digests = one instanceof Map ? one.get("digest") : null;
    if (!(digests instanceof Map) || !digests.size) refuse("AF705", `subject[${at}] has no digest`);
    for (const name of one.keys()) {
      if (name !== "name" && name !== "digest") refuse("AF710", `subject[${at}] has a member ${name}`);
    }
    const known = [...digests].filter(([name]) => name in SIZES);
    if (!known.length) refuse("AF708", `subject[${at}] has only ${[...digests.keys()]}`);
    for (const [name, value] of digests) {
      const isHex = typeof value === "string" && (!(name in SIZES) ||
        (value.length === SIZES[name] && /^[0-9a-f]+$/.test(value)));
      if (!isHex) refuse("AF707", `subject[${at}].digest is not a ${name} digest`);
    }
    return { name: String(one.get("name") ?? ""), digests: new Map(known) };
  });
  return { type, predicate, subjects };
}

// A bundle: one gzip member, a tar archive of two files, every line an event. Nothing is extracted to a
// disk. Lines are read one by one, in the order of the command's steps.
const BUNDLE_STEPS = {
  container: "one gzip member, a tar archive, manifest.json first",
  manifest: "strict and canonical JSON, complete, of a version that is known",
  events: "every line canonical, its content hash holds, in sequence, of this run",
  totals: "size, digest, count, run root and bundle id are those of the manifest",
  merkle: "the Merkle root covers every byte of every line",
  end: "two members and nothing else, nothing behind them, the checksum holds",
};
const EXTRA = [0x24, 0, 0x41, 0x46, 0x20, 0];
// Where the compressed data begin, and the digest of them that our own headers hold.
function gzipStart(bytes) {
  const cut = () => refuse("AF601", "the archive ends within its header");
  const flags = bytes[2] === 8 ? bytes[3] : -1;
  if (bytes.length < 10) cut();
  if (flags === 0) return [10, null];
  if (flags === 4 && same(bytes.slice(4, 10), [0, 0, 0, 0, 2, 255])) {
    if (bytes.length < 48) cut();
    if (!same(bytes.slice(10, 16), EXTRA)) refuse("AF601", "the extra field of its gzip header is another one");
    return [48, bytes.slice(16, 48)];
  }
  if (flags !== 8) refuse("AF600", "its gzip header has a method or flags that a bundle does not have");
  const end = bytes.indexOf(0, 10);
  if (end < 0 || end > 265) refuse("AF600", "the file name in its gzip header is too long");
  return [end + 1, null];
}
async function findInflated(bytes) {
  try {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  } catch { return null; }
}
// A decompressor refuses bytes behind the member when it is given them, and a cut one only at its end.
async function isRefused(bytes) {
  const { writable, readable } = new DecompressionStream("gzip");
  const writer = writable.getWriter(), drained = readable.pipeTo(new WritableStream()).catch(() => {});
  try { await writer.write(bytes); return false; } catch { return true; }
  finally { await writer.abort().catch(() => {}); await drained; }
}
async function afterMember(bytes) {
  let taken = 0, refused = bytes.length;
  while (refused - taken > 1) {
    const middle = Math.floor((taken + refused) / 2);
    if (await isRefused(bytes.slice(0, middle))) refused = middle; else taken = middle;
  }
  return await findInflated(bytes.slice(0, taken)) && bytes.slice(taken);
}
async function inflated(bytes) {
  const [start, sealed] = gzipStart(bytes), raw = await findInflated(bytes);
  if (!raw) {
    const rest = await afterMember(bytes);
    if (!rest) refuse("AF601", "the archive is truncated or was changed");
    if (isGzip(rest)) refuse("AF602", "a second gzip member follows the first");
    refuse("AF603", "there is data after the end of the compressed data");
  }
  if (sealed && !same(await sha256(bytes.slice(start, -8)), sealed)) {
    refuse("AF601", "its compressed bytes are not those that were written");
  }
  return [raw, sealed !== null];
}
const latin = (bytes) => new TextDecoder("latin1").decode(bytes);
const untilZeros = (text) => text.replace(/\0+$/, "");
function octal(text) {
  const digits = text.replace(/^[ \0]+|[ \0]+$/g, "");
  return /^[0-7]+$/.test(digits) ? parseInt(digits, 8) : refuse("AF600", "a number in a header is not octal");
}
function memberName(raw) {
  const name = untilZeros(raw);
  if (name.length > 256) refuse("AF616", "a member name has more than 256 bytes");
  const parts = name.replace(/\/$/, "").split("/");
  if (/[\0\\:]/.test(name) || parts.some((part) => ["", ".", ".."].includes(part))) {
    refuse("AF604", `the member name ${JSON.stringify(name)} points outside the archive or is ambiguous`);
  }
  return name;
}
// The members of an archive from one place on; null at its end.
function nextMember(raw, at) {
  const block = raw.slice(at, at + 512), text = latin(block);
  if (block.length < 512) refuse("AF601", "the tar archive has no end");
  if (!block.some((byte) => byte)) return null;
  const sum = block.reduce((total, byte, place) => total + (place >= 148 && place < 156 ? 32 : byte), 0);
  if (octal(text.slice(148, 156)) !== sum) refuse("AF601", "the checksum of a tar header does not hold");
  if (text.slice(257, 262) !== "ustar") refuse("AF600", "a header is neither ustar nor GNU");
  const prefix = text.slice(257, 263) === "ustar\0" ? untilZeros(text.slice(345, 500)) : "";
  const size = octal(text.slice(124, 136)), kind = text[156], start = at + 512;
  const field = prefix ? `${prefix}/${text.slice(0, 100)}` : text.slice(0, 100);
  if (kind !== "0" && kind !== "\0") {
    const data = latin(raw.slice(start, start + Math.min(size, 1 << 20)));
    const carried = kind === "L" ? [data] : "xg".includes(kind)
      ? data.split("\n").filter((line) => /^[^=]*path=/.test(line)).map((line) => line.slice(line.indexOf("=") + 1)) : [];
    carried.forEach(memberName);
    refuse("AF605", `the member ${untilZeros(field)} is not a plain file`);
  }
  return { name: memberName(field), size, data: raw.slice(start, start + size), next: start + Math.ceil(size / 512) * 512 };
}
function requirePadding(raw, member) {
  if (raw.slice(member.next - (-member.size & 511), member.next).some((byte) => byte)) {
    refuse("AF603", `there is data after the end of the member ${member.name}`);
  }
}
function refuseMember(raw, member) {
  if (["manifest.json", "events.ndjson"].includes(member.name.normalize("NFC").toLowerCase())) {
    refuse("AF606", `the member ${member.name} occurs twice, or under a name that some systems take for it`);
  }
  let count = 1;
  for (let each = member; each && !each.size; each = nextMember(raw, each.next)) {
    if (count++ > 16) refuse("AF617", "the archive has more than 16 members; a bundle has two");
  }
  refuse("AF607", `the member ${member.name} does not belong to a bundle`);
}
function memberNamed(raw, at, name) {
  const found = nextMember(raw, at) ?? refuse("AF608", `the bundle has no ${name}: the archive ends before it`);
  if (found.name !== name) {
    if (found.name === "events.ndjson" && name === "manifest.json") refuse("AF609", "the first member has to be manifest.json");
    refuseMember(raw, found);
  }
  if (found.data.length < found.size) refuse("AF601", `it ends within ${name}`);
  return found;
}
function requireCanonical(bytes) {
  const value = parseJson(bytes);
  const collide = (each) => {
    if (each instanceof Map) {
      if (new Set([...each.keys()].map((key) => key.normalize("NFC"))).size < each.size) {
        refuse("AF041", "two keys of one object are equal in NFC");
      }
      each.forEach(collide);
    } else if (Array.isArray(each)) each.forEach(collide);
  };
  collide(value);
  if (!same(UTF8.encode(canonical(value, JCS)), bytes)) refuse("AF040", "the bytes are not in canonical form (RFC 8785)");
  return value;
}
const isText = (value) => typeof value === "string", isCount = (value) => Number.isInteger(value) && value >= 0;
const isFlag = (value) => typeof value === "boolean", isMap = (value) => value instanceof Map;
const orAbsent = (check) => (value) => value === undefined || value === null || check(value);
function requireMembers(value, members, code, what) {
  for (const [name, check] of Object.entries(members)) {
    if (!check(value.get(name))) refuse(code, `${what}: ${name} is missing or of another kind`);
  }
}
const MANIFEST_MEMBERS = {
  schema_version: Number.isInteger, bundle_id: isText, run_id: isText, event_count: Number.isInteger, run_root: isText,
  producer: (each) => isMap(each) && isText(each.get("name")) && isText(each.get("version")), algorithms: isMap,
  files: (each) => isMap(each) && [...each.values()].every((file) =>
    isMap(file) && isText(file.get("path")) && isText(file.get("sha256")) && Number.isInteger(file.get("bytes"))),
  "x-affidavit": orAbsent((each) => isMap(each) && Number.isInteger(each.get("version")) && isText(each.get("merkle"))
    && isText(each.get("merkle_root")) && Number.isInteger(each.get("tree_size"))),
};
const ALGORITHMS = { canon: "jcs-rfc8785", hash: "sha256", root: 'sha256(concat(content_hash + "\\n"))' };
function readManifest(bytes) {
  const manifest = requireCanonical(bytes);
  if (!isMap(manifest)) refuse("AF620", "it is not a JSON object");
  const version = manifest.get("schema_version"), other = (what) => refuse("AF621", `${what} is of a version that is not known`);
  if (Number.isInteger(version) && version !== 1) other("schema_version");
  requireMembers(manifest, MANIFEST_MEMBERS, "AF620", "manifest.json is not a bundle manifest");
  for (const [name, wanted] of Object.entries(ALGORITHMS)) {
    if (manifest.get("algorithms").get(name) !== wanted) other(`algorithms.${name}`);
  }
  const ours = manifest.get("x-affidavit");
  if (ours && (![1, 2].includes(ours.get("version")) || ours.get("merkle") !== "rfc6962-sha256")) other("x-affidavit.version");
  if (!manifest.get("files").has("events.ndjson")) refuse("AF608", "events.ndjson is not listed");
  return manifest;
}
const isZoned = (text) => isText(text) && /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:?\d\d)$/.test(text)
  && !Number.isNaN(Date.parse(text.replace(/(\.\d{3})\d+/, "$1")));
const EVENT_MEMBERS = {
  assaycontenthash: isText, assaygit: isText, assaypii: isFlag, assayproducer: isText, assayproducerversion: isText,
  assayrunid: isText, assaysecrets: isFlag, assayseq: isCount, data: (each) => each !== undefined, datacontenttype: isText,
  id: isText, source: isText, specversion: isText, time: isZoned, type: isText, subject: orAbsent(isText),
  traceparent: orAbsent(isText), tracestate: orAbsent(isText), assaypolicyid: orAbsent(isText),
  assaysemanticdigest: orAbsent(isText), assaydigestprofile: orAbsent(isText), affidavitsalt: orAbsent(isText),
};
const HASHED = ["data", "datacontenttype", "specversion", "subject", "type"];
async function readEvent(line, number, runId, source) {
  if (!line.length) refuse("AF623", "the line is blank");
  if (line.length > 1 << 20) refuse("AF030", "the line has more than 1048576 bytes");
  const event = requireCanonical(line), wrong = (problem) => refuse("AF623", `this is not an event: ${problem}`);
  if (!isMap(event)) wrong("it is not a JSON object");
  requireMembers(event, EVENT_MEMBERS, "AF623", "this is not an event");
  if (event.get("specversion") !== "1.0") refuse("AF621", "specversion is not 1.0");
  const hashed = new Map(HASHED.filter((name) => event.has(name) && (name !== "subject" || event.get(name) !== null))
    .map((name) => [name, event.get(name)]));
  const found = `sha256:${hexOf(await sha256(UTF8.encode(canonical(hashed, JCS))))}`;
  requireKnownDigest("assaycontenthash", event.get("assaycontenthash"), found);
  if (event.get("assaycontenthash") !== found) refuse("AF624", `the event claims ${event.get("assaycontenthash")}, but it is ${found}`);
  if (event.get("assayseq") !== number) refuse("AF625", `the event has the number ${event.get("assayseq")} where ${number} is expected`);
  if (event.get("assayrunid") !== runId) refuse("AF626", `the event belongs to the run ${event.get("assayrunid")}`);
  const from = event.get("source");
  if (source !== null && from !== source) wrong("its source is not that of the events before it");
  if (from.indexOf(":") < 1) wrong("source: it is not an address like urn:example:run");
  if (runId.includes(":")) wrong("assayrunid: it holds a colon");
  if (event.get("id") !== `${runId}:${number}`) wrong("id: it is not made of the run id and the number");
  return { hash: found, source: from, time: event.get("time") };
}
// A digest of another kind that does not hold proves nothing.
function requireKnownDigest(what, said, found) {
  const other = said === found ? null : /^(?!sha256:)([A-Za-z0-9_-]+):/.exec(said);
  if (other) refuse("AF621", `the algorithm of ${what} is ${other[1]}; only sha256 can be verified`);
}
async function rootOf(nodes) {
  while (nodes.length > 1) {
    const next = [];
    for (let pair = 0; pair + 1 < nodes.length; pair += 2) next.push(await nodeOf(nodes[pair], nodes[pair + 1]));
    if (nodes.length % 2) next.push(nodes[nodes.length - 1]);
    nodes = next;
  }
  return nodes[0];
}
// `passed` is called with the name of each step that holds.
async function readBundle(bytes, passed = () => {}) {
  const [raw, isSealed] = await inflated(bytes);
  const first = memberNamed(raw, 0, "manifest.json");
  passed("container");
  const manifest = readManifest(first.data), ours = manifest.get("x-affidavit");
  requirePadding(raw, first);
  passed("manifest");
  const second = memberNamed(raw, first.next, "events.ndjson"), events = second.data;
  const stated = manifest.get("files").get("events.ndjson"), runId = manifest.get("run_id");
  if (stated.get("bytes") !== events.length) refuse("AF622", `manifest.json claims ${stated.get("bytes")} bytes, but events.ndjson has ${events.length}`);
  const nodes = [], hashes = [], times = [];
  let source = null, start = 0;
  for (let end; (end = events.indexOf(10, start)) >= 0; start = end + 1) {
    const line = events.subarray(start, end), event = await readEvent(line, nodes.length, runId, source);
    source = event.source;
    hashes.push(`${event.hash}\n`);
    times.push(event.time);
    nodes.push(await leafOf(line));
  }
  if (start < events.length) refuse("AF623", "its line has no line feed");
  passed("events");
  const found = hexOf(await sha256(events)), count = nodes.length;
  if (stated.get("sha256").replace(/^sha256:/, "") !== found) refuse("AF324", `manifest.json claims ${stated.get("sha256")}, but the events have ${found}`);
  if (!count) refuse("AF631", "the bundle has no events, so there is nothing to verify");
  if (manifest.get("event_count") !== count) refuse("AF627", `manifest.json claims ${manifest.get("event_count")} events, but there are ${count}`);
  const runRoot = `sha256:${hexOf(await sha256(UTF8.encode(hashes.join(""))))}`;
  requireKnownDigest("run_root", manifest.get("run_root"), runRoot);
  if (manifest.get("run_root") !== runRoot) refuse("AF628", `manifest.json claims the run root ${manifest.get("run_root")}, but the events have ${runRoot}`);
  requireKnownDigest("bundle_id", manifest.get("bundle_id"), runRoot);
  if (manifest.get("bundle_id") !== runRoot) refuse("AF629", `the bundle id is ${manifest.get("bundle_id")}, but the run root is ${runRoot}`);
  passed("totals");
  const root = `sha256:${hexOf(await rootOf(nodes))}`;
  if (ours && (ours.get("merkle_root") !== root || ours.get("tree_size") !== count)) {
    requireKnownDigest("x-affidavit.merkle_root", ours.get("merkle_root"), null);
    refuse("AF630", `manifest.json claims the Merkle root ${ours.get("merkle_root")}, but it is ${root}`);
  }
  passed("merkle", ours ? null : "the bundle has none; times and sources are covered by its digest alone");
  requirePadding(raw, second);
  const extra = nextMember(raw, second.next);
  if (extra) refuseMember(raw, extra);
  const rest = raw.slice(second.next + 512);
  if (rest.length < 512 || rest.slice(0, 512).some((byte) => byte)) refuse("AF601", "the tar archive has no end");
  if (rest.length - 512 >= 10240 || rest.length % 512 || rest.some((byte) => byte)) {
    refuse("AF603", "there is data after the end of the tar archive");
  }
  if (ours && !isSealed) refuse("AF530", "the bundle was compressed again, so the digest of its compressed bytes is gone");
  passed("end");
  return {
    parts: [first.data, events], manifest, times,
    facts: {
      bundle_id: runRoot, run_id: runId, event_count: count,
      manifest_sha256: hexOf(await sha256(first.data)), events_sha256: found,
      ...(ours ? { merkle_root: root, tree_size: count } : {}),
    },
  };
}
async function verifyBundle(bytes) {
  const steps = [], names = [...Object.keys(BUNDLE_STEPS), "statements", "packs"];
  const done = (status, detail, code = null) =>
    steps.push({ number: steps.length + 1, name: names[steps.length], status, detail, code });
  const result = { kind: "bundle", steps, valid: false, code: null };
  try {
    const { facts } = await readBundle(bytes, (name, skipped) => done(skipped ? "skipped" : "passed", skipped ?? BUNDLE_STEPS[name]));
    done("skipped", "what the manifest says about its events beyond that is compared by `affidavit verify`");
    done("skipped", "packs are run by `affidavit verify`");
    result.valid = true;
    result.said = `${facts.event_count} events of ${facts.run_id}, manifest sha256:${facts.manifest_sha256}`;
  } catch (error) {
    result.code = error instanceof Refused ? error.code : "AF601";
    done("failed", error.message, result.code);
    while (steps.length < names.length) done("not_checked", "not looked at, because an earlier step failed");
  }
  return result;
}

const isGzip = (bytes) => bytes[0] === 0x1f && bytes[1] === 0x8b;
async function checkSubject(statement, subject) {
  if (!subject) refuse("AF713", `the file that the statement is about is not here: ${statement.subjects[0].name}`);
  const bundle = isGzip(subject) ? await readBundle(subject) : null;
  const files = statement.type === TYPES.assay || !bundle ? [subject]
    : [subject, ...bundle.parts];
  if (files.length !== statement.subjects.length) refuse("AF706", "the statement is not about this file");
  for (const [at, bytes] of files.entries()) {
    const right = [], wrong = [];
    for (const [name, value] of statement.subjects[at].digests) {
      (hexOf(await digest(NAMES[name], bytes)) === value ? right : wrong).push(name);
    }
    if (right.length && wrong.length) refuse("AF709", `the ${wrong[0]} does not match, although another does`);
    if (wrong.length) refuse("AF706", "the statement is not about this file");
  }
  return bundle;
}
// What a document says of itself. Whether its verdicts follow is replayed by the command.
const STATED = {
  receipt: ["receipt_id", "issuer", "generated_at", "verdict"], report: ["schema_version", "kind", "decision"],
  ledger: ["ledger_id", "schema_version", "generated_at", "answer_digest", "rules_digest"],
};
function statedFacts(subject) {
  const value = parseJson(subject);
  if (!isMap(value)) refuse("AF714", "it is not a bundle, a receipt, a ledger or a gate report");
  const kind = value.get("schema") === "answer/v1" ? "receipt" : value.has("ledger_id") ? "ledger" : "report";
  const stated = STATED[kind].map((name) => [name, value.get(name)]).filter(([, text]) => isText(text));
  return { kind, facts: Object.fromEntries(stated) };
}
// Times as Assay writes them: with as many thirds of digits of a second as needed.
const nanoseconds = (text) => {
  const [, whole, fraction = "", zone] = /^(.{19})(?:\.(\d+))?(.+)$/.exec(text);
  return BigInt(Date.parse(whole.replace(" ", "T") + zone)) * 1000000n + BigInt(fraction.slice(0, 9).padEnd(9, "0"));
};
function assayTime(total) {
  const digits = String(total % 1000000000n).padStart(9, "0").replace(/(000){1,3}$/, "");
  return `${new Date(Number(total / 1000000n)).toISOString().slice(0, 19)}${digits && "."}${digits}Z`;
}
function assayFacts({ manifest, times, facts }) {
  const sorted = times.map(nanoseconds).sort((one, other) => (one < other ? -1 : 1)), producer = manifest.get("producer");
  return {
    schema_version: 1, semantic_equivalence: { algorithm: "assay-run-root-v1", value: facts.bundle_id },
    run: {
      run_id: facts.run_id, event_count: facts.event_count,
      producer: { name: producer.get("name"), version: producer.get("version"), git: producer.get("git") ?? "" },
      time_window: { start: assayTime(sorted[0]), end: assayTime(sorted.at(-1)) },
    },
  };
}
function requireFacts(stated, facts, path, isWhole) {
  for (const [name, value] of Object.entries(facts)) {
    const said = isMap(stated) ? stated.get(name) : undefined;
    if (typeof value === "object" && value !== null) requireFacts(said, value, `${path}.${name}`, isWhole);
    else if (said !== value) refuse("AF711", `the statement says ${said} for ${path}.${name}, and the file gives ${value}`);
  }
  if (isWhole && stated.size !== Object.keys(facts).length) refuse("AF711", `the statement says more in ${path} than the file gives`);
}
function checkPredicate({ type, predicate }, bundle, subject) {
  if (type === TYPES.assay && !bundle) refuse("AF715", "there is no predicate assay for it: only a bundle has one");
  if (type === TYPES.assay) {
    requireFacts(predicate, assayFacts(bundle), "predicate", true);
    return ["passed", "every member was computed again from the file, and is equal"];
  }
  if (type !== TYPES.affidavit) return ["skipped", "not computed again here; `affidavit verify` does"];
  const { kind, facts } = bundle ? { kind: "bundle", facts: bundle.facts } : statedFacts(subject);
  requireFacts(predicate, { kind, [kind]: facts }, "predicate", false);
  return ["skipped", bundle ? "identity, digests and Merkle root are those of the file; packs were not run here"
    : "it is what the file says of itself; nothing was replayed here"];
}

const STEPS = ["envelope", "signatures", "time_stamp", "keys", "log", "statement", "subject", "predicate", "policy"];
const UNKNOWN = new Set(["AF692", "AF693", "AF334", "AF703", "AF704", "AF708", "AF713", "AF725", "AF321", "AF325", "AF347", "AF380"]);

async function verifyAttestation(bytes, { keys, threshold, logKey, subject, now }) {
  const steps = [], result = { kind: "attestation", steps, valid: false, code: null };
  const done = (status, detail, code = null) =>
    steps.push({ number: steps.length + 1, name: STEPS[steps.length], status, detail, code });
  try {
    const document = parseJson(bytes);
    const media = document instanceof Map ? document.get("mediaType") : null;
    let envelope;
    if (typeof media === "string" && media.startsWith("application/vnd.dev.sigstore.bundle")) {
      if (media !== "application/vnd.dev.sigstore.bundle.v0.3+json") refuse("AF701", "another version");
      envelope = readEnvelope(document.get("dsseEnvelope") ?? refuse("AF701", "it has no dsseEnvelope"));
      if (envelope.signatures.length !== 1) refuse("AF700", "a Sigstore bundle has exactly one signature");
      const hint = document.get("verificationMaterial")?.get("publicKey")?.get("hint");
      if (hint !== (envelope.signatures[0].id ?? "")) refuse("AF701", "its hint is another key id");
    } else {
      envelope = readEnvelope(document);
    }
    if (!PAYLOAD.test(envelope.type)) refuse("AF692", `the payload type ${envelope.type} is not supported`);
    done("passed", `${envelope.type}, ${envelope.payload.length} bytes`);
    const signers = await signersOf(envelope, keys);
    if (!signers.length) refuse("AF334", `${envelope.signatures[0].id ?? "its key"} is not one of the trusted keys`);
    if (signers.length < threshold) refuse("AF695", `${signers.length} different keys signed, not ${threshold}`);
    done("passed", `signed by ${signers.map((key) => key.id).join(", ")}`);
    done("skipped", envelope.stamps.length
      ? "time stamps are not checked in a browser, so no time is proved" : "there is none, so no time is proved");
    signers.forEach((key) => requireUsable(key, now));
    done("passed", "every key may be believed for what it signed");
    if (!logKey) {
      done("skipped", envelope.proofs.length ? "no log is named to check it with" : "there is no proof of a log");
    } else {
      if (!envelope.proofs.length) refuse("AF725", "a proof of a log is required, and the envelope has none");
      const entry = await entryOf(envelope);
      let found = "";
      const known = envelope.proofs.filter((proof) => isProofOf(String(proof), logKey));
      for (const proof of known.length ? known : envelope.proofs) found = await checkProof(String(proof), entry, logKey);
      done("passed", found);
    }
    const statement = readStatement(envelope);
    done("passed", statement.type);
    const bundle = await checkSubject(statement, subject);
    done("passed", "the digests are those of the file");
    done(...checkPredicate(statement, bundle, subject));
    done("skipped", "a policy is checked by `affidavit verify --policy`");
    result.valid = true;
    result.said = `${signers.map((key) => key.id).join(", ")} attested ${statement.subjects[0].name}`;
  } catch (error) {
    const code = error instanceof Refused ? error.code : "AF690";
    result.code = code;
    done(UNKNOWN.has(code) ? "not_checked" : "failed", error.message, code);
    while (steps.length < STEPS.length) done("not_checked", "not looked at, because an earlier step failed");
  }
  return result;
}

// A receipt: anchor, id, signature and key. Evidence and verdicts are replayed by the command.
const CLOCK_SKEW = 5000;
const NUMBERS = { anchor: 1, receipt_id: 2, signature: 3, key_lifecycle: 3, evidence: 4, replay: 5 };
const ANCHORS = { self_anchor: ["digest_sha256", "status"], rfc3161: ["digest_sha256", "status", "token"] };
const isTime = (text) => typeof text === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text)
  && !Number.isNaN(Date.parse(text));
const namesOf = (value, remarks) => value instanceof Map
  ? [...value.keys()].filter((name) => !remarks.includes(name)).sort().join() : "";
const without = (receipt, ...names) =>
  UTF8.encode(canonical(new Map([...receipt].filter(([name]) => !names.includes(name))), SORTED_COMPACT));

async function receiptSteps(receipt, { keys, now }) {
  if (!(receipt instanceof Map)) refuse("AF320", "it is not a JSON object");
  if (typeof receipt.get("schema") !== "string") refuse("AF320", "schema: it is not a text");
  if (receipt.get("schema") !== "answer/v1") refuse("AF321", `the schema ${receipt.get("schema")} is not supported`);
  if (typeof receipt.get("receipt_id") !== "string") refuse("AF320", "receipt_id: it is not a text");
  if (!isTime(receipt.get("generated_at"))) refuse("AF320", "generated_at: it is not a time like 2026-01-31T14:30:00Z");
  const anchor = receipt.get("anchor"), known = ANCHORS[anchor?.get?.("status")];
  if (receipt.has("anchor") && typeof anchor?.get?.("status") !== "string") refuse("AF320", "anchor: it has no status");
  if (known && namesOf(anchor, ["how", "note"]) !== known.join()) refuse("AF320", `anchor: it is not {${known}}`);
  if (known && !/^[0-9a-f]{64}$/.test(anchor.get("digest_sha256"))) refuse("AF320", "anchor: digest_sha256 is none");
  if (known?.includes("token") && !findBase64(anchor.get("token"))) refuse("AF347", "anchor.token: it is not base64");
  const block = receipt.get("signature");
  if (namesOf(block, ["ephemeral_key"]) !== "alg,canonicalization,key_id,sig") {
    refuse("AF320", "signature: it is not {alg, key_id, canonicalization, sig}");
  }
  const id = block.get("key_id"), made = Date.parse(receipt.get("generated_at"));
  if (typeof id !== "string" || typeof block.get("sig") !== "string") refuse("AF320", "signature: key_id and sig are texts");

  const steps = [], done = (name, status, detail, code = null) =>
    steps.push({ number: NUMBERS[name], name, status, detail, code });
  const anchored = hexOf(await sha256(without(receipt, "anchor")));
  if (known && anchor.get("digest_sha256") !== anchored) {
    done("anchor", "failed", `the anchor claims sha256 ${anchor.get("digest_sha256")}, but the content has ${anchored}`, "AF324");
  } else if (made > now + CLOCK_SKEW) {
    done("anchor", "not_checked", `the receipt claims to be issued at ${receipt.get("generated_at")}, which is after now`, "AF325");
  } else if (!anchor) {
    done("anchor", "skipped", "there is no anchor, so no time is proved");
  } else if (!known) {
    done("anchor", "not_checked", `the anchor is of a kind that is not known: ${anchor.get("status")}`, "AF380");
  } else if (anchor.has("token")) {
    done("anchor", "skipped", "the digest holds; time stamps are not checked in a browser, so no time is proved");
  } else {
    done("anchor", "passed", "the digest holds; nobody else has stamped it, so no time is proved");
  }
  const stated = receipt.get("receipt_id");
  const found = `ans_${hexOf(await sha256(without(receipt, "anchor", "signature", "receipt_id"))).slice(0, 16)}`;
  if (stated === found) done("receipt_id", "passed", `the content has the id ${found}`);
  else done("receipt_id", "failed", `the receipt claims the id ${stated}, but its content has the id ${found}`, "AF322");
  const key = keys.find((each) => each.id === id), raw = fromUrl(block.get("sig"));
  const signed = without(receipt, "anchor", "signature");
  if (block.get("alg") !== "Ed25519" || block.get("canonicalization") !== "json-sorted-compact") {
    done("signature", "failed", `the signature is ${block.get("alg")} over ${block.get("canonicalization")}`, "AF378");
  } else if (!key) {
    done("signature", "not_checked", `${id} is not one of the trusted keys`, "AF334");
  } else if (!raw || !await holds(key.raw, raw, signed)) {
    done("signature", "failed", `the signature by ${id} is not valid for this content`, "AF323");
  } else {
    done("signature", "passed", `${id} signed this content`);
  }
  if (steps.at(-1).status !== "passed") {
    done("key_lifecycle", "skipped", "no signature holds, so there is no key to judge");
  } else {
    done("key_lifecycle", ...receiptKey(key, made));
  }
  done("evidence", "skipped", "digests of evidence are compared by `affidavit verify`");
  done("replay", "skipped", "verdicts are not replayed in a browser; `affidavit verify` does");
  return steps;
}
// The time that a receipt states can count against it, never for it.
function receiptKey(key, made) {
  if (!key.lives.length) return ["skipped", `your keys have no lifecycle of ${key.id}: name a registry`];
  let unsure = null;
  for (const life of key.lives) {
    const time = (name) => life.get(name) ? Date.parse(life.get(name)) : null, status = life.get("status");
    if (life.get("use") !== "receipt-signing") return ["failed", `${key.id} is for ${life.get("use")}`, "AF336"];
    if (made < time("active_from")) return ["failed", `${key.id} was made later`, "AF335"];
    if (status === "compromised") return ["failed", `others may sign with ${key.id}, and no time stamp is checked here`, "AF335"];
    if (status !== "active" && made > (time("retired_at") ?? time("active_from"))) {
      return ["failed", `${key.id} was retired at ${life.get("retired_at")}`, "AF335"];
    }
    if (status !== "active") unsure = `${key.id} was retired; only the receipt itself states that it was signed before`;
  }
  return unsure ? ["not_checked", unsure, "AF335"] : ["passed", `${key.id} is in use`];
}
async function verifyReceipts(document, trust) {
  const linked = document.size === 1 && Array.isArray(document.get("receipts")) ? document.get("receipts") : null;
  const kind = "receipt", steps = [];
  try {
    for (const [at, receipt] of (linked ?? [document]).entries()) {
      for (const each of await receiptSteps(receipt, trust)) {
        steps.push(linked ? { ...each, detail: `receipt ${at + 1}: ${each.detail}` } : each);
      }
    }
    if (linked && !linked.length) refuse("AF320", "it is not {receipts} with a list of receipts");
  } catch (error) {
    const code = error instanceof Refused ? error.code : "AF320";
    const status = UNKNOWN.has(code) ? "not_checked" : "failed";
    return { kind, valid: false, code, steps: [...steps, { number: 1, name: "receipt", status, code, detail: error.message }] };
  }
  if (linked) {
    steps.push({ number: 5, name: "links", status: "skipped", code: null, detail: "whether all are there is told by `affidavit verify`" });
  }
  const wrong = steps.find((each) => each.status === "failed") ?? steps.find((each) => each.status === "not_checked");
  const said = (linked ?? [document]).map((each) => `${each.get("signature").get("key_id")} signed ${each.get("receipt_id")}`);
  return { kind, valid: !wrong, code: wrong?.code ?? null, steps, ...(wrong ? {} : { said: said.join(", ") }) };
}

// The proof that an event is under a Merkle root that the reader trusts.
const hexDigest = (text) => /^sha256:([0-9a-f]{64})$/.exec(text)?.[1] ?? refuse("AF045", `${text} is not a digest`);
const PROOF_MEMBERS = ["event", "manifest_digest", "merkle", "merkle_root", "path", "schema", "tree_size"];
async function checkEventProof(proof, subject, root) {
  if (!subject || !root) refuse("AF633", "choose the event as what it is about, and give the root that you trust");
  const isFirst = proof.get("schema") === "affidavit-proof/1";
  const members = PROOF_MEMBERS.filter((name) => !isFirst || name !== "manifest_digest");
  const path = proof.get("path"), size = proof.get("tree_size"), index = proof.get("event");
  if (namesOf(proof, isFirst ? ["bundle_id", "run_id", "manifest"] : ["manifest"]) !== members.join()
    || !Array.isArray(path) || !Number.isInteger(size) || !Number.isInteger(index)) {
    refuse("AF633", `it is not {${members}}`);
  }
  if (proof.get("merkle") !== "rfc6962-sha256") refuse("AF633", "it is of another kind of tree");
  const event = parseJson(subject);
  if (!(event instanceof Map)) refuse("AF633", "the event is not a JSON object");
  if (event.get("assayseq") !== index) refuse("AF634", `the event is not number ${index}`);
  const nodes = path.map((text) => Uint8Array.from(hexDigest(text).match(/../g), (pair) => parseInt(pair, 16)));
  const found = await rootFromPath(await leafOf(UTF8.encode(canonical(event, JCS))), index, size, nodes);
  if (!found) refuse("AF634", "no tree of this size has such a path");
  if (hexOf(found) !== hexDigest(root)) refuse("AF634", `event and path lead to sha256:${hexOf(found)}, not to ${root}`);
  if (proof.get("merkle_root") !== root) refuse("AF634", "it is a proof for another root");
  return `event ${index} of ${event.get("assayrunid")} is under ${root}; how many events there are is not covered`;
}

// Verify whatever the file is. Nothing in it is trusted, and nothing is fetched.
async function verifyFile(bytes, options = {}) {
  const trust = { keys: [], threshold: 1, logKey: null, subject: null, root: null, now: Date.now(), ...options };
  trust.keys = withLives(trust.keys);
  const step = async (kind, name, check) => {
    try {
      const detail = await check();
      return { kind, valid: true, code: null, said: detail, steps: [{ number: 1, name, status: "passed", code: null, detail }] };
    } catch (error) {
      const code = error instanceof Refused ? error.code : "AF601";
      const failed = { number: 1, name, status: "failed", code, detail: error.message };
      return { kind, valid: false, code, steps: [failed] };
    }
  };
  if (isGzip(bytes)) return verifyBundle(bytes);
  const start = new TextDecoder().decode(bytes.slice(0, 22));
  if (start === "c2sp.org/tlog-proof@v1") {
    return step("log_proof", "log", () =>
      checkProof(new TextDecoder().decode(bytes), null, trust.logKey ?? refuse("AF721", "name the key of the log")));
  }
  let document = null;
  try { document = parseJson(bytes, (text) => new Numeral(text)); } catch { /* The reader of attestations says it. */ }
  if (document instanceof Map && !document.has("payloadType") && !document.has("mediaType")) {
    if (/^affidavit-proof\/[12]$/.test(document.get("schema"))) {
      return step("event_proof", "proof", () => checkEventProof(parseJson(bytes), trust.subject, trust.root));
    }
    if (document.has("schema") || document.has("receipt_id") || document.has("receipts")) return verifyReceipts(document, trust);
  }
  return verifyAttestation(bytes, trust);
}

// The page.
async function run() {
  const read = async (name) => {
    const file = document.getElementById(name).files[0];
    return file ? new Uint8Array(await file.arrayBuffer()) : null;
  };
  const file = await read("file"), output = document.getElementById("result");
  if (!file) return;
  output.replaceChildren();
  const line = (text, className) => {
    const made = document.createElement("p");
    made.textContent = text;
    made.className = className;
    output.append(made);
  };
  try {
    const keys = [];
    for (const each of document.getElementById("keys").files) {
      keys.push(...await readKeys(new Uint8Array(await each.arrayBuffer())));
    }
    const logText = document.getElementById("log").value;
    const found = await verifyFile(file, {
      keys, threshold: Math.max(1, Number(document.getElementById("threshold").value) || 1),
      logKey: logText.trim() ? await readLogKey(logText) : null, subject: await read("subject"),
      root: document.getElementById("root").value.trim() || null,
    });
    const table = document.createElement("table");
    for (const each of found.steps) {
      const row = table.insertRow();
      row.className = each.status;
      for (const cell of [each.number, each.name, each.status.replace("_", " "), each.code ?? "", each.detail]) {
        row.insertCell().textContent = cell;
      }
    }
    const unknown = !found.valid && !found.steps.some((each) => each.status === "failed");
    const skipped = found.steps.filter((each) => each.status === "skipped").map((each) => each.name.replace("_", " "));
    line(found.valid ? `What was checked holds: ${found.said}` : unknown ? "Could not tell" : `Does not hold (${found.code})`,
      found.valid ? "passed" : unknown ? "not_checked" : "failed");
    output.append(table);
    if (found.valid && skipped.length) {
      line(`Not checked on this page: ${skipped.join(", ")}. \`affidavit verify\` checks them.`, "not_checked");
    }
    if (found.valid) line("A signature proves who said it, not that it is true.", "note");
  } catch (error) {
    line(`${error.code ?? ""} ${error.message}`, "failed");
  }
}
globalThis.affidavit = { verifyFile, readKeys, readLogKey };
addEventListener("DOMContentLoaded", () => {
  for (const input of document.querySelectorAll("input")) input.addEventListener("change", run);
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    const target = event.target.closest("label")?.querySelector("input[type=file]") ?? document.getElementById("file");
    target.files = event.dataTransfer.files;
    run();
  });
});

// What a JSON Schema says about a place of a document: names, texts, values.

import type { PathPart } from "../../core/definitions/places.ts";

/** A schema; `true` and `false` say nothing about names. */
export type Schema = Record<string, unknown>;

/** A name that an object may have. */
export interface SchemaName {
  name: string;
  text: string;
  type: string;
  isRequired: boolean;
}

/** Steps through references and conditions at one place. */
const MOST_STEPS = 400;

const isSchema = (value: unknown): value is Schema => typeof value === "object" && value !== null && !Array.isArray(value);
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function resolve(root: Schema, reference: unknown): Schema | null {
  if (typeof reference !== "string" || !reference.startsWith("#/")) return null;
  let found: unknown = root;
  for (const part of reference.slice(2).split("/")) found = isSchema(found) ? found[part] : undefined;
  return isSchema(found) ? found : null;
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

/** Returns whether a value meets the condition of a schema, as far as conditions of ours go. */
function meets(root: Schema, condition: unknown, value: unknown): boolean {
  if (!isSchema(condition)) return condition !== false;
  const target = resolve(root, condition["$ref"]);
  if (target !== null) return meets(root, target, value);
  const object = isSchema(value) ? value : {};
  const types = [condition["type"]].flat().filter((type) => type !== undefined);
  const type = typeOf(value);
  if (types.length > 0 && !types.includes(type) && !(type === "integer" && types.includes("number"))) return false;
  if (listOf(condition["required"]).some((name) => !(String(name) in object))) return false;
  if (condition["const"] !== undefined && condition["const"] !== value) return false;
  if (Array.isArray(condition["enum"]) && !condition["enum"].includes(value)) return false;
  const properties = isSchema(condition["properties"]) ? condition["properties"] : {};
  return Object.entries(properties).every(([name, inner]) => !(name in object) || meets(root, inner, object[name]));
}

/** Returns the schemas that hold for a value: the schema itself and what it refers to. */
export function expand(root: Schema, schema: unknown, value: unknown): Schema[] {
  const found: Schema[] = [];
  const open: unknown[] = [schema];
  for (let steps = 0; open.length > 0 && steps < MOST_STEPS; steps++) {
    const next = open.shift();
    if (!isSchema(next) || found.includes(next)) continue;
    found.push(next);
    open.push(resolve(root, next["$ref"]));
    if (next["if"] !== undefined) open.push(meets(root, next["if"], value) ? next["then"] : next["else"]);
    open.push(...listOf(next["allOf"]));
    const choices = [...listOf(next["anyOf"]), ...listOf(next["oneOf"])];
    const fitting = choices.filter((choice) => value === undefined || !isSchema(choice) || meetsType(root, choice, value));
    open.push(...fitting);
  }
  return found;
}

function meetsType(root: Schema, choice: Schema, value: unknown): boolean {
  const target = resolve(root, choice["$ref"]) ?? choice;
  const types = [target["type"]].flat().filter((type) => type !== undefined);
  const type = typeOf(value);
  return types.length === 0 || types.includes(type) || (type === "integer" && types.includes("number"));
}

const memberOf = (value: unknown, part: PathPart): unknown =>
  Array.isArray(value) ? value[Number(part)] : isSchema(value) ? value[String(part)] : undefined;

/** Returns the schemas that hold at a path of a document. */
export function schemasAt(root: Schema, document: unknown, path: readonly PathPart[]): Schema[] {
  let value = document;
  let schemas = expand(root, root, value);
  for (const part of path) {
    const inner: unknown[] = [];
    for (const schema of schemas) {
      const properties = schema["properties"];
      if (typeof part === "string" && isSchema(properties) && part in properties) inner.push(properties[part]);
      else if (typeof part === "string") inner.push(schema["additionalProperties"]);
      else inner.push(listOf(schema["prefixItems"])[part] ?? schema["items"]);
    }
    value = memberOf(value, part);
    schemas = inner.flatMap((schema) => expand(root, schema, value));
  }
  return schemas;
}

/** Returns the text of a place: its descriptions, its default. */
export function textAt(schemas: readonly Schema[]): string {
  const texts = schemas.map((schema) => schema["description"]).filter((text): text is string => typeof text === "string");
  const unset = schemas.find((schema) => "default" in schema);
  return [...new Set(texts), ...(unset === undefined ? [] : [`= ${JSON.stringify(unset["default"])}`])].join("\n");
}

/** Returns the type of a place, such as `object` or `text or null`. */
export function typeAt(schemas: readonly Schema[]): string {
  const types = schemas.flatMap((schema) => [schema["type"]].flat()).filter((type): type is string => typeof type === "string");
  return [...new Set(types)].filter((type, _, all) => type !== "null" || all.length === 1).join(" | ");
}

/** Returns the names that an object at a place may have. */
export function namesAt(root: Schema, schemas: readonly Schema[]): SchemaName[] {
  const names = new Map<string, SchemaName>();
  const required = new Set(schemas.flatMap((schema) => listOf(schema["required"])));
  for (const schema of schemas) {
    if (!isSchema(schema["properties"])) continue;
    for (const [name, inner] of Object.entries(schema["properties"])) {
      const known = names.get(name);
      if (name === "$schema" || (known !== undefined && known.text !== "")) continue;
      const inside = expand(root, inner, undefined);
      names.set(name, { name, text: textAt(inside), type: typeAt(inside), isRequired: required.has(name) });
    }
  }
  return [...names.values()];
}

/** Returns the values that a place offers. */
export function valuesAt(schemas: readonly Schema[]): unknown[] {
  const values: unknown[] = [];
  for (const schema of schemas) {
    if (Array.isArray(schema["enum"])) values.push(...schema["enum"]);
    if (schema["const"] !== undefined) values.push(schema["const"]);
    if ([schema["type"]].flat().includes("boolean")) values.push(true, false);
  }
  if (values.length === 0) {
    for (const schema of schemas) values.push(...listOf(schema["examples"]).filter((example) => typeof example !== "object"));
  }
  return [...new Set(values)];
}

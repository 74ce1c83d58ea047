import type { ClaimCondition } from '../../db/tables/federated_credentials.js';
import { jsonObject, type JsonObject } from '../../lib/json-object.js';
import { own } from '../../lib/named.js';

/**
 * The claim of a name, whose dots reach inside: `kubernetes.io.namespace` is the member `namespace` of the claim `kubernetes.io`. A name that a claim has
 * as it stands goes before one that its dots make.
 */
export function claimAt(claims: JsonObject, name: string): unknown {
  const whole = own(claims, name);
  if (whole !== undefined) return whole;
  for (let dot = name.lastIndexOf('.'); dot > 0; dot = name.lastIndexOf('.', dot - 1)) {
    const outer = jsonObject(own(claims, name.slice(0, dot)));
    if (outer) return claimAt(outer, name.slice(dot + 1));
  }
  return undefined;
}

/** Whether a claim is what the condition says. Platforms write the same fact as text, number or truth value; lists and objects are none of them. */
function fits(value: unknown, condition: ClaimCondition): boolean {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return false;
  const text = String(value);
  if (typeof condition === 'string') return text === condition;
  if ('prefix' in condition) return text.length > condition.prefix.length && text.startsWith(condition.prefix);
  return condition.includes(text);
}

/** The names of the conditions that the claims don't meet. */
export const unmetConditions = (conditions: Readonly<Record<string, ClaimCondition>>, claims: JsonObject): string[] =>
  Object.entries(conditions).flatMap(([name, condition]) => (fits(claimAt(claims, name), condition) ? [] : [name]));

/** Whether no claim can be what both conditions say. */
function exclude(one: ClaimCondition, other: ClaimCondition): boolean {
  if (typeof one === 'object' && 'prefix' in one) {
    if (typeof other !== 'object' || !('prefix' in other)) return exclude(other, one);
    return !one.prefix.startsWith(other.prefix) && !other.prefix.startsWith(one.prefix);
  }
  return [one].flat().every((text) => !fits(text, other));
}

/** Whether a token could meet both: no claim that both name tells them apart. Two credentials that fit the same token prove nobody. */
export const couldBothFit = (one: Readonly<Record<string, ClaimCondition>>, other: Readonly<Record<string, ClaimCondition>>): boolean =>
  Object.entries(one).every(([name, condition]) => {
    const otherValue = own(other, name);
    return otherValue === undefined || !exclude(condition, otherValue);
  });

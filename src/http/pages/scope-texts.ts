import { catalogueOf, type MessageKey } from '../../lib/languages/messages.js';
import type { Words } from './words.js';

/** The standard scopes (OIDC Core 5.4, 11), which the catalogue has words for; `act_at` is no scope. */
const keyOf = (name: string): MessageKey | null =>
  name !== 'act_at' && Object.hasOwn(catalogueOf('en'), `scope.${name}`) ? (`scope.${name}` as MessageKey) : null;

/** A scope in words: a sentence of ours for the standard ones, else the description of its permission, else its name. */
export function scopeText({ t }: Pick<Words, 't'>, name: string, description?: string | null): string {
  const key = keyOf(name);
  return key === null ? description || name : t(key);
}

import { named } from '../../lib/named.js';

/** The standard scopes (OIDC Core 5.4, 11) in the words of the consent page. */
const scopeTexts: Record<string, string> = named({
  openid: 'Know that you are you',
  profile: 'See your name and the rest of your profile',
  email: 'See your email address',
  phone: 'See your phone number',
  address: 'See your postal address',
  roles: 'See your roles',
  offline_access: 'Keep this access while you are away, until you take it back',
});

/** A scope in words: a sentence of ours for the standard ones, else the description of its permission, else its name. */
export function scopeText(name: string, description?: string | null): string {
  return Object.hasOwn(scopeTexts, name) ? (scopeTexts[name] ?? name) : description || name;
}

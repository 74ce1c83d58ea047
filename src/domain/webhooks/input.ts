import { checkUrl, type NetworkPolicy, type UrlProblem } from '../../platform/fetch/guard.js';
import type { ApiErrorCode } from '../../lib/error-codes.js';
import { eventTypes, type EventType } from '../events/catalogue.js';

/** The attributes of a webhook that can be set. `events` are names of the catalogue, or `*` for all but those that come by name only. */
export type WebhookInput = {
  readonly name: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly description?: string | null;
  readonly status?: 'enabled' | 'disabled';
};

/** Why an attribute is refused (422). `path` names the place inside the attribute: the index in `events`. */
export type WebhookProblem = {
  readonly attribute: 'name' | 'url' | 'events' | 'description';
  readonly path: readonly number[];
  readonly code: ApiErrorCode;
  readonly detail: string;
};

/** Every name that `events` may hold. */
export const subscribableEvents: readonly (EventType | '*')[] = ['*', ...eventTypes];

export const maxNameLength = 255;
export const maxDescriptionLength = 1000;

const known: ReadonlySet<string> = new Set(subscribableEvents);
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const controlCharacters = /[\u0000-\u001f\u007f]/;

const urlDetails: Record<UrlProblem, string> = {
  url_invalid: 'must be an absolute URL of at most 2048 characters, without spaces, control characters or backslashes',
  url_scheme: 'must start with https://',
  url_userinfo: 'must not contain a user name or password',
  url_fragment: 'must not contain a fragment (#)',
  url_port: 'must not name a port that belongs to another kind of service',
  url_address: 'must not lead to a loopback, private, link-local or metadata address',
};

/** Why a URL can't be a webhook's destination, as far as the URL alone tells; what its name resolves to is judged at every delivery. */
function webhookUrlProblem(url: string, policy: NetworkPolicy): { code: UrlProblem; detail: string } | null {
  const code = checkUrl(url, policy);
  if (code === null) return null;
  const detail = code === 'url_scheme' && policy.allowPrivateNetwork ? 'must start with https:// or http://' : urlDetails[code];
  return { code, detail };
}

function eventProblems(events: readonly string[]): WebhookProblem[] {
  const at = (path: readonly number[], code: ApiErrorCode, detail: string): WebhookProblem => ({ attribute: 'events', path, code, detail });
  if (events.length === 0) return [at([], 'required', 'must name at least one event type')];
  const problems: WebhookProblem[] = [];
  events.forEach((name, index) => {
    if (!known.has(name))
      problems.push(at([index], 'unknown_event_type', `"${name.slice(0, 100)}" is not in the catalogue of event types`));
    else if (events.indexOf(name) !== index) problems.push(at([index], 'duplicate_value', `"${name}" is listed twice`));
  });
  return problems;
}

function textProblem(attribute: 'name' | 'description', text: string, max: number): WebhookProblem[] {
  const problem = (code: ApiErrorCode, detail: string): WebhookProblem[] => [{ attribute, path: [], code, detail }];
  if (attribute === 'name' && text.trim() === '') return problem('required', 'must not be empty');
  if ([...text].length > max) return problem('too_long', `must have at most ${max} characters`);
  const unwanted = attribute === 'name' ? controlCharacters.test(text) : text.includes('\0');
  return unwanted ? problem('invalid_characters', 'must not contain control characters') : [];
}

/** Problems of the given attributes (partial for a change); empty when there are none. */
export function webhookProblems(input: Partial<WebhookInput>, policy: NetworkPolicy): WebhookProblem[] {
  const url = input.url === undefined ? null : webhookUrlProblem(input.url, policy);
  return [
    ...(input.name === undefined ? [] : textProblem('name', input.name, maxNameLength)),
    ...(url === null ? [] : [{ attribute: 'url' as const, path: [], ...url }]),
    ...(input.events === undefined ? [] : eventProblems(input.events)),
    ...(input.description == null ? [] : textProblem('description', input.description, maxDescriptionLength)),
  ];
}

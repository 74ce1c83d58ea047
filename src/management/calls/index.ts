import { named } from '../../lib/named.js';
import { applyConfig, getConfig, getConfigDrift, planConfig } from './config.js';
import { diagnostics } from './diagnostics.js';
import type { Endpoint } from './endpoint.js';
import { token_preview } from './token_preview.js';

/** What endpoints are listed under in OpenAPI and on the reference page. */
export const endpointGroups: Readonly<Record<string, string>> = named({
  config: 'Configuration as code: an environment as one document with names instead of ids.',
  explanations: 'What a client would get, and why.',
  diagnostics: 'What is wrong with the installation, and what mends it.',
});

/** What of the Management API concerns no single record. Routes, OpenAPI, the reference page and the command line follow from this list; the first word of a command stands in `programs/cli/on-demand.ts` too. */
export const endpoints: readonly Endpoint[] = [getConfig, planConfig, applyConfig, getConfigDrift, diagnostics, token_preview];

export type EndpointsByMethod = Readonly<Record<string, Endpoint>>;

/** @throws when two endpoints share an address or a name, or one stands under nothing */
export function endpointsByPath(all: readonly Endpoint[]): ReadonlyMap<string, EndpointsByMethod> {
  const found = new Map<string, Record<string, Endpoint>>();
  for (const one of all) {
    const known: Record<string, Endpoint> = found.get(one.path) ?? named();
    if (known[one.method]) throw new Error(`there are two endpoints ${one.method} /api/${one.path}`);
    if (endpointGroups[one.group] === undefined) throw new Error(`there is no group ${one.group}`);
    known[one.method] = one;
    found.set(one.path, known);
  }
  if (new Set(all.map(({ name }) => name)).size !== all.length) throw new Error('two endpoints have the same name');
  return found;
}

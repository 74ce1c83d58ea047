import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Router } from 'express';
import { accountRouter } from '../../../src/account/router.js';
import { createApp } from '../../../src/app.js';
import { presentations } from '../../../src/dashboard/pages/index.js';
import { createRender } from '../../../src/dashboard/shell/frame.js';
import { writing } from '../../../src/dashboard/shell/gate.js';
import { collectionRouter, dashboardRouter } from '../../../src/dashboard/shell/router.js';
import type { Methods } from '../../../src/http/routes.js';
import { registry } from '../../../src/management/resources/index.js';
import { approvalsRouter } from '../../../src/oauth/approvals/router.js';
import { addMetadataRoutes, addOauthRoutes, registrationRouter, resourceMetadataRouter } from '../../../src/oauth/router.js';
import { mailboxRouter } from '../../../src/outbox/mail/mailbox.js';
import { samlRouter } from '../../../src/saml/router.js';
import { setupRouter } from '../../../src/setup/router.js';
import { ssoRouter } from '../../../src/sso/router.js';
import type { TestService } from '../service.js';

/** What takes a body of a page's form, a JSON step or an OAuth request, or is read. */
export type Door = { readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'; readonly path: string };

const withBody = ['POST', 'PUT', 'DELETE'] as const;

/** What app.ts mounts; what isn't walked here has a walk of its own, or nothing to read. */
const mounted = 'accountRouter addHealthRoutes addMetadataRoutes addOauthRoutes approvalsRouter dashboardRouter laterRouter mailboxRouter managementRouter referenceRouter registrationRouter resourceMetadataRouter samlRouter scimRouter setupRouter ssfRouter ssoRouter'; // prettier-ignore

/** Every address of the pages and of OAuth that takes a body, or any of the methods, from the routers themselves; `:names` are still in it. @throws for a router that isn't known */
export async function doorsOf(service: TestService, wanted: readonly Door['method'][] = withBody): Promise<Door[]> {
  const source = readFileSync('src/app.ts', 'utf8');
  const names = new Set([...source.matchAll(/\b(?<name>\w+Router|add\w+Routes)\(/g)].map(({ groups }) => groups?.['name'] ?? ''));
  if ([...names].sort().join(' ') !== mounted)
    throw new Error(`app.ts mounts routers that this walk doesn't know: ${[...names].sort().join(' ')}`);
  const { web, close } = createApp(service.deps);
  await close();
  const doors: Door[] = [];
  const note = (path: string, methods: readonly string[]) => {
    for (const method of wanted) if (methods.includes(method.toLowerCase())) doors.push({ method, path });
  };
  const list = { add: (path: string, methods: Methods) => note(path, Object.keys(methods)) };
  addOauthRoutes(list, web);
  addMetadataRoutes(list);
  type Layer = { route?: { path: string; stack: { method?: string }[] } };
  const routers: Router[] = [registrationRouter(web), resourceMetadataRouter(), accountRouter(web), approvalsRouter(web), ssoRouter(web), setupRouter(web), samlRouter(web), dashboardRouter(web), ...presentations.map((one) => collectionRouter(one, createRender(web), writing(web))), mailboxRouter(web)]; // prettier-ignore
  for (const { route } of routers.flatMap(({ stack }) => stack as Layer[]))
    if (route) note(route.path, [...new Set(route.stack.flatMap(({ method }) => method ?? []))]);
  return doors;
}

/** Addresses that are nothing without their query: what they show is named there. */
const queries: Readonly<Record<string, string>> = {
  '/dashboard/mail_templates/draft': '?name=sign_in_code&locale=en',
  '/dashboard/page_texts/edit': '?group=login&locale=en',
  '/dashboard/page_texts/draft': '?group=login&locale=en',
};

/**
 * The addresses of a door with what its names stand for: each action of a resource, each section of the settings. Actions are in alphabetical order: an
 * authorization that is blocked is still there when it is revoked.
 */
export function addressesOf(path: string, idOf: (collection: string) => string, settings: readonly string[]): string[] {
  const [, collection = ''] = /^\/dashboard\/(\w+)\//.exec(path) ?? [];
  const resource = registry.byPath.get(collection);
  const filled = path
    .replace('/setup/:token', `/setup/${idOf('setup_links')}`)
    .replace('/domains/:id/:verb', `/domains/${idOf('organization_domains')}/verify`)
    .replace('/connection/:verb', '/connection/test')
    .replace('/:id/:verb', `/${idOf('clients')}/verify`)
    .replace(/\/:(?:connection_id|client_id|id)/, (name) => `/${idOf(name === '/:connection_id' ? 'connections' : name === '/:client_id' ? 'clients' : collection)}`); // prettier-ignore
  if (filled.endsWith('/:tab'))
    return Object.keys(resource?.actions ?? {})
      .sort()
      .map((verb) => filled.replace(':tab', verb));
  if (filled.endsWith('/:subject'))
    return (presentations.find((one) => one.path === collection)?.subjects ?? []).map(({ name }) => filled.replace(':subject', name));
  if (filled.endsWith('/:section')) return settings.map((section) => filled.replace(':section', section));
  return [`${filled}${queries[filled] ?? ''}`];
}

/** The page on which the form of an address stands. */
export function pageOf(address: string): string {
  const [, first, second, third] = address.split('/');
  if (second === 'settings' || address.includes('?')) return address;
  if (first !== 'dashboard' || (third !== undefined && !presentations.some(({ path }) => path === second))) return address;
  if (third === undefined) return `${address}/new`;
  return address.split('/').length === 4 && third !== 'invite' ? `${address}/edit` : address;
}

const reads = /\b(?:get|own|field|given|value|\w*[tT]ext|bodyValue)\([^()']*'(?<name>[a-z_]{2,40})'/g;

/** The names of the fields that a feature reads, as far as its sources have them one by one; the others show when they are read (`watchFields`). */
export function fieldsRead(...folders: readonly string[]): string[] {
  const sources = folders.flatMap(
    (folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts')).map((name) => readFileSync(join(folder, name), 'utf8')), // prettier-ignore
  );
  const found = sources.flatMap((source) => [...source.matchAll(reads)].map(({ groups }) => groups?.['name'] ?? ''));
  return [...new Set(found)];
}

/** The names of all fields of a page, those among them that a browser wouldn't send as the page stands. */
export const fieldsOf = (html: string): string[] => [
  ...new Set(
    [...html.matchAll(/<(?:input|select|textarea|button)\b[^>]*?\sname="(?<name>[^"]+)"/g)].map(({ groups }) => groups?.['name'] ?? ''),
  ),
];

import type { SetupPart } from '../../src/db/tables/setup_links.js';
import { Browser } from './browser.js';
import { addOrganization } from './invitations.js';
import { link, type Api, type Document } from './management.js';

export const askForSetupLink = (api: Api, organization: Document, attributes: Document = {}) =>
  api.attempt(
    'setup_links',
    { parts: ['domains', 'connection', 'directory'], ...attributes },
    { organization: link('organization', organization['id']) },
  );

export type TestSetupLink = { readonly organization: Document; readonly record: Document; readonly path: string; readonly inside: string };

/** A link of an organization of its own: its path, and that of its pages once a browser has it. */
export async function addSetupLink(
  api: Api,
  parts: readonly SetupPart[] = ['domains', 'connection', 'directory'],
  attributes: Document = {},
): Promise<TestSetupLink> {
  const organization = await addOrganization(api);
  const { body } = await askForSetupLink(api, organization, { parts, ...attributes });
  const record = body['data'] as Document;
  return { organization, record, path: new URL(record['attributes'].url).pathname, inside: `/setup/${record['id']}` };
}

export async function openedBy(origin: string, { path }: Pick<TestSetupLink, 'path'>): Promise<Browser> {
  const browser = new Browser(origin);
  const answer = await browser.submit(path, {});
  if (answer.status !== 303) throw new Error(`the link was not opened: ${answer.status}`);
  return browser;
}

import { lastMailTo } from './mailbox.js';
import { link, links, type Api, type Document } from './management.js';

let number = 0;

export const addOrganization = (api: Api, attributes: Document = {}): Promise<Document> => {
  number += 1;
  return api.create('organizations', { name: `inviting-${number}`, display_name: `Inviting ${number}`, ...attributes });
};

export type Invited = {
  readonly organization: Document;
  readonly email: string;
  readonly roles?: readonly string[];
  readonly client?: string;
};

export const invite = (api: Api, { organization, email, roles, client }: Invited, attributes: Document = {}) =>
  api.attempt(
    'organization_invitations',
    { email, ...attributes },
    {
      organization: link('organization', organization['id']),
      ...(roles && { roles: links('role', ...roles) }),
      ...(client && { client: link('client', client) }),
    },
  );

/** The path in the last invitation that was mailed to the address. */
export async function invitationPath(origin: string, email: string): Promise<string> {
  const { text } = await lastMailTo(origin, email);
  const path = /\/invitations\/in_[\w-]{43}/.exec(text)?.[0];
  if (path === undefined) throw new Error(`no invitation in "${text}"`);
  return path;
}

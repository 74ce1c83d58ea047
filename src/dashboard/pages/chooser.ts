import type { NextFunction, Request, Response } from 'express';
import { connectionStrategies, type StrategyName } from '../../domain/connections/strategies.js';
import { mailNames, mailSpec } from '../../domain/mail/mails.js';
import { requirePermissions } from '../../management/authorize.js';
import { newDeviceClientPath, kinds } from './clients/client-kinds.js';
import { platforms } from './workloads/platforms.js';
import type { Render } from '../parts/render.js';
import type { Part } from '../parts/page-parts.js';
import { named } from '../../lib/named.js';
import { terms } from '../parts/words.js';

type Tile = { readonly title: string; readonly text: string; readonly path: string };

/** The first step of a wizard: what kind it is to be. With the kind in the address the form follows. */
function chooser(
  render: Render,
  spec: {
    permission: string;
    parameter: string;
    title: string;
    lead: string;
    crumb: { label: string; path: string };
    items: readonly Tile[] | ((req: Request) => readonly Tile[]);
  },
) {
  return (req: Request, res: Response, next: NextFunction): void => {
    requirePermissions(req.call, spec.permission);
    if (new URL(req.originalUrl, 'http://own.invalid').searchParams.has(spec.parameter)) return next();
    const tiles: Part = { kind: 'tiles', title: spec.title, items: typeof spec.items === 'function' ? spec.items(req) : spec.items };
    render(req, res, { title: spec.title, lead: spec.lead, crumbs: [spec.crumb], parts: [tiles] });
  };
}

/** GET /dashboard/clients/new without a kind. */
export const clientChooser = (render: Render) =>
  chooser(render, {
    permission: 'clients:write',
    parameter: 'application_type',
    title: terms.create_a_client,
    lead: 'Step 1 of 3: what are you building? This sets the authentication method and grant types.',
    crumb: { label: terms.clients, path: '/dashboard/clients' },
    items: [
      ...Object.entries(kinds).map(([type, { label, text }]) => ({
        title: label,
        text,
        path: `/dashboard/clients/new?application_type=${type}`,
      })),
      {
        title: 'Device or command line',
        text: 'No browser or keyboard: a TV, a command line, a printer. Users enter a code on their phone.',
        path: newDeviceClientPath,
      },
    ],
  });

/** GET /dashboard/mail_templates/new without a mail. */
export const mailChooser = (render: Render) =>
  chooser(render, {
    permission: 'mail_templates:write',
    parameter: 'name',
    title: terms.create_a_mail_template,
    lead: 'Choose an email to edit. You start from the built-in text.',
    crumb: { label: terms.mail_templates, path: '/dashboard/mail_templates' },
    items: mailNames.map((name) => ({
      title: mailSpec(name).title,
      text: mailSpec(name).sent,
      path: `/dashboard/mail_templates/new?name=${name}`,
    })),
  });

/** GET of a new issuer's or credential's form without a platform; what else the address says goes along. */
const platformChooser = (render: Render, collection: 'trusted_issuers' | 'federated_credentials', title: string, label: string) =>
  chooser(render, {
    permission: `${collection}:write`,
    parameter: 'platform',
    title,
    lead: 'Where does the workload run?',
    crumb: { label, path: `/dashboard/${collection}` },
    items: (req) => {
      const query = new URL(req.originalUrl, 'http://own.invalid').searchParams;
      return Object.entries(platforms).map(([name, { label: platform, text }]) => {
        query.set('platform', name);
        return { title: platform, text, path: `/dashboard/${collection}/new?${query.toString()}` };
      });
    },
  });

/** GET /dashboard/trusted_issuers/new without a platform. */
export const issuerChooser = (render: Render) =>
  platformChooser(render, 'trusted_issuers', terms.add_a_trusted_issuer, terms.trusted_issuers);

/** GET /dashboard/federated_credentials/new without a platform. */
export const credentialChooser = (render: Render) =>
  platformChooser(render, 'federated_credentials', terms.create_a_federated_credential, terms.federated_credentials);

const about: Readonly<Record<string, string>> = named({
  oidc: 'Any provider with a discovery document: Keycloak, Okta, Entra ID, or another instance of this service.',
  google: 'Google accounts, or those of one Workspace organization.',
  microsoft: 'Microsoft and Entra ID accounts.',
  apple: 'Sign in with Apple.',
  github: 'GitHub accounts.',
  oauth2: 'A provider without OpenID Connect: you enter its endpoints.',
  saml: 'Company directories with SAML: Entra ID, Okta, Google Workspace, AD FS.',
} satisfies Record<StrategyName, string>);

/** GET /dashboard/connections/new without a strategy. */
export const connectionChooser = (render: Render) =>
  chooser(render, {
    permission: 'connections:write',
    parameter: 'strategy',
    title: terms.create_a_connection,
    lead: 'Choose a provider.',
    crumb: { label: terms.connections, path: '/dashboard/connections' },
    items: Object.entries(connectionStrategies).map(([name, { display_name }]) => ({
      title: display_name,
      text: about[name] ?? '',
      path: `/dashboard/connections/new?strategy=${name}`,
    })),
  });

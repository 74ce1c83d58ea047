import type { NextFunction, Request, Response } from 'express';
import { connectionStrategies } from '../domain/connections/strategies.js';
import { mailNames, mailSpec } from '../domain/mail/mails.js';
import { requirePermissions } from '../management/authorize.js';
import { devicePath, kinds } from './pages/client-kinds.js';
import { platforms } from './pages/platforms.js';
import type { Render } from './render.js';
import type { Part } from './page-parts.js';
import { named } from '../lib/named.js';
import { sentences, terms } from './words.js';

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
    lead: sentences.step_one,
    crumb: { label: terms.clients, path: '/dashboard/clients' },
    items: [
      ...Object.entries(kinds).map(([type, { label, text }]) => ({
        title: label,
        text,
        path: `/dashboard/clients/new?application_type=${type}`,
      })),
      { title: terms.device_or_command_line, text: sentences.a_television_a_command_line, path: devicePath },
    ],
  });

/** GET /dashboard/mail_templates/new without a mail. */
export const mailChooser = (render: Render) =>
  chooser(render, {
    permission: 'mail_templates:write',
    parameter: 'name',
    title: terms.create_a_mail_template,
    lead: sentences.which_mail_is_to_have,
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
    lead: sentences.where_does_the_workload_run,
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
  oidc: sentences.any_provider_with_a_discovery,
  google: sentences.google_accounts_or_those_of,
  microsoft: sentences.microsoft_and_entra_id_accounts,
  apple: sentences.sign_in_with_apple,
  github: sentences.github_accounts,
  oauth2: sentences.a_provider_without_openid_connect,
});

/** GET /dashboard/connections/new without a strategy. */
export const connectionChooser = (render: Render) =>
  chooser(render, {
    permission: 'connections:write',
    parameter: 'strategy',
    title: terms.create_a_connection,
    lead: sentences.who_is_to_vouch_for,
    crumb: { label: terms.connections, path: '/dashboard/connections' },
    items: Object.entries(connectionStrategies).map(([name, { display_name }]) => ({
      title: display_name,
      text: about[name] ?? '',
      path: `/dashboard/connections/new?strategy=${name}`,
    })),
  });

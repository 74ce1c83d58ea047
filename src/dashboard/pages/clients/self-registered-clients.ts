import type { Request, Response } from 'express';
import { requirePermissions } from '../../../management/authorize.js';
import type { Call } from '../../../management/call.js';
import { perform } from '../../../management/write-steps.js';
import { notFound } from '../../../management/problems.js';
import type { ResourceObject } from '../../../management/documents.js';
import { named, own } from '../../../lib/named.js';
import { strangersName } from '../../../lib/plain-words.js';
import type { Part, TableRow, Value } from '../../parts/page-parts.js';
import { pageTable } from '../../parts/page-tables.js';
import { recordPath } from '../../parts/records/presentation.js';
import type { Render } from '../../parts/render.js';
import { listOf, may, recordOf, resourceOf } from '../../parts/records/objects.js';
import { code, quiet, stack, state, text, time, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

const path = '/dashboard/self_registered_clients';

/** The newest are shown; the list of clients has them all. */
const shown = 50;

/** Where it comes from: its host, or that it registered itself. */
const whose = ({ attributes: a, id }: ResourceObject): Value =>
  a['origin'] === 'metadata_document' ? code(URL.canParse(id) ? new URL(id).host : id) : quiet(terms.dynamic_client_registration);

/** The host, or the scheme of a private one. */
function hostOf(uri: string): string {
  if (!URL.canParse(uri)) return uri;
  const { host, protocol } = new URL(uri);
  return /^https?:$/.test(protocol) ? host : protocol;
}

const hostsOf = ({ attributes: a }: ResourceObject): string =>
  [...new Set((a['redirect_uris'] as string[]).map((uri) => hostOf(uri)))].slice(0, 3).join(', ');

function stateOf(a: ResourceObject['attributes']): Value {
  if (a['status'] !== 'enabled') return state('bad', terms.disabled);
  return a['document_ended_at'] === null ? state('warning', terms.not_verified) : state('bad', 'Metadata document gone');
}

function rowOf(record: ResourceObject, now: Date, writable: boolean): TableRow {
  const { attributes: a, id } = record;
  const name = strangersName(words(a['name']), 60) || 'An application';
  const enabled = a['status'] === 'enabled';
  const at = (verb: string) => `${path}/${encodeURIComponent(id)}/${verb}`;
  const actions = [
    { label: terms.verify, about: name, action: at('verify') },
    { label: enabled ? 'Disable' : 'Enable', about: name, action: at(enabled ? 'disable' : 'enable') },
  ];
  return {
    path: recordPath('clients', id),
    cells: [stack(text(name), whose(record)), text(hostsOf(record)), stateOf(a), time(a['created_at'], now), time(a['last_used_at'], now)],
    ...(writable && { actions }),
  };
}

/** Whether anybody can come, by registering or by a document. */
const isOpen = (a: ResourceObject['attributes']): boolean =>
  a['client_registration_policy'] === 'open' || a['client_id_metadata_documents'] === 'open';

function openText(a: ResourceObject['attributes']): string {
  const registration: Readonly<Record<string, string>> = named({
    initial_access_token: 'Applications register themselves with an initial access token.',
    open: 'Any application can register itself.',
  });
  const documents: Readonly<Record<string, string>> = named({
    allow_list: 'Applications whose metadata document is at a trusted host can connect, and are verified.',
    open: 'Any application with a metadata document can connect.',
  });
  const warned = 'People are warned before they give access, and each API decides whether to accept unverified clients.';
  const ways = [own(registration, words(a['client_registration_policy'])), own(documents, words(a['client_id_metadata_documents']))].filter(
    (one) => one !== undefined,
  );
  if (a['client_registration_policy'] === 'open' && a['client_id_metadata_documents'] === 'open')
    return `Any application can connect: by registering itself, or by a metadata document. ${warned}`;
  if (ways.length === 0) return 'Only administrators can register applications.';
  return [...ways, ...(isOpen(a) ? [warned] : [])].join(' ');
}

/** The switch: two settings, in words. */
function switchPart(req: Request, attributes: ResourceObject['attributes']): Part {
  const open = isOpen(attributes);
  const label = open ? 'Stop letting MCP clients connect' : 'Let MCP clients connect';
  const post = { label, action: path, variant: open ? ('quiet' as const) : ('primary' as const), hidden: { connect: open ? 'off' : 'on' } };
  const add = {
    label: 'Add a client by its document',
    path: '/dashboard/clients/new?application_type=document',
    variant: 'quiet' as const,
  };
  return {
    kind: 'buttons',
    links: may(req.call, 'clients', 'write') ? [add] : [],
    posts: may(req.call, 'environments', 'write') ? [post] : [],
  };
}

/** GET /dashboard/self_registered_clients: the clients that came by themselves and are unverified, and the switch that lets them come. */
export const selfRegisteredClientsPage = (render: Render) => async (req: Request, res: Response) => {
  const { call } = req;
  requirePermissions(call, 'clients:read');
  const { attributes } = (await recordOf(call, 'environments', call.ctx.environment.id)).record;
  const { records } = await listOf(call, 'clients', { filters: { verified: 'false' }, size: shown, sort: '-created_at' });
  const writable = may(call, 'clients', 'write');
  const now = call.ctx.clock.now();
  const table = pageTable({
    id: 'self-registered-clients',
    caption: terms.not_verified,
    columns: [terms.application, 'Redirect hosts', terms.status, 'Registered', terms.last_used],
    rows: records.map((record) => rowOf(record, now, writable)),
    nothing: ['No self-registered clients', 'Applications that registered themselves appear here until you verify them.'],
  });
  render(req, res, {
    title: terms.self_registered_clients,
    lead: 'Applications that registered themselves, such as MCP clients. They are unverified until you verify them.',
    parts: [
      { kind: 'notice', tone: isOpen(attributes) ? 'warning' : 'info', text: openText(attributes) },
      switchPart(req, attributes),
      table,
    ],
  });
};

async function change(call: Call, collection: string, id: string, attributes: Readonly<Record<string, string>>): Promise<void> {
  const resource = resourceOf(call, collection);
  const document = { data: { type: resource.type, id, attributes } };
  await perform(call, { kind: 'update', resource, id, document });
}

/** POST /dashboard/self_registered_clients: lets clients come by themselves, by registering or by a document, or stops that; hosts that are trusted stay so. */
export async function letClientsConnect(req: Request, res: Response): Promise<void> {
  const { call } = req;
  const on = { client_registration_policy: 'open', client_id_metadata_documents: 'open' };
  const { client_id_metadata_hosts: hosts } = call.ctx.environment;
  const off = { client_registration_policy: 'off', client_id_metadata_documents: hosts.length > 0 ? 'allow_list' : 'off' };
  await change(call, 'environments', call.ctx.environment.id, req.form.get('connect') === 'on' ? on : off);
  res.redirect(303, `${path}?done=updated`);
}

/** POST /dashboard/self_registered_clients/{client_id}/{verify, disable or enable} */
export async function decideSelfRegisteredClient(req: Request, res: Response): Promise<void> {
  const { call } = req;
  const id = String(req.params['id'] ?? '');
  const verb = req.params['verb'];
  if (verb === 'verify') await perform(call, { kind: 'act', resource: resourceOf(call, 'clients'), id, name: 'verify' });
  else if (verb === 'disable' || verb === 'enable') await change(call, 'clients', id, { status: `${verb}d` });
  else throw notFound();
  res.redirect(303, `${path}?done=updated`);
}

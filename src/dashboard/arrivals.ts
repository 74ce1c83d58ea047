import type { Request, Response } from 'express';
import { requirePermissions } from '../management/authorize.js';
import type { Call } from '../management/call.js';
import { readInput } from '../management/input.js';
import { actOnRecord, updateRecord } from '../management/operations.js';
import { notFound } from '../management/problems.js';
import type { ResourceObject } from '../management/documents.js';
import { named, own } from '../lib/named.js';
import { strangersName } from '../lib/plain-words.js';
import type { Part, TableRow, Value } from './page-parts.js';
import { recordPath } from './presentation.js';
import type { Render } from './render.js';
import { listOf, may, recordOf, resourceOf } from './resource-objects.js';
import { code, quiet, stack, state, text, time, words } from './values.js';

const path = '/dashboard/arrivals';

/** The newest are shown; the list of clients has them all. */
const shown = 50;

/** Where it comes from: its host, or that it registered itself. */
const whose = ({ attributes: a, id }: ResourceObject): Value =>
  a['origin'] === 'metadata_document' ? code(URL.canParse(id) ? new URL(id).host : id) : quiet('Registered itself');

/** The host, or the scheme of a private one. */
function hostOf(uri: string): string {
  if (!URL.canParse(uri)) return uri;
  const { host, protocol } = new URL(uri);
  return /^https?:$/.test(protocol) ? host : protocol;
}

const hostsOf = ({ attributes: a }: ResourceObject): string =>
  [...new Set((a['redirect_uris'] as string[]).map((uri) => hostOf(uri)))].slice(0, 3).join(', ');

function stateOf(a: ResourceObject['attributes']): Value {
  if (a['status'] !== 'enabled') return state('bad', 'Disabled');
  return a['document_ended_at'] === null ? state('warning', 'Not verified') : state('bad', 'No document any more');
}

function rowOf(record: ResourceObject, now: Date, writable: boolean): TableRow {
  const { attributes: a, id } = record;
  const name = strangersName(words(a['name']), 60) || 'An application';
  const enabled = a['status'] === 'enabled';
  const at = (verb: string) => `${path}/${encodeURIComponent(id)}/${verb}`;
  const actions = [
    { label: 'Verify', about: name, action: at('verify') },
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

/** Who can come, in sentences. */
function toldOf(a: ResourceObject['attributes']): string {
  const registration: Readonly<Record<string, string>> = named({
    initial_access_token: 'Applications register themselves with a registration token.',
    open: 'Any application can register itself.',
  });
  const documents: Readonly<Record<string, string>> = named({
    allow_list: 'Applications whose metadata document is at a host that you trust can come, and are verified.',
    open: 'Any application can come that is described by a metadata document.',
  });
  const warned = 'People are warned before they let one in, and your APIs let in only what they choose to.';
  const ways = [own(registration, words(a['client_registration_policy'])), own(documents, words(a['client_id_metadata_documents']))].filter(
    (one) => one !== undefined,
  );
  if (a['client_registration_policy'] === 'open' && a['client_id_metadata_documents'] === 'open')
    return `Any application can connect: by registering itself, or by a metadata document. ${warned}`;
  if (ways.length === 0) return 'Applications have to be registered by an administrator.';
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

/** GET /dashboard/arrivals: the clients that came by themselves and that nobody vouches for, and the switch that lets them come. */
export function arrivalsPage(render: Render) {
  return async (req: Request, res: Response): Promise<void> => {
    const { call } = req;
    requirePermissions(call, 'clients:read');
    const { attributes } = (await recordOf(call, 'environments', call.ctx.environment.id)).record;
    const { records } = await listOf(call, 'clients', { filters: { verified: 'false' }, size: shown, sort: '-created_at' });
    const writable = may(call, 'clients', 'write');
    const now = call.ctx.clock.now();
    const table: Part = {
      kind: 'table',
      id: 'arrivals',
      caption: 'Not verified',
      heading: true,
      columns: ['Application', 'Sends people to', 'State', 'Came', 'Last used'].map((label) => ({ label })),
      rows: records.map((record) => rowOf(record, now, writable)),
      empty: { title: 'Nobody came', text: 'Applications that came by themselves show here until you verify them.', button: null },
      pager: null,
    };
    render(req, res, {
      title: 'Arrivals',
      lead: 'Applications that came by themselves, such as MCP clients. Nobody vouches for them until you do.',
      parts: [
        { kind: 'notice', tone: isOpen(attributes) ? 'warning' : 'info', text: toldOf(attributes) },
        switchPart(req, attributes),
        table,
      ],
    });
  };
}

/** What PATCH of the attributes does. */
async function change(call: Call, collection: string, id: string, attributes: Readonly<Record<string, string>>): Promise<void> {
  const resource = resourceOf(call, collection);
  const document = { data: { type: resource.type, id, attributes } };
  await updateRecord(call, resource, id, () => readInput(document, resource, id));
}

/** POST /dashboard/arrivals: lets clients come by themselves, by registering or by a document, or stops that; hosts that are trusted stay so. */
export async function letClientsConnect(req: Request, res: Response): Promise<void> {
  const { call } = req;
  const on = { client_registration_policy: 'open', client_id_metadata_documents: 'open' };
  const { client_id_metadata_hosts: hosts } = call.ctx.environment;
  const off = { client_registration_policy: 'off', client_id_metadata_documents: hosts.length > 0 ? 'allow_list' : 'off' };
  await change(call, 'environments', call.ctx.environment.id, req.form.get('connect') === 'on' ? on : off);
  res.redirect(303, `${path}?done=updated`);
}

/** POST /dashboard/arrivals/{client_id}/{verify, disable or enable} */
export async function decideArrival(req: Request, res: Response): Promise<void> {
  const { call } = req;
  const id = String(req.params['id'] ?? '');
  const verb = req.params['verb'];
  if (verb === 'verify') await actOnRecord(call, resourceOf(call, 'clients'), id, 'verify');
  else if (verb === 'disable' || verb === 'enable') await change(call, 'clients', id, { status: `${verb}d` });
  else throw notFound();
  res.redirect(303, `${path}?done=updated`);
}

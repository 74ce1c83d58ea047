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
import { fill, sentences, terms } from './words.js';

const path = '/dashboard/arrivals';

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
  return a['document_ended_at'] === null ? state('warning', terms.not_verified) : state('bad', terms.metadata_document_gone);
}

function rowOf(record: ResourceObject, now: Date, writable: boolean): TableRow {
  const { attributes: a, id } = record;
  const name = strangersName(words(a['name']), 60) || terms.an_application;
  const enabled = a['status'] === 'enabled';
  const at = (verb: string) => `${path}/${encodeURIComponent(id)}/${verb}`;
  const actions = [
    { label: terms.verify, about: name, action: at('verify') },
    { label: enabled ? terms.disable : terms.enable, about: name, action: at(enabled ? 'disable' : 'enable') },
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
    initial_access_token: sentences.applications_register_themselves_with_a,
    open: sentences.any_application_can_register_itself,
  });
  const documents: Readonly<Record<string, string>> = named({
    allow_list: sentences.applications_whose_metadata_document_is,
    open: sentences.any_application_can_come_that,
  });
  const warned = sentences.people_are_warned_before_they;
  const ways = [own(registration, words(a['client_registration_policy'])), own(documents, words(a['client_id_metadata_documents']))].filter(
    (one) => one !== undefined,
  );
  if (a['client_registration_policy'] === 'open' && a['client_id_metadata_documents'] === 'open')
    return fill(sentences.any_application_can_connect_by, { warned });
  if (ways.length === 0) return sentences.applications_have_to_be_registered;
  return [...ways, ...(isOpen(a) ? [warned] : [])].join(' ');
}

/** The switch: two settings, in words. */
function switchPart(req: Request, attributes: ResourceObject['attributes']): Part {
  const open = isOpen(attributes);
  const label = open ? terms.stop_letting_mcp_clients_connect : terms.let_mcp_clients_connect;
  const post = { label, action: path, variant: open ? ('quiet' as const) : ('primary' as const), hidden: { connect: open ? 'off' : 'on' } };
  const add = {
    label: terms.add_a_client_by_its_document,
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
      caption: terms.not_verified,
      heading: true,
      columns: [terms.application, terms.redirect_hosts, terms.status, terms.registered, terms.last_used].map((label) => ({ label })),
      rows: records.map((record) => rowOf(record, now, writable)),
      empty: { title: terms.no_self_registered_clients, text: sentences.applications_that_came_by_themselves, button: null },
      pager: null,
    };
    render(req, res, {
      title: terms.self_registered_clients,
      lead: sentences.applications_that_came_by_themselves_such_as,
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

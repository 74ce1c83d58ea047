import type { Request, Response } from 'express';
import { readableEventTypes } from '../../../domain/reach/reach-of.js';
import { isGoodFor } from '../../../domain/organizations/admission.js';
import { createContext } from '../../../domain/context.js';
import { findEnvironmentById } from '../../../domain/environments/environments.js';
import { findBrowserSession } from '../../../domain/sessions/sessions.js';
import { stepRequiredOfSession } from '../../../domain/sign-ins/session-step.js';
import { listPermissionNamesOfUser } from '../../../db/tables/permissions.js';
import { cookieName, readCookie } from '../../../http/request/cookies.js';
import { authorizeRead, requirePermissions } from '../../../management/authorize.js';
import type { ResourceObject } from '../../../management/documents.js';
import { openEventStream, type StreamReader } from '../../../management/event-stream.js';
import { notFound } from '../../../management/problems.js';
import { followedOf, queryParametersOf } from '../../../management/query.js';
import { permissionFor } from '../../../management/resource.js';
import { requestAddressOf } from '../../../management/routes.js';
import { recordPath, type Presentation } from '../../parts/records/presentation.js';
import { resourceOf } from '../../parts/records/objects.js';
import { code, json, quiet, text, time, words } from '../../parts/values.js';
import { viewerOf } from '../../parts/viewer.js';
import { terms } from '../../parts/words.js';

const path = 'events';

type Payload = { readonly event_id: string; readonly event: string; readonly timestamp: string; readonly data: Record<string, unknown> };

/** What an event is about, by the name that people know it by. */
const aboutOf = ({ data }: Payload): unknown => data['display_name'] ?? data['name'] ?? data['email'] ?? data['domain'] ?? data['user_id'];

const payloadOf = (record: ResourceObject) => record.attributes['payload'] as Payload;

/** The viewer as of now, by the same cookie; looking on is no activity of the session. @throws {ApiError} when they may no longer look */
async function viewerAgain(req: Request, permission: string): Promise<StreamReader> {
  const { ctx, actor } = req.call;
  const environment = await findEnvironmentById(ctx, ctx.environment.id);
  if (!environment) throw notFound();
  const now = createContext(ctx, environment);
  const session = await findBrowserSession(now, readCookie(req, cookieName(req, 'session')) ?? '');
  if (!session || (await stepRequiredOfSession(now, session)) !== 'none' || !(await isGoodFor(now, session, null))) throw notFound();
  const permissions = new Set(await listPermissionNamesOfUser(now.scope, session.user_id, environment.management_audience));
  const viewer = { ...actor, permissions };
  requirePermissions({ actor: viewer }, permission);
  return { ctx: now, actor: viewer };
}

/** GET /dashboard/events/stream: what the list shows of each event that comes. */
export async function followEvents(req: Request, res: Response): Promise<void> {
  const { call } = req;
  const resource = resourceOf(call, path);
  await authorizeRead(call, resource, null);
  const parameters = queryParametersOf(requestAddressOf(req.url).query);
  const session = viewerOf(req);
  await openEventStream(res, {
    reader: call,
    subject: session.user_id,
    followed: followedOf(call, resource, parameters, req.headers['last-event-id']),
    again: { key: session.id, read: () => viewerAgain(req, permissionFor(resource, 'read')) },
    lines({ body }) {
      const payload = JSON.parse(body) as Payload;
      const { event, event_id, timestamp } = payload;
      return `data: ${JSON.stringify({ path: recordPath(path, event_id), event, about: words(aboutOf(payload)), timestamp })}`;
    },
  });
}

export const eventsPresentation: Presentation = {
  path,
  title: terms.events,
  under: 'webhooks',
  one: 'event',
  lead: 'Everything that happens, as webhooks and the events feed tell it. New events appear by themselves.',
  empty: { title: terms.nothing_yet, text: 'The first change to a user, role or application appears here.' },
  live: (filters) => {
    const named = filters['event_type'];
    return `/dashboard/events/stream?${new URLSearchParams({ 'page[after]': 'now', ...(named && { 'filter[event_type]': named }) })}`;
  },
  columns: [
    { label: terms.event, value: ({ attributes: a }) => code(a['event_type']) },
    { label: 'About', value: (record) => text(aboutOf(payloadOf(record))) },
    { label: terms.time, value: ({ attributes: a }, { now }) => time(a['occurred_at'], now) },
  ],
  filters: [
    {
      name: 'event_type',
      label: terms.event_type,
      choices: async ({ req }) => readableEventTypes(req.call.actor).map((value) => ({ value, label: value })),
    },
  ],
  name: ({ attributes: a }) => words(a['event_type']),
  showsId: false,
  summary: (record, { now }) => [
    { label: 'About', value: text(aboutOf(payloadOf(record))) },
    { label: terms.time, value: time(record.attributes['occurred_at'], now) },
    { label: terms.event_id, value: code(record.id, true) },
    { label: 'Payload', value: json(record.attributes['payload']) },
    { label: 'Payload as sent', value: quiet(`${Buffer.byteLength(words(record.attributes['payload_text']))} bytes`) },
  ],
};

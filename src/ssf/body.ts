import type { Request, Response } from 'express';
import { z } from 'zod';
import { OAuthError } from '../errors.js';
import { bodyLimits } from '../http/request/body-limits.js';
import { parseJsonObject, readBytes } from '../http/request/json-body.js';

const mostValues = 5_000;

/** The JSON object of the request, as the schema reads it; members that it doesn't name are ignored (SSF 1.0 8.1). @throws {OAuthError} 400; 413 */
export async function readReceiverJson<T>(req: Request, res: Response, schema: z.ZodType<T>): Promise<T> {
  const parsed = parseJsonObject(await readBytes(req, res, bodyLimits.form), mostValues);
  if (typeof parsed === 'string') throw OAuthError.invalid_request('the body must be a JSON object in UTF-8');
  const read = schema.safeParse(parsed);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw OAuthError.invalid_request(`${issue?.path.join('.') || 'the body'}: ${issue?.message ?? 'is not as it has to be'}`);
}

const text = (max: number) => z.string().max(max);
const streamId = text(255);

/** RFC 9493 3: those formats that name a person here; any other names nobody. */
export const subject = z.looseObject({
  format: text(100),
  iss: text(2048).optional(),
  sub: text(255).optional(),
  email: text(320).optional(),
});
export type SubjectIdentifier = z.infer<typeof subject>;

const delivery = z.union([
  z.object({
    method: z.literal('urn:ietf:rfc:8935'),
    endpoint_url: text(2048),
    authorization_header: text(4096)
      .regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, 'must be visible ASCII characters')
      .nullish(),
  }),
  z.object({ method: z.literal('urn:ietf:rfc:8936') }),
]);

/** What a receiver says of its stream (SSF 1.0 8.1.1). */
export const streamBody = z.object({
  delivery: delivery.optional(),
  events_requested: z.array(text(2048)).max(100).optional(),
  description: text(1000).nullish(),
});
export const changeBody = streamBody.extend({ stream_id: streamId });
export const statusBody = z.object({
  stream_id: streamId,
  status: z.enum(['enabled', 'paused', 'disabled']),
  reason: text(255).optional(),
});
export const subjectBody = z.object({ stream_id: streamId, subject });
export const verifyBody = z.object({ stream_id: streamId, state: text(1000).optional() });

/** RFC 8936 2.2. */
export const pollBody = z.object({
  maxEvents: z.int().min(0).max(1_000_000).default(100),
  returnImmediately: z.boolean().default(false),
  ack: z.array(text(255)).max(2_000).default([]),
  setErrs: z.record(text(255), z.looseObject({ err: text(100).optional(), description: text(1000).optional() })).default({}),
});

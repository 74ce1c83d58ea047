import type { Request } from 'express';
import type { Origin } from '../../domain/origin.js';

/** Where the request comes from, for the mail and the trace that it leaves. */
export function originOf(req: Request): Origin {
  return { ip_address: req.ip ?? null, user_agent: req.headers['user-agent'] ?? null, request_id: req.request_id };
}

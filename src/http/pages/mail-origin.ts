import { isIP } from 'node:net';
import type { Request } from 'express';
import type { Origin } from '../../domain/origin.js';
import { onWayTo } from '../request/return-to.js';
import { languageSoFar } from './language.js';

/**
 * Where the request comes from, for the mail, the session and the trace that it leaves. A proxy in front may pass anything on as an address: only
 * one is kept. Control characters, which a terminal that shows the log would obey, are no part of a browser's name.
 */
export function originOf(req: Request): Origin {
  const ip = req.ip ?? '';
  const user_agent = req.headers['user-agent']?.replaceAll(/\p{Cc}+/gu, ' ') ?? null;
  return {
    ip_address: isIP(ip) === 0 ? null : ip,
    user_agent,
    request_id: req.request_id,
    on_way_to: onWayTo(req),
    looks: req.branded_for ?? null,
    language: () => languageSoFar(req),
  };
}

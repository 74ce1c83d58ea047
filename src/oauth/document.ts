import type { Response } from 'express';
import { publicMaxAgeMs } from '../domain/environments/environments.js';

const cacheControl = `public, max-age=${publicMaxAgeMs / 1000}`;

/**
 * Sends a public JSON document: CORS for every origin, `Cache-Control: public, max-age=300`.
 * @param age_ms how long ago it was last known to be right, when that couldn't be found out now: `Age` takes it off what others may keep (RFC 9111 5.1)
 */
export function sendDocument(res: Response, text: string, age_ms = 0): void {
  if (age_ms > 0) res.setHeader('Age', String(Math.ceil(age_ms / 1000)));
  res.setHeader('Access-Control-Allow-Origin', '*');
  res.setHeader('Cache-Control', cacheControl);
  res.setHeader('Content-Type', 'application/json');
  res.end(text);
}

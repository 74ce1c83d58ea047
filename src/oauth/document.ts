import type { Response } from 'express';

/** Sends a public JSON document: CORS for every origin, `Cache-Control: public, max-age=300`. */
export function sendDocument(res: Response, text: string): void {
  res.setHeader('Access-Control-Allow-Origin', '*');
  res.setHeader('Cache-Control', 'public, max-age=300');
  res.setHeader('Content-Type', 'application/json');
  res.end(text);
}

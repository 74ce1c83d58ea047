import type { Response } from 'express';

/** Answers with a public JSON document that every origin may read and everybody may keep for five minutes. */
export function sendDocument(res: Response, text: string): void {
  res.setHeader('Access-Control-Allow-Origin', '*');
  res.setHeader('Cache-Control', 'public, max-age=300');
  res.setHeader('Content-Type', 'application/json');
  res.end(text);
}

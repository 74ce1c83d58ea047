import { Router, type NextFunction, type Request, type Response } from 'express';
import { expect, test } from 'vitest';
import { laterRouter } from '../../src/http/later-router.js';

const asked = (path: string) => ({ path, url: path, method: 'GET' }) as Request;

/** What becomes of a request: what `next` was told, or `answered`. */
const fate = (handler: ReturnType<typeof laterRouter>, path: string): Promise<unknown> =>
  new Promise((resolve) => {
    const next: NextFunction = (error?: unknown) => resolve(error ?? 'passed on');
    void handler(asked(path), { end: () => resolve('answered') } as unknown as Response, next);
  });

test('only a request below the path loads the router, and many load it once', async () => {
  let loads = 0;
  const handler = laterRouter(async () => {
    loads += 1;
    return Router().get('/admin/users', (_req, res) => void res.end());
  }, '/admin');
  expect(await Promise.all(['/', '/administrators', '/users/admin'].map((path) => fate(handler, path)))).toEqual(
    Array(3).fill('passed on'),
  );
  expect(loads).toBe(0);
  const paths = ['/admin/users', '/admin', '/admin/users'];
  expect(await Promise.all(paths.map((path) => fate(handler, path)))).toEqual(['answered', 'passed on', 'answered']);
  expect(await fate(handler, '/admin/users')).toBe('answered');
  expect(loads).toBe(1);
});

test('a router that could not be loaded is an error of that request, and is tried again by the next', async () => {
  const failure = new Error('too many open files');
  let loads = 0;
  const handler = laterRouter(async () => {
    loads += 1;
    if (loads === 1) throw failure;
    return (_req, res) => void res.end();
  });
  expect(await fate(handler, '/')).toBe(failure);
  expect(await fate(handler, '/')).toBe('answered');
  expect(loads).toBe(2);
});

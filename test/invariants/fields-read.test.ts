// What the walk of forms knows of the fields that are read (test/support/cost/fields-read.ts).
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { request as send } from 'undici';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import { formOrJson } from '../../src/http/request/form.js';
import { own } from '../../src/lib/named.js';
import { watchFields } from '../support/cost/fields-read.js';

const fields = watchFields();
afterAll(() => fields.stop());

const form = 'application/x-www-form-urlencoded';
const json = 'application/json';

test.each([form, json])('a field that is read shows in the walk, however it is read (%s)', async (type) => {
  const app = express().post('/', formOrJson, (req, res) => {
    const body = req.body as Record<string, unknown>;
    req.form.get('by_get');
    own(body, 'by_own');
    z.object({ by_schema: z.string().optional() }).safeParse(body);
    res.json(['by_list'].filter((name) => name in body));
  });
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    fields.watches = true;
    fields.taken();
    const sent = type === json ? '{"sent":"x"}' : 'sent=x';
    const { statusCode, body } = await send(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, { method: 'POST', headers: { 'content-type': type }, body: sent }); // prettier-ignore
    expect([statusCode, await body.json()]).toEqual([200, []]);
    expect([...fields.taken()]).toEqual(expect.arrayContaining(['by_own', 'by_schema', 'by_list', ...(type === form ? ['by_get'] : [])]));
  } finally {
    fields.watches = false;
    server.close();
  }
});

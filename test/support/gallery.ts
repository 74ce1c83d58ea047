/**
 * A server that shows every view with sample models, for looking at them: `npx tsx test/support/gallery.ts [port]`, then open `/`.
 * It speaks the language that the browser asks for. The browser tests use it as well.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import express from 'express';
import { sendFramedMail } from '../../src/http/pages/framed-mail.js';
import { languageOf } from '../../src/http/pages/language.js';
import { createPageRenderer, isForOperators } from '../../src/http/pages/pages.js';
import { createAssets } from '../../src/http/pages/static.js';
import { inLanguage } from './in-language.js';
import { messages, samplePages } from './sample-pages.js';

export type Gallery = { url: string; names: string[]; close(): Promise<void> };

/** Listens on a loopback port; `names` are the paths of the sample pages. `designing` reads the views anew for every page. */
export async function startGallery(port = 0, designing = false): Promise<Gallery> {
  const app = express();
  const assets = createAssets();
  const { renderPage } = createPageRenderer({ assets, cache: !designing });
  app.use(assets.handler);
  app.get('/', (_req, res) => {
    res.type('html').send(`<ul>${[...samplePages.keys()].map((name) => `<li><a href="/${name}">${name}</a>`).join('')}</ul>`);
  });
  app.get('/dev/mailbox/:id', (req, res) => sendFramedMail(res, messages.find(({ id }) => id === req.params.id)?.html ?? ''));
  app.get('/*name', (req, res, next) => {
    const sample = samplePages.get(req.path.slice(1));
    if (!sample) return next();
    const model = isForOperators(sample.view) ? sample.model : inLanguage(languageOf(req), sample.model);
    renderPage(res, sample.view, model, { formAction: ['https://notes.example'], frames: 'holds' });
  });
  const server: Server = createServer(app);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    names: [...samplePages.keys()],
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const gallery = await startGallery(Number(process.argv[2] ?? 0), true);
  console.log(gallery.url);
}

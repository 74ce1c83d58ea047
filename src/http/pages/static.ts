import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import type { Request, RequestHandler, Response } from 'express';
import { named } from '../../lib/named.js';
import { packageRoot } from '../../lib/package-root.js';
import { brandStylesheet } from './brand-stylesheet.js';
import { codedTag, codingFor, createCoded, type Coded } from '../content-coding.js';

const defaultPublicDir = join(packageRoot, 'public');

const types: Record<string, string> = named({
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.ico': 'image/x-icon',
  '.png': 'image/png',
});

const immutable = 'public, max-age=31536000, immutable';

type Asset = { type: string; hash: string; bytes: Buffer; coded: Coded };

export type Assets = {
  /** `account.css` -> `/assets/account-<hash>.css`, an address that may be cached for ever. Throws for a file that isn't there. */
  url(name: string): string;
  /** Answers GET and HEAD below `/assets/` (mount without a prefix); everything else passes on. */
  handler: RequestHandler;
};

const packages = createRequire(import.meta.url);

/**
 * Scripts of packages that pages load, as they are installed: the address under which each is served, its package, and the file in there. With each
 * copy goes the package's licence.
 */
const packaged: readonly { readonly name: string; readonly from: string; readonly file: string }[] = [
  { name: 'webauthn.js', from: '@simplewebauthn/browser', file: 'dist/bundle/index.umd.min.js' },
];

/** A packaged script with its licence before it. */
function readPackaged({ from, file }: (typeof packaged)[number]): Buffer {
  // Its entry is `<package>/script/index.js`.
  const root = dirname(dirname(packages.resolve(from)));
  const licence = readFileSync(join(root, 'LICENSE.md'), 'utf8').trim();
  return Buffer.concat([Buffer.from(`/*!\n${licence}\n*/\n`), readFileSync(join(root, file))]);
}

/**
 * Everything in `public/` (one flat folder) and the packaged scripts, read and hashed now and compressed when first asked for, each once; the files are
 * few and small.
 * @throws {Error} from `url` for a file that isn't there
 */
export function createAssets(options: { publicDir?: string } = {}): Assets {
  const { publicDir = defaultPublicDir } = options;
  const assets = new Map(
    readdirSync(publicDir, { withFileTypes: true })
      .filter((entry) => entry.isFile() && types[extname(entry.name)] !== undefined)
      .map((entry) => [entry.name, load(entry.name, readFileSync(join(publicDir, entry.name)))]),
  );
  for (const script of packaged) assets.set(script.name, load(script.name, readPackaged(script)));

  return {
    url(name) {
      const asset = assets.get(name);
      if (!asset) throw new Error(`no file public/${name}`);
      const extension = extname(name);
      return `/assets/${name.slice(0, -extension.length)}-${asset.hash}${extension}`;
    },
    handler(req, res, next) {
      if (!req.path.startsWith('/assets/') || (req.method !== 'GET' && req.method !== 'HEAD')) return next();
      const path = req.path.slice('/assets/'.length);
      const branded = brandStylesheet(path);
      if (branded !== null) return void sendStylesheet(res, branded);
      const [, base = '', hash, extension = ''] = /^([\w.-]+?)(?:-([0-9a-f]{12}))?(\.\w+)$/.exec(path) ?? [];
      const asset = assets.get(`${base}${extension}`);
      if (!asset) return next();
      return sendAsset(req, res, asset, hash === asset.hash);
    },
  };
}

const load = (name: string, bytes: Buffer): Asset => ({
  type: types[extname(name)] ?? 'application/octet-stream',
  hash: createHash('sha256').update(bytes).digest('hex').slice(0, 12),
  bytes,
  coded: createCoded(bytes),
});

/** Sends an asset: `immutable` for a year under its current hash, else `no-cache` with an ETag. */
async function sendAsset(req: Request, res: Response, asset: Asset, current: boolean): Promise<void> {
  const coding = codingFor(req);
  const body = coding ? await asset.coded(coding) : asset.bytes;
  res.set('X-Content-Type-Options', 'nosniff').set('Content-Type', asset.type).set('Vary', 'Accept-Encoding');
  res.set('Cache-Control', current ? immutable : 'no-cache');
  res.set('ETag', codedTag(`"${asset.hash}"`, coding));
  if (coding) res.set('Content-Encoding', coding);
  res.send(body);
}

function sendStylesheet(res: Response, css: string): void {
  res.set('X-Content-Type-Options', 'nosniff').set('Content-Type', 'text/css; charset=utf-8').set('Cache-Control', immutable);
  res.send(css);
}

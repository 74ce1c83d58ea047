import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import type { Request, RequestHandler, Response } from 'express';
import { contrast, parseHex, readable, shade, textOn } from '../../lib/contrast.js';
import { named } from '../../lib/named.js';
import { packageRoot } from '../../lib/package-root.js';
import { codedTag, codingFor, createCoded, type Coded } from '../content-coding.js';

const defaultPublicDir = join(packageRoot, 'public');

/** The accent of environments without `branding.primary_color`: six hex digits. */
export const defaultAccent = '2b5fc7';

/** The surfaces that accents are checked against: `--surface` and `--ground` of `public/tokens.css`, light and dark. */
const surfaces = { light: ['ffffff', 'f5f6f8'], dark: ['1b1d22', '131519'] } as const;

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
      const accent = /^accent\/([0-9a-f]{6})\.css$/.exec(path)?.[1];
      if (accent) return void sendAccent(res, accent);
      const [, base = '', hash, extension = ''] = /^([\w.-]+?)(?:-([0-9a-f]{12}))?(\.\w+)$/.exec(path) ?? [];
      const asset = assets.get(`${base}${extension}`);
      if (!asset) return next();
      return sendAsset(req, res, asset, hash === asset.hash);
    },
  };
}

/** The stylesheet that carries an environment's colour, since the pages' policy allows no inline style. */
export function accentPath(primaryColor: string | null | undefined): string {
  return `/assets/accent/${(primaryColor && parseHex(primaryColor)) || defaultAccent}.css`;
}

/**
 * The accent tokens for a colour of six hex digits. Fills keep the colour in light mode and are lightened in dark mode, text and
 * links are moved to at least 4.5:1 against every surface (WCAG 2.2, 1.4.3; in dark mode to 6:1, as hues look dimmer there), and text
 * on the fill is black or white by contrast.
 */
export function accentCss(hex: string): string {
  const text = { light: readable(hex, surfaces.light, 4.5, 'black'), dark: readable(hex, surfaces.dark, 6, 'white') };
  const fill = { light: hex, dark: text.dark };
  const on = { light: textOn(fill.light), dark: textOn(fill.dark) };
  const hover = { light: away(fill.light, on.light), dark: away(fill.dark, on.dark) };
  const lines = Object.entries({ accent: fill, 'accent-hover': hover, 'on-accent': on, 'accent-text': text });
  return `@layer tokens{:root{${lines.map(([name, value]) => `--${name}:light-dark(#${value.light},#${value.dark})`).join(';')}}}\n`;
}

/** The hover colour of a fill (six hex digits): lightness moved away from that of the text on it, else towards it; still 4.5:1 to the text. */
function away(fill: string, on: string): string {
  const direction = on === 'ffffff' ? -1 : 1;
  const steps = [0.06, -0.06, -0.12, -0.18, -0.24].map((step) => shade(fill, step * direction));
  return steps.find((step) => contrast(step, fill) >= 1.08 && contrast(step, on) >= 4.5) ?? fill;
}

function load(name: string, bytes: Buffer): Asset {
  return {
    type: types[extname(name)] ?? 'application/octet-stream',
    hash: createHash('sha256').update(bytes).digest('hex').slice(0, 12),
    bytes,
    coded: createCoded(bytes),
  };
}

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

function sendAccent(res: Response, hex: string): void {
  res.set('X-Content-Type-Options', 'nosniff').set('Content-Type', 'text/css; charset=utf-8').set('Cache-Control', immutable);
  res.send(accentCss(hex));
}

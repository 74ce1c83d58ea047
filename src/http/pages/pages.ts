import type { Request, Response } from 'express';
import { brandOf, type BrandedClient, type BrandedEnvironment } from '../../domain/environments/branding.js';
import { createTemplates } from '../../lib/templates.js';
import { isInSignIn } from '../request/return-to.js';
import type { BasePage, PageModels } from './page-models.js';
import { stylesheetPath, type ColorScheme } from './brand-stylesheet.js';
import type { Assets } from './static.js';
import { viewHelpers } from './view-functions.js';
import type { Language } from '../../lib/languages/languages.js';
import { switchOf } from './language-switch.js';
import { wordsIn, wordsOf, type Words } from './words.js';

export type * from './page-models.js';

export type RenderOptions = {
  /** 200 unless told otherwise. */
  status?: number;
  /** Origins beside our own that a form on this page, or a redirect that answers it, may lead to (`formActionSource`). */
  formAction?: readonly string[];
  /** That of the person unless told. */
  language?: Language;
  /** `within`: pages of ours may show this one in a frame; `holds`: this one shows others of ours in frames. */
  frames?: 'within' | 'holds';
};

/** Renders a view with its model and sends it as an HTML page with the headers of every page (specification 11.3.2). */
export type RenderPage = <View extends keyof PageModels>(
  res: Response,
  view: View,
  model: PageModels[View],
  options?: RenderOptions,
) => void;

export type PageRenderer = { renderPage: RenderPage };

/** Built once; `cache: false` reads the templates anew for every page, which is for designing them. */
export function createPageRenderer(options: { assets: Assets; viewsDir?: string; cache?: boolean }): PageRenderer {
  const { assets, ...templateOptions } = options;
  const templates = createTemplates(templateOptions);
  const helpers = viewHelpers(assets);

  return {
    renderPage(res, view, model, { status = 200, formAction = [], language, frames } = {}) {
      const words = wordsFor(res, view, language);
      const html = Buffer.from(templates.render(view, model, helpers, words, brandingFor(res.req, view), switchOf(res.req, view)));
      res.statusCode = status;
      for (const [name, value] of pageHeaders(formAction, frames)) res.setHeader(name, value);
      res.setHeader('Content-Language', words.language);
      // Within a client's sign-in it would cut the popup off from the application that has opened it, and stays off for what follows there.
      if (!isInSignIn(res.req)) res.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
      // Not by Express's send(): it parses the type anew and looks at validators, of which a page that nobody may store has none.
      res.setHeader('Content-Length', html.length);
      res.end(html);
    },
  };
}

/** Views for administrators and developers, which are in English alone. */
export const isForOperators = (view: string): boolean => /^(dashboard|dev|docs)\/|^sso\/test-result$/.test(view);

/** The words that the page is made of. */
function wordsFor(res: Response, view: string, language: Language | undefined): Words {
  if (isForOperators(view)) return wordsIn('en');
  res.vary('Accept-Language, Cookie');
  return wordsOf(res.req, language);
}

/** How the page looks within a client's sign-in; nothing where that is as the environment says, as it always is for administrators and developers. */
function brandingFor({ ctx, branded_for }: Request, view: string): Partial<BasePage> {
  if (!branded_for || isForOperators(view)) return {};
  return brandingOf(ctx.environment, branded_for);
}

function brandingOf(
  environment: BrandedEnvironment,
  client: BrandedClient | null,
  scheme?: ColorScheme,
): Pick<BasePage, 'environment' | 'theme_path'> {
  const { theme, ...brand } = brandOf(environment, client);
  return { environment: { ...brand, kind: environment.kind }, theme_path: stylesheetPath(theme, scheme) };
}

/** What pages for administrators have of the branding: the colour of the environment, but neither its corners nor its font. */
export const operatorTheme = ({ branding }: BrandedEnvironment): string => {
  const { primary_color = null, dark_primary_color = null } = branding ?? {};
  return stylesheetPath({ primary_color, dark_primary_color });
};

/**
 * The part of the model that all pages share. With the client whose sign-in is under way the page looks as that client's branding says.
 */
export function basePage(
  environment: BrandedEnvironment,
  page: { title: string; request_id: string; csrf_token?: string | undefined; client?: BrandedClient | null; scheme?: ColorScheme },
): BasePage {
  const { title, request_id, csrf_token, client = null, scheme } = page;
  return { title, request_id, csrf_token, ...brandingOf(environment, client, scheme) };
}

/**
 * What the policy's `form-action` must name so that Chromium follows a form post that is answered with a redirect to this URI:
 * the origin, or the bare scheme where the policy's grammar has no place for the host (private-use schemes, IPv6 literals).
 */
export function formActionSource(uri: string): string {
  const { protocol, origin, hostname } = new URL(uri);
  return origin === 'null' || hostname.startsWith('[') ? protocol : origin;
}

const source = /^[a-z][a-z0-9+.-]*:(\/\/[a-z0-9.-]+(:\d+)?)?$/i;

function pageHeaders(formAction: readonly string[], frames: RenderOptions['frames']): [name: string, value: string][] {
  const targets = ["'self'", ...new Set(formAction.filter((origin) => source.test(origin)))].join(' ');
  return [
    ['Content-Type', 'text/html; charset=utf-8'],
    ['Cache-Control', 'no-store'],
    [
      'Content-Security-Policy',
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: https:; connect-src 'self'; font-src 'self'; " +
        `${frames === 'holds' ? "frame-src 'self'; " : ''}form-action ${targets}; base-uri 'none'; frame-ancestors ${frames === 'within' ? "'self'" : "'none'"}`,
    ],
    ['X-Frame-Options', frames === 'within' ? 'SAMEORIGIN' : 'DENY'],
    ['Permissions-Policy', 'publickey-credentials-get=(self), publickey-credentials-create=(self)'],
    ['Referrer-Policy', 'no-referrer'],
    ['X-Content-Type-Options', 'nosniff'],
  ];
}

import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import { accountRouter } from './account/router.js';
import { addLoginRoute } from './account/sign-in/routes.js';
import type { Deps } from './domain/context.js';
import { PageError } from './errors.js';
import { recallPublicEnvironment } from './domain/environments/environments.js';
import { requestDeadlines } from './http/request/deadline.js';
import { environment } from './http/request/environment.js';
import { createExactRoutes, inSequence } from './http/exact-routes.js';
import { healthPaths, healthz, metrics, readyz, type Lifecycle } from './http/health.js';
import { laterRouter } from './http/later-router.js';
import { logoImage } from './http/logos.js';
import { route } from './http/routes.js';
import { securityText, securityTextPath } from './http/security-txt.js';
import { homePage } from './http/home.js';
import { createPageRenderer } from './http/pages/pages.js';
import { addressKey, networkKey, openRateLimitStore } from './http/limits/rate-limits.js';
import { createAdmission, type Admission } from './http/limits/admission.js';
import { createLimiter } from './http/limits/rate-limiter.js';
import { renderErrors } from './http/render-errors.js';
import { requestId } from './http/request/request-id.js';
import { traceRequests } from './http/span.js';
import { createAssets } from './http/pages/static.js';
import type { AnswerAhead } from './http/server.js';
import type { Web } from './http/web.js';
import { crossOriginPaths, oauthEndpoints, jwksPath, metadataPaths } from './oauth/endpoints.js';
import { rememberedDocuments } from './oauth/remembered-documents.js';
import { approvalsRouter } from './oauth/approvals/router.js';
import { addMetadataRoutes, addOauthRoutes, registrationRouter, resourceMetadataRouter } from './oauth/router.js';
import { ssfConfigurationRoute, ssfPaths } from './ssf/configuration.js';
import { mailboxRouter } from './outbox/mail/mailbox.js';
import { message } from './lib/languages/messages.js';

/** The service as an Express app, what stands before it, and what must be closed after it. */
export type Service = {
  readonly app: Express;
  readonly web: Web;
  readonly admission: Admission;
  readonly answerAhead: AnswerAhead;
  close(): Promise<void>;
};

/** The app of a process that answers no requests of anybody (`BACKGROUND_WORK=only`). */
export function createBackgroundApp(deps: Deps, lifecycle: Lifecycle): Omit<Service, 'web'> {
  const app = express();
  app.disable('x-powered-by');
  const routes = createExactRoutes();
  addHealthRoutes(routes, deps, lifecycle);
  app.use(inSequence([requestId(deps), requestDeadlines(), routes.handler]));
  app.use((_req: Request, res: Response) => {
    const error_description = 'This process does background work only (BACKGROUND_WORK=only).';
    res.status(404).json({ error: 'not_found', error_description });
  });
  return { app, admission: createDoor(deps), answerAhead: () => false, close: async () => undefined };
}

function addHealthRoutes(routes: ReturnType<typeof createExactRoutes>, deps: Deps, lifecycle: Lifecycle): void {
  routes.add(healthPaths.alive, { get: [healthz], head: true });
  routes.add(healthPaths.ready, { get: [readyz(deps, lifecycle)], head: true });
  routes.add(healthPaths.metrics, { get: [metrics(deps)], head: true });
}

/** Builds the app: the order of middleware and routers is the map of the service. */
export function createApp(deps: Deps, lifecycle: Lifecycle = { stopping: false }): Service {
  const { config } = deps;
  const store = openRateLimitStore(config.rateLimits, {
    knex: deps.db.knex,
    clock: deps.clock,
    onError: (error) => deps.logger.warn({ event: 'rate_limits.store', err: error }, 'the shared store of rate limits failed'),
  });
  const limiter = createLimiter({ store, enabled: config.rateLimits.enabled, clock: deps.clock });
  const assets = createAssets();
  const { once } = store;
  const web: Web = { deps, assets, limiter, proofUses: once ? { once } : null, ...createPageRenderer({ assets }) };

  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.set('trust proxy', config.trustProxy);
  app.set('case sensitive routing', true);

  const byHost = environment(deps);
  const routes = createExactRoutes();
  addHealthRoutes(routes, deps, lifecycle);
  addMetadataRoutes(routes.behind(environment(deps, recallPublicEnvironment)));
  routes.behind(byHost).add(ssfPaths.configuration, ssfConfigurationRoute);
  addOauthRoutes(routes.behind(byHost), web);
  addLoginRoute(routes.behind(byHost), web);
  app.use(
    inSequence([
      requestId(deps),
      requestDeadlines(),
      ...(deps.tracer === null ? [] : [traceRequests(deps.tracer)]),
      routes.handler,
      assets.handler,
      byHost,
      registrationRouter(web),
      resourceMetadataRouter(),
    ]),
  );
  app.use(accountRouter(web));
  app.use(approvalsRouter(web));
  app.use(laterRouter(async () => (await import('./sso/router.js')).ssoRouter(web), '/auth/sso', '/account/provider_access'));
  app.use(laterRouter(async () => (await import('./saml/router.js')).samlRouter(web), '/saml'));
  app.use(laterRouter(async () => (await import('./dashboard/shell/router.js')).dashboardRouter(web), '/dashboard'));
  app.use(laterRouter(async () => (await import('./setup/router.js')).setupRouter(web), '/setup'));
  app.use(laterRouter(async () => (await import('./scim/router.js')).scimRouter(web), '/scim'));
  app.use(laterRouter(async () => (await import('./ssf/router.js')).ssfRouter(web), '/ssf'));
  app.use(mailboxRouter(web));
  app.use(
    '/api',
    laterRouter(() => loadManagement(web)),
  );
  app.use(laterRouter(() => loadReference(web), '/docs'));
  route(app, '/logos/:file', { get: [logoImage(deps)], head: true });
  app.get(securityTextPath, securityText(deps));
  app.get('/', homePage(web));
  app.use((_req, _res, next) => next(new PageError(404, 'not_found', message('refusal.nothing_here'))));
  app.use(renderErrors(web));
  return { app, web, admission: createDoor(deps), answerAhead: rememberedDocuments(deps), close: () => limiter.close() };
}

async function loadManagement(web: Web): Promise<RequestHandler> {
  const [{ managementRouter }, { registry }] = await Promise.all([
    import('./management/router.js'),
    import('./management/resources/index.js'),
  ]);
  return managementRouter(web, registry);
}

async function loadReference(web: Web): Promise<RequestHandler> {
  const [{ referenceRouter }, { registry }] = await Promise.all([
    import('./management/reference/router.js'),
    import('./management/resources/index.js'),
  ]);
  return referenceRouter(web, registry);
}

/** Signatures under way that are never too many, on however slow a machine. */
const fewSignatures = 32;

/** Who is let in while there is more to do than the process can carry. */
function createDoor({ config, logger, clock, crypto: { signing } }: Deps): Admission {
  return createAdmission({
    open: new Set([...Object.values(healthPaths), ...Object.values(metadataPaths), jwksPath]),
    crossOrigin: crossOriginPaths,
    // What is spent before its token is signed must not be refused for want of a signature.
    waitMs: (path) => (path === oauthEndpoints.token_endpoint && signing.length >= fewSignatures ? signing.waitMs() : 0),
    // Behind a proxy all come from it: whose they are would have to be read out of headers first.
    ...(config.trustProxy === false && {
      callerOf: ({ socket: { remoteAddress } }) => networkKey(remoteAddress) ?? addressKey(remoteAddress),
    }),
    now: () => clock.now().getTime(),
    onRefused: (count) => logger.warn({ event: 'requests.refused', count }, 'requests were refused because too many wait'),
  });
}

import type { Deps } from '../domain/context.js';
import type { Environment } from '../domain/environment.js';
import { recallEnvironmentForHost } from '../domain/environments/environments.js';
import { recallKeyRing } from '../domain/signing-keys/signing-keys.js';
import { variesBy } from '../http/request/environment.js';
import { soleHost } from '../http/request/headers.js';
import { requestIdOf } from '../http/request/request-id.js';
import { commonHeaders, createRequestNotes } from '../http/request/request-notes.js';
import type { AnswerAhead } from '../http/server.js';
import { discoveryDocument } from './discovery.js';
import { sendDocument, type PublicDocument } from '../http/request/public-document.js';
import { allMetadataPaths, jwksPath } from './endpoints.js';
import { jwksDocument } from './jwks.js';

/** The document of an environment if it is remembered and may be trusted. */
type Recall = (deps: Deps, environment: Environment) => PublicDocument | undefined;

const recallJwks: Recall = (deps, environment) => {
  const ring = recallKeyRing(deps, environment);
  return ring && jwksDocument(ring);
};

const recallers: ReadonlyMap<string, Recall> = new Map([
  [jwksPath, recallJwks],
  ...allMetadataPaths.map((path) => [path, (_deps: Deps, environment: Environment) => discoveryDocument(environment)] as const),
]);

/**
 * Answers for discovery and the JWKS what their routes would, from what is remembered and may be trusted: with the same headers, line and count, without the app
 * and its middleware, which cost as much as the answer. All else is theirs: a document that must be read or is told with its `Age`, a request that spans are sent of, and
 * once a second one that its host's headers are noted of.
 */
export function rememberedDocuments(deps: Deps): AnswerAhead {
  const { config, clock, tracer } = deps;
  const { forwarded } = deps.notes;
  const note = createRequestNotes(deps);
  const varies = variesBy(config.trustProxy);
  const common = [...commonHeaders(config), ...(varies === null ? [] : ['Vary', varies])];

  return (req, res) => {
    const { url } = req;
    const recall = recallers.get(url);
    if (recall === undefined || (req.method !== 'GET' && req.method !== 'HEAD') || tracer !== null || forwarded.isDue()) return false;
    const host = soleHost(req);
    // A proxy that is trusted may name another.
    const environment = host === null ? undefined : recallEnvironmentForHost(deps, config.trustProxy === false ? host : (req.host ?? ''));
    const document = environment?.held_at === null ? recall(deps, environment) : undefined;
    if (document === undefined) return false;
    const started = performance.now();
    const request_id = requestIdOf(req, clock.now().getTime());
    res.on('close', () => note(req, res, { request_id, url, ip: req.ip, route: url, started }));
    sendDocument(req, res, document, ['X-Request-Id', request_id, ...common]);
    return true;
  };
}

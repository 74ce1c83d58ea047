import type { Request, Response } from 'express';
import { corsForAll, preflight } from '../http/auth/cors.js';
import type { Methods } from '../http/routes.js';
import type { Environment } from '../domain/environment.js';
import { publicDocumentOf, sendDocument } from '../http/request/public-document.js';
import { ofEach } from '../lib/memo.js';

export const ssfPaths = {
  configuration: '/.well-known/ssf-configuration',
  streams: '/ssf/streams',
  status: '/ssf/status',
  addSubject: '/ssf/subjects/add',
  removeSubject: '/ssf/subjects/remove',
  verify: '/ssf/verify',
  poll: '/ssf/poll',
} as const;

/** How tokens can be delivered, by the names that rows have. */
export const deliveryMethods = { push: 'urn:ietf:rfc:8935', poll: 'urn:ietf:rfc:8936' } as const;

/** The transmitter of the environment (SSF 1.0 7.1). */
const transmitterConfiguration = ({ issuer }: Environment): Record<string, unknown> => ({
  spec_version: '1_0',
  issuer,
  jwks_uri: `${issuer}/.well-known/jwks.json`,
  delivery_methods_supported: Object.values(deliveryMethods),
  configuration_endpoint: issuer + ssfPaths.streams,
  status_endpoint: issuer + ssfPaths.status,
  add_subject_endpoint: issuer + ssfPaths.addSubject,
  remove_subject_endpoint: issuer + ssfPaths.removeSubject,
  verification_endpoint: issuer + ssfPaths.verify,
  critical_subject_members: ['user', 'session'],
  authorization_schemes: [{ spec_urn: 'urn:ietf:rfc:6749' }],
  default_subjects: 'ALL',
});

const documentOf = ofEach((environment: Environment) => publicDocumentOf(JSON.stringify(transmitterConfiguration(environment))));

function answer(req: Request, res: Response): void {
  sendDocument(req, res, documentOf(req.ctx.environment));
}

/** /.well-known/ssf-configuration, a document that everybody reads. */
export const ssfConfigurationRoute: Methods = { head: true, get: [corsForAll, answer], options: [corsForAll, preflight] };

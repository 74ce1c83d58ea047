import type { Presentation } from '../presentation.js';
import { api_resources } from './api-resources.js';
import { client_grants } from './client-grants.js';
import { audit_logs } from './audit-logs.js';
import { authenticators } from './authenticators.js';
import { clients } from './clients.js';
import { connections } from './connections.js';
import { custom_domains, environments, event_types } from './environment.js';
import { log_streams } from './log-streams.js';
import { mail_templates } from './mail-templates.js';
import { page_texts } from './page-texts.js';
import { registration_tokens } from './registration-tokens.js';
import { request_traces } from './request-traces.js';
import { permissions, roles } from './roles.js';
import { security_events } from './security-events.js';
import { signing_keys } from './signing-keys.js';
import { sessions } from './sessions.js';
import { consents, identities } from './user-links.js';
import { users } from './users.js';
import { federated_credentials, trusted_issuers } from './workloads.js';
import { webhook_deliveries } from './webhook-deliveries.js';
import { webhooks } from './webhooks.js';

/** How the resources of the Management API look in the browser, in the order of the navigation: their pages and their place in it. */
export const presentations: readonly Presentation[] = [
  users,
  identities,
  consents,
  sessions,
  authenticators,
  roles,
  clients,
  client_grants,
  registration_tokens,
  trusted_issuers,
  federated_credentials,
  api_resources,
  permissions,
  connections,
  webhooks,
  webhook_deliveries,
  event_types,
  audit_logs,
  security_events,
  log_streams,
  request_traces,
  custom_domains,
  mail_templates,
  page_texts,
  signing_keys,
  environments,
];

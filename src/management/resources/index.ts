import { registryOf } from '../resource.js';
import { api_resources } from './api_resources.js';
import { authorization_detail_types } from './authorization_detail_types.js';
import { audit_logs } from './audit_logs.js';
import { authenticators } from './authenticators.js';
import { client_grants } from './client_grants.js';
import { clients } from './clients.js';
import { connections } from './connections.js';
import { approvals } from './approvals.js';
import { authorizations } from './authorizations.js';
import { consents } from './consents.js';
import { custom_domains } from './custom_domains.js';
import { directories } from './directories.js';
import { environments } from './environments.js';
import { event_types } from './event_types.js';
import { events } from './events.js';
import { external_servers } from './external_servers.js';
import { federated_credentials } from './federated_credentials.js';
import { identities } from './identities.js';
import { signal_streams } from './signal_streams.js';
import { log_streams } from './log_streams.js';
import { logos } from './logos.js';
import { mail_templates } from './mail_templates.js';
import { organization_domains } from './organization_domains.js';
import { organization_groups } from './organization_groups.js';
import { organization_invitations } from './organization_invitations.js';
import { organization_memberships } from './organization_memberships.js';
import { organizations } from './organizations.js';
import { outbound_grants } from './outbound_grants.js';
import { page_texts } from './page_texts.js';
import { permissions } from './permissions.js';
import { provider_grants } from './provider_grants.js';
import { provider_tokens } from './provider_tokens.js';
import { registration_tokens } from './registration_tokens.js';
import { request_traces } from './request_traces.js';
import { roles } from './roles.js';
import { saml_certificates } from './saml_certificates.js';
import { security_events } from './security_events.js';
import { sessions } from './sessions.js';
import { setup_links } from './setup_links.js';
import { signing_keys } from './signing_keys.js';
import { trusted_issuers } from './trusted_issuers.js';
import { user_exports } from './user_exports.js';
import { user_import_row_errors, user_imports } from './user_imports.js';
import { users } from './users.js';
import { webhook_deliveries, webhook_delivery_attempts } from './webhook_deliveries.js';
import { webhooks } from './webhooks.js';

/** The resources of the Management API. Routes, permissions, documents, OpenAPI and the reference page follow from this list. */
export const resources = [
  users,
  user_imports,
  user_import_row_errors,
  user_exports,
  authenticators,
  identities,
  provider_tokens,
  consents,
  authorizations,
  approvals,
  roles,
  permissions,
  clients,
  client_grants,
  registration_tokens,
  trusted_issuers,
  federated_credentials,
  api_resources,
  authorization_detail_types,
  external_servers,
  outbound_grants,
  connections,
  provider_grants,
  organizations,
  organization_memberships,
  organization_invitations,
  organization_domains,
  directories,
  organization_groups,
  setup_links,
  sessions,
  webhooks,
  webhook_deliveries,
  webhook_delivery_attempts,
  event_types,
  events,
  signing_keys,
  saml_certificates,
  environments,
  custom_domains,
  audit_logs,
  security_events,
  log_streams,
  signal_streams,
  mail_templates,
  page_texts,
  logos,
  request_traces,
] as const;

export const registry = registryOf(resources);

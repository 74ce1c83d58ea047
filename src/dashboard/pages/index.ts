import type { Presentation } from '../parts/records/presentation.js';
import { apiResourcesPresentation } from './apis/api-resources.js';
import { clientGrantsPresentation } from './apis/client-grants.js';
import { approvalsPresentation } from './agents/approvals.js';
import { externalServersPresentation } from './agents/external-servers.js';
import { outboundGrantsPresentation } from './agents/outbound-grants.js';
import { providerGrantsPresentation } from './agents/provider-grants.js';
import { providerTokensPresentation } from './users/provider-tokens.js';
import { auditLogsPresentation } from './activity/audit-logs.js';
import { authenticatorsPresentation } from './users/authenticators.js';
import { signalStreamsPresentation } from './clients/signal-streams.js';
import { clientsPresentation } from './clients/clients.js';
import { connectionsPresentation } from './connections/connections.js';
import { customDomainsPresentation, environmentsPresentation, eventTypesPresentation } from './settings/environment.js';
import { directoriesPresentation } from './organizations/directories.js';
import { organizationInvitationsPresentation } from './organizations/organization-invitations.js';
import { organizationDomainsPresentation } from './organizations/organization-domains.js';
import { organizationGroupsPresentation } from './organizations/organization-groups.js';
import { organizationMembershipsPresentation } from './organizations/organization-memberships.js';
import { organizationsPresentation } from './organizations/organizations.js';
import { logStreamsPresentation } from './webhooks/log-streams.js';
import { mailTemplatesPresentation } from './texts/mail-templates.js';
import { pageTextsPresentation } from './texts/page-texts.js';
import { initialAccessTokensPresentation } from './clients/initial-access-tokens.js';
import { eventsPresentation } from './activity/events.js';
import { requestTracesPresentation } from './activity/request-traces.js';
import { authorizationDetailTypesPresentation } from './apis/authorization-detail-types.js';
import { permissionsPresentation, rolesPresentation } from './apis/roles.js';
import { securityEventsPresentation } from './activity/security-events.js';
import { signingKeysPresentation } from './settings/signing-keys.js';
import { setupLinksPresentation } from './organizations/setup-links.js';
import { samlCertificatesPresentation } from './settings/saml-certificates.js';
import { sessionsPresentation } from './users/sessions.js';
import { authorizationsPresentation, consentsPresentation, identitiesPresentation } from './users/user-links.js';
import { userExportsPresentation } from './moving/user-exports.js';
import { userImportsPresentation } from './moving/user-imports.js';
import { usersPresentation } from './users/users.js';
import { federatedCredentialsPresentation, trustedIssuersPresentation } from './workloads/workloads.js';
import { webhookDeliveriesPresentation } from './webhooks/webhook-deliveries.js';
import { webhooksPresentation } from './webhooks/webhooks.js';

/** How the resources of the Management API look in the browser, in the order of the navigation: their pages and their place in it. */
export const presentations: readonly Presentation[] = [
  usersPresentation,
  rolesPresentation,
  sessionsPresentation,
  authenticatorsPresentation,
  identitiesPresentation,
  providerTokensPresentation,
  consentsPresentation,
  authorizationsPresentation,
  approvalsPresentation,
  userImportsPresentation,
  userExportsPresentation,
  organizationsPresentation,
  organizationMembershipsPresentation,
  organizationInvitationsPresentation,
  organizationDomainsPresentation,
  directoriesPresentation,
  organizationGroupsPresentation,
  setupLinksPresentation,
  clientsPresentation,
  clientGrantsPresentation,
  signalStreamsPresentation,
  initialAccessTokensPresentation,
  apiResourcesPresentation,
  permissionsPresentation,
  authorizationDetailTypesPresentation,
  connectionsPresentation,
  webhooksPresentation,
  webhookDeliveriesPresentation,
  eventsPresentation,
  eventTypesPresentation,
  securityEventsPresentation,
  auditLogsPresentation,
  requestTracesPresentation,
  logStreamsPresentation,
  mailTemplatesPresentation,
  pageTextsPresentation,
  customDomainsPresentation,
  signingKeysPresentation,
  samlCertificatesPresentation,
  trustedIssuersPresentation,
  federatedCredentialsPresentation,
  externalServersPresentation,
  outboundGrantsPresentation,
  providerGrantsPresentation,
  environmentsPresentation,
];

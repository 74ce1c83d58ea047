import type { Deps } from '../domain/context.js';
import { startDomainChecks } from '../jobs/domain-checks.js';
import { startJanitor, startStatistics } from '../jobs/janitor.js';
import { startPartitions } from '../jobs/partitions.js';
import { startAccountDeletions } from '../jobs/account-deletions.js';
import { startUnusedAuthorizations } from '../jobs/unused-authorizations.js';
import { startUnusedClients } from '../jobs/unused-clients.js';
import { startSamlMetadata } from '../jobs/saml-metadata.js';
import { startSignalPolls } from '../jobs/signal-polls.js';
import { startUnusedLogos } from '../jobs/unused-logos.js';
import { startSigningKeyRotation } from '../jobs/key-rotation.js';
import { startUserImports } from './user-imports.js';
import type { Loop } from '../platform/loop.js';

/**
 * Starts what comes by itself, by the clock.
 * @param directUrl for what can't go through a pooler
 */
export const startUpkeep = (deps: Deps, directUrl: string): Record<string, Loop> => ({
  janitor: startJanitor(deps),
  partitions: startPartitions(deps, directUrl),
  statistics: startStatistics(deps),
  signing_keys: startSigningKeyRotation(deps),
  domain_checks: startDomainChecks(deps),
  unused_clients: startUnusedClients(deps),
  unused_authorizations: startUnusedAuthorizations(deps),
  unused_logos: startUnusedLogos(deps),
  account_deletions: startAccountDeletions(deps),
  saml_metadata: startSamlMetadata(deps),
  signal_polls: startSignalPolls(deps),
  user_imports: startUserImports(deps),
});

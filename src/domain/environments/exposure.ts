import type { Config } from '../../config.js';
import type { EnvironmentRow } from '../../db/tables/environments.js';
import type { LogEvent } from '../../lib/log-events.js';

/** A warning about the service's network exposure, logged at the start. */
export type ExposureWarning = { readonly event: LogEvent; readonly message: string };

/** Whether an environment meant for development is reached under a public address. */
export const isPublicDevelopment = (config: Pick<Config, 'loopback'>, environment: Pick<EnvironmentRow, 'kind'>): boolean =>
  !config.loopback && environment.kind === 'development';

/** What the log says at the start of the addresses that the service listens on and is known by. */
export function exposureWarnings(
  config: Pick<Config, 'loopback' | 'baseUrl' | 'host' | 'listensBeyondLoopback' | 'devMailbox' | 'trustProxy'>,
  environments: readonly Pick<EnvironmentRow, 'kind' | 'slug'>[],
): ExposureWarning[] {
  const exposed = environments.filter((environment) => isPublicDevelopment(config, environment)).map(({ slug }) => slug);
  const list: (ExposureWarning | false)[] = [
    config.trustProxy === true &&
      !config.loopback && {
        event: 'exposure.trust_proxy',
        message:
          'TRUST_PROXY=on believes every X-Forwarded-For: anybody can choose the address that limits count by; set the number of proxies or their addresses',
      },
    exposed.length > 0 && {
      event: 'exposure.public_development',
      message: `${config.baseUrl} is public, but these environments are of kind development: ${exposed.join(', ')}; set their kind to staging or production. Captured mail is not shown under a public BASE_URL`,
    },
    config.loopback &&
      config.listensBeyondLoopback && {
        event: 'exposure.listens_beyond_loopback',
        message: `HOST=${config.host} lets other machines connect, but BASE_URL ${config.baseUrl} names this one: they get development defaults, and links that lead nowhere. Set BASE_URL to the public address, or HOST to 127.0.0.1`,
      },
    config.devMailbox === 'on' &&
      config.loopback && {
        event: 'exposure.mailbox',
        message: 'DEV_MAILBOX=on: whoever reaches this port reads every mail at /dev/mailbox, one-time codes and all',
      },
  ];
  return list.filter((warning) => warning !== false);
}

import pg from 'pg';
import type { Notification, Notifier } from '../connection/notifier.js';
import type { Logger } from '../../platform/log/logger.js';

/** A connection that listens to PostgreSQL channels and reconnects by itself. */
export type Notifications = { close(): Promise<void> };

type Listening = {
  readonly url: string;
  readonly channels: readonly string[];
  readonly logger: Logger;
  /** What this process commits is heard at once, and sent over this connection. */
  readonly notifier: Notifier;
  readonly onNotification: (channel: string, payload: string) => void;
  readonly onReconnect: () => void;
};

const timeoutMs = 5_000;
const heartbeatMs = 10_000;
const maxRetryMs = 5_000;

/** Opens a listening connection. `onLost` is called when it ends other than by `end`, perhaps more than once. */
function openListener({ url, logger, onNotification }: Listening, onLost: (dead: pg.Client) => void): pg.Client {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    keepAlive: true,
    application_name: 'listener',
  });
  client.on('error', (error) => {
    logger.warn({ event: 'listener.lost', err: error }, 'the connection for notifications was lost');
    onLost(client);
  });
  client.on('end', () => onLost(client));
  const own = client as unknown as { readonly processID: number };
  client.on('notification', ({ channel, payload = '', processId }) => {
    if (processId !== own.processID) onNotification(channel, payload);
  });
  return client;
}

/** Runs a query regularly: a half-open connection delivers no notifications and no error, but the query times out. */
function startHeartbeat(client: pg.Client, onLost: (dead: pg.Client) => void): NodeJS.Timeout {
  const heartbeat = setInterval(() => {
    client.query('select 1').catch(() => onLost(client));
  }, heartbeatMs);
  return heartbeat.unref();
}

async function send(client: pg.Client, notifications: readonly Notification[]): Promise<void> {
  const text = 'select pg_notify(channel, payload) from unnest($1::text[], $2::text[]) as told (channel, payload)';
  await client.query(text, [notifications.map(({ channel }) => channel), notifications.map(({ payload }) => payload)]);
}

function discard(dead: pg.Client): void {
  dead.removeAllListeners();
  dead.on('error', () => undefined);
  dead.end().catch(() => undefined);
}

/**
 * Listens on the channels until closed. A notification that was sent while the connection was down is lost (Postgres
 * doesn't keep them), so `onReconnect` is called after each new connection, the first one too.
 */
export function listen(options: Listening): Notifications {
  const { channels, logger, notifier, onNotification, onReconnect } = options;
  let client: pg.Client | null = null;
  let timer: NodeJS.Timeout | null = null;
  let heartbeat: NodeJS.Timeout | undefined;
  let closed = false;
  let failures = 0;

  const retry = () => {
    if (closed || timer) return;
    const again = () => {
      timer = null;
      void connect();
    };
    timer = setTimeout(again, Math.min(maxRetryMs, 100 * 2 ** failures++));
  };

  const drop = (dead: pg.Client) => {
    if (client === dead) client = null;
    clearInterval(heartbeat);
    discard(dead);
    retry();
  };

  const connect = async () => {
    const next = openListener(options, drop);
    try {
      await next.connect();
      for (const channel of channels) await next.query(`listen ${channel}`);
      if (closed) return void next.end();
      client = next;
      failures = 0;
      heartbeat = startHeartbeat(next, drop);
      onReconnect();
    } catch (error) {
      if (!closed) logger.warn({ event: 'listener.unreachable', err: error }, 'the database can not be reached for notifications');
      drop(next);
    }
  };

  notifier.connect({
    heard: ({ channel, payload }) => onNotification(channel, payload),
    send: (notifications) => (client ? send(client, notifications) : Promise.reject(new Error('there is no connection for notifications'))),
  });
  void connect();
  return {
    async close() {
      closed = true;
      notifier.connect(null);
      if (timer) clearTimeout(timer);
      clearInterval(heartbeat);
      await client?.end().catch(() => undefined);
    },
  };
}

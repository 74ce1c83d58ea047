import pg from 'pg';
import type { Logger } from 'pino';

/** A connection that listens to Postgres channels and comes back by itself. */
export type Notifications = {
  close(): Promise<void>;
};

/**
 * Listens on the channels until closed. A notification that was sent while the connection was down is lost (Postgres
 * doesn't keep them), so `onReconnect` is called after each new connection, the first one too.
 */
export function listen(options: {
  url: string;
  channels: readonly string[];
  logger: Logger;
  onNotification: (channel: string, payload: string) => void;
  onReconnect: () => void;
}): Notifications {
  const { url, channels, logger, onNotification, onReconnect } = options;
  let client: pg.Client | null = null;
  let timer: NodeJS.Timeout | null = null;
  let heartbeat: NodeJS.Timeout | null = null;
  let closed = false;
  let failures = 0;

  const retry = () => {
    if (closed || timer) return;
    timer = setTimeout(
      () => {
        timer = null;
        void connect();
      },
      Math.min(5000, 100 * 2 ** failures++),
    );
  };

  const drop = (dead: pg.Client) => {
    if (client === dead) client = null;
    if (heartbeat) clearInterval(heartbeat);
    dead.removeAllListeners();
    dead.on('error', () => undefined);
    dead.end().catch(() => undefined);
    retry();
  };

  const connect = async () => {
    const next = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: 5000,
      query_timeout: 5000,
      keepAlive: true,
      application_name: 'listener',
    });
    next.on('error', (error) => {
      logger.warn({ err: error }, 'listener.lost');
      drop(next);
    });
    next.on('end', () => drop(next));
    next.on('notification', (message) => onNotification(message.channel, message.payload ?? ''));
    try {
      await next.connect();
      for (const channel of channels) await next.query(`listen ${channel}`);
      if (closed) return void next.end();
      client = next;
      failures = 0;
      // A half-open connection swallows notifications in silence; a query that times out shows it.
      heartbeat = setInterval(() => {
        next.query('select 1').catch(() => drop(next));
      }, 10_000);
      heartbeat.unref();
      onReconnect();
    } catch (error) {
      if (!closed) logger.warn({ err: error }, 'listener.unreachable');
      drop(next);
    }
  };

  void connect();
  return {
    async close() {
      closed = true;
      if (timer) clearTimeout(timer);
      if (heartbeat) clearInterval(heartbeat);
      await client?.end().catch(() => undefined);
    },
  };
}

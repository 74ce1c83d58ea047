import { createClient, defineScript } from 'redis';
import { UnavailableError } from '../../errors.js';
import type { RateLimitDemand as Demand, RateLimitGrant as Grant } from '../../db/tables/rate_limits.js';
import type { ProofUses, RateLimitStore } from './rate-limit-stores.js';

// The rules of take_rate_limit (migrations/0001_baseline/16_processes.sql), by the clock of the Redis server.
const script = `
local limit, window, cost, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local lease, refund, refund_at = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local stored = redis.call('GET', KEYS[1])
local entries, used = {}, 0
if stored then
  local kept = cmsgpack.unpack(stored)
  table.sort(kept, function(one, other) return one[1] < other[1] end)
  for _, entry in ipairs(kept) do
    if entry[1] > now - window and entry[1] <= now + window then
      if refund > 0 and entry[1] >= refund_at then
        local back = math.min(entry[2], refund)
        entry[2] = entry[2] - back
        refund = refund - back
      end
      used = used + entry[2]
      entries[#entries + 1] = entry
    end
  end
end
local granted, retry, leased_at = 0, 0, 0
local need = math.max(cost, 1)
if used + need > limit then
  retry = window
  local freed = 0
  for _, entry in ipairs(entries) do
    freed = freed + entry[2]
    retry = entry[1] + window - now
    if used - freed + need <= limit then break end
  end
elseif cost > 0 then
  granted = math.max(cost, math.min(wanted, math.floor((limit - used) / 4)))
  leased_at = now
  if granted > cost then leased_at = now + lease end
  local last = entries[#entries]
  local slot = math.max(1, math.floor(window / 50))
  if #entries >= 32 and math.floor(last[1] / slot) == math.floor(leased_at / slot) then
    leased_at = math.max(leased_at, last[1])
    last[1] = leased_at
    last[2] = last[2] + granted
  else
    entries[#entries + 1] = { leased_at, granted }
  end
  used = used + granted
end
local reset = 0
for _, entry in ipairs(entries) do reset = math.max(reset, entry[1] + window - now) end
if (granted > 0 or tonumber(ARGV[6]) > 0) and reset > 0 then
  redis.call('SET', KEYS[1], cmsgpack.pack(entries), 'PX', reset)
end
return { granted, math.max(0, limit - used), retry, reset, leased_at }
`;

/** Milliseconds to wait for a connection, or for a reply, before the request is refused with 503. */
const timeoutMs = 3000;
/** `Retry-After` of the 503, in seconds. */
const retryAfterSeconds = 5;

/**
 * Counts in Redis (`RATE_LIMIT_STORE=redis`), and keeps there what may happen once. The connection is made in the background and made again when it is lost; while
 * there is none every call fails at once. `onError` is called with connection errors, for the log.
 * @throws {UnavailableError} from each call that Redis does not answer in time
 */
export function createRedisStore({
  url,
  onError,
}: {
  readonly url: string;
  readonly onError: (error: Error) => void;
}): RateLimitStore & ProofUses {
  const take = defineScript({
    SCRIPT: script,
    NUMBER_OF_KEYS: 1,
    parseCommand(parser, key: Buffer, demand: Demand) {
      parser.pushKey(Buffer.concat([Buffer.from('rate_limit:'), key]));
      const { limit, window_ms, cost, wanted, lease_ms, refund, refund_at } = demand;
      parser.push(...[limit, window_ms, cost, wanted, lease_ms, refund, refund_at].map(String));
    },
    transformReply: (reply: unknown) => reply as number[],
  });
  const client = createClient({
    url,
    scripts: { take },
    disableOfflineQueue: true,
    commandOptions: { timeout: timeoutMs },
    socket: { connectTimeout: timeoutMs, reconnectStrategy: (tries) => Math.min(2000, 50 * 2 ** Math.min(tries, 6)) },
  });
  client.on('error', onError);
  const connected = client.connect().catch(onError);
  let first: Promise<unknown> | null = connected;

  async function ask<T>(question: () => Promise<T>): Promise<T> {
    if (first) {
      await Promise.race([first, new Promise((resolve) => setTimeout(resolve, timeoutMs).unref())]);
      first = null;
    }
    return question().catch((error: unknown) => {
      throw new UnavailableError(retryAfterSeconds, error);
    });
  }

  return {
    async take(key, demand): Promise<Grant> {
      const reply = await ask(() => client.take(key, demand));
      const [granted = 0, remaining = 0, retry_ms = 0, reset_ms = 0, leased_at = 0] = reply;
      return { granted, remaining, retry_ms, reset_ms, leased_at };
    },
    async once(key, ms) {
      const name = Buffer.concat([Buffer.from('dpop_proof:'), key]);
      const expiration = { type: 'PX', value: Math.max(1, Math.ceil(ms)) } as const;
      return (await ask(() => client.set(name, '', { condition: 'NX', expiration }))) !== null;
    },
    now: () => performance.now(),
    close: async () => {
      if (client.isOpen) client.destroy();
      await connected;
    },
  };
}

import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';

/** Finds the addresses of a host name, IPv4 first. Rejects when there are none, or not in time. */
export type NameLookup = (name: string) => Promise<readonly string[]>;

const hostsFile = process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts';
const cacheMs = 5000;
const cachedFailureMs = 1000;
const timeoutMs = 3000;
/** How long the other address family may take once one has answered (RFC 8305 section 3). */
const patienceMs = 300;
const maxNames = 1000;

async function readHosts(): Promise<Map<string, string[]>> {
  const hosts = new Map<string, string[]>();
  const text = await readFile(hostsFile, 'utf8').catch(() => '');
  for (const line of text.split('\n')) {
    const [address, ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    for (const name of names) hosts.set(name.toLowerCase(), [...(hosts.get(name.toLowerCase()) ?? []), address as string]);
  }
  return hosts;
}

/** Resolves when both families have answered, 300 ms after the first that found addresses, or at the time limit. */
async function gather(lookups: readonly Promise<string[]>[]): Promise<string[]> {
  const found: string[][] = lookups.map(() => []);
  let timer: NodeJS.Timeout | undefined;
  let lastError: unknown = new Error('no answer from the name servers');
  await new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs);
    let open = lookups.length;
    lookups.forEach((lookup, i) => {
      lookup
        .then((addresses) => {
          found[i] = addresses;
          if (addresses.length > 0) setTimeout(resolve, patienceMs).unref();
        })
        .catch((error: unknown) => (lastError = error))
        .finally(() => --open === 0 && resolve());
    });
  });
  clearTimeout(timer);
  const addresses = found.flat();
  if (addresses.length === 0) throw lastError;
  return addresses;
}

/**
 * Name resolution that occupies no thread: `dns.lookup` runs on the few threads that hashing and files need, and a slow name
 * server would hold them. Reads the hosts file, then asks the configured name servers; `localhost` and names below it are this machine
 * (RFC 6761 section 6.3). Answers are remembered for five seconds, failures for one.
 */
export function createNameLookup(): NameLookup {
  const resolver = new Resolver({ timeout: 1000, tries: 3 });
  const cache = new Map<string, { addresses: Promise<readonly string[]>; until: number }>();
  let hosts: { names: Promise<Map<string, string[]>>; until: number } | null = null;

  async function find(name: string): Promise<readonly string[]> {
    if (!hosts || hosts.until < performance.now()) hosts = { names: readHosts(), until: performance.now() + cacheMs };
    const listed = (await hosts.names).get(name);
    if (listed) return listed;
    if (/(^|\.)localhost$/.test(name)) return ['127.0.0.1', '::1'];
    return gather([resolver.resolve4(name), resolver.resolve6(name)]);
  }

  return function lookup(host) {
    const name = host.replace(/\.$/, '').toLowerCase();
    const known = cache.get(name);
    if (known && known.until > performance.now()) return known.addresses;
    const entry = { addresses: find(name), until: performance.now() + cacheMs };
    entry.addresses.catch(() => (entry.until = performance.now() + cachedFailureMs));
    cache.delete(name);
    cache.set(name, entry);
    if (cache.size > maxNames) cache.delete(cache.keys().next().value as string);
    return entry.addresses;
  };
}

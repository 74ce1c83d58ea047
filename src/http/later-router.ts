import type { Request, RequestHandler } from 'express';

/**
 * A router that the first request for it loads: a process whose dashboard nobody opens holds none of it, and starts sooner. That request waits for the
 * loading, once in the life of the process; one that fails is tried again by the next.
 * @param under the paths that its routes begin with; left out where the router is mounted at a path
 */
export function laterRouter(load: () => Promise<RequestHandler>, ...under: readonly string[]): RequestHandler {
  let router: RequestHandler | null = null;
  let loading: Promise<RequestHandler> | null = null;
  const concerns = ({ path }: Request) => under.length === 0 || under.some((one) => path === one || path.startsWith(`${one}/`));

  async function loaded(): Promise<RequestHandler> {
    loading ??= load();
    try {
      router = await loading;
      return router;
    } catch (error) {
      loading = null;
      throw error;
    }
  }

  return (req, res, next) => {
    if (!concerns(req)) return next();
    if (router !== null) return router(req, res, next);
    return loaded().then((ready) => void ready(req, res, next), next);
  };
}

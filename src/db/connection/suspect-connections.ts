/**
 * What the connections of one pool, and of the lines beside it, know together of a server that has fallen silent. Whatever makes one of them silent (a firewall that has forgotten
 * them, a machine that was cut off) mostly befalls them all, and each would be waited for until its own time-out. So none that was heard before is used again.
 */
export class SuspectConnections {
  #noticedAt = -Infinity;

  /** A connection had no answer for its whole time-out. */
  notice(): void {
    this.#noticedAt = performance.now();
  }

  /** Whether a connection that the server last answered on at `heardAt`, in monotonic milliseconds, may be as dead. */
  concerns(heardAt: number): boolean {
    return heardAt < this.#noticedAt;
  }
}

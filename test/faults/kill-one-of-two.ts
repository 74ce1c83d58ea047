// Fault F01 with two replicas, one of them killed.
import { killInFlight } from './kill-in-flight.js';
import { playDirectly } from './scenario.js';

await playDirectly(import.meta.url, killInFlight({ inFlight: 200, replicas: 2 }));

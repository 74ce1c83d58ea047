// Loaded into the service before it starts (`node --import`): a password isn't hashed anew at a sign-in, whatever its hash costs.
import { createRequire } from 'node:module';

createRequire(import.meta.url)('argon2').needsRehash = () => false;

import { Command } from 'commander';

new Command('seed')
  .description(
    'Adds an account, a client and an API to try things out with, to the database of the running service or of one that is not running.',
  )
  .parse();

const { seed } = await import('./demo/seed.js');
seed();

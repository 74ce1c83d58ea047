import { Command } from 'commander';

new Command('demo').description('Starts the service with demo data, and an example application that signs in with it.').parse();

const { showDemo } = await import('./demo/run.js');
showDemo();

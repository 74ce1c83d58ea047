import { Command, InvalidArgumentError } from 'commander';

function portOf(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new InvalidArgumentError('a port is 1 to 65535.');
  return port;
}

const { appPort } = new Command('demo')
  .description('Starts the service with demo data and an administrator, and an example application that people sign in to.')
  .option('--app-port <port>', 'where the example application listens', portOf, 3001)
  .parse()
  .opts<{ appPort: number }>();

const { showDemo } = await import('./demo/run.js');
showDemo(appPort);

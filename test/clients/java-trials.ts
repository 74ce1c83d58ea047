// The guides for Java beside Spring's. They listen at the same port, one after the other.
import { found, signInAndOut, type Trial } from './trial.js';

const versionOf = (artifact: string) => found(new RegExp(`<artifactId>${artifact}</artifactId>\\s*<version>(.+?)<`), 'pom.xml');

const java = (name: string, title: string, artifact: string): Trial => ({
  name,
  title,
  programs: ['mvn', 'javac'],
  url: 'http://localhost:8080/',
  visit: { signOut: 'provider' },
  version: versionOf(artifact),
  shows: signInAndOut,
});

export const javaTrials: readonly Trial[] = [
  java('pac4j', 'pac4j (Java)', 'pac4j-oidc'),
  java('nimbus', 'Nimbus (Java)', 'oauth2-oidc-sdk'),
  java('vertx', 'Vert.x (Java)', 'vertx-auth-oauth2'),
];

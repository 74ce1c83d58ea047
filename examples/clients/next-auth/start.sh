npm install
export NEXTAUTH_URL=http://localhost:3001 NEXTAUTH_SECRET="$SESSION_SECRET" NEXT_TELEMETRY_DISABLED=1
npx next build
exec npx next start --hostname localhost --port 3001

npm install
export VITE_ISSUER="$ISSUER" VITE_CLIENT_ID="$CLIENT_ID"
exec npx vite --host localhost --port 3002 --strictPort

npm install
export VITE_ISSUER="$ISSUER"
exec npx vite --host localhost --port 3004 --strictPort

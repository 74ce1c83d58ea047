#!/bin/sh
# A private certificate authority, and a certificate for each database member, which is a server's and a client's in one: members know each other by it
# (etcd, Patroni), and the service knows the database by it. Run it once, on a machine that you trust, and keep ca.key there.
#
#   ./certificates.sh DIRECTORY db1=10.0.0.21 db2=10.0.0.22 db3=10.0.0.23
set -eu
umask 077
directory=$1
shift
mkdir -p "$directory"
cd "$directory"

if [ ! -e ca.key ]; then
  openssl ecparam -name prime256v1 -genkey -noout -out ca.key
  openssl req -x509 -new -key ca.key -sha256 -days 3650 -subj '/CN=identity database authority' \
    -addext 'keyUsage=critical,keyCertSign,cRLSign' -out ca.crt
fi

for member in "$@"; do
  name=${member%%=*}
  address=${member#*=}
  openssl ecparam -name prime256v1 -genkey -noout -out "$name.key"
  # localhost: the service reaches whichever member leads through the HAProxy on its own machine.
  printf '%s\n' 'basicConstraints=CA:FALSE' 'keyUsage=digitalSignature' 'extendedKeyUsage=serverAuth,clientAuth' \
    "subjectAltName=DNS:$name,IP:$address,DNS:localhost,IP:127.0.0.1" >"$name.ext"
  openssl req -new -key "$name.key" -subj "/CN=$name" |
    openssl x509 -req -CA ca.crt -CAkey ca.key -CAcreateserial -sha256 -days 825 -extfile "$name.ext" -out "$name.crt" 2>/dev/null
  rm "$name.ext"
done

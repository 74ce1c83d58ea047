#!/bin/sh
# A backup, its drill, and the old ones gone. Ends with other than 0 when anything of it fails, and then deletes nothing.
# Wants the service's environment (DATABASE_URL or DATA_DIR, SECRET_KEY, BASE_URL), and:
#   IDENTITY_HOME     where the service is installed
#   BACKUP_DIR        where backups lie, of whoever runs this alone
#   BACKUP_KEEP_DAYS  how long (14)
#   BACKUP_RECIPIENT  an age public key: the backup is encrypted for it after the drill
set -eu
umask 077
: "${IDENTITY_HOME:?names the directory of the service}" "${BACKUP_DIR:?names the directory of the backups}"
mkdir -p "$BACKUP_DIR"
file=$BACKUP_DIR/identity-$(date -u +%Y%m%dT%H%M%SZ).backup

cd "$IDENTITY_HOME"
node dist/programs/backup.js "$file"
node dist/programs/restore.js --drill "$file"
if [ -n "${BACKUP_RECIPIENT:-}" ]; then
  age --recipient "$BACKUP_RECIPIENT" --output "$file.age" "$file"
  rm "$file"
fi
find "$BACKUP_DIR" -name 'identity-*.backup*' -type f -mtime "+${BACKUP_KEEP_DAYS:-14}" -delete

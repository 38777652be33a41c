#!/bin/sh
# Run once by the postgres image when its volume is new: the login of web, worker and beat, which may
# do no more than `migrate` grants it. The owner's login is known to `migrate` alone.
set -eu
psql -v ON_ERROR_STOP=1 -v password="$APP_POSTGRES_PASSWORD" \
    --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
CREATE ROLE memoryadmin_app LOGIN NOINHERIT PASSWORD :'password';
SQL

# One image for web, worker, beat and commands; docker-compose.yml shows the command of each.
# It needs a PostgreSQL by DATABASE_URL: the embedded server is for machines without one.

FROM python:3.11-slim AS build
WORKDIR /app
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PYTHONDONTWRITEBYTECODE=1
RUN python -m venv /venv
COPY requirements.txt .
RUN /venv/bin/pip install --require-hashes -r requirements.txt
COPY . .
# needs neither a database nor a key
RUN MEMORYADMIN_STATIC_ROOT=/static /venv/bin/python manage.py collectstatic --no-input

FROM python:3.11-slim
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin memoryadmin \
    && install -d -o memoryadmin -g memoryadmin -m 0700 /data /ledger
COPY --from=build /venv /venv
COPY --from=build /static /static
COPY --from=build /app /app
WORKDIR /app
ENV PATH=/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    MEMORYADMIN_DATA_DIR=/data \
    MEMORYADMIN_STATIC_ROOT=/static
USER memoryadmin
VOLUME /data /ledger
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://localhost:8000/healthz', timeout=2)"]
CMD ["granian", "--interface", "wsgi", "--host", "0.0.0.0", "--port", "8000", \
    "--workers", "2", "--blocking-threads", "4", "--blocking-threads-idle-timeout", "10m", \
    "--respawn-failed-workers", \
    "--workers-kill-timeout", "10s", "--no-ws", "memoryadmin.wsgi:application"]
